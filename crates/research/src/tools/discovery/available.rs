//! `list_available_sources`.

use std::{fmt::Write as _, sync::Arc};

use deliberate_toolkit::{About, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Lab,
    sources::SourceAbout,
    tools::shown::{only_read, reads},
};

/// `list_available_sources`.
pub(crate) struct ListAvailableSources(pub(super) Arc<Lab>);

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    /// The sources.
    sources: Vec<SourceAbout>,
}

impl Tool for ListAvailableSources {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        reads(
            "list_available_sources",
            "List available sources",
            "Where papers can be looked for",
        )
    }

    async fn run(&self, _: Input, _: &Call) -> Result<Outcome<Output>, ToolError> {
        let sources: Vec<SourceAbout> = self.0.sources().iter().map(|it| it.about()).collect();
        let mut said = String::from("# Sources\n\n");
        for source in &sources {
            let _ = write!(
                said,
                "- `{}` ({}): {}",
                source.name, source.title, source.description
            );
            match &source.key_hint {
                Some(_) if source.has_key => said.push_str(". A key is set"),
                Some(hint) => {
                    let _ = write!(said, ". No key is set: {hint}");
                }
                None => {}
            }
            said.push('\n');
        }
        said.push_str("\n`*` means all of them.\n");
        Ok(only_read(Output { said, sources }))
    }
}
