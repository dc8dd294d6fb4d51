//! The arguments of a call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::chain::GateAction;

/// The arguments of `prompt_engine`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// `>>id text` or `>>id name:"value"`; `-->` next step, `+` in parallel, `? "cond" : >>id`,
    /// `:: "criterion"` or `:: gate-id`, `@METHOD`, `#style`, `* N`, `%clean`. `list`, `help`,
    /// `status` answer at once.
    #[schemars(length(min = 1))]
    pub command: Option<String>,
    /// The run to continue
    pub chain_id: Option<String>,
    /// The step that `user_response` answers; makes a repeated call harmless
    #[schemars(range(min = 1))]
    pub step: Option<u32>,
    /// Your answer to the step
    #[schemars(length(min = 1))]
    pub user_response: Option<String>,
    /// `PASS - why` or `FAIL - why`, or per criterion
    pub gate_verdict: Option<GateVerdictInput>,
    /// The action on a held step
    pub gate_action: Option<GateAction>,
    /// Gate ids, criteria in words, or gates; `-id` vetoes one
    #[schemars(length(max = 100))]
    #[schemars(with = "Option<Vec<Value>>")]
    pub gates: Option<Vec<Value>>,
    /// Start a new run
    pub force_restart: Option<bool>,
    /// Arguments that the command does not give
    pub options: Option<Map<String, Value>>,
    /// Let the server's model answer the steps
    pub run: Option<bool>,
}

/// A verdict as it was sent.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(transparent)]
pub struct GateVerdictInput(pub Value);

impl JsonSchema for GateVerdictInput {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Verdict".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["string", "object"] })
    }
}
