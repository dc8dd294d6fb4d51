//! What a call carries from stage to stage. Each field says which stage fills it.

use std::sync::Arc;

use deliberate_command_language::{CommandModifier, CommandTree};
use deliberate_core::{ChainRun, ChainState, Change};
use deliberate_toolkit::{ToolContext, ToolError};
use serde_json::{Map, Value, json};

use super::{Engine, EngineReply, Input, RuntimeSettings};
use crate::{
    chain::{ChainPlan, ChainProgress, ChainRunEvent, PlannedStep},
    gate::{GateParameter, GateVerdict, InlineGateSpec},
    library::PromptLibrary,
    model::{Methodology, Prompt, ResponseStyle},
};

/// What a call carries.
pub(crate) struct EngineContext<'c> {
    pub(crate) engine: &'c Engine,
    pub(crate) call: &'c ToolContext,
    /// The library as it was when the call came.
    pub(crate) library: Arc<PromptLibrary>,
    /// What was asked.
    pub(crate) request: Input,
    /// What is switched; `settings`.
    pub(crate) settings: RuntimeSettings,
    /// The `gates` parameter; `normalize`.
    pub(crate) gate_parameters: Vec<GateParameter>,
    /// The verdict; `normalize`.
    pub(crate) verdict: Option<GateVerdict>,
    /// The command as text, without a wrapper; `parse`.
    pub(crate) source: String,
    /// The command, read; `parse`.
    pub(crate) command: Option<CommandTree>,
    /// Its steps with their prompts; `resolve`, then `bind`.
    pub(crate) stages: Vec<ResolvedStage>,
    /// What holds for the whole command; `resolve`.
    pub(crate) annotations: ResolvedAnnotations,
    /// The run; `plan`, or `load` if it had begun before.
    pub(crate) run: Option<ChainRun>,
    /// Whether it is only looked at what the command would do: then its arguments are not.
    pub(crate) outline_only: bool,
    /// Whether what the caller brought was taken in; `capture`.
    pub(crate) input_accepted: bool,
    /// Whether it has begun before this call.
    pub(crate) resumed: bool,
    /// What the run will do; likewise.
    pub(crate) plan: Arc<ChainPlan>,
    /// Where it stands; likewise, and every stage after it.
    pub(crate) state: ChainProgress,
    /// What is to be kept.
    pub(crate) changes: Vec<Change>,
    /// What is shown, step by step; `render`.
    pub(crate) rendered: Vec<RenderedStep>,
    /// The answer.
    pub(crate) reply: EngineReply,
}

/// A stage of the command.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedStage {
    /// Whether sub-agents should do it.
    pub(crate) delegated: bool,
    /// What decides which of the two is done; without it, the first.
    pub(crate) condition: Option<String>,
    /// Steps that are done side by side.
    pub(crate) then: Vec<ResolvedStep>,
    /// Those that are done otherwise.
    pub(crate) otherwise: Vec<ResolvedStep>,
}

/// A step of the command.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedStep {
    pub(crate) prompt: Arc<Prompt>,
    pub(crate) annotations: ResolvedAnnotations,
    /// What it was given, as it was written; then, checked.
    pub(crate) arguments: Map<String, Value>,
    /// The argument that gets the result of the step before.
    pub(crate) previous_result_argument: Option<String>,
    /// The step as it was written, until `bind`.
    pub(crate) command_step: deliberate_command_language::CommandStep,
}

/// What stands before and after a step, or the whole command.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResolvedAnnotations {
    pub(crate) modifier: Option<CommandModifier>,
    pub(crate) methodology: Option<Arc<Methodology>>,
    pub(crate) style: Option<Arc<ResponseStyle>>,
    pub(crate) gates: Vec<InlineGateSpec>,
}

/// A step as it is shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct RenderedStep {
    pub(crate) number: u32,
    pub(crate) name: String,
    /// What stands before the prompt.
    pub(crate) system: String,
    /// The prompt.
    pub(crate) user: String,
    /// What the gates ask for.
    pub(crate) guidance: String,
    /// How a sub-agent should do it.
    pub(crate) delegation_note: String,
    /// Whether a held answer is shown instead.
    pub(crate) review: bool,
}

impl<'c> EngineContext<'c> {
    pub(super) fn new(
        engine: &'c Engine,
        call: &'c ToolContext,
        library: Arc<PromptLibrary>,
        request: Input,
    ) -> Self {
        let plan = Arc::new(ChainPlan::default());
        Self {
            engine,
            call,
            library,
            request,
            settings: RuntimeSettings::default(),
            gate_parameters: Vec::new(),
            verdict: None,
            source: String::new(),
            command: None,
            stages: Vec::new(),
            annotations: ResolvedAnnotations::default(),
            run: None,
            resumed: false,
            input_accepted: false,
            outline_only: false,
            state: ChainProgress::new(&plan),
            plan,
            changes: Vec::new(),
            rendered: Vec::new(),
            reply: EngineReply::default(),
        }
    }

    /// Whether the server's own model is to answer.
    pub(crate) fn uses_server_model(&self) -> bool {
        self.request.run == Some(true)
    }

    /// Something happened: takes it into the state and among what is to be kept.
    pub(crate) fn record_event(&mut self, event: &ChainRunEvent) -> Result<(), ToolError> {
        self.state.apply(&self.plan, event);
        let at_step = self.state.current_step(&self.plan);
        let now = self.call.now();
        let run = self.run.as_mut().ok_or(ToolError::Internal)?;
        run.events += 1;
        run.at_step = at_step;
        run.state = if self.state.aborted {
            ChainState::Aborted
        } else if self.state.is_finished() {
            ChainState::Done
        } else {
            ChainState::Open
        };
        self.changes.push(Change::AddRunEvent {
            event: event.to_row(&run.id, run.events, now),
            state: run.state,
            at_step,
        });
        Ok(())
    }

    /// The steps that are to be done now.
    pub(crate) fn open_steps(&self) -> Vec<PlannedStep> {
        self.state
            .open_steps(&self.plan)
            .into_iter()
            .cloned()
            .collect()
    }

    /// Whether what went wrong may wait until what was taken in is kept.
    pub(super) fn continues_after_failure(&self) -> bool {
        self.resumed && self.input_accepted && !self.changes.is_empty()
    }

    /// Lets the call go on with the run, after what happened so far is kept.
    pub(crate) fn schedule_next_call(&mut self) {
        let id = self.run.as_ref().map(|run| run.id.to_string());
        self.reply.next = Some(if self.uses_server_model() {
            json!({ "chain_id": id, "run": true })
        } else {
            json!({ "chain_id": id })
        });
    }

    /// Tells the caller something beside the answer.
    pub(crate) fn add_note(&mut self, note: impl Into<String>) {
        self.reply.notes.push(note.into());
    }
}
