//! Chooses the branch to follow: by agreement of the results, else by one more solution that agrees
//! with one of them, else by a comparison, else by the model's confidence.

use std::sync::LazyLock;

use deliberate_core::{CrossRefKind, Score};
use deliberate_llm::{ModelError, ModelRequest};
use deliberate_toolkit::{ToolContext, ToolError};
use serde::Serialize;

use super::model_output::{Approach, Comparison, Relation};
use crate::{
    agreement::{AnswerGroup, agreement_score, comparable_groups, group_answers, plurality},
    history::SessionHistory,
    linear::{LinearStep, step_request},
    prompt_template::{GenerationParams, ReasoningPromptTemplate},
};

/// The recommended approach and why.
pub(super) struct Recommendation {
    /// The number of the approach, from 1.
    pub(super) number: usize,
    /// How the approaches compare.
    pub(super) text: String,
    pub(super) confidence: Score,
    pub(super) weakest_point: Option<String>,
    pub(super) relations: Vec<Relation>,
}

/// The values that the prompt template shows.
#[derive(Serialize)]
struct ComparePromptContext<'a> {
    #[serde(flatten)]
    past: &'a SessionHistory,
    content: &'a str,
    approaches: Vec<ComparedApproach<'a>>,
}

#[derive(Serialize)]
struct ComparedApproach<'a> {
    thought: &'a str,
    answer: Option<&'a str>,
}

/// A low temperature, because a judgment should be reproducible.
static COMPARE: LazyLock<ReasoningPromptTemplate> = LazyLock::new(|| {
    let params = GenerationParams {
        max_tokens: 2_000,
        temperature: 0.2,
    };
    ReasoningPromptTemplate::free_text::<Comparison>(
        "tree_compare",
        include_str!("compare.md"),
        "thought",
        params,
    )
});

/// Recommends one of the approaches: the result that most of them reach. If no result is reached more
/// often than the others, the problem is solved once more without an approach, and a model compares
/// the approaches only if that decides nothing, or if their results can't be compared.
pub(super) async fn recommend(
    content: &str,
    past: &SessionHistory,
    approaches: &[Approach],
    call: &ToolContext,
) -> Result<Recommendation, ToolError> {
    let total = approaches.len();
    let groups = group_answers(approaches.iter().map(|it| it.fields.answer.as_deref()));
    if let Some(group) = plurality(&groups) {
        let best = most_confident(approaches, group.members.iter().copied());
        return Ok(Recommendation {
            confidence: agreement_score(group, total),
            ..by_confidence(approaches, best, &groups)
        });
    }
    let most_confident = most_confident(approaches, 0..total);
    // The client's own model made the approaches in one reply and is not asked once more.
    if total < 2 || call.model_remembers().await {
        return Ok(by_confidence(approaches, most_confident, &groups));
    }
    if let Some(decided) = decide_by_solution(content, past, approaches, &groups, call).await? {
        return Ok(decided);
    }
    let compared = match compare(content, past, approaches, call).await {
        Ok(compared) => compared,
        // The approaches are worth keeping without a comparison.
        Err(ToolError::Model(error)) if error != ModelError::Pending => {
            return Ok(by_confidence(approaches, most_confident, &groups));
        }
        Err(error) => return Err(error),
    };
    let best = compared
        .recommended
        .filter(|number| (1..=total).contains(number))
        .unwrap_or(most_confident + 1);
    Ok(Recommendation {
        number: best,
        text: compared.thought,
        confidence: compared.sure.score(),
        weakest_point: compared.weakest_point,
        relations: answer_relations(&groups),
    })
}

