//! `reasoning_tree`: asks for approaches and opens a branch for each.

use std::sync::LazyLock;

use deliberate_core::{
    Branch, BranchId, BranchState, Change, CrossRef, Mode, RefKind, Requirement, Score, Session,
    SessionId, Thought, ThoughtId, cut_to_chars,
};
use deliberate_thinker::Ask;
use deliberate_toolkit::{About, Annotations, Call, Kind, Limits, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::json;

use super::with_branches;
use crate::{
    context::{Past, line},
    prompt::{Asking, Freedom, bound_list},
    said::{Doubt, Sure, any_text, fitting, gist, or_none, something},
    session::{Home, metadata},
};

/// `reasoning_tree`.
pub struct Tree;

/// Branches asked for when the caller does not say, as documented.
const BRANCHES: usize = 4;

/// Fewer than this is no choice.
const LEAST_BRANCHES: usize = 2;

/// A branch's name is read in a list.
const NAME_CHARS: usize = 80;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
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

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The thought that compares the approaches
    thought_id: ThoughtId,
    /// Pass it to go on in this session
    session_id: SessionId,
    /// The branch that was explored from
    branch_id: BranchId,
    /// What the problem turns on, and how the approaches compare
    content: String,
    /// How sure the model is of its recommendation
    confidence: Score,
    /// How many branches were opened
    branches_explored: usize,
    /// The most promising of the new branches
    recommended_branch: BranchId,
    /// The new branches, one for each approach
    branches: Vec<Opened>,
    /// How the new branches bear on each other; left out if the model named nothing
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cross_references: Vec<Reference>,
    #[serde(flatten)]
    doubt: Doubt,
}

// A branch that was opened.
#[derive(Debug, Serialize, JsonSchema)]
struct Opened {
    /// The new branch
    id: BranchId,
    /// Its first thought
    thought_id: ThoughtId,
    /// The approach in a few words
    name: String,
    /// The reasoning of the approach
    content: String,
    /// Why it is worth following; may be empty
    rationale: String,
    /// How sure the model is of it
    confidence: Score,
}

// How one of them bears on another.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Reference {
    /// The branch that bears on the other
    pub(super) from: BranchId,
    /// The other branch
    pub(super) to: BranchId,
    /// How `from` bears on `to`
    #[serde(rename = "type")]
    pub(super) kind: RefKind,
    /// Why; left out if the model did not say
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
}

/// What the model is asked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("required" = [
    "thought", "approaches", "recommended", "relations", "confidence_percent", "weakest_point",
]))]
struct Exploration {
    /// What the problem turns on, and how the approaches compare
    #[serde(deserialize_with = "something")]
    #[schemars(length(min = 1))]
    thought: String,
    #[serde(deserialize_with = "several", alias = "branches")]
    approaches: Vec<Approach>,
    /// The number of the best approach, from 1
    #[serde(default, deserialize_with = "or_none")]
    #[schemars(with = "usize", range(min = 1))]
    recommended: Option<usize>,
    #[serde(default, deserialize_with = "fitting")]
    relations: Vec<Relation>,
    #[serde(flatten)]
    sure: Sure,
    /// What is most likely to be wrong with the recommendation
    #[serde(default, deserialize_with = "any_text")]
    #[schemars(with = "String", length(max = 300))]
    weakest_point: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["name", "thought", "rationale", "confidence_percent"]))]
