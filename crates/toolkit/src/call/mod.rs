//! One call, from its arrival to its end.
//!
//! A reader follows a call from top to bottom: `dispatch` receives, authorizes and validates it;
//! `task` runs its steps as a state machine, and `commit` stores what they changed together with the
//! `invocation_log`; `suspend` lets it wait for its client's model and resumes it; `background` lets
//! it go on without its client, under a `lease`; `status` shows and cancels it. A running tool sees
//! its call through `context`.

pub(crate) mod background;
mod commit;
pub(crate) mod compact_prompts;
pub(crate) mod context;
mod dispatch;
pub(crate) mod invocation_log;
mod lease;
pub(crate) mod outcome;
pub(crate) mod permits;
pub(crate) mod running_calls;
mod shutdown;
pub(crate) mod status;
pub(crate) mod suspend;
mod task;

pub use background::{StillRunning, TimedOutcome};
pub use context::{
    ModelAnswer, ToolContext,
    budget::{Budget, BudgetMeter, BudgetUse},
    caller_presence::CallerPresence,
};
pub use outcome::{CallOutcome, ClientPrompt, NeedsReply};
pub use status::{BackgroundCall, BackgroundStatus};
