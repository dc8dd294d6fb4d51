//! Reads the settings of the workspace: `engine.yaml`, and the two settings of a legacy
//! `config.json` that apply here.

use std::sync::Arc;

use serde_json::Value;

use super::{
    json_position,
    source_file::{LibrarySourceFile, ReadContext},
};
use crate::{
    library::{
        InjectionConfig, ProblemSeverity,
        part::{LibraryItem, LibraryPart},
    },
    model::{
        InjectionFrequency, InjectionFrequencyMode, InjectionRule, InjectionRules, LibraryItemKind,
    },
};

/// The settings files; later ones take precedence.
pub(crate) const SETTINGS_FILES: [&str; 3] =
    ["config.json", "resources/engine.yaml", "engine.yaml"];

/// The fields of `engine.yaml`.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct EngineFile {
    injection: InjectionConfig,
}

pub(super) fn read(desk: ReadContext<'_>, path: &str, unit: &mut LibraryPart) {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    if file == "config.json" {
        let mut source_file =
            LibrarySourceFile::open_plain(desk, LibraryItemKind::Prompt, "config", folder, file);
        let item = source_file
            .is_usable()
            .then(|| parse_config(&mut source_file))
            .flatten();
        unit.add_source(source_file, item);
    } else {
        let mut source_file =
            LibrarySourceFile::open(desk, LibraryItemKind::Prompt, "engine", folder, file);
        let item = source_file
            .is_usable()
            .then(|| source_file.deserialize::<EngineFile>())
            .flatten()
            .map(|engine_file| LibraryItem::Injection(Arc::new(engine_file.injection)));
        unit.add_source(source_file, item);
    }
}

fn parse_config(file: &mut LibrarySourceFile<'_>) -> Option<LibraryItem> {
    let said: Value = match serde_json::from_str(&file.source) {
        Ok(said) => said,
        Err(error) => {
            file.error(
                Some(json_position(&error)),
                "The JSON is invalid; none of its settings are used.".to_owned(),
                Some("Check the commas, quotes and brackets here.".to_owned()),
            );
            return None;
        }
    };
    let setting = |name: &str| {
        ["methodologies", "frameworks", "injection"]
            .iter()
            .find_map(|section| said.get(section)?.get(name))
    };
    let mut global = InjectionRules::default();
    match setting("systemPromptFrequency") {
        None => {}
        Some(given) => match given.as_u64().map(u32::try_from) {
            Some(Ok(steps)) => global.system_prompt = Some(every_n_steps(steps)),
            _ => file.add_problem(
                ProblemSeverity::Warning,
                file.display_path(&file.file),
                None,
                "`systemPromptFrequency` is not a number of steps and is ignored.".to_owned(),
                Some("Write a whole number; 0 means never.".to_owned()),
            ),
        },
    }
    if setting("styleGuidance") == Some(&Value::Bool(false)) {
        global.style_guidance = Some(InjectionRule {
            enabled: Some(false),
            ..InjectionRule::default()
        });
    }
    Some(LibraryItem::Injection(Arc::new(InjectionConfig {
        global,
        ..InjectionConfig::default()
    })))
}

fn every_n_steps(steps: u32) -> InjectionRule {
    let frequency = if steps == 0 {
        InjectionFrequency {
            mode: InjectionFrequencyMode::Never,
            interval: None,
        }
    } else {
        InjectionFrequency {
            mode: InjectionFrequencyMode::Every,
            interval: Some(steps),
        }
    };
    InjectionRule {
        frequency: Some(frequency),
        ..InjectionRule::default()
    }
}
