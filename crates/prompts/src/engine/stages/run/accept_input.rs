//! Processes the caller's input to a run: an answer, a verdict, or a retry, skip or abort. A
//! repeated input is processed once.

use deliberate_core::{ChainState, truncate_chars};
use deliberate_toolkit::{ErrorCode, ToolError};
use futures::future::BoxFuture;
use serde_json::Value;

use crate::{
    chain::{ChainRunEvent, GateAction, PlannedStep, StepProgress},
    engine::{
        EngineContext, StageOutcome, errors::engine_error, review_answer, stages::EngineStage,
    },
    gate::{CheckOutcome, CriterionResult, GateVerdict},
};

/// The most characters of an answer to a question that are stored.
const MAX_REASON_CHARS: usize = 300;

pub(crate) struct AcceptInput;

impl EngineStage for AcceptInput {
    fn name(&self) -> &'static str {
        "capture"
    }

    fn run<'a>(
        &'a self,
        context: &'a mut EngineContext<'_>,
    ) -> BoxFuture<'a, Result<StageOutcome, ToolError>> {
        Box::pin(async move {
            if context.resumed {
                accept_input(context).await?;
            }
            context.input_accepted = true;
            Ok(StageOutcome::Next)
        })
    }
}

async fn accept_input(context: &mut EngineContext<'_>) -> Result<(), ToolError> {
    let brings = context.request.user_response.is_some()
        || context.verdict.is_some()
        || context.request.gate_action.is_some();
    if !brings {
        return Ok(());
    }
    let state = context.run.as_ref().map(|run| run.state);
    if state != Some(ChainState::Open) {
        note_finished_run(context, state);
        return Ok(());
    }
    match context.request.gate_action {
        Some(GateAction::Retry) => {
            apply_action(context, GateAction::Retry)?;
            if context.request.user_response.is_none() {
                return Ok(());
            }
        }
        Some(action) => return apply_action(context, action),
        None => {}
    }
    if accept_decision(context)? {
        return Ok(());
    }
    accept_answer(context).await
}

fn note_finished_run(context: &mut EngineContext<'_>, state: Option<ChainState>) {
    let how = match state {
        Some(ChainState::Aborted) => "was aborted",
        _ => "is done",
    };
    // A repetition of the last answer is a repeated call and needs no note.
    let steps = context.state.steps.iter();
    let last = steps.rev().find_map(|step| step.answer.as_ref());
    let sent = context.request.user_response.as_ref();
    if sent.is_none() || sent != last {
        context.add_note(format!("The run {how}; the input was ignored."));
    }
}

fn apply_action(context: &mut EngineContext<'_>, action: GateAction) -> Result<(), ToolError> {
    let open = context.open_steps();
    let nodes: Vec<&PlannedStep> = open.iter().collect();
    if action != GateAction::Abort && context.state.undecided_condition(&nodes).is_some() {
        return Err(decision_required());
    }
    let wanted = context.request.step;
    if let Some(step) = wanted.and_then(|step| context.state.step(step))
        && step.is_finished()
    {
        return Ok(());
    }
    let held = |node: &&PlannedStep| {
        context
            .state
            .step(node.number)
            .is_some_and(StepProgress::is_held)
    };
    let steps: Vec<u32> = match (wanted, open.as_slice()) {
        (Some(wanted), _) => open
            .iter()
            .filter(|node| node.number == wanted)
            .map(|node| node.number)
            .collect(),
        (None, several) if action == GateAction::Abort => {
            several.iter().take(1).map(|node| node.number).collect()
        }
        (None, [only]) => vec![only.number],
        // Of several parallel steps, the action applies to the held ones.
        (None, several) => several
            .iter()
            .filter(held)
            .map(|node| node.number)
            .collect(),
    };
    if steps.is_empty() {
        return Err(if wanted.is_some() {
            step_not_open(&open, wanted)
        } else {
            ambiguous_step(&open)
        });
    }
    let answered = context.request.user_response.clone();
    for step in steps {
        // A step that is skipped together with an answer continues with that answer.
        if let Some(text) = answered.clone().filter(|_| action == GateAction::Skip) {
            context.record_event(&ChainRunEvent::Answered {
                step,
                text,
                accepted: false,
                review: None,
            })?;
        }
        context.record_event(&ChainRunEvent::Acted { action, step })?;
    }
    Ok(())
}

