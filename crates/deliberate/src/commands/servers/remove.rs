//! `deliberate servers remove`.

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
    /// Its name
    name: String,
}

pub(super) fn run(args: &RemoveArgs, shell: &mut CommandContext<'_>) -> anyhow::Result<ExitCode> {
    let name = args.name.as_str();
    let mut file = ServersFile::open(&shell.loaded.settings)?;
    if !file.has(name) {
        let catalogue = ServerCatalog::read(shell.loaded);
        let known = find_server(&catalogue, name)?;
        match &known.source {
            DefinitionSource::Imported(path) => bail!(
                "{name:?} is written in {}, which is another client's; remove it there, or take \
                 the file out of `gateway.import`",
                path.display()
            ),
            place => bail!("{name:?} is written in {place}; remove it there"),
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
            "There is still one of that name in {}, which counts now.",
            known.source
        )?;
    }
    Ok(ExitCode::SUCCESS)
}
