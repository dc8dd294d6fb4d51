//! The draft of an answer: the request to the model, and its reply, sentence by sentence with
//! citations.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{
    prompts::PromptTemplate,
    verifier::{self, Claim},
};
use deliberate_core::PromptFence;
use deliberate_llm::ModelRequest;

/// An answer before the check.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct AnswerDraft {
    #[schemars(length(max = 24))]
    pub(super) sentences: Vec<DraftSentence>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct DraftSentence {
    #[serde(rename = "sentence")]
    #[schemars(length(max = MAX_SENTENCE_CHARS))]
    pub(super) text: String,
    /// Ids of passages
    #[serde(default, deserialize_with = "parse_ids")]
    #[schemars(with = "Vec<String>", length(max = 8), inner(length(max = 40)))]
    pub(super) passages: Vec<String>,
    /// Words of one of them, letter by letter
    #[serde(default)]
    #[schemars(length(max = 400))]
    pub(super) quote: Option<String>,
}

/// Sentences that are checked. Further ones are omitted, and a note says so.
const MAX_SENTENCES: usize = 40;

/// Characters of a sentence; a longer one has been truncated before it gets here.
const MAX_SENTENCE_CHARS: usize = 700;

/// Passages that one sentence may cite.
const MAX_CITED_PASSAGES: usize = 8;

/// Parses passage ids as models write them: `p3`, `[p3]`, `3`, `p3 and p4`.
fn parse_ids<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let items = match Value::deserialize(deserializer)? {
        Value::Array(items) => items,
        Value::Null => Vec::new(),
        one => vec![one],
    };
    let mut all: Vec<String> = Vec::new();
    for number in items.iter().take(100).flat_map(id_numbers) {
        let id = format!("p{number}");
        if all.len() < MAX_CITED_PASSAGES && !all.contains(&id) {
            all.push(id);
        }
    }
    Ok(all)
}

/// The numbers in an id: those after a `p` if there are any, otherwise all.
fn id_numbers(id: &Value) -> Vec<u64> {
    let text = match id {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_u64() {
            Some(number) => return vec![number],
            // `3.0` is one id, not `3` and `0`.
            None => number
                .to_string()
                .split('.')
                .next()
                .unwrap_or_default()
                .to_owned(),
        },
        _ => return Vec::new(),
    };
    let (mut marked, mut plain) = (Vec::new(), Vec::new());
    let mut rest = text.as_str();
    while let Some(start) = rest.find(|it: char| it.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|it: char| !it.is_ascii_digit());
        let (digits, behind) = from.split_at(end.unwrap_or(from.len()));
        if let Ok(number) = digits.parse() {
            let found = if before.ends_with(['p', 'P']) {
                &mut marked
            } else {
                &mut plain
            };
            found.push(number);
        }
        rest = behind;
    }
    if marked.is_empty() { plain } else { marked }
}

impl AnswerDraft {
    /// The claims of the draft. A sentence may contain several.
    pub(super) fn claims(&self) -> Vec<Claim> {
        let mut all = Vec::new();
        for sentence in &self.sentences {
            let quote = sentence.quote.as_deref().map(str::trim);
            let mut quote = quote.filter(|it| !it.is_empty()).map(str::to_owned);
            let mut texts = verifier::split_claims(&sentence.text);
            if sentence.text.chars().count() >= MAX_SENTENCE_CHARS
                && let Some(last) = texts.last_mut()
            {
                last.push('…');
            }
            for text in texts {
                all.push(Claim {
                    text,
                    cited: sentence.passages.clone(),
                    quote: quote.take(),
                });
            }
            if all.len() > MAX_SENTENCES {
                break;
            }
        }
        all.truncate(MAX_SENTENCES);
        all
    }

    /// A note if the draft is too long to be checked completely.
    pub(super) fn note(&self) -> Option<String> {
        let sentences = self.sentences.iter().take(MAX_SENTENCES + 1);
        let count: usize = sentences
            .map(|it| verifier::split_claims(&it.text).len())
            .sum();
        (count > MAX_SENTENCES).then(|| {
            format!("The answer is longer than {MAX_SENTENCES} sentences; the rest is omitted.")
        })
    }
}

const ANSWER_PROMPT: PromptTemplate = PromptTemplate {
    purpose: "answer",
    text: include_str!("prompts/answer.md"),
    max_tokens: 2_500,
    temperature: 0.2,
};

/// Approximate tokens of an answer request without its passages.
const INSTRUCTION_TOKENS: u64 = 1_500;

/// Bytes of passages that an answer request may contain when `tokens` are left.
pub(super) fn passage_bytes_for(tokens: u64) -> usize {
    let left = tokens.saturating_sub(u64::from(ANSWER_PROMPT.max_tokens) + INSTRUCTION_TOKENS);
    // English has more than three bytes per token, some scripts have fewer.
    usize::try_from(left.saturating_mul(3)).unwrap_or(usize::MAX)
}

/// Sentences that the model is asked to write at most.
const TARGET_SENTENCES: usize = 12;

/// Builds the request for an answer from these passages, with the problems of an earlier one.
pub(super) fn answer_request(
    key: String,
    question: &str,
    passages: &str,
    problems: &[String],
    fence: &PromptFence,
) -> ModelRequest {
    let told = if problems.is_empty() {
        String::new()
    } else {
        let list = format!("- {}", problems.join("\n- "));
        format!(
            "\nAn earlier answer had these faults. Leave out what the passages do not say; keep \
             what they do:\n{}\n",
            fence.wrap("problem", &list)
        )
    };
    ANSWER_PROMPT.build_request::<AnswerDraft>(
        key,
        &[
            ("passages", passages),
            ("question", &fence.wrap("question", question)),
            ("problems", &told),
            ("most", &TARGET_SENTENCES.to_string()),
        ],
    )
}
