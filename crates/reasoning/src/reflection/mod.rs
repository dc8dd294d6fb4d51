//! The reflection mode: judges a piece of reasoning and improves it.

mod comparison;
mod definition;
mod evaluate;
mod independent_solution;
mod metrics;
mod reply;
mod subject;

use std::{collections::BTreeSet, sync::LazyLock};

use deliberate_core::{Change, Mode, Score, SessionId, Thought, ThoughtId, approximate_tokens};
use deliberate_llm::{ModelError, ModelRequest, PlainText};
use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    agreement::same_answer,
    history::SessionHistory,
    model_fields::{at_most_half, normalized},
    prompt_template::{GenerationParams, ReasoningPromptTemplate},
    text_list::check_list,
};
use crate::session::{TargetSession, metadata_object, require_open_branch};
use comparison::prefers_revision;
pub(crate) use definition::MODE;
pub(crate) use evaluate::ReflectionEvaluate;
use independent_solution::ComparableResult;
use reply::ReflectionReply;
use subject::ReflectionSubject;

/// The `reasoning_reflection` tool.
pub(crate) struct Reflection;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Content to reflect on
    content: Option<String>,
    thought_id: Option<ThoughtId>,
    /// Alone: reflect on its latest thought
    session_id: Option<SessionId>,
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
    /// The check, in full
    content: String,
    /// The result that stands: of the improved version, else of the subject; null if none
    answer: Option<String>,
    /// How sure the model is of its judgment
    confidence: Score,
    /// What is most likely to be wrong with the judgment
    #[serde(skip_serializing_if = "Option::is_none")]
    weakest_point: Option<String>,
    /// What is good about the subject
    strengths: Vec<String>,
    /// What is wrong with it
    weaknesses: Vec<String>,
    /// What would make it better
    recommendations: Vec<String>,
    /// The rewritten subject; null if a comparison did not prefer it
    improved_reasoning: Option<String>,
    /// The thought that holds `improved_reasoning`
    improved_thought_id: Option<ThoughtId>,
    /// The thought that was reflected on; null for a given text
    reflected_thought_id: Option<ThoughtId>,
    /// How good the subject is; null if not rated
    quality_before: Option<Score>,
    /// How good `improved_reasoning` is; null if not rated
    quality_after: Option<Score>,
    /// How many rounds of reflection there were
    iterations: usize,
    /// What was not examined or not taken over, and why; omitted if nothing
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// The values that the prompt template shows.
#[derive(Serialize)]
struct ReflectionPromptContext<'a> {
    #[serde(flatten)]
    past: &'a SessionHistory,
    question: Option<&'a str>,
    /// Whether the result is checked apart, so that the text is not to be written anew.
    is_solved_apart: bool,
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

/// The note about a revision with the same result.
const SAME_ANSWER_NOTE: &str = "The check reaches the same result, so the original text was kept.";

/// The note about a revision that was not better.
const NOT_PREFERRED_NOTE: &str =
    "A revision was written, but a comparison did not prefer it, so the original was kept.";

/// The note about a revision that could not be compared. The check itself is worth its cost.
const NOT_COMPARED_NOTE: &str =
    "A revision was written, but the comparison failed, so the original was kept.";

