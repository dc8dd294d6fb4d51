//! The way of a call through its stages, in an order that is written down in one place.
//!
//! Every stage has one job, a file of its own, and the same shape: it takes the [`EngineContext`] of the
//! call, adds to it, and says whether the next one follows. Each is timed; the last calls can be
//! looked at ([`CallTraces`]).

pub(crate) mod cache;
mod context;
mod errors;
mod injection_inputs;
mod planner;
mod reply;
mod request;
mod review_answer;
mod run_numbers;
mod runtime_settings;
mod script_tools;
mod stages;
mod value_templates;

use std::{sync::Arc, time::Instant};

use deliberate_toolkit::{ToolContext, ToolError, ToolOutput};

pub use cache::call_traces::{CallTrace, StageTiming as TracedStage};
pub(crate) use cache::{
    call_traces::CallTraces,
    library_change_log::{LibraryChange, LibraryChangeLog},
};
pub(crate) use context::EngineContext;
pub(crate) use errors::{engine_error, template_error};
pub(crate) use injection_inputs::InjectionInputs;
pub use reply::{AppliedGate, EngineReply};
pub use request::{GateVerdictInput, Input};
pub(crate) use runtime_settings::{MethodologySetting, RuntimeSettings, SETTING_KEYS};

use super::process::ProcessRunner;
use crate::{EngineOptions, library::LiveLibrary, template::TemplateRenderer};
use cache::plan_cache::PlanCache;
use run_numbers::RunNumbers;
use stages::STAGES;

/// What the calls of the engine share.
pub struct Engine {
    pub(crate) live_library: Arc<LiveLibrary>,
    pub(crate) options: EngineOptions,
    pub(crate) renderer: TemplateRenderer,
    pub(crate) runner: ProcessRunner,
    pub(crate) run_numbers: RunNumbers,
    pub(crate) traces: CallTraces,
    pub(crate) plan_cache: PlanCache,
    /// What changed in the library since the engine was made.
    pub(crate) library_changes: Arc<LibraryChangeLog>,
}

/// What comes after a stage.
pub(crate) enum StageOutcome {
    /// The next one.
    Next,
    /// Nothing: the answer is ready.
    Done,
}

impl Engine {
    /// An engine on that library. Reads nothing yet.
    pub fn new(options: EngineOptions, live_library: Arc<LiveLibrary>) -> Self {
        let library_changes = Arc::<LibraryChangeLog>::default();
        let (notes, library) = (library_changes.clone(), Arc::downgrade(&live_library));
        live_library.on_change(Box::new(move |changed| {
            let now = library.upgrade().and_then(|shelf| shelf.current());
            notes.add(changed, now.as_deref());
        }));
        Self {
            renderer: TemplateRenderer::new(&options.limits),
            runner: ProcessRunner::new(
                &options.commands,
                &options.scripts,
                &options.paths.workspace,
            ),
            live_library,
            options,
            run_numbers: RunNumbers::default(),
            traces: CallTraces::default(),
            plan_cache: PlanCache::default(),
            library_changes,
        }
    }

    /// Takes a call through the stages.
    pub(crate) async fn handle_call(
        &self,
        input: Input,
        call: &ToolContext,
    ) -> Result<ToolOutput<EngineReply>, ToolError> {
        let library = self.live_library.library().await;
        let mut context = EngineContext::new(self, call, library, input);
        let mut trace = CallTrace::start(call.now(), &context.request);
        let ended = self.run_stages(&mut context, &mut trace).await;
        trace.finish(&context, ended.as_ref().err());
        self.traces.add(trace);
        match ended {
            Ok(()) => {}
            // What the caller brought was taken in before this went wrong: it is kept first. The
            // next leg meets the same trouble, and tells it.
            Err(_) if context.continues_after_failure() => context.schedule_next_call(),
            Err(error) => return Err(error),
        }
        Ok(ToolOutput {
            output: context.reply,
            changes: context.changes,
            session: None,
        })
    }

    async fn run_stages(
        &self,
        context: &mut EngineContext<'_>,
        trace: &mut CallTrace,
    ) -> Result<(), ToolError> {
        for stage in STAGES {
            let begun = Instant::now();
            let flow = stage.run(context).await;
            trace.add(stage.name(), begun.elapsed());
            if matches!(flow?, StageOutcome::Done) {
                return Ok(());
            }
        }
        Ok(())
    }
}
