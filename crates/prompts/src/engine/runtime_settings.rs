//! What was switched while the engine ran, and stays so: the methodology in use, whether gates are
//! on, overrides of injection. Kept in the store, so that it survives and holds for every process.

use std::collections::BTreeMap;

use deliberate_core::Timestamp;
use deliberate_toolkit::{ToolContext, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{EngineOptions, injection::InjectionOverride};

/// The names under which they are kept.
pub(crate) struct SettingKeys {
    pub(crate) framework: &'static str,
    pub(crate) gates: &'static str,
    pub(crate) overrides: &'static str,
    pub(crate) counted_since: &'static str,
}

/// The names under which they are kept.
pub(crate) const SETTING_KEYS: SettingKeys = SettingKeys {
    framework: "prompts.framework",
    gates: "prompts.gates",
    overrides: "prompts.overrides",
    counted_since: "prompts.counted_since",
};

/// What is switched now.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RuntimeSettings {
    pub(crate) framework: MethodologySetting,
    pub(crate) gates_off: bool,
    pub(crate) overrides: Vec<InjectionOverride>,
    pub(crate) counted_since: Option<Timestamp>,
}

/// The methodology in use.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct MethodologySetting {
    /// Which; none if nobody switched.
    pub(crate) active: Option<String>,
    /// Whether methodologies are switched off altogether.
    pub(crate) off: bool,
    /// Since when.
    pub(crate) since: Option<Timestamp>,
    /// Why, in the words of whoever switched.
    pub(crate) reason: Option<String>,
}

impl RuntimeSettings {
    /// Reads them. What can't be understood counts as not switched.
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

    /// The methodology in use, unless they are switched off.
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
