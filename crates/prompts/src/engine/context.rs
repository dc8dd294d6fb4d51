//! The state that a call carries from stage to stage. Each field names the stage that fills it, by
//! the stage's trace name.

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

/// The state of one call.
pub(crate) struct EngineContext<'c> {
    pub(crate) engine: &'c Engine,
    pub(crate) call: &'c ToolContext,
    /// The library as it was when the call began.
    pub(crate) library: Arc<PromptLibrary>,
    /// The request.
    pub(crate) request: Input,
    /// The run-time settings; filled by `settings`.
    pub(crate) settings: RuntimeSettings,
    /// The `gates` parameter; filled by `normalize`.
    pub(crate) gate_parameters: Vec<GateParameter>,
    /// The verdict; filled by `normalize`.
    pub(crate) verdict: Option<GateVerdict>,
    /// The command text without a wrapper; filled by `parse`.
    pub(crate) source: String,
    /// The parsed command; filled by `parse`.
    pub(crate) command: Option<CommandTree>,
    /// The stages of the command with their prompts; filled by `resolve`, then `bind`.
    pub(crate) stages: Vec<ResolvedStage>,
    /// The annotations of the whole command; filled by `resolve`.
    pub(crate) annotations: ResolvedAnnotations,
    /// The run; filled by `plan`, or by `load` if it is resumed.
    pub(crate) run: Option<ChainRun>,
    /// Whether only the plan of the command is wanted; arguments are not checked then.
    pub(crate) outline_only: bool,
    /// Whether the input of the caller was processed; filled by `capture`.
    pub(crate) input_accepted: bool,
    /// Whether the run began before this call.
    pub(crate) resumed: bool,
    /// The plan of the run; filled like `run`.
    pub(crate) plan: Arc<ChainPlan>,
    /// The progress of the run; filled like `run`, and updated by every later stage.
    pub(crate) state: ChainProgress,
    /// The changes to commit.
    pub(crate) changes: Vec<Change>,
    /// The rendered steps; filled by `render`.
    pub(crate) rendered: Vec<RenderedStep>,
    pub(crate) reply: EngineReply,
}

/// A stage of the command.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedStage {
    /// Whether sub-agents should do the steps.
    pub(crate) delegated: bool,
    /// The condition that selects `then` or `otherwise`; without one, `then` is done.
    pub(crate) condition: Option<String>,
    /// Steps that are done side by side.
    pub(crate) then: Vec<ResolvedStep>,
    /// The steps that are done if the condition does not hold.
    pub(crate) otherwise: Vec<ResolvedStep>,
}

/// A step of the command.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedStep {
    pub(crate) prompt: Arc<Prompt>,
    pub(crate) annotations: ResolvedAnnotations,
    /// The arguments, as written and, after `bind`, checked.
    pub(crate) arguments: Map<String, Value>,
    /// The argument that receives the previous result.
    pub(crate) previous_result_argument: Option<String>,
    /// The step as written, until `bind`.
    pub(crate) command_step: deliberate_command_language::CommandStep,
}

/// The annotations of a step or of the whole command.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResolvedAnnotations {
    pub(crate) modifier: Option<CommandModifier>,
    pub(crate) methodology: Option<Arc<Methodology>>,
    pub(crate) style: Option<Arc<ResponseStyle>>,
    pub(crate) gates: Vec<InlineGateSpec>,
}

/// A step as the caller sees it.
#[derive(Debug, Clone, Default)]
pub(crate) struct RenderedStep {
    pub(crate) number: u32,
    pub(crate) name: String,
    /// The text before the prompt.
    pub(crate) system: String,
    pub(crate) user: String,
    /// The guidance of the gates, or the review of a held answer.
    pub(crate) guidance: String,
    /// The instructions for a sub-agent.
    pub(crate) delegation_note: String,
    /// Whether the review of a held answer is shown.
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

    /// Returns whether the server's own model answers the steps.
    pub(crate) fn uses_server_model(&self) -> bool {
        self.request.run == Some(true)
    }

    /// Applies an event to the progress and adds it to the changes.
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

    /// Returns the steps to do now.
    pub(crate) fn open_steps(&self) -> Vec<PlannedStep> {
        self.state
            .open_steps(&self.plan)
            .into_iter()
            .cloned()
            .collect()
    }

    /// Returns whether a failure can wait until the processed input is committed.
    pub(super) fn continues_after_failure(&self) -> bool {
        self.resumed && self.input_accepted && !self.changes.is_empty()
    }

    /// Lets the call continue with the run after the changes so far are committed.
    pub(crate) fn schedule_next_call(&mut self) {
        let id = self.run.as_ref().map(|run| run.id.to_string());
        self.reply.next = Some(if self.uses_server_model() {
            json!({ "chain_id": id, "run": true })
        } else {
            json!({ "chain_id": id })
        });
    }

    /// Adds a note for the caller to the reply.
    pub(crate) fn add_note(&mut self, note: impl Into<String>) {
        self.reply.notes.push(note.into());
    }
}
