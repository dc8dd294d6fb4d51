//! The `deliberate` program: command line, settings and wiring. Only this crate names concrete
//! stores and providers.

mod commands;
mod config;
mod jsonc;
mod log_queue;
mod logging;
mod providers;
mod servers;
mod telemetry;
mod wiring;

use std::{io, process::ExitCode};

use clap::Parser;

use commands::CliArgs;

fn main() -> ExitCode {
    let program = CliArgs::parse();
    let _last_log = log_queue::FlushGuard;
    match commands::run(program) {
        Ok(code) => code,
        // A closed pipe, as in `deliberate tools | head`, is no failure.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            log_queue::write_stderr(&format!("error: {error:#}\n"));
            ExitCode::from(2)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
