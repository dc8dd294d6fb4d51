//! An answer to a step, brought before its gates.
//!
//! The server computes what can be computed; what is left is judged by the model that is set up
//! for it, or by the verdict that came with the answer. What was computed holds, whatever the
//! verdict says; and who answered can't pass what a model is to judge.

use deliberate_thinker::ThinkError;
use deliberate_toolkit::{Issue, ToolError};

use super::{Context, failure};
use crate::{
    Judge,
    chain::{Happened, Held, Node},
    gate::{
        self, Chosen, CriterionResult, Decision, GateResult, JudgeReply, JudgedBy, Outcome,
        Sources, Verdict, VerdictError,
    },
    model::EvaluationMode,
};

/// How many warnings are told.
const MOST_WARNINGS: usize = 5;

/// Takes in answers. All are looked at before one is taken in: either all are, or none is.
pub(crate) async fn answers(
    context: &mut Context<'_>,
    answers: Vec<(Node, String)>,
) -> Result<(), ToolError> {
    let mut looked_at = Vec::with_capacity(answers.len());
    for (node, text) in answers {
        let step = context.state.step(node.number);
        let used = step.map_or(0, |step| step.attempts) + 1;
        let held = review(context, &node, &text, used).await?;
        looked_at.push((node, text, held));
    }
    for (node, text, held) in looked_at {
        tell_warnings(context, held.as_ref());
        context.happened(&Happened::Answered {
            step: node.number,
            text,
            accepted: held.as_ref().is_none_or(goes_on),
            review: held,
        })?;
    }
    Ok(())
}

/// Takes in a verdict on the answer that is held.
pub(crate) async fn verdict(context: &mut Context<'_>, node: &Node) -> Result<(), ToolError> {
    let step = context.state.step(node.number).cloned().unwrap_or_default();
    let text = step.answer.unwrap_or_default();
    let Some(held) = review(context, node, &text, step.attempts.max(1)).await? else {
        return Ok(());
    };
    tell_warnings(context, Some(&held));
    context.happened(&Happened::Judged {
        step: node.number,
        accepted: goes_on(&held),
        review: held,
    })
}

const fn goes_on(held: &Held) -> bool {
    !matches!(held.review.decision, Decision::Hold { .. })
}

/// What a gate warns of does not hold the work up, but is told.
fn tell_warnings(context: &mut Context<'_>, held: Option<&Held>) {
    let Some(Decision::Advance { warnings }) = held.map(|held| &held.review.decision) else {
        return;
    };
    for warning in warnings.iter().take(MOST_WARNINGS) {
        context.note(format!(
            "{} {}: {} ({}). It only warns, so the work goes on.",
            warning.outcome.sign(),
            warning.gate,
            warning.what,
            warning.why
        ));
    }
}

/// What the gates of a step find of an answer; nothing if it has none and nobody objects.
async fn review(
    context: &Context<'_>,
    node: &Node,
    text: &str,
    used: u32,
) -> Result<Option<Held>, ToolError> {
    let gates = gates(context, node)?;
    if gates.is_empty() && context.verdict.is_none() {
        return Ok(None);
    }
    let find = |id: &str| context.library.scripts.get(id).cloned();
    let prompt = node.prompt().unwrap_or_default();
    let runner = &context.engine.runner;
    let ran = runner.checks(&gates, text, prompt, find).await;
    let methodology = node.methodology.as_ref();
    let methodology = methodology.and_then(|id| context.plan.methodologies.get(id));
    let (methodology, library) = (methodology.cloned(), context.library.clone());
    let answer = text.to_owned();
    let mut results = gate::check_all_apart(gates.clone(), answer, methodology, library, ran).await;
    if let Some(verdict) = &context.verdict {
        results = by_client(context, verdict, &gates, results).map_err(|error| {
            ToolError::Invalid(vec![Issue::new("gate_verdict", error.to_string())])
        })?;
    }
    let results = by_model(context, node, &gates, results, text).await?;
    if results.is_empty() {
        return Ok(None);
    }
    let review = gate::decide(&results, used, node.retries);
    Ok(Some(Held { review, results }))
}

