//! Checks an answer to a step against its gates.
//!
//! The server computes the criteria that code can check. The others are judged by the configured
//! model or by the verdict that came with the answer. A verdict never changes a computed result,
//! and the answering client cannot pass criteria that a model must judge.

use deliberate_llm::ModelError;
use deliberate_toolkit::{ArgumentIssue, ErrorCode, ToolError};

use super::{EngineContext, engine_error};
use crate::{
    GateJudgeKind,
    chain::{AnswerReview, ChainRunEvent, PlannedStep},
    gate::{
        self, CheckOutcome, CriterionResult, GateDecision, GateResult, GateSources, GateVerdict,
        JudgeReply, JudgedBy, SelectedGate, VerdictError,
    },
    model::EvaluationMode,
};

/// The most warnings in a reply.
const MAX_WARNINGS: usize = 5;

/// Processes answers. All are checked before the first is recorded, so that either all are recorded
/// or none.
pub(crate) async fn submit_answers(
    context: &mut EngineContext<'_>,
    answers: Vec<(PlannedStep, String)>,
) -> Result<(), ToolError> {
    let mut looked_at = Vec::with_capacity(answers.len());
    for (node, text) in answers {
        let step = context.state.step(node.number);
        let used = step.map_or(0, |step| step.attempts) + 1;
        let answer_review = review_answer(context, &node, &text, used).await?;
        looked_at.push((node, text, answer_review));
    }
    for (node, text, answer_review) in looked_at {
        note_warnings(context, answer_review.as_ref());
        context.record_event(&ChainRunEvent::Answered {
            step: node.number,
            text,
            accepted: answer_review.as_ref().is_none_or(is_accepted),
            review: answer_review,
        })?;
    }
    Ok(())
}

/// Processes a verdict on the held answer.
pub(crate) async fn submit_verdict(
    context: &mut EngineContext<'_>,
    node: &PlannedStep,
) -> Result<(), ToolError> {
    let step = context.state.step(node.number).cloned().unwrap_or_default();
    let text = step.answer.unwrap_or_default();
    let Some(answer_review) = review_answer(context, node, &text, step.attempts.max(1)).await?
    else {
        return Ok(());
    };
    note_warnings(context, Some(&answer_review));
    context.record_event(&ChainRunEvent::Judged {
        step: node.number,
        accepted: is_accepted(&answer_review),
        review: answer_review,
    })
}

const fn is_accepted(review: &AnswerReview) -> bool {
    !matches!(review.review.decision, GateDecision::Hold { .. })
}

/// Adds gate warnings, which do not hold the run, to the notes.
fn note_warnings(context: &mut EngineContext<'_>, review: Option<&AnswerReview>) {
    let Some(GateDecision::Advance { warnings }) = review.map(|review| &review.review.decision)
    else {
        return;
    };
    for warning in warnings.iter().take(MAX_WARNINGS) {
        context.add_note(format!(
            "{} {}: {} ({}). This is only a warning; the run continues.",
            warning.outcome.symbol(),
            warning.gate,
            warning.what,
            warning.why
        ));
    }
}

/// Checks an answer against the gates of a step; `None` if it has no gates and there is no verdict.
async fn review_answer(
    context: &EngineContext<'_>,
    node: &PlannedStep,
    text: &str,
    used: u32,
) -> Result<Option<AnswerReview>, ToolError> {
    let gates = step_gates(context, node)?;
    if gates.is_empty() && context.verdict.is_none() {
        return Ok(None);
    }
    let find = |id: &str| context.library.scripts.get(id).cloned();
    let prompt = node.prompt().unwrap_or_default();
    let runner = &context.engine.runner;
    let ran = runner.run_gate_checks(&gates, text, prompt, find).await;
    let methodology = node.methodology.as_ref();
    let methodology = methodology.and_then(|id| context.plan.methodologies.get(id));
    let (methodology, library) = (methodology.cloned(), context.library.clone());
    let answer = text.to_owned();
    let mut results = gate::check_all_async(gates.clone(), answer, methodology, library, ran).await;
    if let Some(verdict) = &context.verdict {
        results = apply_client_verdict(context, verdict, &gates, results).map_err(|error| {
            ToolError::Invalid(vec![ArgumentIssue::new("gate_verdict", error.to_string())])
        })?;
    }
    let results = apply_model_verdict(context, node, &gates, results, text).await?;
    if results.is_empty() {
        return Ok(None);
    }
    let review = gate::decide_review(&results, used, node.retries);
    Ok(Some(AnswerReview { review, results }))
}