/// Solves the problem once more and follows the results that agree with the solution. `None` if it
/// agrees with none, or if some results can't be compared.
async fn decide_by_solution(
    content: &str,
    past: &SessionHistory,
    approaches: &[Approach],
    groups: &[AnswerGroup],
    call: &ToolContext,
) -> Result<Option<Recommendation>, ToolError> {
    if groups.len() < 2 || comparable_groups(groups).count() < groups.len() {
        return Ok(None);
    }
    call.progress(0.8, Some(1.0), "deciding between the results");
    let ask = ModelRequest {
        key: "tree_decide".to_owned(),
        ..step_request(content, past, None, call)?
    };
    let solution = match call.ask(ask, Some(LinearStep::from_plain_text)).await {
        Ok(answer) => answer.value,
        Err(ToolError::Model(error)) if error != ModelError::Pending => return Ok(None),
        Err(error) => return Err(error),
    };
    let result = solution.fields.answer.as_deref();
    let all = approaches.iter().map(|it| it.fields.answer.as_deref());
    let with_solution = group_answers(all.chain([result]));
    let total = approaches.len();
    Ok(plurality(&with_solution).map(|group| {
        let members = group.members.iter().copied().filter(|it| *it < total);
        let best = most_confident(approaches, members);
        let decided = by_confidence(approaches, best, groups);
        Recommendation {
            text: format!(
                "{} One more solution reaches: {}",
                decided.text, group.answer
            ),
            confidence: agreement_score(group, total + 1),
            ..decided
        }
    }))
}

/// Recommends the approach at this index, with the confidence of its own model.
fn by_confidence(approaches: &[Approach], index: usize, groups: &[AnswerGroup]) -> Recommendation {
    let chosen = approaches.get(index);
    Recommendation {
        number: index + 1,
        text: agreement_text(groups, approaches.len()),
        confidence: chosen.map_or(Score::ZERO, |it| it.fields.confidence()),
        weakest_point: chosen.and_then(|it| it.fields.weakest_point.clone()),
        relations: answer_relations(groups),
    }
}

async fn compare(
    content: &str,
    past: &SessionHistory,
    approaches: &[Approach],
    call: &ToolContext,
) -> Result<Comparison, ToolError> {
    let shown = approaches.iter().map(|approach| ComparedApproach {
        thought: &approach.thought,
        answer: approach.fields.answer.as_deref(),
    });
    call.progress(0.8, Some(1.0), "comparing");
    let context = ComparePromptContext {
        past,
        content,
        approaches: shown.collect(),
    };
    let ask = COMPARE.render(context, call)?;
    Ok(call.ask(ask, None).await?.value)
}

/// The index of the approach with a result that its model is most sure of, else of the approach that
/// its model is most sure of; the first of equals.
fn most_confident(approaches: &[Approach], among: impl Iterator<Item = usize>) -> usize {
    let score = |index: usize| {
        let fields = approaches.get(index).map(|it| &it.fields);
        fields.map_or((0.0, 0.0), |it| {
            (it.confidence().get(), it.sure.score().get())
        })
    };
    among
        .reduce(|best, index| {
            if score(index) > score(best) {
                index
            } else {
                best
            }
        })
        .unwrap_or(0)
}

/// States which results the approaches reach.
pub(super) fn agreement_text(groups: &[AnswerGroup], total: usize) -> String {
    let list = |group: &AnswerGroup| {
        let numbers: Vec<String> = group
            .members
            .iter()
            .map(|it| (it + 1).to_string())
            .collect();
        format!("{} ({})", group.answer, numbers.join(", "))
    };
    match groups {
        [] => format!("None of the {total} approaches reaches a result."),
        [only] if only.members.len() == total => {
            format!(
                "All {total} approaches reach the same result: {}",
                only.answer
            )
        }
        groups => {
            let lines: Vec<String> = groups.iter().map(list).collect();
            format!(
                "Of {total} approaches, these reach a result: {}",
                lines.join("; ")
            )
        }
    }
}

/// The relations that follow from the results: equal ones support, different ones contradict each
/// other, unless everyone words them in another way. One relation for each approach or group is
/// enough.
fn answer_relations(groups: &[AnswerGroup]) -> Vec<Relation> {
    let mut relations = Vec::new();
    let first = |group: &AnswerGroup| group.members.first().map(|it| it + 1);
    for group in groups {
        let Some(head) = first(group) else { continue };
        for member in group.members.iter().skip(1) {
            relations.push(Relation {
                from: member + 1,
                to: head,
                kind: CrossRefKind::Supports,
                reason: Some("both reach the same result".to_owned()),
            });
        }
    }
    let mut comparable = comparable_groups(groups).filter_map(first);
    if let Some(best) = comparable.next() {
        for other in comparable {
            relations.push(Relation {
                from: other,
                to: best,
                kind: CrossRefKind::Contradicts,
                reason: Some("they reach different results".to_owned()),
            });
        }
    }
    relations
}
