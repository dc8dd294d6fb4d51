//! Chains: what a run will do (`plan`), what happened in it (`event`), where it stands (`state`),
//! and what a step of it sees (`values`). Knows nothing of files, of the store or of how a step is
//! shown.

mod event;
mod plan;
mod state;
mod step_values;

pub use event::{AnswerReview, ChainRunEvent, GateAction};
pub use plan::{
    BranchCondition, ChainPlan, ChainPosition, PlannedStep, PreviousResultArgument, StepAction,
};
pub use state::{ChainProgress, StepProgress};
pub use step_values::{
    RUN_VALUE_NAMES, argument_values, condition_names, select_output, single_prompt_values,
    step_values,
};
