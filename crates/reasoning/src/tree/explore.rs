//! `reasoning_tree`: asks for approaches and opens a branch for each.

use std::sync::LazyLock;

use deliberate_core::{
    Branch, BranchId, BranchState, CrossRefKind, Mode, Score, Session, SessionId, ThoughtId,
    truncate_chars,
};
use deliberate_llm::ModelRequest;
use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{build_branches::build_branches, model_output::Exploration, require_branched_session};
use crate::{
    history::{SessionHistory, ancestor_history},
    model_fields::ThresholdNote,
    prompt_template::{GenerationParams, ReasoningPromptTemplate, set_list_bounds},
    session::TargetSession,
};

/// The `reasoning_tree` tool.
pub(crate) struct TreeExplore;

/// The documented default of `max_branches`.
const DEFAULT_BRANCHES: usize = 4;

/// Fewer branches offer no choice.
pub(super) const MIN_BRANCHES: usize = 2;

/// The longest name of a branch, so that it fits a list.
pub(super) const NAME_CHARS: usize = 80;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The thought content to explore
    #[schemars(length(min = 1))]
    content: String,
    /// Session to continue
    session_id: Option<SessionId>,
    /// Branch to continue from; else the active one
    branch_id: Option<BranchId>,
    /// Default 4
    #[schemars(range(min = 2, max = 10))]
    max_branches: Option<usize>,
    /// Confidence threshold
    confidence: Option<Score>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The thought that compares the approaches
    pub(super) thought_id: ThoughtId,
    /// Pass it to continue this session
    pub(super) session_id: SessionId,
    /// The branch that was continued
    pub(super) branch_id: BranchId,
    /// What the problem turns on, and how the approaches compare
    pub(super) content: String,
    /// How sure the model is of its recommendation
    pub(super) confidence: Score,
    /// How many branches were opened
    pub(super) branches_explored: usize,
    /// The most promising of the new branches
    pub(super) recommended_branch: BranchId,
    /// The new branches, one for each approach
    pub(super) branches: Vec<OpenedBranch>,
    /// Relations between the new branches; omitted if the model named none
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) cross_references: Vec<BranchReference>,
    #[serde(flatten)]
    pub(super) doubt: ThresholdNote,
}

// A new branch.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OpenedBranch {
    /// The new branch
    pub(super) id: BranchId,
    /// Its first thought
    pub(super) thought_id: ThoughtId,
    /// The approach in a few words
    pub(super) name: String,
    /// The reasoning of the approach
    pub(super) content: String,
    /// Why it is worth following; may be empty
    pub(super) rationale: String,
    /// How sure the model is of it
    pub(super) confidence: Score,
}

// The relation of one branch to another.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct BranchReference {
    /// The branch with the relation
    pub(super) from: BranchId,
    /// The other branch
    pub(super) to: BranchId,
    /// The relation of `from` to `to`
    #[serde(rename = "type")]
    pub(super) kind: CrossRefKind,
    /// Why; omitted if the model gave no reason
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
}

/// The values that the prompt template shows.
#[derive(Serialize)]
struct TreePromptContext<'a> {
    #[serde(flatten)]
    past: &'a SessionHistory,
    branch: bool,
    content: &'a str,
    most: usize,
}

static ASK: LazyLock<ReasoningPromptTemplate> = LazyLock::new(|| {
    let freedom = GenerationParams {
        max_tokens: 4_000,
        temperature: 0.8,
    };
    ReasoningPromptTemplate::new::<Exploration>("tree", include_str!("tree.md"), freedom)
});

impl Tool for TreeExplore {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_tree",
            title: "Explore approaches",
            description: "Branching exploration: 2-4 distinct approaches to a problem, each kept as \
                          a branch, and the most promising one recommended. Pass session_id and \
                          branch_id to go deeper into one of them.",
            hints: ToolHints::ASKS_MODEL,
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let session = resolve_session(&input, call).await?;
        let explore_this = ExploreRequest {
            content: input.content,
            branch: input.branch_id,
            max_branches: input.max_branches.unwrap_or(DEFAULT_BRANCHES),
            threshold: input.confidence,
        };
        explore(explore_this, session, call).await
    }
}

