//! Judges of the claims that code cannot check, because they say in other words what a passage may
//! say. A judge is asked once for all of them. It must quote the passage: code looks for the quote,
//! and an opinion whose quote is not there counts for nothing.

use std::collections::BTreeSet;

use deliberate_llm::{ModelError, ModelRequest};
use deliberate_toolkit::{ToolContext, ToolError, compute};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    checked_answer::CheckedAnswer,
    passage_pool::PassagePool,
    prompts::PromptTemplate,
    verifier::{Claim, ClaimProblem, ClaimProblemKind, ClaimVerdict, Verifier},
};

/// Gives opinions on claims.
pub(super) trait ClaimJudge {
    type Failure: From<ToolError>;

    /// Sends the request; `None` if nobody answers it.
    fn opinions(
        &mut self,
        request: ModelRequest,
    ) -> impl Future<Output = Result<Option<ClaimOpinions>, Self::Failure>> + Send;
}

/// The model of the call.
pub(super) struct CallModelJudge<'a> {
    pub(super) call: &'a ToolContext,
    /// Where a failure of the model is noted.
    pub(super) notes: &'a mut Vec<String>,
}

impl ClaimJudge for CallModelJudge<'_> {
    type Failure = ToolError;

    async fn opinions(
        &mut self,
        request: ModelRequest,
    ) -> Result<Option<ClaimOpinions>, ToolError> {
        match self.call.ask::<ClaimOpinions>(request, None).await {
            Ok(thinking) => Ok(Some(thinking.value)),
            Err(ToolError::Model(error)) if error != ModelError::Pending => {
                let note =
                    format!("Some sentences are not checked: the model request failed: {error}.");
                if !self.notes.contains(&note) {
                    self.notes.push(note);
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// The opinions of a judge.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ClaimOpinions {
    #[schemars(length(max = MAX_CLAIMS))]
    claims: Vec<ClaimOpinion>,
}

/// Reason and quote come first, so that the verdict follows from them.
#[derive(Debug, Deserialize, JsonSchema)]
struct ClaimOpinion {
    number: usize,
    #[serde(default)]
    #[schemars(length(max = 300))]
    reason: Option<String>,
    #[serde(default)]
    #[schemars(length(max = 8))]
    passage: Option<String>,
    #[serde(default)]
    quote: Option<String>,
    verdict: OpinionVerdict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum OpinionVerdict {
    Supported,
    Contradicted,
    NotSaid,
}

/// Claims that are judged in one request; further ones stay unchecked.
const MAX_CLAIMS: usize = 16;

/// Longer quotes are not looked for.
const MAX_QUOTE_CHARS: usize = 1_000;

const CHECK_PROMPT: PromptTemplate = PromptTemplate {
    purpose: "check",
    text: include_str!("prompts/check.md"),
    max_tokens: 2_500,
    temperature: 0.0,
};

/// Asks a judge about the unchecked claims of an answer and applies the opinions whose quotes are
/// found. Returns how many claims they settle.
pub(super) async fn judge_claims<J: ClaimJudge>(
    judge: &mut J,
    key: String,
    answer: CheckedAnswer,
    pool: &PassagePool,
) -> Result<(CheckedAnswer, usize), J::Failure> {
    let open: Vec<usize> = answer.unchecked_claims().take(MAX_CLAIMS).collect();
    if open.is_empty() {
        return Ok((answer, 0));
    }
    let request = build_request(key, &answer, pool, &open);
    match judge.opinions(request).await? {
        Some(opinions) => Ok(apply_opinions(pool, answer, open, opinions).await?),
        None => Ok((answer, 0)),
    }
}

fn build_request(
    key: String,
    answer: &CheckedAnswer,
    pool: &PassagePool,
    open: &[usize],
) -> ModelRequest {
    let claims = open.iter().filter_map(|&at| answer.sentences.get(at));
    let claims: Vec<&Claim> = claims.map(|(claim, _)| claim).collect();
    let cited = claims.iter().flat_map(|it| &it.cited);
    let cited: BTreeSet<usize> = cited
        .filter_map(|id| id.strip_prefix('p')?.parse::<usize>().ok()?.checked_sub(1))
        .collect();
    let cited: Vec<usize> = cited.into_iter().collect();
    let (passages, _) = pool.render(&cited);
    let listed = claims.iter().enumerate().map(|(at, it)| {
        let text = pool.fence().wrap("claim", &it.text);
        format!("Claim {}, citing {}:\n{text}", at + 1, it.cited.join(", "))
    });
    let listed: Vec<String> = listed.collect();
    CHECK_PROMPT.build_request::<ClaimOpinions>(
        key,
        &[("passages", &passages), ("claims", &listed.join("\n"))],
    )
}

async fn apply_opinions(
    pool: &PassagePool,
    mut answer: CheckedAnswer,
    open: Vec<usize>,
    opinions: ClaimOpinions,
) -> Result<(CheckedAnswer, usize), ToolError> {
    let sources = pool.evidence_passages();
    let settled = compute(move || {
        let verifier = Verifier::new(&sources);
        let mut settled = 0;
        let mut judged = BTreeSet::new();
        for opinion in opinions.claims.iter().take(MAX_CLAIMS) {
            let place = opinion.number.checked_sub(1).and_then(|it| open.get(it));
            let sentence = place.and_then(|&at| Some((at, answer.sentences.get_mut(at)?)));
            let Some((at, (claim, checked))) = sentence else {
                continue;
            };
            // The first opinion on a claim counts, and one without a reason is none.
            if !judged.insert(at) {
                continue;
            }
            let reason = opinion.reason.as_deref().unwrap_or_default().trim();
            let (Some(passage), Some(quote)) = (&opinion.passage, &opinion.quote) else {
                continue;
            };
            let verdict = match opinion.verdict {
                OpinionVerdict::Supported => ClaimVerdict::Supported,
                OpinionVerdict::Contradicted => ClaimVerdict::Contradicted,
                OpinionVerdict::NotSaid => continue,
            };
            let long = quote.chars().nth(MAX_QUOTE_CHARS).is_some();
            if reason.is_empty() || long || !claim.cited.contains(passage) {
                continue;
            }
            let supports = verdict == ClaimVerdict::Supported;
            let located = verifier.locate_model_quote(claim, passage, quote, supports);
            let Some(found) = located else {
                continue;
            };
            checked.verdict = verdict;
            let problems = &mut checked.problems;
            problems.retain(|it| it.kind == ClaimProblemKind::Citation);
            if verdict == ClaimVerdict::Contradicted {
                let problem = ClaimProblem::new(
                    ClaimProblemKind::Judgment,
                    reason,
                    Some(found.quote.clone()),
                );
                checked.problems.push(problem);
            }
            checked.evidence = vec![found];
            answer.by_model.insert(at);
            settled += 1;
        }
        (answer, settled)
    });
    Ok(settled.await?)
}
