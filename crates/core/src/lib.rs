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
pub use branch::{Branch, BranchState, CrossRef, CrossRefKind};
pub use chain::{ChainEvent, ChainRun, ChainState};
pub use change::{Change, NodeUpdate, Precondition};
pub use checkpoint::{Checkpoint, CheckpointKind, StateSnapshot};
pub use clock::{Clock, IdSource, SystemClock, SystemIds};
pub use graph::{EdgeKind, Graph, GraphEdge, GraphNode, NodeKind};
pub use identifier::{ArxivId, Doi};
pub use ids::{
    BranchId, CheckpointId, CrossRefId, EdgeId, GraphId, InvocationId, NodeId, RunId, SessionId,
    SnapshotId, SuspensionId, ThoughtId,
};
pub use invocation::{Invocation, ModelUsage};
pub use item::{IndexKey, StoredDocument};
pub use json::truncate_json;
pub use likeness::did_you_mean;
pub use mode::{Mode, UnknownMode};
pub use names::split_person_names;
pub use score::{ModelScore, Percent, Score};
pub use session::Session;
pub use suspension::SuspendedCall;
pub use text::{approximate_tokens, truncate_chars, truncate_tokens};
pub use thought::Thought;
pub use time::Timestamp;
