//! The progress of a chain run, computed from its plan and its events.

use serde_json::Value;

use super::{AnswerReview, ChainPlan, ChainRunEvent, GateAction, PlannedStep};

/// The progress of a chain run.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainProgress {
    pub steps: Vec<StepProgress>,
    /// The decision on each condition of the plan.
    pub decisions: Vec<Option<bool>>,
    pub aborted: bool,
    /// The reason for the last decision, if no other event followed it.
    pub last_decision_reason: Option<String>,
}

/// The progress of one step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepProgress {
    /// The last answer, accepted or not.
    pub answer: Option<String>,
    /// The output of the step's tool.
    pub output: Option<Value>,
    /// Whether the run continues with the answer.
    pub accepted: bool,
    /// Whether the step was skipped, by a user or because a decision ruled it out.
    pub skipped: bool,
    /// Whether a decision ruled the step out.
    pub ruled_out: bool,
    /// Whether a user let the run continue with the answer although its gates did not pass.
    pub accepted_by_override: bool,
    /// The last gate results.
    pub review: Option<AnswerReview>,
    /// The number of answers that the gates checked since the step began or was retried.
    pub attempts: u32,
}

impl StepProgress {
    /// Returns whether the step is accepted or skipped.
    pub const fn is_finished(&self) -> bool {
        self.accepted || self.skipped
    }

    /// Returns whether an answer is held by the gates.
    pub const fn is_held(&self) -> bool {
        !self.is_finished() && self.answer.is_some()
    }

    /// Returns the status that users see.
    pub const fn status(&self) -> &'static str {
        if self.skipped {
            "skipped"
        } else if self.accepted {
            "done"
        } else if self.answer.is_some() {
            "in review"
        } else {
            "open"
        }
    }

    /// Returns the result of the step as text.
    pub fn text(&self) -> Option<String> {
        if !self.is_finished() {
            return None;
        }
        match (&self.answer, &self.output) {
            (Some(answer), _) => Some(answer.clone()),
            (None, Some(Value::String(text))) => Some(text.clone()),
            (None, Some(output)) => Some(output.to_string()),
            (None, None) => None,
        }
    }

    /// Returns the result of the step as a value: the tool output, the JSON of the answer, or its
    /// text.
    pub fn value(&self) -> Option<Value> {
        if !self.is_finished() {
            return None;
        }
        if let Some(output) = &self.output {
            return Some(output.clone());
        }
        let answer = self.answer.as_ref()?;
        let json = answer.trim_start().starts_with(['{', '[']);
        let parsed = json.then(|| serde_json::from_str(answer).ok()).flatten();
        Some(parsed.unwrap_or_else(|| Value::String(answer.clone())))
    }
}

impl ChainProgress {
    /// Returns the progress of a run that has just begun.
    pub fn new(plan: &ChainPlan) -> Self {
        Self {
            steps: vec![StepProgress::default(); plan.nodes.len()],
            decisions: vec![None; plan.questions.len()],
            aborted: false,
            last_decision_reason: None,
        }
    }

    /// Applies all events to a new run.
    pub fn replay(plan: &ChainPlan, events: impl IntoIterator<Item = ChainRunEvent>) -> Self {
        let mut state = Self::new(plan);
        for event in events {
            state.apply(plan, &event);
        }
        state
    }

