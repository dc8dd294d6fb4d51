//! `reasoning_tree_list`: lists the branches of a session with their content.

use deliberate_core::{BranchId, BranchState, Score, SessionId, truncate_chars};
use deliberate_store::{BranchEntry, EpochFilter, Pagination};
use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::explore::BranchReference;
use crate::session::require_session;

/// The `reasoning_tree_list` tool.
pub(crate) struct TreeList;

/// The characters of a branch's text in the list; `reasoning_get` returns the whole text.
const TEXT_CHARS: usize = 400;

/// Branches per page.
const PAGE_SIZE: u32 = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    session_id: SessionId,
    #[schemars(range(max = 1_000_000))]
    offset: Option<u32>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The session they belong to
    session_id: SessionId,
    /// The active branch; null if none is
    active_branch: Option<BranchId>,
    /// Oldest first
    branches: Vec<BranchSummary>,
    /// Relations between branches of all pages
    cross_references: Vec<BranchReference>,
    /// `offset` of the next page; omitted on the last
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u32>,
}

// A branch in the list.
#[derive(Debug, Serialize, JsonSchema)]
struct BranchSummary {
    /// The branch
    id: BranchId,
    /// Its parent branch; null for a root
    parent_id: Option<BranchId>,
    /// Its approach in a few words
    name: Option<String>,
    /// Whether it is still open
    state: BranchState,
    /// How sure the model was when it opened the branch
    confidence: Score,
    /// Higher comes first; recommended branches have more
    priority: i64,
    /// How many thoughts are on it
    thoughts: u64,
    /// Its first thought, shortened; `reasoning_get` returns the whole
    content: Option<String>,
    /// Why it is worth following, shortened; null if not given
    rationale: Option<String>,
}

impl From<BranchEntry> for BranchSummary {
    fn from(entry: BranchEntry) -> Self {
        let branch = entry.branch;
        let rationale = branch.metadata.as_ref().and_then(|it| it.get("rationale"));
        let rationale = rationale.and_then(Value::as_str);
        let cut = |text: &str| truncate_chars(text, TEXT_CHARS);
        Self {
            rationale: rationale.map(cut),
            id: branch.id,
            parent_id: branch.parent_id,
            name: branch.name,
            state: branch.state,
            confidence: branch.confidence,
            priority: branch.priority,
            thoughts: entry.thoughts,
            content: entry.first_text.as_deref().map(cut),
        }
    }
}

impl Tool for TreeList {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_tree_list",
            title: "List branches",
            description: "List all branches in a session, with their state and text.",
            hints: ToolHints::READ_ONLY,
            asks_model: false,
            limits: ToolLimits::default(),
        }
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let session = require_session(&input.session_id, call).await?;
        let all = Pagination::limit(Pagination::MAX);
        let store = call.store();
        let offset = input.offset.unwrap_or(0);
        // One row more than a page holds shows whether another page follows.
        let page = Pagination {
            offset,
            limit: PAGE_SIZE + 1,
        };
        let mut branches = store
            .branches(&session.id, EpochFilter::Current, page)
            .await?;
        let more = branches.len() > PAGE_SIZE as usize;
        branches.truncate(PAGE_SIZE as usize);
        let references = store
            .cross_refs(&session.id, EpochFilter::Current, all)
            .await?;
        Ok(ToolOutput {
            output: Output {
                session_id: session.id.clone(),
                active_branch: session.active_branch_id,
                branches: branches.into_iter().map(BranchSummary::from).collect(),
                cross_references: references
                    .into_iter()
                    .map(|reference| BranchReference {
                        from: reference.from_branch,
                        to: reference.to_branch,
                        kind: reference.ref_type,
                        reason: reference.reason,
                    })
                    .collect(),
                next_offset: more.then(|| offset.saturating_add(PAGE_SIZE)),
            },
            changes: Vec::new(),
            session: Some(session.id),
        })
    }
}
