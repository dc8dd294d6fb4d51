//! `reasoning_tree`: asks for approaches and opens a branch for each.

use std::sync::LazyLock;

use deliberate_core::{
    Branch, BranchId, BranchState, CrossRefKind, Mode, Score, Session, SessionId, Thought,
    ThoughtId, truncate_chars,
};
use deliberate_llm::ModelRequest;
use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    build_branches::build_branches,
    model_output::{Approach, Exploration},
    progress::ExploreProgress,
    recommend::{agreement_text, recommend},
};
use crate::{
    agreement::{group_answers, plurality},
    history::{SessionHistory, ancestor_history, latest_unabandoned_thought, with_graph},
    parallel_requests::{AllOrEach, ask_all_or_each_with},
    prompt_template::{GenerationParams, ReasoningPromptTemplate},
    session::{TargetSession, require_session},
};

/// The `reasoning_tree` tool.
pub(crate) struct TreeExplore;

/// The documented default of `max_branches`.
const DEFAULT_BRANCHES: usize = 4;

/// The largest number of branches of one call.
const MAX_BRANCHES: usize = 10;

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
    /// Else the active one
    branch_id: Option<BranchId>,
    /// Grow from this thought
    thought_id: Option<ThoughtId>,
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
    /// How the approaches compare
    pub(super) content: String,
    /// The result of the recommended branch; null if it has none
    pub(super) answer: Option<String>,
    /// How sure the recommendation is: the share of branches with the same result, else the
    /// model's judgment
    pub(super) confidence: Score,
    /// What is most likely to be wrong with it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) weakest_point: Option<String>,
    /// How many branches were opened
    pub(super) branches_explored: usize,
    /// The most promising of the new branches
    pub(super) recommended_branch: BranchId,
    /// The new branches, one for each approach
    pub(super) branches: Vec<OpenedBranch>,
    /// Relations between the new branches; omitted if there are none
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) cross_references: Vec<BranchReference>,
    /// true if `confidence` is below the given threshold, else omitted
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) below_threshold: Option<bool>,
    /// How many approaches failed or were dropped; omitted if none
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
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
    /// Its result; null if it has none
    pub(super) answer: Option<String>,
    /// Why it is worth following; may be empty
    pub(super) rationale: String,
    /// How sure the model is of it
    pub(super) confidence: Score,
    /// What is most likely to be wrong with it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) weakest_point: Option<String>,
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
    angle: &'a str,
}

static ASK: LazyLock<ReasoningPromptTemplate> = LazyLock::new(|| {
    let params = GenerationParams {
        max_tokens: 2_000,
        temperature: 0.7,
    };
    ReasoningPromptTemplate::free_text::<Approach>(
        "tree",
        include_str!("tree.md"),
        "thought",
        params,
    )
});

/// A way to a result, by which the requests for approaches differ.
struct ApproachAngle {
    /// The name of the branch, unless the caller gives one.
    name: &'static str,
    instruction: &'static str,
}

/// What each approach is to be. Requests are independent, so they need different instructions to
/// give different approaches. The first is free, because a way that is prescribed may not be the best.
const ANGLES: [ApproachAngle; 10] = [
    ApproachAngle {
        name: "the natural way",
        instruction: "",
    },
    ApproachAngle {
        name: "another way",
        instruction: "another way or option than the most natural one; use it to check the result.",
    },
    ApproachAngle {
        name: "from the goal",
        instruction: "start from what a good result must look like, and test candidates against it.",
    },
    ApproachAngle {
        name: "in parts",
        instruction: "split the problem into parts, settle each part, then put them together.",
    },
    ApproachAngle {
        name: "what is overlooked",
        instruction: "name what is usually overlooked here, and take it into account.",
    },
    ApproachAngle {
        name: "from a simpler case",
        instruction: "begin with a simpler or a special case, and build up from it.",
    },
    ApproachAngle {
        name: "against the obvious",
        instruction: "suppose that the obvious result is wrong, and look for the reason.",
    },
    ApproachAngle {
        name: "by another field",
        instruction: "use the method of another field.",
    },
    ApproachAngle {
        name: "the cautious way",
        instruction: "the most cautious way or option.",
    },
    ApproachAngle {
        name: "the bold way",
        instruction: "the boldest way or option.",
    },
];

