//! Renders the steps to do now, with the guidance that is due.

use std::{collections::BTreeMap, sync::Arc};

use deliberate_toolkit::{ErrorCode, ToolError};
use futures::future::BoxFuture;
use serde_json::Value;

use crate::{
    chain::{PlannedStep, argument_values, single_prompt_values, step_values},
    engine::{
        EngineContext, InjectionInputs, StageOutcome,
        context::RenderedStep,
        errors::{engine_error, template_error},
        script_tools::{self, ScriptResults},
        stages::EngineStage,
    },
    gate::{render_guidance, render_review},
    injection,
    library::PromptLibrary,
    model::{Injection, Prompt, StyleMode, TemplateSource},
    template::{ScriptCall, TemplateValues},
};

/// The most characters of gate guidance.
const MAX_GUIDANCE_CHARS: usize = 4_000;

/// The most characters of a review.
const MAX_REVIEW_CHARS: usize = 8_000;

pub(crate) struct RenderSteps;

impl EngineStage for RenderSteps {
    fn name(&self) -> &'static str {
        "render"
    }

    fn run<'a>(
        &'a self,
        context: &'a mut EngineContext<'_>,
    ) -> BoxFuture<'a, Result<StageOutcome, ToolError>> {
        Box::pin(async move {
            let open = context.open_steps();
            let nodes: Vec<&PlannedStep> = open.iter().collect();
            if context.state.undecided_condition(&nodes).is_some() {
                return Ok(StageOutcome::Next);
            }
            let library = Arc::new(plan_library(context));
            for node in &open {
                let (step, scripted) = render_step(context, &library, node).await?;
                context.changes.extend(scripted.changes);
                context.reply.notes.extend(scripted.notes);
                context.rendered.push(step);
            }
            Ok(StageOutcome::Next)
        })
    }
}

/// Returns the library as it was when the run began.
fn plan_library(context: &EngineContext<'_>) -> PromptLibrary {
    PromptLibrary {
        prompts: context.plan.prompts.clone(),
        scripts: context.library.scripts.clone(),
        ..PromptLibrary::default()
    }
}

async fn render_step(
    context: &EngineContext<'_>,
    library: &Arc<PromptLibrary>,
    node: &PlannedStep,
) -> Result<(RenderedStep, ScriptResults), ToolError> {
    let step = context.state.step(node.number).cloned().unwrap_or_default();
    let mut rendered_step = RenderedStep {
        number: node.number,
        name: node.name.clone(),
        ..RenderedStep::default()
    };
    let brings = context.request.user_response.is_some() || context.verdict.is_some();
    if let Some(review) = step.review.as_ref().filter(|_| step.is_held()) {
        let run = context.run.as_ref().map(|run| run.id.as_str());
        let run = run.unwrap_or_default();
        rendered_step.guidance = render_review(
            &review.results,
            &review.review,
            run,
            node.number,
            MAX_REVIEW_CHARS,
        );
        rendered_step.review = true;
        // A caller that has just answered knows the task; one that resumes does not.
        if brings && !context.uses_server_model() {
            return Ok((rendered_step, ScriptResults::default()));
        }
    }
    let prompt = node.prompt().and_then(|id| context.plan.prompts.get(id));
    let prompt = prompt.ok_or(ToolError::Internal)?.clone();
    let mut scripted = script_tools::run_scripts(context, node, &prompt).await?;
    let mut values = template_values(context, node);
    // The value of a script that was not run is null rather than undefined.
    for id in &prompt.tools {
        values.entry(format!("tool_{id}")).or_default();
        values.entry(format!("tool_{id}_result")).or_default();
    }
    for (name, value) in scripted.values.drain(..) {
        values.insert(name, value);
    }
    check_required(&prompt, &values)?;
    let scripts = run_called_scripts(context, library, &prompt).await?;
    let values = Arc::new(values);
    let (shared, given, of) = (library.clone(), values.clone(), prompt.clone());
    let fence = context.call.prompt_fence(&[]);
    let rendered = context
        .engine
        .render(
            move |renderer| renderer.render_prompt(&shared, &of, &given, &scripts, &fence),
            template_error,
        )
        .await?;
    rendered_step.user = rendered.user;
    let adds = decide_injections(context, node);
    rendered_step.system = render_system(context, node, rendered.system, values, &adds).await?;
    if adds.gates && !rendered_step.review {
        rendered_step.guidance = render_guidance(&node.gates, MAX_GUIDANCE_CHARS);
    }
    if node.delegated {
        rendered_step.delegation_note = delegation_note(node, &prompt);
    }
    Ok((rendered_step, scripted))
}

fn template_values(context: &EngineContext<'_>, node: &PlannedStep) -> TemplateValues {
    match &context.run {
        Some(run) => step_values(&context.plan, &context.state, node, &run.id),
        None => single_prompt_values(argument_values(&context.plan, node)),
    }
}

