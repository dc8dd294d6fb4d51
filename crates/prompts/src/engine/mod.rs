//! Runs a call through its stages, in the order of one list.
//!
//! Every stage has one job, a file of its own, and the same interface: it reads and extends the
//! [`EngineContext`] of the call and says whether the next stage follows. Each stage is timed;
//! [`CallTraces`] holds the traces of the last calls.

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

use deliberate_toolkit::{ToolContext, ToolError, ToolOutput, compute};

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

/// The state that all calls of the engine share.
pub struct Engine {
    pub(crate) live_library: Arc<LiveLibrary>,
    pub(crate) options: EngineOptions,
    pub(crate) renderer: Arc<TemplateRenderer>,
    pub(crate) runner: ProcessRunner,
    pub(crate) run_numbers: RunNumbers,
    pub(crate) traces: CallTraces,
    pub(crate) plan_cache: PlanCache,
    /// The changes of the library since the engine was created.
    pub(crate) library_changes: Arc<LibraryChangeLog>,
}

/// The next action after a stage.
pub(crate) enum StageOutcome {
    /// The next stage runs.
    Next,
    /// The reply is complete.
    Done,
}

impl Engine {
    /// Creates an engine on a library. Reads no files yet.
    pub fn new(options: EngineOptions, live_library: Arc<LiveLibrary>) -> Self {
        let library_changes = Arc::<LibraryChangeLog>::default();
        let (notes, library) = (library_changes.clone(), Arc::downgrade(&live_library));
        live_library.on_change(Box::new(move |changed| {
            let now = library.upgrade().and_then(|shelf| shelf.current());
            notes.add(changed, now.as_deref());
        }));
        Self {
            renderer: Arc::new(TemplateRenderer::new(&options.limits)),
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

    /// Compiles or renders templates on a thread of their own, because authors and callers decide how
    /// long that takes.
    pub(crate) async fn render<T: Send + 'static, E: Send + 'static>(
        &self,
        work: impl FnOnce(&TemplateRenderer) -> Result<T, E> + Send + 'static,
        explain: impl FnOnce(&E) -> ToolError,
    ) -> Result<T, ToolError> {
        let renderer = self.renderer.clone();
        let rendered = compute(move || work(&renderer)).await?;
        rendered.map_err(|error| explain(&error))
    }

    /// Runs a call through the stages.
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
            // The caller's input was processed before the failure, so it is committed first. The
            // next part of the call meets the same failure and reports it.
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
