//! Validates the request as a whole: the fields, their sizes and their combination.

use deliberate_toolkit::{ArgumentIssue, ErrorCode, ToolError};
use futures::future::BoxFuture;
use serde_json::json;

use crate::{
    engine::{EngineContext, StageOutcome, errors::engine_error, stages::EngineStage},
    gate::{GateParameter, GateVerdict},
};

pub(crate) struct NormalizeRequest;

impl EngineStage for NormalizeRequest {
    fn name(&self) -> &'static str {
        "normalize"
    }

    fn run<'a>(
        &'a self,
        context: &'a mut EngineContext<'_>,
    ) -> BoxFuture<'a, Result<StageOutcome, ToolError>> {
        Box::pin(async move {
            check_sizes(context)?;
            check_field_combination(context)?;
            read_gates(context)?;
            read_verdict(context)?;
            Ok(StageOutcome::Next)
        })
    }
}

/// Checks sizes first, so that nothing huge is processed.
fn check_sizes(context: &EngineContext<'_>) -> Result<(), ToolError> {
    let limits = &context.engine.options.limits;
    let (request, mut issues) = (&context.request, Vec::new());
    let mut check = |field: &str, length: usize, most: usize| {
        if length > most {
            let rule = format!("must have at most {most} bytes");
            issues.push(ArgumentIssue::new(field, rule).with_value(&json!(length)));
        }
    };
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    check("command", length(&request.command), limits.command_bytes);
    check(
        "user_response",
        length(&request.user_response),
        limits.answer_bytes,
    );
    check("chain_id", length(&request.chain_id), 300);
    let blank = |text: &Option<String>| text.as_ref().is_some_and(|it| it.trim().is_empty());
    if blank(&request.user_response) {
        issues.push(ArgumentIssue::new("user_response", "must not be blank"));
    }
    if issues.is_empty() {
        return Ok(());
    }
    Err(ToolError::Invalid(issues))
}

fn check_field_combination(context: &mut EngineContext<'_>) -> Result<(), ToolError> {
    let request = &context.request;
    let resumes = request.chain_id.is_some();
    let begins = request
        .command
        .as_ref()
        .is_some_and(|command| !command.trim().is_empty());
    if resumes && request.force_restart == Some(true) {
        return Err(engine_error(
            ErrorCode::Conflict,
            "chain_id continues a run, but force_restart starts a new one",
            "Leave out force_restart to continue, or send the command without chain_id to start a \
             new run.",
        ));
    }
    if !resumes && !begins {
        let answers = request.user_response.is_some()
            || request.gate_verdict.is_some()
            || request.gate_action.is_some();
        return Err(if answers {
            engine_error(
                ErrorCode::MissingRun,
                "the run that this belongs to is not given",
                "Add the chain_id that was shown with the step; system_control \
                 {\"action\":\"session\"} lists the runs.",
            )
        } else {
            engine_error(
                ErrorCode::MissingCommand,
                "neither a command nor a chain_id was given",
                "Try {\"command\":\"list\"} to see the prompts, or {\"command\":\">>id your text\"} to \
                 use one.",
            )
        });
    }
    if resumes && request.options.is_some() {
        context.add_note("The options were ignored: they belong to the command that starts a run.");
    }
    if resumes && begins {
        context.add_note("The command was ignored, because chain_id continues a run.");
    }
    Ok(())
}

fn read_gates(context: &mut EngineContext<'_>) -> Result<(), ToolError> {
    let given = context.request.gates.take().unwrap_or_default();
    let mut issues = Vec::new();
    for (index, gate) in given.into_iter().enumerate() {
        match GateParameter::try_from(gate.clone()) {
            Ok(parameter) => context.gate_parameters.push(parameter),
            Err(error) => {
                let issue = ArgumentIssue::new(format!("gates[{index}]"), error.to_string());
                issues.push(issue.with_value(&gate));
            }
        }
    }
    if issues.is_empty() {
        return Ok(());
    }
    Err(ToolError::Invalid(issues))
}

fn read_verdict(context: &mut EngineContext<'_>) -> Result<(), ToolError> {
    let Some(input) = &context.request.gate_verdict else {
        return Ok(());
    };
    let verdict = GateVerdict::parse(&input.0).map_err(|error| {
        let issue = ArgumentIssue::new("gate_verdict", error.to_string());
        ToolError::Invalid(vec![issue.with_value(&input.0)])
    })?;
    context.verdict = Some(verdict);
    Ok(())
}
