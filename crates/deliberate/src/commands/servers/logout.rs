//! `deliberate servers logout`: deletes a login, also of a server that is no longer configured.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use deliberate_mcp_client::oauth::TokenStore as _;

use super::find_server;
use crate::{commands::CommandContext, servers::ServerCatalog};

#[derive(Debug, Args)]
pub(super) struct LogoutArgs {
    /// Name of the server
    name: String,
}

pub(super) async fn run(
    args: &LogoutArgs,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    let name = args.name.as_str();
    let catalogue = ServerCatalog::read(shell.loaded);
    let tokens = catalogue.logins.token_file(name);
    let tokens = tokens.with_context(|| format!("the login at {name:?} cannot be deleted"))?;
    let was_there = tokens.exists().await;
    if !was_there {
        find_server(&catalogue, name)?;
    }
    // Also without a login, to remove the remains of an unfinished one.
    tokens.clear().await?;
    if was_there {
        writeln!(
            shell.output,
            "Logged out of {name:?}: its tokens are deleted here. The server may accept them \
             until they expire."
        )?;
    } else {
        writeln!(shell.output, "There was no login at {name:?}.")?;
    }
    Ok(ExitCode::SUCCESS)
}