    /// Applies one event.
    pub fn apply(&mut self, plan: &ChainPlan, event: &ChainRunEvent) {
        self.last_decision_reason = match event {
            ChainRunEvent::Decided { why, .. } => Some(why.clone()),
            _ => None,
        };
        match event {
            ChainRunEvent::Answered {
                step,
                text,
                accepted,
                review,
            } => {
                if let Some(state) = self.step_mut(*step) {
                    state.answer = Some(text.clone());
                    state.set_review(*accepted, review.as_ref());
                }
            }
            ChainRunEvent::Judged {
                step,
                accepted,
                review,
            } => {
                if let Some(state) = self.step_mut(*step) {
                    state.set_review(*accepted, Some(review));
                }
            }
            ChainRunEvent::Ran { step, output } => {
                if let Some(state) = self.step_mut(*step) {
                    state.output = Some(output.clone());
                    state.accepted = true;
                }
            }
            ChainRunEvent::Decided {
                question, holds, ..
            } => {
                if let Some(decided) = self.decisions.get_mut(*question) {
                    *decided = Some(*holds);
                }
            }
            ChainRunEvent::Acted { action, step } => self.apply_action(*action, *step),
        }
        self.skip_ruled_out(plan);
    }

    fn apply_action(&mut self, action: GateAction, step: u32) {
        if action == GateAction::Abort {
            self.aborted = true;
            return;
        }
        let Some(state) = self.step_mut(step) else {
            return;
        };
        match action {
            GateAction::Retry => {
                state.attempts = 0;
                state.answer = None;
                state.review = None;
            }
            // A skipped step keeps its answer although the gates did not pass.
            GateAction::Skip if state.answer.is_some() => {
                state.accepted = true;
                state.accepted_by_override = true;
            }
            GateAction::Skip => state.skipped = true,
            GateAction::Abort => {}
        }
    }

    /// Marks the steps that a decision ruled out as skipped.
    fn skip_ruled_out(&mut self, plan: &ChainPlan) {
        for node in &plan.nodes {
            if !self.is_ruled_out(&node.only_if) {
                continue;
            }
            if let Some(state) = self.step_mut(node.number) {
                state.ruled_out |= !state.is_finished();
                state.skipped |= !state.accepted;
            }
        }
    }

    /// Returns whether one of the conditions was decided differently.
    fn is_ruled_out(&self, wanted: &[(usize, bool)]) -> bool {
        wanted.iter().any(|(question, holds)| {
            let decided = self.decisions.get(*question).copied().flatten();
            decided.is_some_and(|decided| decided != *holds)
        })
    }

    /// Returns the progress of the step with that number.
    pub fn step(&self, number: u32) -> Option<&StepProgress> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.steps.get(index)
    }

    fn step_mut(&mut self, number: u32) -> Option<&mut StepProgress> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.steps.get_mut(index)
    }

    /// Returns the steps to do now: the unfinished ones of the first unfinished stage.
    pub fn open_steps<'p>(&self, plan: &'p ChainPlan) -> Vec<&'p PlannedStep> {
        let is_open = |node: &&PlannedStep| {
            self.step(node.number)
                .is_some_and(|step| !step.is_finished())
        };
        let Some(stage) = plan.nodes.iter().find(is_open).map(|node| node.stage) else {
            return Vec::new();
        };
        let here = plan.nodes.iter().filter(|node| node.stage == stage);
        here.filter(is_open).collect()
    }

    /// Returns the first undecided condition of these steps.
    pub fn undecided_condition(&self, open: &[&PlannedStep]) -> Option<usize> {
        let asked = open.iter().flat_map(|node| &node.only_if);
        asked
            .map(|(question, _)| *question)
            .find(|question| self.decisions.get(*question).copied().flatten().is_none())
    }

    /// Returns whether the run is aborted or every step is finished.
    pub fn is_finished(&self) -> bool {
        self.aborted || self.steps.iter().all(StepProgress::is_finished)
    }

    /// Returns the number of the first open step, or of the last step if none is open.
    pub fn current_step(&self, plan: &ChainPlan) -> u32 {
        self.open_steps(plan)
            .first()
            .map_or_else(|| plan.len(), |node| node.number)
    }
}

impl StepProgress {
    fn set_review(&mut self, accepted: bool, review: Option<&AnswerReview>) {
        self.accepted = accepted;
        self.review = review.cloned();
        self.attempts = review.map_or(0, |answer_review| answer_review.review.attempts.used);
    }
}
