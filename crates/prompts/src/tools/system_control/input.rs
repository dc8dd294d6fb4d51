//! The arguments of `system_control`. All of them are declared here, and so in the schema;
//! descriptions are short, because every client pays for them.

use deliberate_core::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use strum::IntoStaticStr;

/// The arguments of `system_control`.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ControlInput {
    /// The action
    #[schemars(description = "")]
    pub action: ControlAction,
    /// list, inspect, switch, enable, disable, health, trace, reset, override, explain, clear…;
    /// a wrong one names all
    pub operation: Option<String>,
    pub show_details: Option<bool>,
    pub framework: Option<String>,
    pub reason: Option<String>,
    pub persist: Option<bool>,
    pub search_query: Option<String>,
    pub include_history: Option<bool>,
    pub confirm: Option<bool>,
    pub key: Option<String>,
    pub value: Option<String>,
    pub topic: Option<String>,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub enabled: Option<bool>,
    pub scope: Option<String>,
    pub scope_id: Option<String>,
    #[schemars(with = "Option<i64>")]
    pub expires_in_ms: Option<u64>,
    /// A chain; explain: or a command
    pub session_id: Option<String>,
    #[schemars(with = "Option<i64>")]
    pub step: Option<u32>,
    pub source: Option<String>,
    #[serde(rename = "resourceType")]
    pub resource_type: Option<String>,
    pub since: Option<String>,
    #[schemars(with = "Option<i64>")]
    pub limit: Option<u32>,
}

/// An action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
#[schemars(description = "")]
pub enum ControlAction {
    /// The state of the engine.
    Status,
    /// The active methodology.
    Framework,
    /// Gates.
    Gates,
    /// Usage.
    Analytics,
    /// The operator's settings.
    Config,
    /// Maintenance.
    Maintenance,
    /// The usage guide.
    Guide,
    /// Injected guidance.
    Injection,
    /// Chain runs.
    Session,
    /// Changes of the library.
    Changes,
}

impl ControlAction {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl ControlInput {
    /// Returns the given fields except action and operation.
    pub(super) fn given_fields(&self) -> Map<String, Value> {
        let mut given = match serde_json::to_value(self) {
            Ok(Value::Object(given)) => given,
            _ => Map::new(),
        };
        given.retain(|name, value| !value.is_null() && name != "action" && name != "operation");
        given
    }

    /// Parses `since`; a text that is not a time is an error.
    pub(super) fn parse_since(
        &self,
    ) -> Result<Option<Timestamp>, deliberate_toolkit::ArgumentIssue> {
        let Some(text) = &self.since else {
            return Ok(None);
        };
        let date = format!("{text}T00:00:00Z");
        let parsed = Timestamp::parse(text).or_else(|| Timestamp::parse(&date));
        parsed.map(Some).ok_or_else(|| {
            let rule = "must be a time such as 2026-01-31T12:00:00Z";
            deliberate_toolkit::ArgumentIssue::new("since", rule)
                .with_value(&Value::from(text.as_str()))
        })
    }
}
