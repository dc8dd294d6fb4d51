//! Chain runs: the plan (`plan`), the events (`event`), the progress (`state`) and the values that
//! a step sees (`step_values`). This module knows nothing of files, of the store or of the way a
//! step is rendered.

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
