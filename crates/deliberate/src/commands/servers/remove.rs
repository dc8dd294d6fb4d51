//! `deliberate servers remove`: removes a server that was added.

use std::process::ExitCode;

use anyhow::bail;
use clap::Args;

use super::{file::ServersFile, find_server};
use crate::{
    commands::CommandContext,
    servers::{DefinitionSource, ServerCatalog},
};

#[derive(Debug, Args)]
pub(super) struct RemoveArgs {
    /// Name of the server
    name: String,
}

pub(super) fn run(args: &RemoveArgs, shell: &mut CommandContext<'_>) -> anyhow::Result<ExitCode> {
    let name = args.name.as_str();
    let file = ServersFile::open(&shell.loaded.settings)?;
    if !file.has(name) {
        let catalogue = ServerCatalog::read(shell.loaded);
        let known = find_server(&catalogue, name)?;
        match &known.source {
            DefinitionSource::Imported(path) => bail!(
                "{name:?} is defined in {}, which belongs to another client; remove it there, or remove \
                 the file from `gateway.import`",
                path.display()
            ),
            source => bail!("{name:?} is defined in {source}; remove it there"),
        }
    }
    file.remove(name);
    file.write()?;
    writeln!(
        shell.output,
        "Removed {name:?} from {}.",
        file.path().display()
    )?;
    if let Some(known) = ServerCatalog::read(shell.loaded).get(name) {
        writeln!(
            shell.output,
            "Another server of that name is defined in {} and is used now.",
            known.source
        )?;
    }
    Ok(ExitCode::SUCCESS)
}