/// Checks required arguments when their step is rendered, because only the run could fill some of
/// them.
fn check_required(prompt: &Prompt, values: &TemplateValues) -> Result<(), ToolError> {
    let blank = |value: Option<&Value>| {
        value.is_none_or(|value| {
            value.is_null() || value.as_str().is_some_and(|it| it.trim().is_empty())
        })
    };
    let missing: Vec<String> = prompt
        .arguments
        .iter()
        .filter(|it| it.required && it.default_value.is_none() && blank(values.get(&it.name)))
        .map(|it| format!("`{}`", it.name))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(engine_error(
        ErrorCode::InvalidArguments,
        format!(
            "prompt {:?} needs {}, which no earlier step provides",
            prompt.id,
            missing.join(", ")
        ),
        "Give it in the command, or map it with inputMapping.",
    ))
}

async fn run_called_scripts(
    context: &EngineContext<'_>,
    library: &Arc<PromptLibrary>,
    prompt: &Arc<Prompt>,
) -> Result<BTreeMap<ScriptCall, Value>, ToolError> {
    let (shared, of) = (library.clone(), prompt.clone());
    let calls = context
        .engine
        .render(
            move |renderer| renderer.script_calls(&shared, &of),
            template_error,
        )
        .await?;
    let mut answers = BTreeMap::new();
    for call in calls {
        let Some(tool) = library.scripts.get(&call.script) else {
            continue;
        };
        let input = Value::Object(call.input());
        let output = context
            .engine
            .runner
            .run_script(tool, &input, &prompt.id)
            .await;
        let output = output.map_err(|error| {
            engine_error(
                ErrorCode::ScriptFailed,
                format!("script {:?}: {error}", call.script),
                None,
            )
        })?;
        answers.insert(call, output.value);
    }
    Ok(answers)
}

/// The kinds of guidance that are injected into a step.
struct InjectedGuidance {
    methodology: bool,
    gates: bool,
    style: bool,
}

fn decide_injections(context: &EngineContext<'_>, node: &PlannedStep) -> InjectedGuidance {
    let run = context.run.as_ref().map(|run| run.id.as_str());
    let at = InjectionInputs {
        step: node,
        plan: &context.plan,
        state: &context.state,
        library: &context.library,
        overrides: &context.settings.overrides,
        run_id: run.unwrap_or_default(),
        now: context.call.now(),
    };
    let (levels, moment) = (at.levels(), at.context());
    let adds = |kind| injection::decide(kind, &levels, &moment).inject;
    InjectedGuidance {
        methodology: adds(Injection::SystemPrompt),
        gates: adds(Injection::GateGuidance),
        style: adds(Injection::StyleGuidance),
    }
}

/// Renders the text before the prompt: the methodology, the preface of the chain, the prompt's own
/// system message, and the style.
async fn render_system(
    context: &EngineContext<'_>,
    node: &PlannedStep,
    own: Option<String>,
    values: Arc<TemplateValues>,
    adds: &InjectedGuidance,
) -> Result<String, ToolError> {
    let mut parts: Vec<String> = Vec::new();
    if adds.methodology
        && let Some(id) = &node.methodology
        && let Some(methodology) = context.plan.methodologies.get(id)
    {
        let guidance = methodology.system_prompt_guidance.trim();
        parts.push(format!("Work by {}:\n{guidance}", methodology.name));
    }
    if let Some(preface) = &node.preface {
        let text = TemplateSource {
            body: preface.clone(),
            file: node.chain.clone(),
            line: 1,
        };
        let chain = node.chain.clone();
        let fence = context.call.prompt_fence(&[]);
        let rendered = context.engine.render(
            move |renderer| renderer.render(&text, &chain, &values, &fence),
            template_error,
        );
        parts.push(rendered.await?);
    }
    let mut message: Vec<String> = own.into_iter().collect();
    if adds.style
        && let Some(id) = &node.style
        && let Some(style) = context.plan.styles.get(id)
    {
        let guidance = format!("Style ({}): {}", style.name, style.guidance.trim());
        match style.enhancement_mode {
            StyleMode::Prepend => message.insert(0, guidance),
            StyleMode::Append => message.push(guidance),
            StyleMode::Replace => message = vec![guidance],
        }
    }
    parts.append(&mut message);
    parts.retain(|part| !part.trim().is_empty());
    Ok(parts.join("\n\n"))
}

/// Renders the instructions for a step that a sub-agent should do.
fn delegation_note(node: &PlannedStep, prompt: &Prompt) -> String {
    let own = &node.delegation;
    let agent = own.agent.as_ref().or(prompt.delegation.agent.as_ref());
    let model = own.model.as_ref().or(prompt.delegation.model.as_ref());
    let agent = agent.map(|it| format!(" of type {it}")).unwrap_or_default();
    let model = model
        .map(|it| format!(" with a {it} model"))
        .unwrap_or_default();
    format!(
        "Hand this step to a sub-agent{agent}{model}: give it the text below and nothing else, and \
         send back what it answers. Without sub-agents, do it yourself."
    )
}
