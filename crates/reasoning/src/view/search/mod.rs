//! `reasoning_search`: search by words and by meaning over all thoughts and nodes.

mod meaning;
mod thought_search;

use deliberate_core::{GraphId, Mode, Score, SessionId, Timestamp, truncate_chars};
use deliberate_store::{SearchEntity, SearchQuery};
use deliberate_toolkit::{
    ArgumentIssue, Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::session::require_session;

pub use meaning::TextEmbedder;
pub use thought_search::{MatchKind, ThoughtMatch, ThoughtSearch, ThoughtSearchPage};

/// The `reasoning_search` tool.
pub(crate) struct SearchThoughts(pub(crate) ThoughtSearch);

const DEFAULT_LIMIT: u32 = 10;

const DAY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Words; "quoted phrases" must occur
    #[schemars(length(min = 1, max = 1_000))]
    query: String,
    session_id: Option<SessionId>,
    mode: Option<Mode>,
    /// ISO 8601
    since: Option<String>,
    until: Option<String>,
    /// Default 10
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u32>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The matches, best first
    results: Vec<ThoughtSearchHit>,
    /// true if there are more than `limit`, else omitted
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    more: bool,
    /// What was found instead, if nothing has all words, else omitted
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

// A match.
#[derive(Debug, Serialize, JsonSchema)]
struct ThoughtSearchHit {
    /// thought or node
    kind: &'static str,
    /// The thought or node; `reasoning_get` returns it whole
    id: String,
    /// The session it belongs to
    session_id: SessionId,
    /// The graph of a node; omitted for a thought
    #[serde(skip_serializing_if = "Option::is_none")]
    graph_id: Option<GraphId>,
    /// Its mode; got for nodes
    mode: Mode,
    /// The text around the matching words, or its beginning
    excerpt: String,
    /// Whether it has all words, some of them, or is close in meaning
    matched: MatchKind,
    /// The words that it has; only with `some_words`
    #[serde(skip_serializing_if = "Vec::is_empty")]
    words: Vec<String>,
    /// Confidence of a thought, score of a node; null if not scored
    confidence: Option<Score>,
    /// Creation time
    created_at: Timestamp,
    /// true if a backtrack set it aside, else omitted
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    set_aside: bool,
}

impl From<ThoughtMatch> for ThoughtSearchHit {
    fn from(found: ThoughtMatch) -> Self {
        let excerpt = truncate_chars(&found.excerpt, 500);
        let (matched, words) = (found.kind, found.words);
        match found.entity {
            SearchEntity::Thought(thought) => Self {
                kind: "thought",
                id: thought.id.to_string(),
                session_id: thought.session_id,
                graph_id: None,
                mode: thought.mode,
                excerpt,
                matched,
                words,
                confidence: Some(thought.confidence),
                created_at: thought.created_at,
                set_aside: thought.set_aside,
            },
            SearchEntity::Node(node) => Self {
                kind: "node",
                id: node.id.to_string(),
                session_id: node.session_id,
                graph_id: Some(node.graph_id),
                mode: Mode::Got,
                excerpt,
                matched,
                words,
                confidence: node.score,
                created_at: node.created_at,
                set_aside: node.set_aside,
            },
        }
    }
}

impl Tool for SearchThoughts {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_search",
            title: "Search thoughts",
            description: "Find earlier thoughts and graph nodes by words and meaning. Use it before \
                          thinking something through again.",
            hints: ToolHints::READ_ONLY,
            asks_model: false,
            limits: ToolLimits::default(),
        }
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        call.check_content("query", &input.query)?;
        if let Some(id) = &input.session_id {
            require_session(id, call).await?;
        }
        let search = SearchQuery {
            since: parse_start("since", input.since.as_deref())?,
            until: parse_end("until", input.until.as_deref())?,
            text: input.query,
            session: input.session_id.clone(),
            mode: input.mode,
            limit: input.limit.unwrap_or(DEFAULT_LIMIT),
        };
        let page = self.0.find(&search, call.store()).await?;
        Ok(ToolOutput {
            output: Output {
                results: page.hits.into_iter().map(ThoughtSearchHit::from).collect(),
                more: page.more,
                note: page.note,
            },
            changes: Vec::new(),
            session: input.session_id,
        })
    }
}

fn parse_start(field: &str, text: Option<&str>) -> Result<Option<Timestamp>, ToolError> {
    let Some(text) = text else { return Ok(None) };
    let moment = Timestamp::parse(text).ok_or_else(|| {
        let rule = "must be a time such as 2026-01-31 or 2026-01-31T12:00:00Z";
        ToolError::Invalid(vec![
            ArgumentIssue::new(field, rule).with_value(&text.into()),
        ])
    })?;
    Ok(Some(moment))
}

/// Parses the end of a range; a day without a time means its last moment.
fn parse_end(field: &str, text: Option<&str>) -> Result<Option<Timestamp>, ToolError> {
    let day = text.is_some_and(|text| {
        let mut letters = text.trim().chars();
        letters.all(|letter| letter.is_ascii_digit() || letter == '-' || letter == '+')
    });
    let moment = parse_start(field, text)?;
    Ok(moment.map(|moment| moment.plus_micros(if day { DAY_MICROS - 1 } else { 0 })))
}
