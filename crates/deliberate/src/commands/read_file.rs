//! `deliberate read-file`: what the program starts itself with to read one file, so that a file
//! that takes too long or too much memory can be given up without harm.

use std::{ffi::OsString, process::ExitCode};

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ReadFileArgs {
    /// What the reader is told
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

pub(crate) fn run(args: &ReadFileArgs) -> ExitCode {
    deliberate_extract::child_main(&args.arguments)
}
