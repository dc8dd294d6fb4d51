//! `reasoning_get`: one thing by its id, as data, as Markdown or as a picture.

use deliberate_core::SessionId;
use deliberate_store::{Page, Which};
use deliberate_toolkit::{About, Annotations, Call, Limits, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    gather::{Thing, Wanted},
    markdown, mermaid,
    room::Room,
};

/// `reasoning_get`.
pub struct Get;

/// Thoughts or nodes in one answer, if the caller does not say. A picture shows what it can.
const SHOWN: u32 = 50;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Of a session, thought, branch, node or graph
    #[schemars(length(min = 1))]
    id: String,
    /// Default data
    #[serde(default)]
    #[schemars(with = "Option<Format>")]
    format: Format,
    /// Also what a backtrack set aside
    include_set_aside: Option<bool>,
    /// Thoughts or nodes to skip
    #[schemars(range(max = 1_000_000))]
    offset: Option<u32>,
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
}

// How it is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Format {
    #[default]
    Data,
    Markdown,
    Mermaid,
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// What the id names: session, thought, branch, node or graph
    kind: &'static str,
    /// The session it belongs to, or that it is
    session_id: SessionId,
    /// It and what belongs to it; only with format data
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
    /// The Markdown or the Mermaid diagram; only with those formats
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// `offset` of the next part; left out on the last
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u32>,
}

impl Tool for Get {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        About {
            name: "reasoning_get",
            title: "Read it back",
            description: "Read a session, thought, branch, node or graph by its id: as data, as \
                          Markdown, or as a Mermaid diagram to show to a person.",
            annotations: Annotations::READS,
            thinks: false,
            limits: Limits::default(),
        }
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let (room, shown) = match input.format {
            Format::Mermaid => (Room::boxes(mermaid::MOST_BOXES), mermaid::MOST_BOXES),
            Format::Data | Format::Markdown => (Room::text(), SHOWN),
        };
        let wanted = Wanted {
            which: match input.include_set_aside {
                Some(true) => Which::All,
                _ => Which::Current,
            },
            page: Page {
                offset: input.offset.unwrap_or(0),
                limit: input.limit.unwrap_or(shown),
            },
        };
        let thing = Thing::find(&input.id, wanted, room, call).await?;
        let (data, text) = match input.format {
            Format::Data => (Some(json!(thing)), None),
            Format::Markdown => (None, Some(markdown::of(&thing))),
            Format::Mermaid => (None, Some(mermaid::of(&thing))),
        };
        let session_id = thing.session_id().clone();
        Ok(Outcome {
            output: Output {
                kind: thing.kind(),
                session_id: session_id.clone(),
                data,
                text,
                next_offset: thing.next(),
            },
            changes: Vec::new(),
            session: Some(session_id),
        })
    }
}
