//! Where a run stands, found from its plan and what happened in it.

use serde_json::Value;

use super::{Action, Happened, Held, Node, Plan};

/// Where a run stands.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// Step by step.
    pub steps: Vec<StepState>,
    /// What was decided, question by question.
    pub decided: Vec<Option<bool>>,
    /// Whether it was given up.
    pub aborted: bool,
    /// Why the last question was decided so, if nothing happened since.
    pub just_decided: Option<String>,
}

/// How a step stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepState {
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
    pub waved_through: bool,
    /// What its gates found last.
    pub review: Option<Held>,
    /// Answers that its gates looked at, since it was begun or tried anew.
    pub attempts: u32,
}

impl StepState {
    /// Whether there is nothing more to do.
    pub const fn is_over(&self) -> bool {
        self.accepted || self.skipped
    }

    /// Whether an answer of its is held.
    pub const fn is_held(&self) -> bool {
        !self.is_over() && self.answer.is_some()
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
        if !self.is_over() {
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
        if !self.is_over() {
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

impl State {
    /// Where a run stands that has just begun.
    pub fn of(plan: &Plan) -> Self {
        Self {
            steps: vec![StepState::default(); plan.nodes.len()],
            decided: vec![None; plan.questions.len()],
            aborted: false,
            just_decided: None,
        }
    }

    /// Where it stands after all that.
    pub fn after(plan: &Plan, events: impl IntoIterator<Item = Happened>) -> Self {
        let mut state = Self::of(plan);
        for event in events {
            state.apply(plan, &event);
        }
        state
    }

    /// Takes in what happened.
    pub fn apply(&mut self, plan: &Plan, event: &Happened) {
        self.just_decided = match event {
            Happened::Decided { why, .. } => Some(why.clone()),
            _ => None,
        };
        match event {
            Happened::Answered {
                step,
                text,
                accepted,
                review,
            } => {
                if let Some(state) = self.step_mut(*step) {
                    state.answer = Some(text.clone());
                    state.settle(*accepted, review.as_ref());
                }
            }
            Happened::Judged {
                step,
                accepted,
                review,
            } => {
                if let Some(state) = self.step_mut(*step) {
                    state.settle(*accepted, Some(review));
                }
            }
            Happened::Ran { step, output } => {
                if let Some(state) = self.step_mut(*step) {
                    state.output = Some(output.clone());
                    state.accepted = true;
                }
            }
            Happened::Decided {
                question, holds, ..
            } => {
                if let Some(decided) = self.decided.get_mut(*question) {
                    *decided = Some(*holds);
                }
            }
            Happened::Acted { action, step } => self.act(*action, *step),
        }
        self.leave_out(plan);
    }

    fn act(&mut self, action: Action, step: u32) {
        if action == Action::Abort {
            self.aborted = true;
            return;
        }
        let Some(state) = self.step_mut(step) else {
            return;
        };
        match action {
            Action::Retry => {
                state.attempts = 0;
                state.answer = None;
                state.review = None;
            }
            // What was answered is worth keeping, though its gates did not pass.
            Action::Skip if state.answer.is_some() => {
                state.accepted = true;
                state.waved_through = true;
            }
            Action::Skip => state.skipped = true,
            Action::Abort => {}
        }
    }

    /// Steps that a decision ruled out are over.
    fn leave_out(&mut self, plan: &Plan) {
        for node in &plan.nodes {
            if !self.rules_out(&node.only_if) {
                continue;
            }
            if let Some(state) = self.step_mut(node.number) {
                state.ruled_out |= !state.is_over();
                state.skipped |= !state.accepted;
            }
        }
    }

    /// Whether one of these was decided otherwise.
    fn rules_out(&self, wanted: &[(usize, bool)]) -> bool {
        wanted.iter().any(|(question, holds)| {
            let decided = self.decided.get(*question).copied().flatten();
            decided.is_some_and(|decided| decided != *holds)
        })
    }

    /// How the step of that number stands.
    pub fn step(&self, number: u32) -> Option<&StepState> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.steps.get(index)
    }

    fn step_mut(&mut self, number: u32) -> Option<&mut StepState> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.steps.get_mut(index)
    }

    /// The steps that are to be done now: those of the first stage that is not over.
    pub fn open<'p>(&self, plan: &'p Plan) -> Vec<&'p Node> {
        let is_open = |node: &&Node| self.step(node.number).is_some_and(|step| !step.is_over());
        let Some(stage) = plan.nodes.iter().find(is_open).map(|node| node.stage) else {
            return Vec::new();
        };
        let here = plan.nodes.iter().filter(|node| node.stage == stage);
        here.filter(is_open).collect()
    }

    /// The question that must be decided before these steps can be done.
    pub fn undecided(&self, open: &[&Node]) -> Option<usize> {
        let asked = open.iter().flat_map(|node| &node.only_if);
        asked
            .map(|(question, _)| *question)
            .find(|question| self.decided.get(*question).copied().flatten().is_none())
    }

    /// Whether nothing more is to be done.
    pub fn is_over(&self) -> bool {
        self.aborted || self.steps.iter().all(StepState::is_over)
    }

    /// The number of the step it has come to.
    pub fn at_step(&self, plan: &Plan) -> u32 {
        self.open(plan)
            .first()
            .map_or_else(|| plan.len(), |node| node.number)
    }
}

impl StepState {
    fn settle(&mut self, accepted: bool, review: Option<&Held>) {
        self.accepted = accepted;
        self.review = review.cloned();
        self.attempts = review.map_or(0, |held| held.review.attempts.used);
    }
}