struct Approach {
    /// A few words
    #[serde(default, deserialize_with = "any_text")]
    #[schemars(with = "String", length(max = 80))]
    name: Option<String>,
    /// The reasoning of this approach
    #[serde(deserialize_with = "something", alias = "content")]
    #[schemars(length(min = 1))]
    thought: String,
    /// Why it is worth following
    #[serde(default, deserialize_with = "any_text")]
    #[schemars(with = "String")]
    rationale: Option<String>,
    #[serde(flatten)]
    sure: Sure,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Relation {
    /// The number of an approach, from 1
    from: usize,
    /// The number of another
    to: usize,
    kind: RefKind,
    reason: Option<String>,
}

impl Exploration {
    /// Leaves out what is more than was asked for, but not what is recommended.
    fn keep_only(&mut self, most: usize) {
        let best = self.recommended.and_then(|number| number.checked_sub(1));
        if let Some(best) = best.filter(|best| (most..self.approaches.len()).contains(best)) {
            let last = most.saturating_sub(1);
            self.approaches.swap(last, best);
            for number in self
                .relations
                .iter_mut()
                .flat_map(|it| [&mut it.from, &mut it.to])
            {
                if *number == best + 1 {
                    *number = last + 1;
                } else if *number == last + 1 {
                    *number = best + 1;
                }
            }
            self.recommended = Some(last + 1);
        }
        self.approaches.truncate(most);
    }
}

/// A choice of approaches. One alone is asked for again.
fn several<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Approach>, D::Error> {
    let approaches: Vec<Approach> = fitting(deserializer)?;
    let kinds: std::collections::HashSet<_> =
        approaches.iter().map(|it| gist(&it.thought)).collect();
    if kinds.len() < LEAST_BRANCHES {
        return Err(de::Error::custom(
            "`approaches` must hold at least two that differ",
        ));
    }
    Ok(approaches)
}

/// What the ask shows.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    past: &'a Past,
    branch: bool,
    content: &'a str,
    most: usize,
}

static ASK: LazyLock<Asking> = LazyLock::new(|| {
    let freedom = Freedom {
        max_tokens: 4_000,
        temperature: 0.8,
    };
    Asking::new::<Exploration>("tree", include_str!("tree.md"), freedom)
});

impl Tool for Tree {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        About {
            name: "reasoning_tree",
            title: "Explore approaches",
            description: "Branching exploration: 2-4 distinct approaches to a problem, each kept as \
                          a branch, and the most promising one recommended. Pass session_id and \
                          branch_id to go deeper into one of them.",
            annotations: Annotations {
                read_only: false,
                destructive: false,
                idempotent: false,
                open_world: true,
            },
            thinks: true,
            limits: Limits::default(),
        }
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let session = session_of(&input, call).await?;
        let explore_this = Explore {
            content: input.content,
            branch: input.branch_id,
            most: input.max_branches.unwrap_or(BRANCHES),
            threshold: input.confidence,
        };
        explore(explore_this, session, call).await
    }
}

/// The session the caller means; a branch says which one it belongs to.
async fn session_of(input: &Input, call: &Call) -> Result<Option<Session>, ToolError> {
    let of_branch = match (&input.session_id, &input.branch_id) {
        (None, Some(branch)) => match call.store().branch(branch).await? {
            Some(branch) => Some(branch.session_id),
            None => {
                return Err(ToolError::NotFound {
                    what: Kind::Branch,
                    id: cut_to_chars(branch.as_str(), NAME_CHARS),
                });
            }
        },
        _ => None,
    };
    match input.session_id.as_ref().or(of_branch.as_ref()) {
        Some(id) => Ok(Some(with_branches(id, call).await?)),
        None => Ok(None),
    }
}

/// What is to be explored.
pub(crate) struct Explore {
    pub(crate) content: String,
    /// The branch to continue; else the active one.
    pub(crate) branch: Option<BranchId>,
    pub(crate) most: usize,
    pub(crate) threshold: Option<Score>,
}

impl Explore {
    /// The content alone, all else as usual.
    pub(crate) fn of(content: String) -> Self {
        Self {
            content,
            branch: None,
            most: BRANCHES,
            threshold: None,
        }
    }
}

/// Explores in a session, or in a new one.
pub(crate) async fn explore(
    this: Explore,
    session: Option<Session>,
    call: &Call,
) -> Result<Outcome<Output>, ToolError> {
    call.checked_content("content", &this.content)?;
    let base = match &session {
        Some(session) => base(this.branch.as_ref(), session, call).await?,
        None => None,
    };
    let past = past(base.as_ref(), session.as_ref(), call).await?;
    let past = call.keep("past", past);
    call.progress(0.0, Some(1.0), "exploring");
    let mut ask = ASK.ask(Shown {
        past: &past,
        branch: base.as_ref().is_some_and(|base| base.parent_id.is_some()),
        content: &this.content,
        most: this.most,
    })?;
    bound_list(&mut ask, "approaches", LEAST_BRANCHES, this.most);
    let ask = Ask {
        variables: [("content".to_owned(), this.content.clone())].into(),
        ..ask
    };
    let mut found = call.think::<Exploration>(ask, None).await?.value;
    found.keep_only(this.most);
    let home = Home::of(session, Mode::Tree, &this.content, call);
    Ok(grow(&this, &home, base, past.latest, found, call))
}

