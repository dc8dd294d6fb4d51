//! How far a run has come, on standard error: a line a step, and at a terminal a sign of life.

use std::{
    io::{self, Write as _},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use deliberate_toolkit::CallProgress;
use indicatif::ProgressBar;

use crate::commands::{table::one_line, terminal::at_terminal};

/// Shows progress until it is ended.
#[derive(Clone)]
pub(super) struct ProgressDisplay {
    spinner: ProgressBar,
    last_message: Arc<Mutex<String>>,
}

impl ProgressDisplay {
    /// Begins with who is asked.
    pub(super) fn new(asked: &str) -> Self {
        let spinner = if at_terminal() {
            let spinner = ProgressBar::new_spinner().with_message(format!("asking {asked}"));
            spinner.enable_steady_tick(Duration::from_millis(100));
            spinner
        } else {
            ProgressBar::hidden()
        };
        Self {
            spinner,
            last_message: Arc::default(),
        }
    }

    /// Tells how far it is. The same is told once.
    pub(super) fn update(&self, progress: &CallProgress) {
        if !progress.message.starts_with("step ") {
            return;
        }
        let line = match progress.total {
            Some(total) => with_total(&progress.message, total),
            None => progress.message.clone(),
        };
        let line = one_line(&line, 120);
        let mut last = self
            .last_message
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if *last == line {
            return;
        }
        self.spinner.suspend(|| {
            // Who does not read it does not miss it.
            drop(writeln!(io::stderr(), "{line}"));
        });
        *last = line;
    }

    pub(super) fn finish(&self) {
        self.spinner.finish_and_clear();
    }
}

/// `step 2: name` of five as `step 2 of 5: name`.
fn with_total(message: &str, total: f64) -> String {
    match message.split_once(':') {
        Some((step, name)) => format!("{step} of {total}:{name}"),
        None => message.to_owned(),
    }
}
