//! What a call tells whoever watches it: how far it has come, and that it still runs.

use std::sync::PoisonError;

use crate::{Call, Event, Progress, Running};

/// The progress told so far.
#[derive(Clone, Default)]
pub(super) struct Said {
    done: f64,
    total: Option<f64>,
    message: String,
}

/// How much a sign of life adds to the progress: it must grow, and must not look like work.
const SIGN_OF_LIFE: f64 = 0.001;

impl Call {
    /// Tells the client how far the call has come.
    pub fn progress(&self, done: f64, total: Option<f64>, message: &str) {
        let update = {
            let mut said = self
                .whole
                .said
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            said.done = done.max(said.done + SIGN_OF_LIFE);
            said.total = total;
            message.clone_into(&mut said.message);
            self.whole.scene.doing.say(message);
            said.update()
        };
        self.tell(update);
    }

    fn tell(&self, update: Progress) {
        let running = Running {
            id: self.whole.scene.number,
            tool: self.whole.scene.tool,
            principal: &self.whole.scene.caller.principal,
        };
        self.whole
            .scene
            .listeners
            .tell(Event::Progressed(&running, &update));
        if let Some(hears) = &self.whole.scene.caller.progress {
            hears(update);
        }
    }

    /// Tells the client that the call still runs, so that it does not give up.
    pub(crate) fn sign_of_life(&self) {
        let update = {
            let mut said = self
                .whole
                .said
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            said.done += SIGN_OF_LIFE;
            if said.message.is_empty() {
                "working".clone_into(&mut said.message);
            }
            said.update()
        };
        self.tell(update);
    }
}

impl Said {
    fn update(&self) -> Progress {
        // Sums of small numbers end in many digits that say nothing.
        Progress {
            done: (self.done * 1e6).round() / 1e6,
            total: self.total,
            message: self.message.clone(),
        }
    }
}
