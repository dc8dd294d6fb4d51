//! `reasoning_search`: full text over all thoughts and nodes.

use deliberate_core::{GraphId, Mode, Score, SessionId, Timestamp, cut_to_chars};
use deliberate_store::{Finding, Found, Search};
use deliberate_toolkit::{About, Annotations, Call, Issue, Limits, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::session::{WorksOn, known};

/// `reasoning_search`.
pub struct SearchThoughts;

/// How many are given if the caller does not say.
const FOUND: u32 = 10;

/// Microseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1_000_000;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Words that must all occur
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

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// What was found, best match first
    results: Vec<Hit>,
    /// true if there is more than `limit` allowed, else left out
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    more: bool,
}

// Something that was found.
#[derive(Debug, Serialize, JsonSchema)]
struct Hit {
    /// thought or node
    kind: &'static str,
    /// The thought or node; `reasoning_get` gives it whole
    id: String,
    /// The session it belongs to
    session_id: SessionId,
    /// The graph of a node; left out for a thought
    #[serde(skip_serializing_if = "Option::is_none")]
    graph_id: Option<GraphId>,
    /// How it was thought; got for nodes
    mode: Mode,
    /// The text around the words that were found
    excerpt: String,
    /// Confidence of a thought, score of a node; null if not scored
    confidence: Option<Score>,
    /// When it was thought
    created_at: Timestamp,
    /// true if a backtrack set it aside, else left out
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    set_aside: bool,
}

impl From<Found> for Hit {
    fn from(found: Found) -> Self {
        let excerpt = cut_to_chars(&found.excerpt, 500);
        match found.what {
            Finding::Thought(thought) => Self {
                kind: "thought",
                id: thought.id.to_string(),
                session_id: thought.session_id,
                graph_id: None,
                mode: thought.mode,
                excerpt,
                confidence: Some(thought.confidence),
                created_at: thought.created_at,
                set_aside: thought.set_aside,
            },
            Finding::Node(node) => Self {
                kind: "node",
                id: node.id.to_string(),
                session_id: node.session_id,
                graph_id: Some(node.graph_id),
                mode: Mode::Got,
                excerpt,
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

    fn about(&self) -> About {
        About {
            name: "reasoning_search",
            title: "Search thoughts",
            description: "Find earlier thoughts and graph nodes by their words, over all sessions \
                          or in one. Use it before thinking something through again.",
            annotations: Annotations::READS,
            thinks: false,
            limits: Limits::default(),
        }
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        call.checked_content("query", &input.query)?;
        if let Some(id) = &input.session_id {
            known(id, WorksOn::Any, call).await?;
        }
        let limit = input.limit.unwrap_or(FOUND);
        let search = Search {
            since: moment("since", input.since.as_deref())?,
            until: end("until", input.until.as_deref())?,
            words: input.query,
            session: input.session_id.clone(),
            mode: input.mode,
            // One more, to know whether there are more.
            limit: limit.saturating_add(1),
        };
        let mut found = call.store().search(&search).await?;
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = found.len() > most;
        found.truncate(most);
        Ok(Outcome {
            output: Output {
                results: found.into_iter().map(Hit::from).collect(),
                more,
            },
            changes: Vec::new(),
            session: input.session_id,
        })
    }
}

fn moment(field: &str, text: Option<&str>) -> Result<Option<Timestamp>, ToolError> {
    let Some(text) = text else { return Ok(None) };
    let moment = Timestamp::parse(text).ok_or_else(|| {
        let rule = "must be a time such as 2026-01-31 or 2026-01-31T12:00:00Z";
        ToolError::Invalid(vec![Issue::new(field, rule).given(&text.into())])
    })?;
    Ok(Some(moment))
}

/// A day as an end means its last moment.
fn end(field: &str, text: Option<&str>) -> Result<Option<Timestamp>, ToolError> {
    let day = text.is_some_and(|text| {
        let mut letters = text.trim().chars();
        letters.all(|letter| letter.is_ascii_digit() || letter == '-' || letter == '+')
    });
    let moment = moment(field, text)?;
    Ok(moment.map(|moment| moment.plus_micros(if day { DAY - 1 } else { 0 })))
}
