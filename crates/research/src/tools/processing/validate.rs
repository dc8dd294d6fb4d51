//! The `validate_pdf_sources` tool: asks each source of PDFs for a paper that is known to be open.

use std::sync::Arc;

use deliberate_core::{Article, ArxivId, Doi};
use deliberate_toolkit::{
    ArgumentIssue, Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::lookup_line;
use crate::{
    ResearchServices,
    pdf_locator::{SourceLookup, normalize_source_name},
    tools::rendering::{read_only_output, tool_meta},
};

/// An open paper that all sources know.
const SAMPLE_DOI: &str = "10.1371/journal.pone.0029797";
const SAMPLE_ARXIV: &str = "1706.03762";

/// The `validate_pdf_sources` tool.
pub(crate) struct ValidatePdfSources(pub(crate) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    source_name: Option<String>,
    /// false: only list the sources
    #[serde(default = "yes")]
    test_sample: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    sources: Vec<String>,
    asked: Vec<SourceLookup>,
}

impl Tool for ValidatePdfSources {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "validate_pdf_sources",
            "Check sources of PDFs",
            "Ask each source of PDFs for a paper that is known to be open, and report the result.",
            ToolHints {
                open_world: true,
                ..ToolHints::READ_ONLY
            },
        )
    }

    fn may_run_in_background(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, _: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let locator = self.0.locator();
        let mut sources = locator.source_names();
        if let Some(name) = &input.source_name {
            let wanted = normalize_source_name(name);
            if !sources.iter().any(|it| normalize_source_name(it) == wanted) {
                let rule = format!(
                    "is not a source of PDFs; the sources are {}",
                    sources.join(", ")
                );
                let issue =
                    ArgumentIssue::new("source_name", rule).with_value(&name.as_str().into());
                return Err(ToolError::Invalid(vec![issue]));
            }
            sources.retain(|it| normalize_source_name(it) == wanted);
        }
        let mut asked = Vec::new();
        if input.test_sample {
            let sample = Article {
                doi: Doi::parse(SAMPLE_DOI),
                arxiv_id: ArxivId::parse(SAMPLE_ARXIV),
                ..Article::default()
            };
            asked = locator.locate(&sample).await.asked;
        }
        asked.retain(|it| sources.contains(&it.source));
        let lines: Vec<String> = asked
            .iter()
            .map(|it| format!("- {}", lookup_line(it)))
            .collect();
        let said = if lines.is_empty() {
            format!("Sources of PDFs: {}.", sources.join(", "))
        } else {
            format!("Asked for one open paper:\n\n{}", lines.join("\n"))
        };
        Ok(read_only_output(Output {
            said,
            sources,
            asked,
        }))
    }
}