/// Uses a verdict, or a yes or no, as the answer to the condition that the run waits for.
fn accept_decision(context: &mut EngineContext<'_>) -> Result<bool, ToolError> {
    let open = context.open_steps();
    let open: Vec<&PlannedStep> = open.iter().collect();
    let given = match (&context.verdict, &context.request.user_response) {
        (Some(verdict), None) => verdict.overall.map(|overall| {
            let holds = match overall {
                CheckOutcome::Pass => Some(true),
                CheckOutcome::Fail => Some(false),
                CheckOutcome::CannotTell => None,
            };
            (holds, truncate_chars(&verdict.rationale, MAX_REASON_CHARS))
        }),
        (_, Some(text)) => Some((
            parse_yes_or_no(text),
            truncate_chars(text, MAX_REASON_CHARS),
        )),
        (None, None) => None,
    };
    // The same answer again belongs to the condition that was just decided.
    let again = given
        .as_ref()
        .is_some_and(|(_, why)| context.state.last_decision_reason.as_ref() == Some(why));
    let Some(question) = context.state.undecided_condition(&open) else {
        return Ok(again);
    };
    let meant = context.request.step;
    let here = open.iter().any(|node| Some(node.number) == meant);
    if (again && meant.is_none()) || (meant.is_some() && !here) {
        let number = open.first().map(|node| node.number).unwrap_or_default();
        context.add_note(format!(
            "This is the answer to the previous question, so the call counts as a repetition. If \
             it answers this question, add step: {number}."
        ));
        return Ok(true);
    }
    let Some((Some(holds), why)) = given else {
        return Err(decision_required());
    };
    context.record_event(&ChainRunEvent::Decided {
        question,
        holds,
        why,
    })?;
    Ok(true)
}

fn decision_required() -> ToolError {
    engine_error(
        ErrorCode::WantsDecision,
        "the run waits for a yes or a no",
        "Send gate_verdict \"PASS - why\" for yes or \"FAIL - why\" for no; gate_action abort ends \
         the run.",
    )
}

fn parse_yes_or_no(text: &str) -> Option<bool> {
    let letters = text.trim().chars().take_while(|it| it.is_alphabetic());
    let word: String = letters.collect::<String>().to_lowercase();
    match word.as_str() {
        "yes" | "true" | "pass" => Some(true),
        "no" | "false" | "fail" => Some(false),
        _ => None,
    }
}

async fn accept_answer(context: &mut EngineContext<'_>) -> Result<(), ToolError> {
    let open = context.open_steps();
    let Some(text) = context.request.user_response.clone() else {
        return judge_held_answer(context, &open).await;
    };
    if is_repeated_answer(context, &open, &text)? {
        return Ok(());
    }
    if let Some(several) = split_answers(&open, &text, context.request.step) {
        return review_answer::submit_answers(context, several).await;
    }
    let node = match (context.request.step, open.as_slice()) {
        (Some(wanted), _) => open.iter().find(|node| node.number == wanted),
        (None, [only]) => Some(only),
        (None, _) => return Err(ambiguous_step(&open)),
    };
    let Some(node) = node.cloned() else {
        return Err(step_not_open(&open, context.request.step));
    };
    let step = context.state.step(node.number).cloned().unwrap_or_default();
    // The same answer with a verdict is one judged answer, not two.
    if step.is_held() && step.answer.as_ref() == Some(&text) {
        return accept_verdict(context, &node).await;
    }
    if let Some(review) = step.review.as_ref().filter(|_| step.is_held())
        && review.review.is_stuck()
    {
        return Err(engine_error(
            ErrorCode::LimitReached,
            format!(
                "step {} has used all {} attempts",
                node.number, review.review.attempts.limit
            ),
            "Send gate_action: retry resets the count (you can add an answer), skip continues, \
             abort ends the run.",
        ));
    }
    review_answer::submit_answers(context, vec![(node, text)]).await
}

/// Applies a verdict without an answer to the held answer.
async fn judge_held_answer(
    context: &mut EngineContext<'_>,
    open: &[PlannedStep],
) -> Result<(), ToolError> {
    let wanted = context.request.step;
    let planned_step = open
        .iter()
        .filter(|node| wanted.is_none_or(|step| step == node.number))
        .find(|node| {
            let step = context.state.step(node.number);
            step.is_some_and(StepProgress::is_held)
        });
    match planned_step {
        Some(node) => accept_verdict(context, node).await,
        None => Err(engine_error(
            ErrorCode::NothingToJudge,
            "no answer waits for a verdict",
            "Send the verdict together with user_response.",
        )),
    }
}

