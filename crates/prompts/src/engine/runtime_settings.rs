//! Settings that are changed at run time: the active methodology, whether gates are enabled,
//! injection overrides. They are kept in the store, so they survive a restart and apply to every
//! process.

use std::collections::BTreeMap;

use deliberate_core::Timestamp;
use deliberate_toolkit::{ToolContext, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{EngineOptions, injection::InjectionOverride};

/// The keys of the settings in the store.
pub(crate) struct SettingKeys {
    pub(crate) framework: &'static str,
    pub(crate) gates: &'static str,
    pub(crate) overrides: &'static str,
    pub(crate) counted_since: &'static str,
}

/// The keys of the settings in the store.
pub(crate) const SETTING_KEYS: SettingKeys = SettingKeys {
    framework: "prompts.framework",
    gates: "prompts.gates",
    overrides: "prompts.overrides",
    counted_since: "prompts.counted_since",
};

/// The current run-time settings.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RuntimeSettings {
    pub(crate) framework: MethodologySetting,
    pub(crate) gates_off: bool,
    pub(crate) overrides: Vec<InjectionOverride>,
    pub(crate) counted_since: Option<Timestamp>,
}

/// The active methodology.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct MethodologySetting {
    /// The id of the methodology; `None` if none was chosen.
    pub(crate) active: Option<String>,
    /// Whether methodologies are disabled.
    pub(crate) off: bool,
    /// The time of the last change.
    pub(crate) since: Option<Timestamp>,
    /// The reason given for the last change.
    pub(crate) reason: Option<String>,
}

impl RuntimeSettings {
    /// Reads the settings. A value that cannot be parsed counts as not set.
    pub(crate) async fn read(
        call: &ToolContext,
        options: &EngineOptions,
    ) -> Result<Self, ToolError> {
        let names = [
            SETTING_KEYS.framework,
            SETTING_KEYS.gates,
            SETTING_KEYS.overrides,
            SETTING_KEYS.counted_since,
        ];
        let mut state = call.store().settings(&names).await?;
        let mut settings = Self {
            framework: take_setting(&mut state, SETTING_KEYS.framework).unwrap_or_default(),
            gates_off: take_setting::<bool>(&mut state, SETTING_KEYS.gates).is_some_and(|on| !on),
            overrides: take_setting(&mut state, SETTING_KEYS.overrides).unwrap_or_default(),
            counted_since: take_setting(&mut state, SETTING_KEYS.counted_since),
        };
        let now = call.now();
        settings
            .overrides
            .retain(|it| it.expires_at.is_none_or(|until| until > now));
        if settings.framework.active.is_none() {
            settings.framework.active.clone_from(&options.methodology);
        }
        Ok(settings)
    }

    /// Returns the active methodology, unless methodologies are disabled.
    pub(crate) fn methodology(&self) -> Option<&str> {
        let active = self.framework.active.as_deref();
        active.filter(|_| !self.framework.off)
    }
}

fn take_setting<T: serde::de::DeserializeOwned>(
    state: &mut BTreeMap<String, Value>,
    key: &str,
) -> Option<T> {
    serde_json::from_value(state.remove(key)?).ok()
}
