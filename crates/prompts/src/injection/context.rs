//! The time and place of an injection decision.

use deliberate_core::Timestamp;

/// The time and place of an injection decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InjectionContext<'a> {
    /// The number of the step, from 1; a prompt on its own is step 1 of 1.
    pub step: u32,
    pub total_steps: u32,
    pub step_name: &'a str,
    /// The session of the caller.
    pub session: &'a str,
    /// The id of the chain's prompt.
    pub chain: &'a str,
    /// The id of the chain run.
    pub run: &'a str,
    /// Whether an answer is under review.
    pub in_review: bool,
    pub gate_status: Option<GateStatus>,
    pub step_type: StepType,
    pub previous_result: PreviousStepResult,
    pub now: Timestamp,
}

/// The state of the last review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateStatus {
    Pending,
    Pass,
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

/// The action of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StepType {
    #[default]
    Prompt,
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

/// The result of the previous step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PreviousStepResult {
    #[default]
    None,
    Success,
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
    /// Returns the context of a prompt that is used on its own.
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
