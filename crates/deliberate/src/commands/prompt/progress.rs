//! Progress of a run on standard error: one line per step, and in a terminal a spinner.

use std::{
    io::{self, Write as _},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use deliberate_toolkit::CallProgress;
use indicatif::ProgressBar;

use crate::commands::{table::one_line, terminal::at_terminal};

/// Shows progress until it is dropped.
#[derive(Clone)]
pub(super) struct ProgressDisplay {
    spinner: ProgressBar,
    last_message: Arc<Mutex<String>>,
}

impl ProgressDisplay {
    /// Starts with the name of the model.
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

    /// Prints the progress, each message once.
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
            // A reader that is gone does not matter.
            drop(writeln!(io::stderr(), "{line}"));
        });
        *last = line;
    }

    pub(super) fn finish(&self) {
        self.spinner.finish_and_clear();
    }
}

/// Adds the total: `step 2: name` of five becomes `step 2 of 5: name`.
fn with_total(message: &str, total: f64) -> String {
    match message.split_once(':') {
        Some((step, name)) => format!("{step} of {total}:{name}"),
        None => message.to_owned(),
    }
}
