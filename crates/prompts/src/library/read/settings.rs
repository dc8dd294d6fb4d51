//! The workspace's own settings: `engine.yaml`, and of an older `config.json` the two settings
//! that have a meaning here.

use std::sync::Arc;

use serde_json::Value;

use super::json_place;
use crate::{
    library::{
        InjectionConfig, Weight,
        sheet::{Desk, Sheet},
        unit::{Item, Unit},
    },
    model::{Frequency, FrequencyMode, InjectionRules, Kind, Rule},
};

/// Where settings may stand; what comes later decides.
pub(crate) const FILES: [&str; 3] = ["config.json", "resources/engine.yaml", "engine.yaml"];

/// What `engine.yaml` may say.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct EngineFile {
    injection: InjectionConfig,
}

pub(super) fn read(desk: Desk<'_>, path: &str, unit: &mut Unit) {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    if file == "config.json" {
        let mut sheet = Sheet::plain(desk, Kind::Prompt, "config", folder, file);
        let item = sheet.is_good().then(|| config(&mut sheet)).flatten();
        unit.take(sheet, item);
    } else {
        let mut sheet = Sheet::open(desk, Kind::Prompt, "engine", folder, file);
        let item = sheet
            .is_good()
            .then(|| sheet.typed::<EngineFile>())
            .flatten()
            .map(|said| Item::Injection(Arc::new(said.injection)));
        unit.take(sheet, item);
    }
}

fn config(sheet: &mut Sheet<'_>) -> Option<Item> {
    let said: Value = match serde_json::from_str(&sheet.source) {
        Ok(said) => said,
        Err(error) => {
            sheet.error(
                Some(json_place(&error)),
                "The JSON can't be read; none of its settings are used.".to_owned(),
                Some("Check commas, quotes and brackets at this place.".to_owned()),
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
            Some(Ok(steps)) => global.system_prompt = Some(every(steps)),
            _ => sheet.put(
                Weight::Warning,
                sheet.shown(&sheet.file),
                None,
                "`systemPromptFrequency` is no number of steps and is not used.".to_owned(),
                Some("Write a whole number; 0 means never.".to_owned()),
            ),
        },
    }
    if setting("styleGuidance") == Some(&Value::Bool(false)) {
        global.style_guidance = Some(Rule {
            enabled: Some(false),
            ..Rule::default()
        });
    }
    Some(Item::Injection(Arc::new(InjectionConfig {
        global,
        ..InjectionConfig::default()
    })))
}

fn every(steps: u32) -> Rule {
    let frequency = if steps == 0 {
        Frequency {
            mode: FrequencyMode::Never,
            interval: None,
        }
    } else {
        Frequency {
            mode: FrequencyMode::Every,
            interval: Some(steps),
        }
    };
    Rule {
        frequency: Some(frequency),
        ..Rule::default()
    }
}
