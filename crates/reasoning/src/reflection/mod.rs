//! The reflection mode: judges a piece of reasoning and improves it.

mod definition;
mod evaluate;
mod metrics;
mod subject;

use std::{collections::BTreeSet, sync::LazyLock};

use deliberate_core::{
    Change, Mode, Percent, Score, SessionId, Thought, ThoughtId, approximate_tokens,
};
use deliberate_llm::ModelRequest;
use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    history::SessionHistory,
    model_fields::{Confidence, non_blank, non_blank_list, normalized, optional_text},
    prompt_template::{GenerationParams, ReasoningPromptTemplate},
    text_list::check_list,
};
use crate::session::{TargetSession, metadata_object, require_open_branch};
pub(crate) use definition::MODE;
pub(crate) use evaluate::ReflectionEvaluate;
use subject::ReflectionSubject;

/// The `reasoning_reflection` tool.
pub(crate) struct Reflection;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Content to reflect on (if not using `thought_id`)
    content: Option<String>,
    /// Thought to evaluate
    thought_id: Option<ThoughtId>,
    /// Session for context; alone: reflect on its latest thought
    session_id: Option<SessionId>,
    /// Areas to focus on
    #[schemars(length(max = 20))]
    focus_areas: Option<Vec<String>>,
    /// Default: 1
    #[schemars(range(min = 1, max = 5))]
    max_iterations: Option<u8>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The thought that holds the judgment
    thought_id: ThoughtId,
    /// Pass it to continue this session
    session_id: SessionId,
    /// The judgement, in a few sentences
    content: String,
    /// How sure the model is of its judgment
    confidence: Score,
    /// What is good about the subject
    strengths: Vec<String>,
    /// What is wrong with it
    weaknesses: Vec<String>,
    /// What would make it better
    recommendations: Vec<String>,
    /// The rewritten subject; null if it was no better
    improved_reasoning: Option<String>,
    /// The thought that holds `improved_reasoning`
    improved_thought_id: Option<ThoughtId>,
    /// The thought that was reflected on; null for a given text
    reflected_thought_id: Option<ThoughtId>,
    /// How good the subject is; null if not rated
    quality_before: Option<Score>,
    /// How good `improved_reasoning` is; null without one, or if not rated
    quality_after: Option<Score>,
    /// How many rounds of reflection there were
    iterations: usize,
    /// Present if only the beginning of the subject was examined
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

/// The answer that the model is asked for.
#[derive(Debug, Deserialize, JsonSchema)]
// The schema requires every field, although an answer without some of them is accepted.
#[schemars(extend("required" = [
    "analysis", "strengths", "weaknesses", "recommendations", "quality_percent",
    "improved_reasoning", "improved_quality_percent", "confidence_percent", "weakest_point"
]))]
struct ReflectionReply {
    /// The judgement, in a few sentences
    #[schemars(length(min = 1))]
    #[serde(deserialize_with = "non_blank")]
    analysis: String,
    #[serde(default, deserialize_with = "non_blank_list")]
    strengths: Vec<String>,
    #[serde(default, deserialize_with = "non_blank_list")]
    weaknesses: Vec<String>,
    #[serde(default, deserialize_with = "non_blank_list")]
    recommendations: Vec<String>,
    /// How good the subject is
    #[serde(default, deserialize_with = "Percent::lenient_option")]
    #[schemars(with = "Percent")]
    quality_percent: Option<Percent>,
    /// The subject, written anew
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(with = "String")]
    improved_reasoning: Option<String>,
    /// How good that is
    #[serde(default, deserialize_with = "Percent::lenient_option")]
    #[schemars(with = "Percent")]
    improved_quality_percent: Option<Percent>,
    #[serde(flatten)]
    sure: Confidence,
    /// Where the judgement is most likely to be wrong
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(with = "String", length(max = 300))]
    weakest_point: Option<String>,
}

/// The values that the prompt template shows.
#[derive(Serialize)]
struct ReflectionPromptContext<'a> {
    #[serde(flatten)]
    past: &'a SessionHistory,
    focus: &'a [String],
    subject: &'a str,
}

/// The same limits as the pipes of the original server have.
const GENERATION: GenerationParams = GenerationParams {
    max_tokens: 2_500,
    temperature: 0.6,
};

/// The largest number of additional tokens for a long subject, which the answer repeats in a better
/// version.
const MAX_EXTRA_TOKENS: usize = 6_000;

