//! What was switched while the engine ran, and stays so: the methodology in use, whether gates are
//! on, overrides of injection. Kept in the store, so that it survives and holds for every process.

use std::collections::BTreeMap;

use deliberate_core::Timestamp;
use deliberate_toolkit::{Call, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Options, inject::Override};

/// The names under which they are kept.
pub(crate) struct Keys {
    pub(crate) framework: &'static str,
    pub(crate) gates: &'static str,
    pub(crate) overrides: &'static str,
    pub(crate) counted_since: &'static str,
}

/// The names under which they are kept.
pub(crate) const KEYS: Keys = Keys {
    framework: "prompts.framework",
    gates: "prompts.gates",
    overrides: "prompts.overrides",
    counted_since: "prompts.counted_since",
};

/// What is switched now.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Settings {
    pub(crate) framework: Framework,
    pub(crate) gates_off: bool,
    pub(crate) overrides: Vec<Override>,
    pub(crate) counted_since: Option<Timestamp>,
}

/// The methodology in use.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Framework {
    /// Which; none if nobody switched.
    pub(crate) active: Option<String>,
    /// Whether methodologies are switched off altogether.
    pub(crate) off: bool,
    /// Since when.
    pub(crate) since: Option<Timestamp>,
    /// Why, in the words of whoever switched.
    pub(crate) reason: Option<String>,
}

impl Settings {
    /// Reads them. What can't be understood counts as not switched.
    pub(crate) async fn read(call: &Call, options: &Options) -> Result<Self, ToolError> {
        let names = [
            KEYS.framework,
            KEYS.gates,
            KEYS.overrides,
            KEYS.counted_since,
        ];
        let mut state = call.store().engine_state(&names).await?;
        let mut settings = Self {
            framework: take(&mut state, KEYS.framework).unwrap_or_default(),
            gates_off: take::<bool>(&mut state, KEYS.gates).is_some_and(|on| !on),
            overrides: take(&mut state, KEYS.overrides).unwrap_or_default(),
            counted_since: take(&mut state, KEYS.counted_since),
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

fn take<T: serde::de::DeserializeOwned>(
    state: &mut BTreeMap<String, Value>,
    key: &str,
) -> Option<T> {
    serde_json::from_value(state.remove(key)?).ok()
}