/// Applies a verdict to open criteria. A failed criterion needs another answer, not another
/// verdict.
async fn accept_verdict(
    context: &mut EngineContext<'_>,
    node: &PlannedStep,
) -> Result<(), ToolError> {
    let step = context.state.step(node.number);
    let review = step.and_then(|step| step.review.as_ref());
    let open = review.is_none_or(|answer_review| {
        let mut criteria = answer_review.results.iter().flat_map(|it| &it.criteria);
        criteria.any(CriterionResult::is_open)
    });
    if open {
        return review_answer::submit_verdict(context, node).await;
    }
    let says_no = |verdict: &GateVerdict| verdict.overall == Some(CheckOutcome::Fail);
    if context.verdict.as_ref().is_some_and(says_no) {
        return Ok(());
    }
    Err(engine_error(
        ErrorCode::AlreadyJudged,
        format!("the answer to step {} failed its gates", node.number),
        "Send a better answer; gate_action skip continues with this one.",
    ))
}

/// Returns whether this answer was recorded before. The call was repeated then, and nothing is done
/// twice.
fn is_repeated_answer(
    context: &mut EngineContext<'_>,
    open: &[PlannedStep],
    text: &str,
) -> Result<bool, ToolError> {
    let has = |number: u32, text: &str| {
        let step = context.state.step(number);
        step.is_some_and(|step| step.answer.as_deref() == Some(text))
    };
    if let Some(wanted) = context.request.step {
        let step = context.state.step(wanted);
        if !step.is_some_and(StepProgress::is_finished) {
            return Ok(context.verdict.is_none() && has(wanted, text));
        }
        if has(wanted, text) {
            return Ok(true);
        }
        return Err(engine_error(
            ErrorCode::AlreadyAnswered,
            format!("step {wanted} already has a different answer"),
            "Continue with the open step; force_restart starts a new run.",
        ));
    }
    // The held answer was sent again unchanged, without a verdict.
    if context.verdict.is_none() && open.iter().any(|node| has(node.number, text)) {
        return Ok(true);
    }
    let Some(first) = open.first() else {
        return Ok(false);
    };
    let answered = |node: &&PlannedStep| {
        let step = context.state.step(node.number);
        step.is_some_and(|step| step.answer.is_some())
    };
    let nodes = context.plan.nodes.iter();
    let before = nodes.filter(|node| node.stage <= first.stage && !open.contains(node));
    let Some(last) = before.filter(answered).map(|node| node.stage).max() else {
        return Ok(false);
    };
    let nodes = context.plan.nodes.iter();
    let before: Vec<PlannedStep> = nodes
        .filter(|node| node.stage == last && !open.contains(node))
        .cloned()
        .collect();
    let all = split_answers(&before, text, None);
    if all.is_some_and(|all| all.iter().all(|(node, text)| has(node.number, text))) {
        return Ok(true);
    }
    let Some(same) = before.iter().find(|node| has(node.number, text)) else {
        return Ok(false);
    };
    let (previous, number) = (same.number, first.number);
    context.add_note(format!(
        "This is the answer of step {previous}, so the call counts as a repetition. If it is \
         meant for step {number}, add step: {number}."
    ));
    Ok(true)
}

/// Splits a JSON object with the answers to several steps, by number or by name.
fn split_answers(
    steps: &[PlannedStep],
    text: &str,
    step: Option<u32>,
) -> Option<Vec<(PlannedStep, String)>> {
    if steps.len() < 2 || step.is_some() || !text.trim_start().starts_with('{') {
        return None;
    }
    let Ok(Value::Object(fields)) = serde_json::from_str(text) else {
        return None;
    };
    let mut answers = Vec::new();
    for (key, value) in fields {
        let node = steps
            .iter()
            .find(|node| node.number.to_string() == key || node.name == key)?;
        let text = match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        answers.push((node.clone(), text));
    }
    (!answers.is_empty()).then_some(answers)
}

fn list_step_numbers(open: &[PlannedStep]) -> String {
    let numbers: Vec<String> = open.iter().map(|it| it.number.to_string()).collect();
    numbers.join(", ")
}

fn ambiguous_step(open: &[PlannedStep]) -> ToolError {
    engine_error(
        ErrorCode::WhichStep,
        format!(
            "steps {} are open, and the call does not say which one is meant",
            list_step_numbers(open)
        ),
        "Add step, or send all answers at once as a JSON object with one entry for each step \
         number.",
    )
}

fn step_not_open(open: &[PlannedStep], wanted: Option<u32>) -> ToolError {
    let wanted = wanted.unwrap_or_default();
    let there = if open.is_empty() {
        "none".to_owned()
    } else {
        list_step_numbers(open)
    };
    engine_error(
        ErrorCode::StepNotOpen,
        format!("step {wanted} is not open; {there} is"),
        "Answer the open step.",
    )
}
