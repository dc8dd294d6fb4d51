//! Binds the arguments of each step and checks them.

use deliberate_command_language::{DeclaredArgument, Diagnostic, bind};
use deliberate_toolkit::{ErrorCode, ToolError};
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::used_names::{UsedNames, used_names};
use crate::{
    arguments::{check_async, describe},
    engine::{
        EngineContext, StageOutcome,
        context::ResolvedStep,
        errors::{command_error, engine_error},
        stages::EngineStage,
    },
    model::ArgumentDefinition,
};

pub(crate) struct BindArguments;

impl EngineStage for BindArguments {
    fn name(&self) -> &'static str {
        "bind"
    }

    fn run<'a>(
        &'a self,
        context: &'a mut EngineContext<'_>,
    ) -> BoxFuture<'a, Result<StageOutcome, ToolError>> {
        Box::pin(async move {
            let mut stages = std::mem::take(&mut context.stages);
            let options = context.request.options.take().unwrap_or_default();
            let names = used_names(context, &stages).await?;
            let mut faults = Vec::new();
            let mut first = true;
            for stage in &mut stages {
                for step in stage.then.iter_mut().chain(&mut stage.otherwise) {
                    bind_step(context, step, &names, &options, first, &mut faults).await?;
                }
                first = false;
            }
            if !faults.is_empty() {
                return Err(command_error(
                    ErrorCode::InvalidCommand,
                    &context.source,
                    &faults,
                ));
            }
            context.stages = stages;
            Ok(StageOutcome::Next)
        })
    }
}

/// Binds the arguments of one step.
async fn bind_step(
    context: &mut EngineContext<'_>,
    step: &mut ResolvedStep,
    names: &UsedNames,
    options: &Map<String, Value>,
    first: bool,
    faults: &mut Vec<Diagnostic>,
) -> Result<(), ToolError> {
    let prompt = step.prompt.clone();
    let engine = context.engine;
    let mut used = names.get(&prompt.id).cloned().unwrap_or_default();
    // A script can be called by its name.
    used.extend((!prompt.tools.is_empty()).then(|| "tool".to_owned()));
    let declared: Vec<DeclaredArgument<'_>> = prompt
        .arguments
        .iter()
        .map(|argument| DeclaredArgument {
            name: &argument.name,
            required: argument.required,
            takes_unnamed_text: false,
        })
        .collect();
    let mut bound = bind(&step.command_step.args, &declared, &|name| {
        used.contains(name)
    });
    faults.append(&mut bound.diagnostics);
    for pair in &bound.doubtful {
        let (name, prompt) = (&pair.name, &prompt.id);
        context.add_note(format!(
            "`{name}:` was treated as text, because {prompt} has no argument of that name."
        ));
    }
    let given: Map<String, Value> = bound
        .values
        .into_iter()
        .chain(bound.extra)
        .chain(bound.unknown)
        .map(|given_argument| (given_argument.name, given_argument.value))
        .collect();
    // A required argument of a later step that was not given receives the previous result.
    let mut declared = prompt.arguments.clone();
    if !first && let [missing] = missing_arguments(&declared, &given, options).as_slice() {
        step.previous_result_argument = Some(missing.clone());
        for argument in &mut declared {
            argument.required &= argument.name != *missing;
        }
    }
    // Options serve all steps of a command, so each prompt takes only the ones it declares.
    let options: Map<String, Value> = options
        .iter()
        .filter(|(name, _)| {
            first || declared.iter().any(|it| it.name == **name) || used.contains(*name)
        })
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let allowed = move |name: &str| used.contains(name) || name == "input";
    let most = engine.options.limits.command_bytes;
    let checked = check_async(declared, given, options, allowed, most).await?;
    let checked = checked.map_err(|problems| {
        let told = describe(&prompt.id, &prompt.arguments, &problems);
        engine_error(ErrorCode::InvalidArguments, told, None)
    })?;
    for note in checked.notes {
        context.add_note(note);
    }
    step.arguments = checked.values.into_iter().collect();
    Ok(())
}

/// Returns the names of required arguments that were not given.
fn missing_arguments(
    declared: &[ArgumentDefinition],
    given: &Map<String, Value>,
    options: &Map<String, Value>,
) -> Vec<String> {
    declared
        .iter()
        .filter(|it| it.required && it.default_value.is_none())
        .filter(|it| !given.contains_key(&it.name) && !options.contains_key(&it.name))
        .map(|it| it.name.clone())
        .collect()
}
