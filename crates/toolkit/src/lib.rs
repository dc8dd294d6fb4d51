#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod agent_loop;
mod call;
mod caller;
mod compute;
mod conversation;
mod error;
mod event;
mod external_tools;
mod presentation;
mod principal;
mod prompt_provider;
mod registry;
mod resource_provider;
mod scheduler;
mod schema;
mod tool;
mod trace_context;
mod upstream_error;

pub use agent_loop::{AgentLimits, AgentRun, AgentStopReason, ToolSpec, ToolUse};
pub use call::{
    BackgroundCall, BackgroundStatus, Budget, BudgetMeter, BudgetUse, CallOutcome, CallerPresence,
    ClientPrompt, ModelAnswer, NeedsReply, StillRunning, TimedOutcome, ToolContext,
    compact_prompts::CompactPrompts, suspend::RESUME_TOOL,
};
pub use caller::{
    CallProgress, CallerContext, ClientFeatures, ClientRequestError, ClientRequests, FixedModel,
    LogForwarder, ModelSelector,
};
pub use compute::{ComputeError, compute, is_abandoned, with_request_limits};
pub use conversation::ClientConversation;
pub use deliberate_core::ErrorCode;
pub use error::{ArgumentIssue, EntityKind, ToolError};
pub use event::{CallEvent, CallInfo, CallListener};
pub use external_tools::{
    AUDIT_TARGET, AliasTarget, ExternalCallEnd, ExternalTarget, ExternalTool, ExternalTools,
    InputReply, RAW_RESULT, upstream_failure,
};
pub use presentation::{CallPresenter, PresentedOutput, REPLIES_RECORDED, REPLY_RECORDED};
pub use principal::{Principal, ToolScope, matches_pattern};
pub use prompt_provider::{PromptArgumentInfo, PromptInfo, PromptProvider, RenderedPrompt};
pub use registry::{CallLimits, Registry, RegistryDeps, ToolInfo};
pub use resource_provider::{
    CompletionRequest, CompletionValues, ResourceBody, ResourceChange, ResourceContext,
    ResourceData, ResourceInfo, ResourcePage, ResourceProvider, UriTemplate,
};
pub use scheduler::{Schedule, ScheduleFrequency, ScheduledCall, ScheduledWork, run_scheduler};
pub use schema::answer_schema;
pub use tool::{
    ForegroundWait, REPLY_FIELD, STEP_STATE, TEXT_FIELD, Tool, ToolHints, ToolLimits, ToolMeta,
    ToolOutput,
};
pub use trace_context::{CALL_SPAN, MODEL_SPAN, SpanReader, TraceContext};
pub use upstream_error::UpstreamError;
