//! Refine node: selects the sentences of passages that concern the question. They are copied
//! verbatim, so that evidence from them still has a position in the paper.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::{
    agentic::state::{AgenticContext, AgenticState, NodeError},
    passage_pool::PassagePool,
    prompts::PromptTemplate,
    retriever::Retriever,
    verifier,
};

#[derive(Debug, Deserialize, JsonSchema)]
struct PassagePicksReply {
    #[schemars(length(max = 120))]
    passages: Vec<PassagePicks>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct PassagePicks {
    #[schemars(length(max = 8))]
    passage: String,
    #[schemars(length(max = 40))]
    sentences: Vec<usize>,
}

const REFINE_PROMPT: PromptTemplate = PromptTemplate {
    purpose: "refine",
    text: include_str!("../../prompts/refine.md"),
    max_tokens: 1_500,
    temperature: 0.0,
};

/// Shorter passages, in total characters, are not refined.
const MIN_REFINE_CHARS: usize = 6_000;

/// Sentences of a passage that are numbered, and sentence numbers that are read from a reply.
const MAX_SENTENCES: usize = 20;
const MAX_PICKS: usize = 200;

pub(crate) async fn run<R: Retriever>(
    state: &mut AgenticState,
    context: &AgenticContext<'_, R>,
) -> Result<String, NodeError> {
    let kept: Vec<usize> = state.relevant.iter().copied().collect();
    let kept: Vec<usize> = kept
        .into_iter()
        .filter(|it| !state.refined.contains_key(it))
        .collect();
    let chars: usize = kept
        .iter()
        .filter_map(|&it| state.pool.get(it))
        .map(|it| it.passage.text.len())
        .sum();
    if chars < MIN_REFINE_CHARS {
        return Ok("not needed: the passages are short".to_owned());
    }
    let (passages, shown) = state
        .pool
        .render_with(&kept, |_, it| number_sentences(&it.passage.text));
    let ask = REFINE_PROMPT.build_request::<PassagePicksReply>(
        format!("refine/{}", state.rounds),
        &[
            ("passages", &passages),
            (
                "question",
                &state.pool.fence().wrap("question", &state.question),
            ),
        ],
    );
    let Some(picked) = state.ask::<PassagePicksReply>(context.call, ask).await? else {
        return Ok("the passages are unchanged".to_owned());
    };
    let mut sentences = 0;
    for at in shown {
        let id = PassagePool::id(at);
        let Some(picks) = picked.passages.iter().find(|it| it.passage == id) else {
            continue;
        };
        let text = state
            .pool
            .get(at)
            .map(|it| select_sentences(&it.passage.text, &picks.sentences));
        match text {
            Some((text, count)) if count > 0 => {
                sentences += count;
                state.refined.insert(at, text);
            }
            // No sentence helps: the passage stays evidence, but the answer is not written from it.
            _ if state.relevant.len() > 1 => {
                state.relevant.remove(&at);
            }
            _ => {}
        }
    }
    Ok(format!(
        "{sentences} sentences from {} passages",
        state.refined.len()
    ))
}

fn number_sentences(text: &str) -> String {
    let lines = verifier::split_sentences(text)
        .into_iter()
        .take(MAX_SENTENCES)
        .enumerate();
    let lines: Vec<String> = lines.map(|(at, it)| format!("[{}] {it}", at + 1)).collect();
    lines.join("\n")
}

/// Returns the sentences with these numbers in their order, with `[…]` for omissions, and their
/// count. Only numbered sentences can be selected.
fn select_sentences(text: &str, numbers: &[usize]) -> (String, usize) {
    let numbers: BTreeSet<usize> = numbers.iter().copied().take(MAX_PICKS).collect();
    let all = verifier::split_sentences(text)
        .into_iter()
        .take(MAX_SENTENCES);
    let mut out = String::new();
    let mut last = None;
    let mut count = 0;
    for (at, sentence) in all.enumerate() {
        if !numbers.contains(&(at + 1)) {
            continue;
        }
        count += 1;
        if let Some(last) = last {
            out.push_str(if last + 1 == at { " " } else { " […] " });
        }
        out.push_str(&sentence);
        last = Some(at);
    }
    (out, count)
}
