//! Chains: what a run will do (`plan`), what happened in it (`event`), where it stands (`state`),
//! and what a step of it sees (`values`). Knows nothing of files, of the store or of how a step is
//! shown.

mod event;
mod plan;
mod state;
mod values;

pub use event::{Action, Happened, Held};
pub use plan::{Does, Node, Plan, Question, Takes, Within};
pub use state::{State, StepState};
pub use values::{OF_RUNS, argument_values, known_names, lone_values, output_part, step_values};