/// The note about a subject that is too long for the prompt.
const TRUNCATED_NOTE: &str =
    "The thought is longer than the prompt allows; only its beginning was examined.";

static ASK: LazyLock<ReasoningPromptTemplate> = LazyLock::new(|| {
    ReasoningPromptTemplate::new::<ReflectionReply>(
        "reflection",
        include_str!("reflect.md"),
        GENERATION,
    )
});

impl Tool for Reflection {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_reflection",
            title: "Reflect on a thought",
            description: "Meta-cognitive reasoning: evaluates strengths and weaknesses of a thought \
                          or text, gives recommendations and an improved version.",
            hints: ToolHints::ASKS_MODEL,
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let subject = ReflectionSubject::resolve(
            input.content,
            input.thought_id.as_ref(),
            input.session_id.as_ref(),
            call,
        )
        .await?;
        let focus = check_list("focus_areas", input.focus_areas, call)?;
        reflect(subject, focus, input.max_iterations.unwrap_or(1), call).await
    }
}

/// Reflects on `content`, in a session of any mode or in a new one.
pub(crate) async fn reflect_on(
    content: String,
    session: Option<deliberate_core::Session>,
    call: &ToolContext,
) -> Result<ToolOutput<Output>, ToolError> {
    let subject = ReflectionSubject::from_text(content, session, call).await?;
    reflect(subject, Vec::new(), 1, call).await
}

async fn reflect(
    subject: ReflectionSubject,
    focus: Vec<String>,
    most: u8,
    call: &ToolContext,
) -> Result<ToolOutput<Output>, ToolError> {
    let reflected = ReflectionRounds::run_rounds(&subject, &focus, most, call).await?;
    Ok(reflection_output(subject, focus, reflected, call))
}

/// The result of the rounds.
struct ReflectionRounds {
    /// The judgment that is returned.
    best: ReflectionReply,
    /// The improved text that belongs to `best`, if there is one.
    improved: Option<ImprovedText>,
    quality_before: Option<Score>,
    count: usize,
}

struct ImprovedText {
    text: String,
    quality: Option<Score>,
}

impl ReflectionRounds {
    /// Reflects on the subject, then on its improved version, as long as it gets better. No text is
    /// reflected on twice, and a model that gives no quality is asked once. The quality of a text
    /// is the judgment of the next round; the round that wrote the text only claims it.
    async fn run_rounds(
        subject: &ReflectionSubject,
        focus: &[String],
        most: u8,
        call: &ToolContext,
    ) -> Result<Self, ToolError> {
        let mut rounds = Self::first_round(subject, focus, most, call).await?;
        let mut seen = BTreeSet::from([normalized(&subject.text)]);
        let mut floor = rounds.quality_before;
        // The previous result, for the case that the latest is no better.
        let mut earlier: Option<(ReflectionReply, ImprovedText)> = None;
        while rounds.count < usize::from(most) {
            let (Some(latest), Some(to_beat)) = (&mut rounds.improved, floor) else {
                break;
            };
            let Some(claimed) = latest.quality else { break };
            seen.insert(normalized(&latest.text));
            let number = rounds.count + 1;
            let next = run_round(subject, focus, &latest.text, (number, most), call).await?;
            rounds.count = number;
            let judged = next.quality_percent.map_or(claimed, |percent| percent.0);
            if judged <= to_beat {
                match earlier.take() {
                    Some((best, improved)) => {
                        rounds.best = best;
                        rounds.improved = Some(improved);
                    }
                    None => rounds.improved = None,
                }
                break;
            }
            latest.quality = Some(judged);
            floor = Some(judged);
            let quality = next.improved_quality();
            let text = next
                .improved_text()
                .filter(|it| !seen.contains(&normalized(it)));
            let Some(text) = text.filter(|_| quality.is_some_and(|it| it > judged)) else {
                break;
            };
            let better = Some(ImprovedText { text, quality });
            let before = std::mem::replace(&mut rounds.improved, better);
            let judgement = std::mem::replace(&mut rounds.best, next);
            earlier = before.map(|improved| (judgement, improved));
        }
        Ok(rounds)
    }

