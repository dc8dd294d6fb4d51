//! Converts settings to the options of the prompt engine, and forwards its changes to clients.

use anyhow::Context as _;
use deliberate_prompts::{
    EngineLimits, EngineOptions, GateJudgeKind, LibraryPaths, library::LibraryDiff,
    library_resource_changes,
};
use deliberate_server::Subscriptions;
use deliberate_toolkit::{CallEvent, CallListener as _};

use crate::config;

pub(crate) fn options(settings: &config::PromptSettings) -> anyhow::Result<EngineOptions> {
    let workspace = settings.workspace.clone().context(
        "this user has no data directory for prompts; set `prompts.workspace`, or remove \
         `prompts` from `tools.sets`",
    )?;
    let folders = settings.folders.clone();
    Ok(EngineOptions {
        paths: LibraryPaths {
            workspace,
            prompts: folders.prompts,
            gates: folders.gates,
            methodologies: folders.methodologies,
            styles: folders.styles,
            scripts: folders.scripts,
        },
        limits: EngineLimits {
            steps: settings.steps,
            repetitions: settings.repetitions,
            max_runs: settings.runs_kept,
            ..EngineLimits::default()
        },
        commands: settings.commands.clone(),
        scripts: settings.scripts.clone(),
        caller_scripts: settings.caller_scripts,
        judge: match settings.judge {
            config::JudgeSetting::Client => GateJudgeKind::Client,
            config::JudgeSetting::Model => GateJudgeKind::Model,
        },
        methodology: settings.methodology.clone(),
        list_prompts: settings.in_menu,
    })
}

/// Notifies clients of what has changed for them.
pub(crate) fn notify_clients(changed: &LibraryDiff, subscriptions: &Subscriptions) {
    if changed.prompt_list {
        subscriptions.prompts_changed();
    }
    let touched = library_resource_changes(changed);
    if !touched.is_empty() {
        subscriptions.on_event(CallEvent::ResourcesChanged(&touched));
    }
}
