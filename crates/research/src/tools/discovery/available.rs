//! `list_available_sources`.

use std::{fmt::Write as _, sync::Arc};

use deliberate_toolkit::{About, Annotations, Call, Limits, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Lab, sources::SourceAbout};

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
        About {
            name: "list_available_sources",
            title: "List available sources",
            description: "Where papers can be looked for",
            annotations: Annotations::READS,
            thinks: false,
            limits: Limits::default(),
        }
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
            if let (false, Some(hint)) = (source.has_key, &source.key_hint) {
                let _ = write!(said, " {hint}");
            }
            said.push('\n');
        }
        said.push_str("\n`*` means all of them.\n");
        Ok(Outcome {
            output: Output { said, sources },
            changes: Vec::new(),
            session: None,
        })
    }
}
