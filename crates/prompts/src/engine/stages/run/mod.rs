//! Stages that load or begin a chain run, process the caller's input, and advance or end the run.

mod accept_input;
mod advance_run;
mod begin_run;
mod load_run;
mod summarize_run;

pub(super) use accept_input::AcceptInput;
pub(super) use advance_run::AdvanceRun;
pub(super) use begin_run::BeginRun;
pub(super) use load_run::LoadRun;
pub(super) use summarize_run::SummarizeRun;