/// Returns the gates of a step: those of the plan, and those that this call adds.
fn step_gates(
    context: &EngineContext<'_>,
    node: &PlannedStep,
) -> Result<Vec<SelectedGate>, ToolError> {
    if !context.resumed || context.gate_parameters.is_empty() {
        return Ok(node.gates.clone());
    }
    let mut gates = node.gates.clone();
    let added = gate::select_gates(&GateSources {
        parameter: &context.gate_parameters,
        parameter_step: Some(node.number),
        step: node.number,
        ..GateSources::empty(&context.library)
    });
    let added =
        added.map_err(|error| engine_error(ErrorCode::TooManyGates, error.to_string(), None))?;
    let unknown = added.unknown.iter().find(|it| it.is_caller_error());
    if let Some(unknown) = unknown {
        return Err(engine_error(
            ErrorCode::UnknownName,
            unknown.to_string(),
            None,
        ));
    }
    let there: Vec<String> = gates.iter().map(|it| it.gate.id.clone()).collect();
    let asked = added.gates.into_iter().filter(SelectedGate::is_requested);
    gates.extend(asked.filter(|it| !there.contains(&it.gate.id)));
    Ok(gates)
}

/// Returns whether a model judges the gate's criteria that code cannot compute.
fn is_judged_by_model(context: &EngineContext<'_>, gate: &SelectedGate) -> bool {
    let own = gate.gate.evaluation.as_ref();
    context.engine.options.judge == GateJudgeKind::Model
        || context.uses_server_model()
        || own.is_some_and(|it| it.mode == EvaluationMode::Judge)
}

/// Applies the verdict of the answering client. FAIL counts everywhere; PASS only where the client
/// is the judge.
fn apply_client_verdict(
    context: &EngineContext<'_>,
    verdict: &GateVerdict,
    gates: &[SelectedGate],
    results: Vec<GateResult>,
) -> Result<Vec<GateResult>, VerdictError> {
    if verdict.overall == Some(CheckOutcome::Fail) {
        return gate::apply_verdict(verdict, results, JudgedBy::Client).map(|it| it.results);
    }
    let (models, own): (Vec<_>, Vec<_>) = results.into_iter().enumerate().partition(|(at, _)| {
        gates
            .get(*at)
            .is_some_and(|it| is_judged_by_model(context, it))
    });
    let places: Vec<usize> = own.iter().map(|(at, _)| *at).collect();
    let own = own.into_iter().map(|(_, result)| result).collect();
    let gate_results = gate::apply_verdict(verdict, own, JudgedBy::Client)?.results;
    // A criterion that the verdict adds comes last.
    let places = places.into_iter().chain(gates.len()..);
    let mut all: Vec<(usize, GateResult)> = places.zip(gate_results).chain(models).collect();
    all.sort_by_key(|(at, _)| *at);
    Ok(all.into_iter().map(|(_, result)| result).collect())
}

/// Applies the model's judgment on the criteria that a model must judge. If the model cannot be
/// asked, the answer is not lost: it is held until a judgment is possible.
async fn apply_model_verdict(
    context: &EngineContext<'_>,
    node: &PlannedStep,
    gates: &[SelectedGate],
    results: Vec<GateResult>,
    text: &str,
) -> Result<Vec<GateResult>, ToolError> {
    let asked: Vec<GateResult> = results
        .iter()
        .zip(gates)
        .filter(|(result, selected_gate)| {
            is_judged_by_model(context, selected_gate)
                && result.criteria.iter().any(CriterionResult::is_open)
        })
        .map(|(result, _)| result.clone())
        .collect();
    let methodology = node.methodology.as_ref();
    let methodology = methodology.and_then(|id| context.plan.methodologies.get(id));
    let notes = methodology.and_then(|it| it.judge_prompt.as_deref());
    let step = context.state.step(node.number);
    let attempts = step.map_or(0, |step| step.attempts);
    let key = format!("judge-{}-{attempts}", node.number);
    let nonce = context.call.prompt_fence(&[]).nonce();
    let Some(ask) = gate::judge_request(key, &asked, text, notes, nonce) else {
        return Ok(results);
    };
    let reply = match context.call.ask::<JudgeReply>(ask, None).await {
        Ok(reply) => reply.value,
        Err(ToolError::Model(error))
            if !matches!(error, ModelError::Pending) && !context.uses_server_model() =>
        {
            tracing::warn!(
                code = error.code(),
                "the judge model of a gate could not be asked"
            );
            return Ok(results);
        }
        Err(error) => return Err(error),
    };
    let verdict = reply.to_verdict(&asked);
    gate::apply_verdict(&verdict, results, JudgedBy::Model)
        .map(|applied| applied.results)
        .map_err(|error| engine_error(ErrorCode::BadVerdict, error.to_string(), None))
}