    async fn first_round(
        subject: &ReflectionSubject,
        focus: &[String],
        most: u8,
        call: &ToolContext,
    ) -> Result<Self, ToolError> {
        let text = &subject.text;
        let first = run_round(subject, focus, text, (1, most), call).await?;
        let quality_before = first.quality_percent.map(|percent| percent.0);
        let quality = first.improved_quality();
        let worse = match (quality_before, quality) {
            (Some(before), Some(after)) => after <= before,
            // Without both numbers there is no evidence that it is worse, and it was offered as
            // better.
            _ => false,
        };
        let improved = first.improved_text();
        let improved = improved.filter(|it| !worse && normalized(it) != normalized(text));
        Ok(Self {
            improved: improved.map(|text| ImprovedText { text, quality }),
            best: first,
            quality_before,
            count: 1,
        })
    }
}

impl ReflectionReply {
    fn improved_quality(&self) -> Option<Score> {
        self.improved_quality_percent.map(|percent| percent.0)
    }

    fn improved_text(&self) -> Option<String> {
        self.improved_reasoning.clone()
    }
}

async fn run_round(
    subject: &ReflectionSubject,
    focus: &[String],
    text: &str,
    (number, most): (usize, u8),
    call: &ToolContext,
) -> Result<ReflectionReply, ToolError> {
    call.progress((number - 1) as f64, Some(f64::from(most)), "reflecting");
    let ask = ASK.render(ReflectionPromptContext {
        past: &subject.past,
        focus,
        subject: text,
    })?;
    let room = approximate_tokens(text).min(MAX_EXTRA_TOKENS);
    let ask = ModelRequest {
        key: format!("reflection_{number}"),
        max_tokens: ask.max_tokens + u32::try_from(room).unwrap_or_default(),
        variables: [("content".to_owned(), text.to_owned())].into(),
        ..ask
    };
    Ok(call.ask(ask, None).await?.value)
}

fn reflection_output(
    subject: ReflectionSubject,
    focus: Vec<String>,
    rounds: ReflectionRounds,
    call: &ToolContext,
) -> ToolOutput<Output> {
    let home =
        TargetSession::existing_or_new(subject.session, Mode::Reflection, &subject.text, call);
    let at = call.now();
    let branch_id = subject.branch;
    let reflected = subject.thought.map(|thought| thought.id);
    let thought = |input, content, confidence, parent_id, metadata| Thought {
        id: call.new_id(),
        session_id: home.id(),
        input,
        content,
        confidence,
        mode: Mode::Reflection,
        parent_id,
        branch_id: branch_id.clone(),
        set_aside: false,
        created_at: at,
        metadata,
    };
    let best = rounds.best;
    let quality_after = rounds.improved.as_ref().and_then(|it| it.quality);
    let confidence = best.sure.score();
    let reflection = thought(
        subject.input_text,
        best.analysis,
        confidence,
        subject.parent,
        metadata_object([
            ("kind", json!("reflection")),
            ("reflects_on", json!(subject.target_id)),
            ("strengths", json!(best.strengths)),
            ("weaknesses", json!(best.weaknesses)),
            ("recommendations", json!(best.recommendations)),
            ("quality_before", json!(rounds.quality_before)),
            ("quality_after", json!(quality_after)),
            ("iterations", json!(rounds.count)),
            ("focus_areas", Value::from(focus)),
            ("weakest_point", json!(best.weakest_point)),
        ]),
    );
    let improved = rounds.improved.map(|improved| {
        thought(
            None,
            improved.text,
            quality_after.unwrap_or(confidence),
            Some(reflection.id.clone()),
            metadata_object([
                ("kind", json!("improved")),
                ("improves", json!(subject.target_id)),
            ]),
        )
    });
    let output = Output {
        thought_id: reflection.id.clone(),
        session_id: home.id(),
        content: reflection.content.clone(),
        confidence,
        strengths: best.strengths,
        weaknesses: best.weaknesses,
        recommendations: best.recommendations,
        improved_reasoning: improved.as_ref().map(|it| it.content.clone()),
        improved_thought_id: improved.as_ref().map(|it| it.id.clone()),
        reflected_thought_id: reflected,
        quality_before: rounds.quality_before,
        quality_after,
        iterations: rounds.count,
        note: subject.is_truncated.then_some(TRUNCATED_NOTE),
    };
    let mut changes = home.changes();
    changes.extend(require_open_branch(reflection.branch_id.as_ref()));
    changes.push(Change::AddThought(reflection));
    changes.extend(improved.map(Change::AddThought));
    ToolOutput {
        output,
        changes,
        session: Some(home.id()),
    }
}
