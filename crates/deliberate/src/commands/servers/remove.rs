//! `deliberate servers remove`.

use std::process::ExitCode;

use anyhow::bail;
use clap::Args;

use super::{file::ServersFile, find};
use crate::{
    commands::Shell,
    servers::{Catalogue, Place},
};

#[derive(Debug, Args)]
pub(super) struct RemoveArgs {
    /// Its name
    name: String,
}

pub(super) fn run(args: &RemoveArgs, shell: &mut Shell<'_>) -> anyhow::Result<ExitCode> {
    let name = args.name.as_str();
    let mut file = ServersFile::open(&shell.loaded.settings)?;
    if !file.has(name) {
        let catalogue = Catalogue::read(shell.loaded);
        let known = find(&catalogue, name)?;
        match &known.place {
            Place::Imported(path) => bail!(
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
    if let Some(known) = Catalogue::read(shell.loaded).get(name) {
        writeln!(
            shell.output,
            "There is still one of that name in {}, which counts now.",
            known.place
        )?;
    }
    Ok(ExitCode::SUCCESS)
}