/// The branch that is continued, which must be open. `None` if the session has none yet.
async fn base(
    wanted: Option<&BranchId>,
    session: &Session,
    call: &Call,
) -> Result<Option<Branch>, ToolError> {
    let active = || session.active_branch_id.clone();
    let Some(id) = call.keep("branch", wanted.cloned().or_else(active)) else {
        return Ok(None);
    };
    let branch = call.branch(&id, &session.id).await?;
    if branch.state == BranchState::Active {
        return Ok(Some(branch));
    }
    Err(ToolError::BranchClosed {
        id: branch.id.to_string(),
        state: branch.state,
    })
}

/// The line of the branch, or of a session without branches its latest thoughts.
async fn past(
    base: Option<&Branch>,
    session: Option<&Session>,
    call: &Call,
) -> Result<Past, ToolError> {
    let Some(session) = session else {
        return Ok(Past::default());
    };
    let latest = match base {
        Some(base) => call.store().latest_on_branch(&base.id, 1).await?,
        None => call.store().latest_thoughts(&session.id, 1).await?,
    };
    let latest = latest.first().map(|thought| &thought.id);
    Ok(line(latest, call).await?)
}

/// The branches that grow from what the model found.
fn grow(
    this: &Explore,
    home: &Home,
    base: Option<Branch>,
    parent: Option<ThoughtId>,
    found: Exploration,
    call: &Call,
) -> Outcome<Output> {
    let mut changes = home.changes();
    let confidence = found.sure.score();
    let base = if let Some(base) = base {
        changes.push(Change::Require(Requirement::OpenBranch(base.id.clone())));
        base
    } else {
        let root = branch("root", None, confidence, home, call);
        changes.push(Change::AddBranch(root.clone()));
        changes.push(Change::FollowBranch {
            session_id: home.id(),
            branch_id: Some(root.id.clone()),
            at: call.now(),
        });
        root
    };
    let fork = thought(&base.id, parent, &found.thought, confidence, home, call);
    let fork = Thought {
        input: Some(this.content.clone()),
        metadata: metadata([("weakest_point", json!(found.weakest_point))]),
        ..fork
    };
    let fork_id = fork.id.clone();
    changes.push(Change::AddThought(fork));
    let (opened, numbers) = open(&found.approaches, &base, &fork_id, home, &mut changes, call);
    let best = found
        .recommended
        .and_then(|number| at(&numbers, number))
        .unwrap_or_else(|| most_confident(&opened));
    let cross_references = refer(found.relations, &opened, &numbers, &mut changes, call);
    let recommended = opened.get(best).map(|branch| branch.id.clone());
    prefer(recommended.as_ref(), &mut changes);
    let output = Output {
        thought_id: fork_id,
        session_id: home.id(),
        content: found.thought,
        confidence,
        branches_explored: opened.len(),
        recommended_branch: recommended.unwrap_or_else(|| base.id.clone()),
        branch_id: base.id,
        branches: opened,
        cross_references,
        doubt: Doubt::of(this.threshold, confidence, found.weakest_point.as_deref()),
    };
    Outcome {
        output,
        changes,
        session: Some(home.id()),
    }
}

