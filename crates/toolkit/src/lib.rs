//! What a tool is, and the one gate every call goes through.
//!
//! A [`Tool`] has a name, a typed input and output, and a `run` that returns its output
//! **together with its changes**; it writes nothing itself. [`Registry::call`] is the gate: it
//! checks the arguments, holds the limits, stops what is cancelled, catches what panics, and
//! commits the changes with the record of the call in one transaction. Because nothing is
//! written before the end, a call can be run again from its start: that is how a call waits
//! for its client's model (`suspend`).
//!
//! The crate knows nothing of MCP, SQL or HTTP.

mod acting;
mod answer;
mod bill;
mod call;
mod caller;
mod error;
mod event;
mod far;
mod find;
mod gate;
mod guests;
mod hands;
mod held;
mod left;
mod leg;
mod menu;
mod nested;
mod principal;
mod record;
mod registry;
mod resource;
mod schema;
mod signs;
mod stopping;
mod suspend;
mod tool;
mod trace;
mod waits;

pub use acting::{AgentLimits, AgentRun, AgentStopReason, ToolSpec, ToolUse};
pub use answer::{CallOutcome, ClientPrompt, NeedsReply};
pub use call::{ModelAnswer, ToolContext};
pub use caller::{
    CallProgress, CallerContext, ClientFeatures, ClientRequestError, ClientRequests, FixedModel,
    ModelSelector,
};
pub use error::{ArgumentIssue, EntityKind, ToolError};
pub use event::{CallEvent, CallInfo, CallListener};
pub use far::UpstreamError;
pub use guests::{AliasTarget, ExternalTool, ExternalTools, InputReply, RAW_RESULT};
pub use held::{StillRunning, TimedOutcome};
pub use left::{BackgroundCall, BackgroundStatus};
pub use menu::{
    PromptArgumentInfo, PromptContent, PromptInfo, PromptProvider, PromptRole, RenderedMessage,
    RenderedPrompt,
};
pub use principal::{Principal, ToolScope, matches_pattern};
pub use registry::{CallLimits, Registry, RegistryDeps, ToolInfo};
pub use resource::{
    CompletionRequest, CompletionValues, ResourceBody, ResourceChange, ResourceContext,
    ResourceData, ResourceInfo, ResourcePage, ResourceProvider, UriTemplate,
};
pub use schema::answer_schema;
pub use suspend::RESUME_TOOL;
pub use tool::{STEP_STATE, TEXT_FIELD, Tool, ToolHints, ToolLimits, ToolMeta, ToolOutput};
pub use trace::{ASK_SPAN, CALL_SPAN, SpanReader, TraceContext};
pub use waits::CallerPresence;