static ASK: LazyLock<ReasoningPromptTemplate> = LazyLock::new(|| {
    ReasoningPromptTemplate::free_text::<ReflectionReply>(
        "reflection",
        include_str!("reflect.md"),
        "analysis",
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
            description: "Meta-cognitive reasoning: checks a thought or text, names strengths and \
                          weaknesses, and gives an improved version if a comparison prefers it. Up to \
                          3 calls.",
            hints: ToolHints::ASKS_MODEL,
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    fn takes_reply(&self) -> bool {
        true
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
    let rounds = ReflectionRounds::run(&subject, &focus, most, call).await?;
    Ok(reflection_output(subject, focus, rounds, call))
}

/// A revised text that replaces the subject.
struct ImprovedText {
    text: String,
    answer: Option<String>,
    quality: Option<Score>,
}

/// The result of all rounds.
struct ReflectionRounds {
    /// The judgment of the subject.
    first: ReflectionReply,
    quality_before: Option<Score>,
    improved: Option<ImprovedText>,
    count: usize,
    /// Why a revision was or was not taken over.
    note: Option<String>,
}

impl ReflectionRounds {
    /// Checks the subject: a result that can be compared by independent solutions, any other text
    /// by revisions. A caller that brings its own check is asked for nothing more.
    async fn run(
        subject: &ReflectionSubject,
        focus: &[String],
        most: u8,
        call: &ToolContext,
    ) -> Result<Self, ToolError> {
        match ComparableResult::of_subject(subject) {
            Some(result) if !call.has_reply() => {
                Self::run_solutions(subject, &result, focus, most, call).await
            }
            _ => Self::run_revisions(subject, focus, most, call).await,
        }
    }

    /// Checks the text, and its result by working the question out again.
    async fn run_solutions(
        subject: &ReflectionSubject,
        result: &ComparableResult<'_>,
        focus: &[String],
        most: u8,
        call: &ToolContext,
    ) -> Result<Self, ToolError> {
        let check = run_round(subject, focus, &subject.text, (1, most), call);
        let (mut first, solution) = if call.has_model().await {
            // A provider that fails the first request is not sent the second.
            (check.await?, result.solve(1, call).await?)
        } else {
            // The client's model gets both asks in one round, because rounds are what costs it most.
            // The solution comes first, so that it is written before the check.
            let (solution, check) = futures::join!(result.solve(1, call), check);
            (check?, solution?)
        };
        let settled = result.settle(solution, most, call).await?;
        first.take_revision();
        first.weaknesses.extend(settled.weakness);
        if let Some(confidence) = settled.confidence {
            first.fields.sure = confidence.into();
        }
        let is_refuted = settled.improved.is_some();
        Ok(Self {
            quality_before: first
                .quality()
                .map(|it| if is_refuted { at_most_half(it) } else { it }),
            improved: settled.improved,
            count: settled.rounds,
            note: Some(settled.note),
            first,
        })
    }

    /// Checks the subject, then each revision that replaces it. The original stays unless a
    /// comparison prefers the revision.
    async fn run_revisions(
        subject: &ReflectionSubject,
        focus: &[String],
        most: u8,
        call: &ToolContext,
    ) -> Result<Self, ToolError> {
        let is_reply = call.has_reply();
        // Prompts that are stored at a provider ask for no answer.
        let expects_answer = subject.question.is_some() && !call.has_stored_prompts().await;
        // A text that leaves the question without an answer is at most half good.
        let rated = |answer: Option<&str>, quality: Option<Score>| match answer {
            None if expects_answer => quality.map(at_most_half),
            _ => quality,
        };
        let mut first = run_round(subject, focus, &subject.text, (1, most), call).await?;
        let quality_before = rated(subject.answer.as_deref(), first.quality());
        let mut revision = first.take_revision();
        let mut rounds = Self {
            quality_before,
            improved: None,
            count: 1,
            note: None,
            first: first.clone(),
        };
        let mut latest = first;
        let mut current = (subject.text.clone(), subject.answer.clone());
        let mut seen = BTreeSet::from([normalized(&current.0)]);
        while let Some(text) = revision.take() {
            // A text that was there before is no improvement.
            if !seen.insert(normalized(&text)) {
                break;
            }
            let answer = latest.fields.answer.clone();
            // A revision that does not say what it concludes leaves the result as it was.
            let is_silent = answer.is_none() && !latest.fields.concludes_nothing();
            let standing = if is_silent {
                current.1.clone()
            } else {
                answer.clone()
            };
            // The caller that brings its own revision has compared the two itself.
            if !is_reply {
                if let (Some(old), Some(new)) = (&current.1, &answer)
                    && same_answer(old, new)
                {
                    rounds.note = Some(SAME_ANSWER_NOTE.to_owned());
                    break;
                }
                let question = subject.question.as_deref();
                let versions = (current.0.as_str(), text.as_str());
                let (past, number) = (&subject.past, rounds.count);
                match prefers_revision(past, question, versions, number, call).await {
                    Ok(true) => {}
                    Ok(false) => {
                        rounds.note = Some(NOT_PREFERRED_NOTE.to_owned());
                        break;
                    }
                    Err(ToolError::Model(error)) if error != ModelError::Pending => {
                        rounds.note = Some(NOT_COMPARED_NOTE.to_owned());
                        break;
                    }
                    Err(error) => return Err(error),
                }
            }
            rounds.improved = Some(ImprovedText {
                quality: rated(
                    standing.as_deref(),
                    latest.improved_quality_percent.map(|percent| percent.0),
                ),
                answer: standing.clone(),
                text: text.clone(),
            });
            // No model is asked about a revision that the caller brought.
            if is_reply || rounds.count >= usize::from(most) {
                break;
            }
            current = (text, standing);
            rounds.count += 1;
            latest = run_round(subject, focus, &current.0, (rounds.count, most), call).await?;
            if let Some(improved) = &mut rounds.improved {
                improved.quality = rated(improved.answer.as_deref(), latest.quality());
            }
            revision = latest.take_revision();
        }
        // A later revision that is not taken over leaves the improved text, not the original.
        rounds.note = rounds.note.filter(|_| rounds.improved.is_none());
        Ok(rounds)
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
    let context = ReflectionPromptContext {
        past: &subject.past,
        question: subject.question.as_deref(),
        is_solved_apart: !call.has_reply() && ComparableResult::of_subject(subject).is_some(),
        focus,
        subject: text,
    };
    let ask = ASK.render(context, call)?;
    let room = approximate_tokens(text).min(MAX_EXTRA_TOKENS);
    let ask = ModelRequest {
        key: format!("reflection_{number}"),
        plain_text: PlainText::IsTheAnswer,
        max_tokens: ask.max_tokens + u32::try_from(room).unwrap_or_default(),
        variables: [("content".to_owned(), text.to_owned())].into(),
        ..ask
    };
    let from_plain = Some(ReflectionReply::from_plain_text as fn(String) -> _);
    Ok(call.ask(ask, from_plain).await?.value)
}

fn reflection_output(
    subject: ReflectionSubject,
    focus: Vec<String>,
    rounds: ReflectionRounds,
    call: &ToolContext,
) -> ToolOutput<Output> {
    let subject_answer = subject.answer;
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
    let best = rounds.first;
    let quality_after = rounds.improved.as_ref().and_then(|it| it.quality);
    let confidence = best.fields.sure.score();
    let answer = match &rounds.improved {
        Some(improved) => improved.answer.clone(),
        None => subject_answer,
    };
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
            ("answer", json!(answer)),
            ("weakest_point", json!(best.fields.weakest_point)),
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
                ("answer", json!(improved.answer)),
            ]),
        )
    });
    let output = Output {
        thought_id: reflection.id.clone(),
        session_id: home.id(),
        content: reflection.content.clone(),
        answer,
        confidence,
        weakest_point: best.fields.weakest_point,
        strengths: best.strengths,
        weaknesses: best.weaknesses,
        recommendations: best.recommendations,
        improved_reasoning: improved.as_ref().map(|it| it.content.clone()),
        improved_thought_id: improved.as_ref().map(|it| it.id.clone()),
        reflected_thought_id: reflected,
        quality_before: rounds.quality_before,
        quality_after,
        iterations: rounds.count,
        note: rounds.note,
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
