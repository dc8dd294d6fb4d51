//! `reasoning_get`: returns an entity by its id, as data, Markdown or a diagram.

use deliberate_core::SessionId;
use deliberate_store::{EpochFilter, Pagination};
use deliberate_toolkit::{
    ArgumentIssue, Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    load::{ReasoningEntity, ViewRequest},
    markdown, mermaid,
    short_ids::ShortIds,
    size_budget::ResponseSizeBudget,
};

/// The `reasoning_get` tool.
pub(crate) struct ReasoningGet;

/// The default number of thoughts or nodes in one answer. A diagram shows as many as it can.
const DEFAULT_LIMIT: u32 = 50;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1))]
    id: String,
    /// For a short id such as t3
    session_id: Option<SessionId>,
    /// Default data
    #[serde(default)]
    #[schemars(with = "Option<ViewFormat>")]
    format: ViewFormat,
    include_set_aside: Option<bool>,
    /// Thoughts or nodes to skip
    #[schemars(range(max = 1_000_000))]
    offset: Option<u32>,
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
}

// The format of the answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ViewFormat {
    #[default]
    Data,
    Markdown,
    Mermaid,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// What the id names: session, thought, branch, node or graph
    kind: &'static str,
    /// Its session, or the session itself
    session_id: SessionId,
    /// The entity and its contents; only with format data
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
    /// The Markdown or the Mermaid diagram; only with those formats
    // With format data, too: the presenter moves it to the text of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// `offset` of the next part; omitted on the last
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u32>,
}

impl Tool for ReasoningGet {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_get",
            title: "Read stored reasoning",
            description: "Read a session, thought, branch, node or graph by its id: as data, \
                          Markdown, or a Mermaid diagram to show to a person.",
            hints: ToolHints::READ_ONLY,
            asks_model: false,
            limits: ToolLimits::default(),
        }
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let (room, shown) = match input.format {
            ViewFormat::Mermaid => (
                ResponseSizeBudget::for_diagram(mermaid::MAX_BOXES),
                mermaid::MAX_BOXES,
            ),
            ViewFormat::Data | ViewFormat::Markdown => {
                (ResponseSizeBudget::for_text(), DEFAULT_LIMIT)
            }
        };
        let wanted = ViewRequest {
            include: match input.include_set_aside {
                Some(true) => EpochFilter::All,
                _ => EpochFilter::Current,
            },
            page: Pagination {
                offset: input.offset.unwrap_or(0),
                limit: input.limit.unwrap_or(shown),
            },
        };
        let thing = ReasoningEntity::find(&input.id, wanted, room, call).await?;
        if let Some(named) = input.session_id.filter(|named| named != thing.session_id()) {
            let rule = format!("is not the session of {:?}", input.id);
            let issue = ArgumentIssue::new("session_id", rule).with_value(&named.as_str().into());
            return Err(ToolError::Invalid(vec![issue]));
        }
        let short_ids = ShortIds::load(&thing, call).await?;
        let text = match input.format {
            ViewFormat::Data | ViewFormat::Markdown => {
                markdown::render_markdown(&thing, &short_ids)
            }
            ViewFormat::Mermaid => mermaid::render_mermaid(&thing, &short_ids),
        };
        let session_id = thing.session_id().clone();
        let shows_all = thing.next_offset().is_none() && input.offset.unwrap_or(0) == 0;
        let has_texts = !matches!(input.format, ViewFormat::Mermaid);
        if input.id == session_id.as_str() && shows_all && has_texts {
            call.show_session(session_id.clone());
        }
        Ok(ToolOutput {
            output: Output {
                kind: thing.kind(),
                session_id: session_id.clone(),
                data: (input.format == ViewFormat::Data).then(|| json!(thing)),
                text: Some(text),
                next_offset: thing.next_offset(),
            },
            changes: Vec::new(),
            session: Some(session_id),
        })
    }
}
