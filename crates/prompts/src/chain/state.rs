//! Where a run stands, found from its plan and what happened in it.

use serde_json::Value;

use super::{AnswerReview, ChainPlan, ChainRunEvent, GateAction, PlannedStep};

/// Where a run stands.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainProgress {
    /// Step by step.
    pub steps: Vec<StepProgress>,
    /// What was decided, question by question.
    pub decisions: Vec<Option<bool>>,
    /// Whether it was given up.
    pub aborted: bool,
    /// Why the last question was decided so, if nothing happened since.
    pub last_decision_reason: Option<String>,
}

/// How a step stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepProgress {
    /// What was answered last, accepted or not.
    pub answer: Option<String>,
    /// What its tool answered.
    pub output: Option<Value>,
    /// Whether the run goes on with it.
    pub accepted: bool,
    /// Whether it was left out: by who intervened, or because a decision ruled it out.
    pub skipped: bool,
    /// Whether a decision ruled it out.
    pub ruled_out: bool,
    /// Whether someone had the run go on with it though its gates did not pass.
    pub accepted_by_override: bool,
    /// What its gates found last.
    pub review: Option<AnswerReview>,
    /// Answers that its gates looked at, since it was begun or tried anew.
    pub attempts: u32,
}

impl StepProgress {
    /// Whether there is nothing more to do.
    pub const fn is_finished(&self) -> bool {
        self.accepted || self.skipped
    }

    /// Whether an answer of its is held.
    pub const fn is_held(&self) -> bool {
        !self.is_finished() && self.answer.is_some()
    }

    /// How people call it.
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

    /// Its result as a text.
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

    /// Its result as a value: what a tool answered, the JSON that an answer is, or its text.
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
    /// Where a run stands that has just begun.
    pub fn new(plan: &ChainPlan) -> Self {
        Self {
            steps: vec![StepProgress::default(); plan.nodes.len()],
            decisions: vec![None; plan.questions.len()],
            aborted: false,
            last_decision_reason: None,
        }
    }

    /// Where it stands after all that.
    pub fn replay(plan: &ChainPlan, events: impl IntoIterator<Item = ChainRunEvent>) -> Self {
        let mut state = Self::new(plan);
        for event in events {
            state.apply(plan, &event);
        }
        state
    }

    /// Takes in what happened.
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
            // What was answered is worth keeping, though its gates did not pass.
            GateAction::Skip if state.answer.is_some() => {
                state.accepted = true;
                state.accepted_by_override = true;
            }
            GateAction::Skip => state.skipped = true,
            GateAction::Abort => {}
        }
    }

    /// Steps that a decision ruled out are over.
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

    /// Whether one of these was decided otherwise.
    fn is_ruled_out(&self, wanted: &[(usize, bool)]) -> bool {
        wanted.iter().any(|(question, holds)| {
            let decided = self.decisions.get(*question).copied().flatten();
            decided.is_some_and(|decided| decided != *holds)
        })
    }

    /// How the step of that number stands.
    pub fn step(&self, number: u32) -> Option<&StepProgress> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.steps.get(index)
    }

    fn step_mut(&mut self, number: u32) -> Option<&mut StepProgress> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.steps.get_mut(index)
    }

    /// The steps that are to be done now: those of the first stage that is not over.
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

    /// The question that must be decided before these steps can be done.
    pub fn undecided_condition(&self, open: &[&PlannedStep]) -> Option<usize> {
        let asked = open.iter().flat_map(|node| &node.only_if);
        asked
            .map(|(question, _)| *question)
            .find(|question| self.decisions.get(*question).copied().flatten().is_none())
    }

    /// Whether nothing more is to be done.
    pub fn is_finished(&self) -> bool {
        self.aborted || self.steps.iter().all(StepProgress::is_finished)
    }

    /// The number of the step it has come to.
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
        self.attempts = review.map_or(0, |held| held.review.attempts.used);
    }
}
