//! Verify node: checks every sentence against the passages, in code first. A model is asked only
//! about claims that are merely worded differently. It must quote the passage, otherwise the claim
//! stays unsupported; claims that only a model supports are marked.

use deliberate_toolkit::{ToolError, compute};
use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::{
    agentic::state::{AgenticContext, AgenticState, NodeError},
    checked_answer::CheckedAnswer,
    prompts::PromptTemplate,
    retriever::Retriever,
    verifier::{Claim, ClaimVerdict, Verifier},
};

/// Further opinions in a reply are ignored.
const MAX_OPINIONS: usize = 24;

/// Longer quotes are not looked for.
const MAX_QUOTE_CHARS: usize = 1_000;

#[derive(Debug, Deserialize, JsonSchema)]
struct ModelOpinions {
    #[schemars(length(max = 12))]
    claims: Vec<ModelOpinion>,
}

/// The quote comes first, so that the verdict follows from it.
#[derive(Debug, Deserialize, JsonSchema)]
struct ModelOpinion {
    number: usize,
    #[serde(default)]
    #[schemars(length(max = 8))]
    passage: Option<String>,
    #[serde(default)]
    quote: Option<String>,
    supported: bool,
}

const CHECK_PROMPT: PromptTemplate = PromptTemplate {
    purpose: "check",
    text: include_str!("../../prompts/check.md"),
    max_tokens: 1_500,
    temperature: 0.0,
};

pub(crate) async fn run<R: Retriever>(
    state: &mut AgenticState,
    context: &AgenticContext<'_, R>,
) -> Result<String, NodeError> {
    let Some(draft) = state.draft.take() else {
        return Ok("nothing to check".to_owned());
    };
    let mut judged = CheckedAnswer::check(draft.claims(), &state.pool).await?;
    let open = judged.undecided_claims();
    let mut second = 0;
    let standing = judged.is_supported(context.retriever.answer_options().min_support);
    if !open.is_empty() && !standing && !state.budget.is_nearly_exhausted() {
        // Without a model the claims stay unsupported; the answer is kept either way.
        match ask_model(state, context, &judged, &open).await {
            Ok(Some(opinions)) => {
                (judged, second) = apply_opinions(state, judged, open, opinions).await?;
            }
            Ok(None) => {}
            Err(NodeError::BudgetExhausted(what)) => {
                state.note_skipped(format!("check by a model: {what}"));
            }
            Err(stop) => return Err(stop),
        }
    }
    state.problems = judged.problems();
    let support = judged.support();
    let better = state
        .checked_answer
        .as_ref()
        .is_none_or(|it| support >= it.support());
    let claims = judged.claim_count();
    if better {
        state.checked_answer = Some(judged);
    }
    Ok(match support {
        Some(support) => format!(
            "{:.0} % of {claims} claims supported{}",
            support * 100.0,
            if second > 0 {
                format!(", {second} of them by a model's quote")
            } else {
                String::new()
            }
        ),
        None => "the draft makes no claims".to_owned(),
    })
}

async fn ask_model<R: Retriever>(
    state: &mut AgenticState,
    context: &AgenticContext<'_, R>,
    answer: &CheckedAnswer,
    open: &[usize],
) -> Result<Option<ModelOpinions>, NodeError> {
    let claims: Vec<&Claim> = open
        .iter()
        .filter_map(|&at| answer.sentences.get(at))
        .map(|(claim, _)| claim)
        .collect();
    let cited: BTreeSet<usize> = claims
        .iter()
        .flat_map(|it| &it.cited)
        .filter_map(|id| id.strip_prefix('p')?.parse::<usize>().ok()?.checked_sub(1))
        .collect();
    let cited: Vec<usize> = cited.into_iter().collect();
    let (passages, _) = state.pool.render(&cited);
    let listed: Vec<String> = claims
        .iter()
        .enumerate()
        .map(|(at, it)| {
            format!(
                "Claim {}:\n{}",
                at + 1,
                state.pool.fence().wrap("claim", &it.text)
            )
        })
        .collect();
    let ask = CHECK_PROMPT.build_request::<ModelOpinions>(
        format!("check/{}", state.rounds),
        &[("passages", &passages), ("claims", &listed.join("\n"))],
    );
    state.ask(context.call, ask).await
}

/// Applies the opinions whose quotes are found and returns how many claims they settle.
async fn apply_opinions(
    state: &AgenticState,
    mut answer: CheckedAnswer,
    open: Vec<usize>,
    opinions: ModelOpinions,
) -> Result<(CheckedAnswer, usize), NodeError> {
    let sources = state.pool.evidence_passages();
    let settled = compute(move || {
        let verifier = Verifier::new(&sources);
        let mut settled = 0;
        let opinions = opinions.claims.iter().take(MAX_OPINIONS);
        for opinion in opinions.filter(|it| it.supported) {
            let place = opinion.number.checked_sub(1).and_then(|it| open.get(it));
            let sentence = place.and_then(|&at| Some((at, answer.sentences.get_mut(at)?)));
            let Some((at, (claim, checked))) = sentence else {
                continue;
            };
            let (Some(passage), Some(quote)) = (&opinion.passage, &opinion.quote) else {
                continue;
            };
            if checked.verdict == ClaimVerdict::Supported || !claim.cited.contains(passage) {
                continue;
            }
            if quote.chars().nth(MAX_QUOTE_CHARS).is_some() {
                continue;
            }
            if let Some(found) = verifier.locate_model_quote(claim, passage, quote) {
                checked.verdict = ClaimVerdict::Supported;
                checked.problems.clear();
                checked.evidence = vec![found];
                answer.by_model.insert(at);
                settled += 1;
            }
        }
        (answer, settled)
    });
    Ok(settled.await.map_err(ToolError::from)?)
}
