//! `deliberate servers logout`: forgets a login, also that of a server that is no longer written
//! down.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use deliberate_adapter::oauth::TokenStore as _;

use super::find_server;
use crate::{commands::CommandContext, servers::ServerCatalog};

#[derive(Debug, Args)]
pub(super) struct LogoutArgs {
    /// Its name
    name: String,
}

pub(super) async fn run(
    args: &LogoutArgs,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    let name = args.name.as_str();
    let catalogue = ServerCatalog::read(shell.loaded);
    let tokens = catalogue.logins.token_file(name);
    let tokens = tokens.with_context(|| format!("{name:?} can't be logged out of"))?;
    let was_there = tokens.exists().await;
    if !was_there {
        find_server(&catalogue, name)?;
    }
    // Even if there is no login: what is left of one that was not finished goes too.
    tokens.clear().await?;
    if was_there {
        writeln!(
            shell.output,
            "Logged out of {name:?}: its tokens are removed here. The server may let them be used \
             until they end."
        )?;
    } else {
        writeln!(shell.output, "Nobody was logged in to {name:?}.")?;
    }
    Ok(ExitCode::SUCCESS)
}