/// The gates of a step: those of the plan, and those that this call adds.
fn gates(context: &Context<'_>, node: &Node) -> Result<Vec<Chosen>, ToolError> {
    if !context.begun_before || context.asked_gates.is_empty() {
        return Ok(node.gates.clone());
    }
    let mut gates = node.gates.clone();
    let added = gate::collect(&Sources {
        parameter: &context.asked_gates,
        parameter_at: Some(node.number),
        step: node.number,
        ..Sources::none(&context.library)
    });
    let added = added.map_err(|error| failure("TooManyGates", error.to_string(), None))?;
    let unknown = added.unknown.iter().find(|it| it.is_callers());
    if let Some(unknown) = unknown {
        return Err(failure("UnknownName", unknown.to_string(), None));
    }
    let there: Vec<String> = gates.iter().map(|it| it.gate.id.clone()).collect();
    let asked = added.gates.into_iter().filter(Chosen::was_asked);
    gates.extend(asked.filter(|it| !there.contains(&it.gate.id)));
    Ok(gates)
}

/// Whether a model judges what can't be computed of a gate.
fn is_for_model(context: &Context<'_>, chosen: &Chosen) -> bool {
    let own = chosen.gate.evaluation.as_ref();
    context.engine.options.judge == Judge::Model
        || context.runs_itself()
        || own.is_some_and(|it| it.mode == EvaluationMode::Judge)
}

/// What whoever answered says of it. A no counts everywhere; a yes only where they are the judge.
fn by_client(
    context: &Context<'_>,
    verdict: &Verdict,
    gates: &[Chosen],
    results: Vec<GateResult>,
) -> Result<Vec<GateResult>, VerdictError> {
    if verdict.overall == Some(Outcome::Fail) {
        return gate::apply(verdict, results, JudgedBy::Client).map(|it| it.results);
    }
    let (models, own): (Vec<_>, Vec<_>) = results
        .into_iter()
        .enumerate()
        .partition(|(at, _)| gates.get(*at).is_some_and(|it| is_for_model(context, it)));
    let places: Vec<usize> = own.iter().map(|(at, _)| *at).collect();
    let own = own.into_iter().map(|(_, result)| result).collect();
    let judged = gate::apply(verdict, own, JudgedBy::Client)?.results;
    // What a verdict adds of its own comes last.
    let places = places.into_iter().chain(gates.len()..);
    let mut all: Vec<(usize, GateResult)> = places.zip(judged).chain(models).collect();
    all.sort_by_key(|(at, _)| *at);
    Ok(all.into_iter().map(|(_, result)| result).collect())
}

/// What a model says of what is its to judge. An answer is not lost because nobody could be asked:
/// it is held until someone can.
async fn by_model(
    context: &Context<'_>,
    node: &Node,
    gates: &[Chosen],
    results: Vec<GateResult>,
    text: &str,
) -> Result<Vec<GateResult>, ToolError> {
    let asked: Vec<GateResult> = results
        .iter()
        .zip(gates)
        .filter(|(result, chosen)| {
            is_for_model(context, chosen) && result.criteria.iter().any(CriterionResult::is_open)
        })
        .map(|(result, _)| result.clone())
        .collect();
    let methodology = node.methodology.as_ref();
    let methodology = methodology.and_then(|id| context.plan.methodologies.get(id));
    let notes = methodology.and_then(|it| it.judge_prompt.as_deref());
    let step = context.state.step(node.number);
    let attempts = step.map_or(0, |step| step.attempts);
    let key = format!("judge-{}-{attempts}", node.number);
    let Some(ask) = gate::judge_ask(key, &asked, text, notes) else {
        return Ok(results);
    };
    let reply = match context.call.think::<JudgeReply>(ask, None).await {
        Ok(reply) => reply.value,
        Err(ToolError::Think(error))
            if !matches!(error, ThinkError::Pending) && !context.runs_itself() =>
        {
            tracing::warn!(
                code = error.code(),
                "the judge of a gate could not be asked"
            );
            return Ok(results);
        }
        Err(error) => return Err(error),
    };
    let verdict = reply.verdict(&asked);
    gate::apply(&verdict, results, JudgedBy::Model)
        .map(|applied| applied.results)
        .map_err(|error| failure("BadVerdict", error.to_string(), None))
}