/// The session of the call; a branch id alone determines it.
async fn resolve_session(input: &Input, call: &ToolContext) -> Result<Option<Session>, ToolError> {
    let of_branch = match (&input.session_id, &input.branch_id) {
        (None, Some(branch)) => match call.store().branch(branch).await? {
            Some(branch) => Some(branch.session_id),
            None => {
                return Err(ToolError::NotFound {
                    what: crate::lookup::BRANCH,
                    id: truncate_chars(branch.as_str(), NAME_CHARS),
                });
            }
        },
        _ => None,
    };
    match input.session_id.as_ref().or(of_branch.as_ref()) {
        Some(id) => Ok(Some(require_branched_session(id, call).await?)),
        None => Ok(None),
    }
}

/// An exploration request.
pub(crate) struct ExploreRequest {
    pub(crate) content: String,
    /// The branch to continue; the active one if `None`.
    pub(crate) branch: Option<BranchId>,
    pub(crate) max_branches: usize,
    pub(crate) threshold: Option<Score>,
}

impl ExploreRequest {
    /// Builds the request for `content` with the defaults of every other field.
    pub(crate) fn from_content(content: String) -> Self {
        Self {
            content,
            branch: None,
            max_branches: DEFAULT_BRANCHES,
            threshold: None,
        }
    }
}

/// Explores approaches in the given session or in a new one.
pub(crate) async fn explore(
    this: ExploreRequest,
    session: Option<Session>,
    call: &ToolContext,
) -> Result<ToolOutput<Output>, ToolError> {
    call.check_content("content", &this.content)?;
    let base = match &session {
        Some(session) => continued_branch(this.branch.as_ref(), session, call).await?,
        None => None,
    };
    let past = branch_history(base.as_ref(), session.as_ref(), call).await?;
    let past = call.memoize("past", past);
    call.progress(0.0, Some(1.0), "exploring");
    let mut ask = ASK.render(TreePromptContext {
        past: &past,
        branch: base.as_ref().is_some_and(|base| base.parent_id.is_some()),
        content: &this.content,
        most: this.max_branches,
    })?;
    set_list_bounds(&mut ask, "approaches", MIN_BRANCHES, this.max_branches);
    let ask = ModelRequest {
        variables: [("content".to_owned(), this.content.clone())].into(),
        ..ask
    };
    let mut found = call.ask::<Exploration>(ask, None).await?.value;
    found.truncate_approaches(this.max_branches);
    let home = TargetSession::existing_or_new(session, Mode::Tree, &this.content, call);
    Ok(build_branches(&this, &home, base, past.latest, found, call))
}

/// The branch to continue, which must be open. `None` if the session has no branch yet.
async fn continued_branch(
    wanted: Option<&BranchId>,
    session: &Session,
    call: &ToolContext,
) -> Result<Option<Branch>, ToolError> {
    let active = || session.active_branch_id.clone();
    let Some(id) = call.memoize("branch", wanted.cloned().or_else(active)) else {
        return Ok(None);
    };
    let branch = crate::lookup::branch(call, &id, &session.id).await?;
    if branch.state == BranchState::Active {
        return Ok(Some(branch));
    }
    Err(crate::lookup::branch_closed(&branch.id, branch.state))
}

/// The history of the branch, or the latest thoughts of a session without branches.
async fn branch_history(
    base: Option<&Branch>,
    session: Option<&Session>,
    call: &ToolContext,
) -> Result<SessionHistory, ToolError> {
    let Some(session) = session else {
        return Ok(SessionHistory::default());
    };
    let latest = match base {
        Some(base) => call.store().latest_branch_thoughts(&base.id, 1).await?,
        None => call.store().latest_thoughts(&session.id, 1).await?,
    };
    let latest = latest.first().map(|thought| &thought.id);
    Ok(ancestor_history(latest, call).await?)
}
