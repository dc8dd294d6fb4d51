//! `delete_custom_index`: forgets a topic and a filter; the articles stay.

use deliberate_toolkit::{About, Annotations, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::shown::{about, plain};
use crate::collect::groups::{self, CustomIndex, Named as _};

/// `delete_custom_index`.
pub(crate) struct DeleteCustomIndex;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 100))]
    index_name: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    index_name: String,
}

impl Tool for DeleteCustomIndex {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        about(
            "delete_custom_index",
            "Delete a custom index",
            "Forget a custom index; its articles stay.",
            Annotations {
                destructive: true,
                ..Annotations::MARKS
            },
        )
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let custom: CustomIndex = groups::find(call.store(), &input.index_name).await?;
        Ok(Outcome {
            changes: vec![custom.removal(call.now())],
            output: Output {
                said: format!("**{}** is deleted; its articles stay.", plain(&custom.name)),
                index_name: custom.name,
            },
            session: None,
        })
    }
}
