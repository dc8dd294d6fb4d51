//! What a call carries from stage to stage. Each field says which stage fills it.

use std::sync::Arc;

use deliberate_core::{Change, Run, RunState};
use deliberate_language::{Command, Modifier};
use deliberate_toolkit::{Call, ToolError};
use serde_json::{Map, Value, json};

use super::{Engine, Input, Reply, Settings};
use crate::{
    chain::{Happened, Node, Plan, State},
    gate::{Asked, Inline, Verdict},
    library::Library,
    model::{Methodology, Prompt, Style},
};

/// What a call carries.
pub(crate) struct Context<'c> {
    pub(crate) engine: &'c Engine,
    pub(crate) call: &'c Call,
    /// The library as it was when the call came.
    pub(crate) library: Arc<Library>,
    /// What was asked.
    pub(crate) request: Input,
    /// What is switched; `settings`.
    pub(crate) settings: Settings,
    /// The `gates` parameter; `normalize`.
    pub(crate) asked_gates: Vec<Asked>,
    /// The verdict; `normalize`.
    pub(crate) verdict: Option<Verdict>,
    /// The command as text, without a wrapper; `parse`.
    pub(crate) source: String,
    /// The command, read; `parse`.
    pub(crate) command: Option<Command>,
    /// Its steps with their prompts; `resolve`, then `bind`.
    pub(crate) stages: Vec<Staged>,
    /// What holds for the whole command; `resolve`.
    pub(crate) marks: Marks,
    /// The run; `plan`, or `load` if it had begun before.
    pub(crate) run: Option<Run>,
    /// Whether it is only looked at what the command would do: then its arguments are not.
    pub(crate) outlined: bool,
    /// Whether what the caller brought was taken in; `capture`.
    pub(crate) captured: bool,
    /// Whether it has begun before this call.
    pub(crate) begun_before: bool,
    /// What the run will do; likewise.
    pub(crate) plan: Arc<Plan>,
    /// Where it stands; likewise, and every stage after it.
    pub(crate) state: State,
    /// What is to be kept.
    pub(crate) changes: Vec<Change>,
    /// What is shown, step by step; `render`.
    pub(crate) shown: Vec<Shown>,
    /// The answer.
    pub(crate) reply: Reply,
}

/// A stage of the command.
#[derive(Debug, Clone)]
pub(crate) struct Staged {
    /// Whether sub-agents should do it.
    pub(crate) delegated: bool,
    /// What decides which of the two is done; without it, the first.
    pub(crate) condition: Option<String>,
    /// Steps that are done side by side.
    pub(crate) then: Vec<Bound>,
    /// Those that are done otherwise.
    pub(crate) otherwise: Vec<Bound>,
}

/// A step of the command.
#[derive(Debug, Clone)]
pub(crate) struct Bound {
    pub(crate) prompt: Arc<Prompt>,
    pub(crate) marks: Marks,
    /// What it was given, as it was written; then, checked.
    pub(crate) arguments: Map<String, Value>,
    /// The argument that gets the result of the step before.
    pub(crate) takes_previous: Option<String>,
    /// The step as it was written, until `bind`.
    pub(crate) written: deliberate_language::Step,
}

/// What stands before and after a step, or the whole command.
#[derive(Debug, Clone, Default)]
pub(crate) struct Marks {
    pub(crate) modifier: Option<Modifier>,
    pub(crate) methodology: Option<Arc<Methodology>>,
    pub(crate) style: Option<Arc<Style>>,
    pub(crate) gates: Vec<Inline>,
}

/// A step as it is shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shown {
    pub(crate) number: u32,
    pub(crate) name: String,
    /// What stands before the prompt.
    pub(crate) system: String,
    /// The prompt.
    pub(crate) user: String,
    /// What the gates ask for.
    pub(crate) guidance: String,
    /// How a sub-agent should do it.
    pub(crate) hand_off: String,
    /// Whether a held answer is shown instead.
    pub(crate) review: bool,
}

impl<'c> Context<'c> {
    pub(super) fn new(
        engine: &'c Engine,
        call: &'c Call,
        library: Arc<Library>,
        request: Input,
    ) -> Self {
        let plan = Arc::new(Plan::default());
        Self {
            engine,
            call,
            library,
            request,
            settings: Settings::default(),
            asked_gates: Vec::new(),
            verdict: None,
            source: String::new(),
            command: None,
            stages: Vec::new(),
            marks: Marks::default(),
            run: None,
            begun_before: false,
            captured: false,
            outlined: false,
            state: State::of(&plan),
            plan,
            changes: Vec::new(),
            shown: Vec::new(),
            reply: Reply::default(),
        }
    }

    /// Whether the server's own model is to answer.
    pub(crate) fn runs_itself(&self) -> bool {
        self.request.run == Some(true)
    }

    /// Something happened: takes it into the state and among what is to be kept.
    pub(crate) fn happened(&mut self, event: &Happened) -> Result<(), ToolError> {
        self.state.apply(&self.plan, event);
        let at_step = self.state.at_step(&self.plan);
        let now = self.call.now();
        let run = self.run.as_mut().ok_or(ToolError::Internal)?;
        run.events += 1;
        run.at_step = at_step;
        run.state = if self.state.aborted {
            RunState::Aborted
        } else if self.state.is_over() {
            RunState::Done
        } else {
            RunState::Open
        };
        self.changes.push(Change::AddRunEvent {
            event: event.to_event(&run.id, run.events, now),
            state: run.state,
            at_step,
        });
        Ok(())
    }

    /// The steps that are to be done now.
    pub(crate) fn open_steps(&self) -> Vec<Node> {
        self.state.open(&self.plan).into_iter().cloned().collect()
    }

    /// Whether what went wrong may wait until what was taken in is kept.
    pub(super) fn goes_on_after_failure(&self) -> bool {
        self.begun_before && self.captured && !self.changes.is_empty()
    }

    /// Lets the call go on with the run, after what happened so far is kept.
    pub(crate) fn go_on(&mut self) {
        let id = self.run.as_ref().map(|run| run.id.to_string());
        self.reply.next = Some(if self.runs_itself() {
            json!({ "chain_id": id, "run": true })
        } else {
            json!({ "chain_id": id })
        });
    }

    /// Tells the caller something beside the answer.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.reply.notes.push(note.into());
    }
}
