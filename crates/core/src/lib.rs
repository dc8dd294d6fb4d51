#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod article;
mod chain_run;
mod change;
mod clock;
mod document;
mod error_code;
mod fair_permits;
mod ids;
mod invocation;
mod json_size;
mod process_group;
mod prompt_fence;
mod score;
mod session;
mod suspended_call;
pub(crate) mod text;
mod time;

pub use article::doi_arxiv::{ArxivId, Doi};
pub use article::{Article, Author, PartialDate, WorkKind};
pub use chain_run::{ChainEvent, ChainRun, ChainState};
pub use change::{Change, NodeUpdate, Precondition};
pub use clock::{Clock, IdSource, SystemClock, SystemIds};
pub use document::{IndexKey, StoredDocument};
pub use error_code::{ErrorCode, UnknownErrorCode};
pub use fair_permits::{FairPermit, FairPermits, PermitHolder};
pub use ids::{
    BranchId, CheckpointId, CrossRefId, EdgeId, GraphId, InvocationId, NodeId, RunId, SessionId,
    SnapshotId, SuspensionId, ThoughtId,
};
pub use invocation::{Invocation, ModelUsage};
pub use json_size::has_more_values;
pub use process_group::ProcessGroup;
pub use prompt_fence::{PromptFence, disarm_tags, escape_attribute};
pub use score::{ModelScore, Percent, Score};
pub use session::Session;
pub use session::{
    branch::{Branch, BranchState, CrossRef, CrossRefKind},
    checkpoint::{Checkpoint, CheckpointKind, StateSnapshot},
    graph::{EdgeKind, Graph, GraphEdge, GraphNode, NodeKind},
    mode::{Mode, UnknownMode},
    thought::Thought,
};
pub use suspended_call::SuspendedCall;
pub use text::{
    person_names::split_person_names,
    shorten::shorten_tokens,
    stop_words::is_stop_word,
    suggest::did_you_mean,
    token_budget::{equal_shares, fit_items},
    truncate::{approximate_tokens, truncate_chars},
    truncate_json::truncate_json,
};
pub use time::Timestamp;
