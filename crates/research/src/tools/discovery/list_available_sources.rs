//! The `list_available_sources` tool: sources of papers and whether they can be asked now.

use std::{fmt::Write as _, sync::Arc};

use deliberate_toolkit::{Tool, ToolContext, ToolError, ToolMeta, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ResearchServices,
    sources::SourceInfo,
    tools::rendering::{read_only_meta, read_only_output},
};

/// The `list_available_sources` tool.
pub(crate) struct ListAvailableSources(pub(super) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    sources: Vec<AvailableSource>,
}

/// A source with its state.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AvailableSource {
    #[serde(flatten)]
    about: SourceInfo,
    /// Seconds until the next request, after too many
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_s: Option<u64>,
}

impl Tool for ListAvailableSources {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "list_available_sources",
            "List available sources",
            "Sources of papers, and which are rate limited",
        )
    }

    async fn run(&self, _: Input, _: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let mut sources = Vec::new();
        for source in self.0.sources() {
            let about = source.info();
            let wait = self
                .0
                .http_client()
                .cooldown(&source.rate_limit_key())
                .await;
            // Rounded up, because a request that is too early is worse than one that is late.
            let wait_s = u64::try_from(wait.as_millis().div_ceil(1_000)).unwrap_or(u64::MAX);
            sources.push(AvailableSource {
                about,
                wait_s: Some(wait_s).filter(|it| *it > 0),
            });
        }
        let lines: Vec<String> = sources.iter().map(source_line).collect();
        let said = format!("# Sources\n\n{}\n`*` means all sources.\n", lines.concat());
        Ok(read_only_output(Output { said, sources }))
    }
}

fn source_line(source: &AvailableSource) -> String {
    let about = &source.about;
    let mut line = format!(
        "- `{}` ({}): {}",
        about.name, about.title, about.description
    );
    match &about.key_hint {
        Some(_) if about.has_key => line.push_str(". A key is set"),
        Some(hint) => {
            let _ = write!(line, ". No key is set: {hint}");
        }
        None => {}
    }
    if let Some(wait) = source.wait_s {
        let _ = write!(line, ". It is rate limited; retry in {wait} s");
    }
    line.push('\n');
    line
}