/// Opens a branch for each approach; those that repeat another are left out. Also tells which
/// branch each of the model's numbers came to.
fn open(
    approaches: &[Approach],
    base: &Branch,
    fork: &ThoughtId,
    home: &Home,
    changes: &mut Vec<Change>,
    call: &Call,
) -> (Vec<Opened>, Vec<usize>) {
    let mut opened: Vec<Opened> = Vec::new();
    let mut numbers = Vec::new();
    for (number, approach) in approaches.iter().enumerate() {
        let same = |it: &Opened| gist(&it.content) == gist(&approach.thought);
        if let Some(known) = opened.iter().position(same) {
            numbers.push(known);
            continue;
        }
        numbers.push(opened.len());
        let confidence = approach.sure.score();
        let name = match &approach.name {
            None => format!("approach {}", number + 1),
            Some(name) => cut_to_chars(name, NAME_CHARS),
        };
        let mut child = branch(&name, Some(&base.id), confidence, home, call);
        child.metadata = metadata([("rationale", json!(approach.rationale))]);
        let parent = Some(fork.clone());
        let step = thought(&child.id, parent, &approach.thought, confidence, home, call);
        opened.push(Opened {
            id: child.id.clone(),
            thought_id: step.id.clone(),
            name,
            content: step.content.clone(),
            rationale: approach.rationale.clone().unwrap_or_default(),
            confidence,
        });
        changes.push(Change::AddBranch(child));
        changes.push(Change::AddThought(step));
    }
    (opened, numbers)
}

/// The branch that number `number` (from 1) came to.
fn at(numbers: &[usize], number: usize) -> Option<usize> {
    numbers.get(number.checked_sub(1)?).copied()
}

fn most_confident(opened: &[Opened]) -> usize {
    let mut best = 0;
    for (index, branch) in opened.iter().enumerate() {
        let better = |best: &Opened| branch.confidence > best.confidence;
        if opened.get(best).is_some_and(better) {
            best = index;
        }
    }
    best
}

/// Notes how the branches bear on each other. Numbers that name none, or one twice, are left out.
fn refer(
    relations: Vec<Relation>,
    opened: &[Opened],
    numbers: &[usize],
    changes: &mut Vec<Change>,
    call: &Call,
) -> Vec<Reference> {
    let mut references: Vec<Reference> = Vec::new();
    for relation in relations {
        let named = |number| opened.get(at(numbers, number)?);
        let (Some(from), Some(to)) = (named(relation.from), named(relation.to)) else {
            continue;
        };
        let known =
            |it: &Reference| it.from == from.id && it.to == to.id && it.kind == relation.kind;
        if from.id == to.id || references.iter().any(known) {
            continue;
        }
        let reason = relation.reason.filter(|reason| !reason.trim().is_empty());
        changes.push(Change::AddCrossRef(CrossRef {
            id: call.fresh(),
            from_branch: from.id.clone(),
            to_branch: to.id.clone(),
            ref_type: relation.kind,
            reason: reason.clone(),
            strength: Score::ONE,
            created_at: call.now(),
        }));
        references.push(Reference {
            from: from.id.clone(),
            to: to.id.clone(),
            kind: relation.kind,
            reason,
        });
    }
    references
}

/// Puts the recommended branch before its siblings.
fn prefer(recommended: Option<&BranchId>, changes: &mut [Change]) {
    for change in changes {
        if let Change::AddBranch(branch) = change
            && Some(&branch.id) == recommended
        {
            branch.priority += 1;
        }
    }
}

fn branch(
    name: &str,
    parent: Option<&BranchId>,
    confidence: Score,
    home: &Home,
    call: &Call,
) -> Branch {
    let now = call.now();
    Branch {
        id: call.fresh(),
        session_id: home.id(),
        name: Some(name.to_owned()),
        parent_id: parent.cloned(),
        state: BranchState::Active,
        confidence,
        priority: 1,
        set_aside: false,
        created_at: now,
        updated_at: now,
        metadata: None,
    }
}

fn thought(
    branch: &BranchId,
    parent: Option<ThoughtId>,
    content: &str,
    confidence: Score,
    home: &Home,
    call: &Call,
) -> Thought {
    Thought {
        id: call.fresh(),
        session_id: home.id(),
        input: None,
        content: content.to_owned(),
        confidence,
        mode: Mode::Tree,
        parent_id: parent,
        branch_id: Some(branch.clone()),
        set_aside: false,
        created_at: call.now(),
        metadata: None,
    }
}
