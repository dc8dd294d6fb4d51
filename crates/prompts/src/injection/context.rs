//! When and where something is decided.

use deliberate_core::Timestamp;

/// When and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InjectionContext<'a> {
    /// The number of the step, from 1; a prompt on its own is step 1 of 1.
    pub step: u32,
    /// How many steps there are.
    pub total_steps: u32,
    /// The name of the step.
    pub step_name: &'a str,
    /// The session of the caller.
    pub session: &'a str,
    /// The chain, by the id of its prompt.
    pub chain: &'a str,
    /// The run of it.
    pub run: &'a str,
    /// Whether an answer is under review.
    pub in_review: bool,
    /// How the last review stands.
    pub gate_status: Option<GateStatus>,
    /// What the step does.
    pub step_type: StepType,
    /// What the step before came to.
    pub previous_result: PreviousStepResult,
    /// Now.
    pub now: Timestamp,
}

/// How a review stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateStatus {
    /// It is open.
    Pending,
    /// It was passed.
    Pass,
    /// It was not.
    Fail,
}

impl GateStatus {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Pass => "pass",
            Self::Fail => "fail",
        }
    }
}

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StepType {
    /// It renders a prompt.
    #[default]
    Prompt,
    /// It runs a tool.
    Tool,
}

impl StepType {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Tool => "tool",
        }
    }
}

/// What a step came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PreviousStepResult {
    /// There was none.
    #[default]
    None,
    /// It was done.
    Success,
    /// It was not.
    Failure,
}

impl PreviousStepResult {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Success => "success",
            Self::Failure => "failure",
        }
    }
}

impl InjectionContext<'_> {
    /// The first and only step of a prompt on its own.
    pub const fn single_step(now: Timestamp) -> Self {
        Self {
            step: 1,
            total_steps: 1,
            step_name: "",
            session: "",
            chain: "",
            run: "",
            in_review: false,
            gate_status: None,
            step_type: StepType::Prompt,
            previous_result: PreviousStepResult::None,
            now,
        }
    }
}
