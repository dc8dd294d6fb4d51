//! What Deliberate talks about: sessions, thoughts, branches, checkpoints, graphs, runs of
//! chains, articles, and the changes a tool makes to them. Pure data and rules; no input or output of any kind, no
//! knowledge of tools, models, databases or protocols.

mod article;
mod branch;
mod chain;
mod change;
mod checkpoint;
mod clock;
mod graph;
mod identifier;
mod ids;
mod invocation;
mod item;
mod json;
mod likeness;
mod mode;
mod names;
mod score;
mod session;
mod suspension;
mod text;
mod thought;
mod time;

pub use article::{Article, Author, PartialDate, WorkKind};
pub use branch::{Branch, BranchState, CrossRef, RefKind};
pub use chain::{Run, RunEvent, RunState};
pub use change::{Change, NodeMarks, Requirement};
pub use checkpoint::{Checkpoint, CheckpointKind, StateSnapshot};
pub use clock::{Clock, IdSource, SystemClock, SystemIds};
pub use graph::{EdgeKind, Graph, GraphEdge, GraphNode, NodeKind};
pub use identifier::{ArxivId, Doi};
pub use ids::{
    BranchId, CheckpointId, CrossRefId, EdgeId, GraphId, InvocationId, NodeId, RunId, SessionId,
    SnapshotId, SuspensionId, ThoughtId,
};
pub use invocation::{Invocation, Spent};
pub use item::{Item, ItemKey};
pub use json::cap_json;
pub use likeness::nearest;
pub use mode::{Mode, UnknownMode};
pub use names::names_in;
pub use score::{ModelScore, Percent, Score};
pub use session::Session;
pub use suspension::Suspension;
pub use text::{approximate_tokens, cut_to_chars, cut_to_tokens};
pub use thought::Thought;
pub use time::Timestamp;
