//! The way of a call through its stages, in an order that is written down in one place.
//!
//! Every stage has one job, a file of its own, and the same shape: it takes the [`Context`] of the
//! call, adds to it, and says whether the next one follows. Each is timed; the last calls can be
//! looked at ([`Traces`]).

mod context;
mod failure;
mod filled;
mod levels;
mod numbers;
mod planner;
mod plans;
mod recent;
mod reply;
mod request;
mod scripted;
mod settings;
mod stages;
mod submit;
mod trace;

use std::{sync::Arc, time::Instant};

use deliberate_toolkit::{Call, Outcome, ToolError};

pub(crate) use context::Context;
pub(crate) use failure::{failure, template};
pub(crate) use levels::At;
pub(crate) use recent::{Recent, Recents};
pub use reply::{GateTold, Reply};
pub use request::{Input, Verdict};
pub(crate) use settings::{Framework, KEYS, Settings};
pub(crate) use trace::Traces;
pub use trace::{Stage as TracedStage, Trace};

use crate::{Options, library::Shelf, run::Runner, template::Renderer};
use numbers::Numbers;
use plans::Plans;
use stages::STAGES;

/// What the calls of the engine share.
pub struct Engine {
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) options: Options,
    pub(crate) renderer: Renderer,
    pub(crate) runner: Runner,
    pub(crate) numbers: Numbers,
    pub(crate) traces: Traces,
    pub(crate) plans: Plans,
    /// What changed in the library since the engine was made.
    pub(crate) recent: Arc<Recents>,
}

/// What comes after a stage.
pub(crate) enum Flow {
    /// The next one.
    Next,
    /// Nothing: the answer is ready.
    Answered,
}

impl Engine {
    /// An engine on that library. Reads nothing yet.
    pub fn new(options: Options, shelf: Arc<Shelf>) -> Self {
        let recent = Arc::<Recents>::default();
        let (notes, library) = (recent.clone(), Arc::downgrade(&shelf));
        shelf.on_change(Box::new(move |changed| {
            let now = library.upgrade().and_then(|shelf| shelf.now());
            notes.add(changed, now.as_deref());
        }));
        Self {
            renderer: Renderer::new(&options.limits),
            runner: Runner::new(
                &options.commands,
                &options.scripts,
                &options.places.workspace,
            ),
            shelf,
            options,
            numbers: Numbers::default(),
            traces: Traces::default(),
            plans: Plans::default(),
            recent,
        }
    }

    /// Takes a call through the stages.
    pub(crate) async fn answer(
        &self,
        input: Input,
        call: &Call,
    ) -> Result<Outcome<Reply>, ToolError> {
        let library = self.shelf.library().await;
        let mut context = Context::new(self, call, library, input);
        let mut trace = Trace::begin(call.now(), &context.request);
        let ended = self.through_stages(&mut context, &mut trace).await;
        trace.end(&context, ended.as_ref().err());
        self.traces.keep(trace);
        match ended {
            Ok(()) => {}
            // What the caller brought was taken in before this went wrong: it is kept first. The
            // next leg meets the same trouble, and tells it.
            Err(_) if context.goes_on_after_failure() => context.go_on(),
            Err(error) => return Err(error),
        }
        Ok(Outcome {
            output: context.reply,
            changes: context.changes,
            session: None,
        })
    }

    async fn through_stages(
        &self,
        context: &mut Context<'_>,
        trace: &mut Trace,
    ) -> Result<(), ToolError> {
        for stage in STAGES {
            let begun = Instant::now();
            let flow = stage.run(context).await;
            trace.add(stage.name(), begun.elapsed());
            if matches!(flow?, Flow::Answered) {
                return Ok(());
            }
        }
        Ok(())
    }
}
