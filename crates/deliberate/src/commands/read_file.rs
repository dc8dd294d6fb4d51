//! `deliberate read-file`: the program starts itself with this command to read one file, so that a
//! file that needs too much time or memory can be given up safely.

use std::{ffi::OsString, process::ExitCode};

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ReadFileArgs {
    /// Arguments for the reader
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

pub(crate) fn run(args: &ReadFileArgs) -> ExitCode {
    deliberate_extract::child_main(&args.arguments)
}