impl Tool for TreeExplore {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_tree",
            title: "Explore approaches",
            description: "Branching exploration: approaches side by side, each a branch; \
                          recommends the result most of them reach. For real options: a model call \
                          per approach, up to two to decide.",
            hints: ToolHints::ASKS_MODEL,
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    fn takes_reply(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let from = match &input.thought_id {
            Some(id) => {
                Some(crate::lookup::current_thought(call, id, input.session_id.as_ref()).await?)
            }
            None => None,
        };
        let session = match &from {
            Some(thought) => Some(crate::lookup::session(call, &thought.session_id).await?),
            None => resolve_session(&input, call).await?,
        };
        let explore_this = ExploreRequest {
            content: input.content,
            branch: input.branch_id,
            from_thought: from,
            max_branches: input.max_branches,
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
        Some(id) => Ok(Some(require_session(id, call).await?)),
        None => Ok(None),
    }
}

/// An exploration request.
pub(crate) struct ExploreRequest {
    pub(crate) content: String,
    /// The branch to continue; that of `from_thought` or the active one if `None`.
    pub(crate) branch: Option<BranchId>,
    /// The thought to grow from; the latest of the branch if `None`.
    pub(crate) from_thought: Option<Thought>,
    /// `None` if the caller did not say.
    pub(crate) max_branches: Option<usize>,
    pub(crate) threshold: Option<Score>,
}

impl ExploreRequest {
    /// Builds the request for `content` with the defaults of every other field.
    pub(crate) fn from_content(content: String) -> Self {
        Self {
            content,
            branch: None,
            from_thought: None,
            max_branches: None,
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
        Some(session) => continued_branch(&this, session, call).await?,
        None => None,
    };
    let past = match &this.from_thought {
        Some(thought) => ancestor_history(Some(&thought.id), call).await?,
        None => branch_history(base.as_ref(), session.as_ref(), call).await?,
    };
    let past = match &session {
        Some(session) => with_graph(past, session, None, call).await?,
        None => past,
    };
    let past = call.memoize("past", past.for_model(call).await);
    let is_inner = base.as_ref().is_some_and(|base| base.parent_id.is_some());
    let (found, note) = match call.take_reply() {
        Some(reply) => read_exploration(reply, &this, call).await?,
        None => explore_in_parallel(&this, &past, is_inner, call).await?,
    };
    let home = TargetSession::existing_or_new(session, Mode::Tree, &this.content, call);
    let mut output = build_branches(&this, &home, base, past.latest, found, call);
    output.output.note = note;
    Ok(output)
}

/// Reads the exploration that the caller brought, and notes what of it was dropped.
async fn read_exploration(
    reply: serde_json::Value,
    this: &ExploreRequest,
    call: &ToolContext,
) -> Result<(Exploration, Option<String>), ToolError> {
    let ask = ModelRequest {
        key: "tree".to_owned(),
        schema: deliberate_toolkit::answer_schema::<Exploration>(),
        ..ModelRequest::default()
    };
    let reply = match &reply {
        serde_json::Value::String(text) => Exploration::from_list(text).unwrap_or(reply),
        _ => reply,
    };
    let mut found = call
        .read_reply::<Exploration>(ask, reply, None)
        .await?
        .value;
    let mut notes: Vec<String> = Vec::from_iter(found.approaches.unreadable_note("approaches"));
    let total = found.approaches.items.len();
    // The caller's approaches are all kept, unless it says how many.
    let most = this.max_branches.unwrap_or(MAX_BRANCHES);
    let dropped = found.truncate_approaches(most);
    if dropped > 0 {
        notes.push(format!(
            "max_branches is {most}, so {dropped} of {total} approaches were dropped"
        ));
    }
    let approaches = &found.approaches.items;
    let groups = group_answers(approaches.iter().map(|it| it.fields.answer.as_deref()));
    if found.recommended.is_none() {
        let member = plurality(&groups).and_then(|group| group.members.first());
        found.recommended = member.and_then(|index| Some(approaches.get(*index)?.number));
    }
    if found.thought.is_none() {
        found.thought = Some(agreement_text(&groups, approaches.len()));
    }
    Ok((found, (!notes.is_empty()).then(|| notes.join("; "))))
}

/// Asks for each approach in a request of its own, and recommends one.
async fn explore_in_parallel(
    this: &ExploreRequest,
    past: &SessionHistory,
    is_inner: bool,
    call: &ToolContext,
) -> Result<(Exploration, Option<String>), ToolError> {
    call.progress(0.0, Some(1.0), "exploring");
    let count = this.max_branches.unwrap_or(DEFAULT_BRANCHES);
    let asks = (1..=count)
        .zip(ANGLES.iter().cycle())
        .map(|(number, angle)| {
            let context = TreePromptContext {
                past,
                branch: is_inner,
                content: &this.content,
                angle: angle.instruction,
            };
            let ask = ASK.render(context, call)?;
            Ok(ModelRequest {
                key: format!("tree_{number}"),
                variables: [("content".to_owned(), this.content.clone())].into(),
                ..ask
            })
        })
        .collect::<Result<Vec<ModelRequest>, ToolError>>()?;
    let progress = ExploreProgress::new(count);
    let on_approach = |approach: &Approach| progress.report(approach, call);
    let found = match ask_all_or_each_with(asks, 1, on_approach, call).await? {
        AllOrEach::All(found) => {
            let mut found: Exploration = found;
            found.truncate_approaches(count);
            return Ok((found, None));
        }
        AllOrEach::Each(found) => found,
    };
    let mut approaches: Vec<Approach> = Vec::with_capacity(count);
    for ((approach, index), number) in found.answers.into_iter().zip(found.indexes).zip(1..) {
        let angle = ANGLES.get(index % ANGLES.len());
        approaches.push(Approach {
            number,
            name: approach.name.or(angle.map(|it| it.name.to_owned())),
            ..approach
        });
    }
    let best = recommend(&this.content, past, &approaches, call).await?;
    let exploration = Exploration {
        thought: Some(best.text),
        approaches: approaches.into(),
        recommended: Some(best.number),
        relations: best.relations,
        weakest_point: best.weakest_point,
        sure: best.confidence.into(),
    };
    Ok((exploration, found.note))
}

/// The branch to continue, which must be open. `None` if the session has no open branch to continue.
async fn continued_branch(
    this: &ExploreRequest,
    session: &Session,
    call: &ToolContext,
) -> Result<Option<Branch>, ToolError> {
    let wanted = this.branch.as_ref();
    let implied = || match &this.from_thought {
        Some(thought) => thought.branch_id.clone(),
        None => session.active_branch_id.clone(),
    };
    let Some(id) = call.memoize("branch", wanted.cloned().or_else(implied)) else {
        return Ok(None);
    };
    let branch = crate::lookup::branch(call, &id, &session.id).await?;
    match branch.state {
        BranchState::Active => Ok(Some(branch)),
        // The session goes on outside a closed branch that the caller did not name.
        _ if wanted.is_none() => Ok(None),
        state => Err(crate::lookup::branch_closed(&branch.id, state)),
    }
}

/// The history of the branch, or of the session's latest thought that is not on an abandoned branch.
async fn branch_history(
    base: Option<&Branch>,
    session: Option<&Session>,
    call: &ToolContext,
) -> Result<SessionHistory, ToolError> {
    let Some(session) = session else {
        return Ok(SessionHistory::default());
    };
    let latest = match base {
        Some(base) => {
            let on_branch = call.store().latest_branch_thoughts(&base.id, 1).await?;
            on_branch.into_iter().next()
        }
        None => latest_unabandoned_thought(&session.id, call).await?,
    };
    Ok(ancestor_history(latest.as_ref().map(|it| &it.id), call).await?)
}
