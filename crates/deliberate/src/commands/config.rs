//! `deliberate config`: shows the settings, a sample file or the reference page.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::{CommandContext, table::table};
use crate::config::{reference_markdown, sample_toml};

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// Print JSON
    #[arg(long, conflicts_with_all = ["sample", "reference"])]
    json: bool,
    /// Print a commented settings file to start from
    #[arg(long)]
    sample: bool,
    /// Print the reference of all settings as Markdown
    #[arg(long, conflicts_with = "sample")]
    reference: bool,
}

pub(crate) fn run(args: &ConfigArgs, shell: &mut CommandContext<'_>) -> anyhow::Result<ExitCode> {
    let output = &mut *shell.output;
    let loaded = shell.loaded;
    if args.sample {
        write!(output, "{}", sample_toml())?;
    } else if args.reference {
        write!(output, "{}", reference_markdown())?;
    } else if args.json {
        let entries: Vec<_> = loaded
            .entries
            .iter()
            .map(|entry| {
                json!({
                    "key": entry.key,
                    "value": entry.display_value,
                    "origin": entry.origin.to_string(),
                })
            })
            .collect();
        writeln!(output, "{}", serde_json::to_string_pretty(&entries)?)?;
    } else {
        let mut rows = table(&["setting", "value", "from"]);
        for entry in &loaded.entries {
            rows.add_row([
                entry.key.to_owned(),
                entry.display_value.clone(),
                entry.origin.to_string(),
            ]);
        }
        writeln!(output, "{rows}")?;
        match &loaded.file {
            Some(file) => writeln!(output, "\nRead from {}.", file.display())?,
            None => writeln!(
                output,
                "\nThere is no settings file; `--sample` prints one to start from."
            )?,
        }
    }
    Ok(ExitCode::SUCCESS)
}
