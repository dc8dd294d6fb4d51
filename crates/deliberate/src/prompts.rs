//! Settings to what the prompt engine is told, and its changes to what clients are told.

use anyhow::Context as _;
use deliberate_prompts::{Judge, Limits, Options, Places, changed_addresses, library::Changed};
use deliberate_server::Subscriptions;
use deliberate_toolkit::{Event, Listener as _};

use crate::config;

/// What the engine is told.
pub(crate) fn options(settings: &config::Prompts) -> anyhow::Result<Options> {
    let workspace = settings.workspace.clone().context(
        "this user has no data directory to keep prompts in; set `prompts.workspace`, or leave \
         `prompts` out of `tools.sets`",
    )?;
    let folders = settings.folders.clone();
    Ok(Options {
        places: Places {
            workspace,
            prompts: folders.prompts,
            gates: folders.gates,
            methodologies: folders.methodologies,
            styles: folders.styles,
            scripts: folders.scripts,
        },
        limits: Limits {
            steps: settings.steps,
            repetitions: settings.repetitions,
            runs_kept: settings.runs_kept,
            ..Limits::default()
        },
        commands: settings.commands.clone(),
        scripts: settings.scripts.clone(),
        judge: match settings.judge {
            config::Judge::Client => Judge::Client,
            config::Judge::Model => Judge::Model,
        },
        methodology: settings.methodology.clone(),
        in_menu: settings.in_menu,
    })
}

/// Tells clients what is different for them.
pub(crate) fn tell(changed: &Changed, subscriptions: &Subscriptions) {
    if changed.menu {
        subscriptions.prompts_changed();
    }
    let touched = changed_addresses(changed);
    if !touched.is_empty() {
        subscriptions.hear(Event::Touched(&touched));
    }
}
