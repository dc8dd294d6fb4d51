//! Renders the steps that are to be done now, with the guidance that is due.

use std::{collections::BTreeMap, sync::Arc};

use deliberate_toolkit::ToolError;
use futures::future::BoxFuture;
use serde_json::Value;

use super::Stage;
use crate::{
    chain::{Node, argument_values, lone_values, step_values},
    engine::{
        At, Context, Flow,
        context::Shown,
        failure::{failure, template},
        scripted::{self, Scripted},
    },
    gate::{guidance, review},
    inject,
    library::Library,
    model::{Injection, Mode, Prompt, Text},
    template::{ScriptCall, Values},
};

/// How long the guidance of gates may be.
const GUIDANCE_CHARS: usize = 4_000;

/// How long a review may be.
const REVIEW_CHARS: usize = 8_000;

pub(super) struct Render;

impl Stage for Render {
    fn name(&self) -> &'static str {
        "render"
    }

    fn run<'a>(&'a self, context: &'a mut Context<'_>) -> BoxFuture<'a, Result<Flow, ToolError>> {
        Box::pin(async move {
            let open = context.open_steps();
            let nodes: Vec<&Node> = open.iter().collect();
            if context.state.undecided(&nodes).is_some() {
                return Ok(Flow::Next);
            }
            let library = Arc::new(of_plan(context));
            for node in &open {
                let (shown, scripted) = show(context, &library, node).await?;
                context.changes.extend(scripted.changes);
                context.reply.notes.extend(scripted.notes);
                context.shown.push(shown);
            }
            Ok(Flow::Next)
        })
    }
}

/// The library as the run saw it when it began.
fn of_plan(context: &Context<'_>) -> Library {
    Library {
        prompts: context.plan.prompts.clone(),
        scripts: context.library.scripts.clone(),
        ..Library::default()
    }
}

async fn show(
    context: &Context<'_>,
    library: &Library,
    node: &Node,
) -> Result<(Shown, Scripted), ToolError> {
    let step = context.state.step(node.number).cloned().unwrap_or_default();
    let mut shown = Shown {
        number: node.number,
        name: node.name.clone(),
        ..Shown::default()
    };
    let brings = context.request.user_response.is_some() || context.verdict.is_some();
    if let Some(held) = step.review.as_ref().filter(|_| step.is_held()) {
        let run = context.run.as_ref().map(|run| run.id.as_str());
        let run = run.unwrap_or_default();
        shown.guidance = review(&held.results, &held.review, run, node.number, REVIEW_CHARS);
        shown.review = true;
        // Who has just answered knows the task; who comes back does not.
        if brings && !context.runs_itself() {
            return Ok((shown, Scripted::default()));
        }
    }
    let prompt = node.prompt().and_then(|id| context.plan.prompts.get(id));
    let prompt = prompt.ok_or(ToolError::Internal)?.clone();
    let mut scripted = scripted::run_scripts(context, node, &prompt).await?;
    let mut values = values(context, node);
    // A script that was not run is absent, not unknown.
    for id in &prompt.tools {
        values.entry(format!("tool_{id}")).or_default();
        values.entry(format!("tool_{id}_result")).or_default();
    }
    for (name, value) in scripted.values.drain(..) {
        values.insert(name, value);
    }
    check_required(&prompt, &values)?;
    let scripts = called_scripts(context, library, &prompt).await?;
    let rendered = context
        .engine
        .renderer
        .render_prompt(library, &prompt, &values, &scripts)
        .map_err(|error| template(&error))?;
    shown.user = rendered.user;
    let adds = decide(context, node);
    shown.system = system(context, node, rendered.system, &values, &adds)?;
    if adds.gates && !shown.review {
        shown.guidance = guidance(&node.gates, GUIDANCE_CHARS);
    }
    if node.delegated {
        shown.hand_off = hand_off(node, &prompt);
    }
    Ok((shown, scripted))
}

fn values(context: &Context<'_>, node: &Node) -> Values {
    match &context.run {
        Some(run) => step_values(&context.plan, &context.state, node, &run.id),
        None => lone_values(argument_values(&context.plan, node)),
    }
}

/// Arguments that only the run could fill are looked at when their step comes.
fn check_required(prompt: &Prompt, values: &Values) -> Result<(), ToolError> {
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
    Err(failure(
        "InvalidArguments",
        format!(
            "prompt {:?} needs {}, which no earlier step gives",
            prompt.id,
            missing.join(", ")
        ),
        "Give it in the command, or map it with inputMapping.",
    ))
}

async fn called_scripts(
    context: &Context<'_>,
    library: &Library,
    prompt: &Prompt,
) -> Result<BTreeMap<ScriptCall, Value>, ToolError> {
    let calls = context
        .engine
        .renderer
        .script_calls(library, prompt)
        .map_err(|error| template(&error))?;
    let mut answers = BTreeMap::new();
    for call in calls {
        let Some(tool) = library.scripts.get(&call.script) else {
            continue;
        };
        let input = Value::Object(call.input());
        let output = context.engine.runner.script(tool, &input, &prompt.id).await;
        let output = output.map_err(|error| {
            failure(
                "ScriptFailed",
                format!("script {:?}: {error}", call.script),
                None,
            )
        })?;
        answers.insert(call, output.value);
    }
    Ok(answers)
}

/// What is added to a step.
struct Adds {
    methodology: bool,
    gates: bool,
    style: bool,
}

fn decide(context: &Context<'_>, node: &Node) -> Adds {
    let run = context.run.as_ref().map(|run| run.id.as_str());
    let at = At {
        node,
        plan: &context.plan,
        state: &context.state,
        library: &context.library,
        overrides: &context.settings.overrides,
        run: run.unwrap_or_default(),
        now: context.call.now(),
    };
    let (levels, moment) = (at.levels(), at.moment());
    let adds = |kind| inject::decide(kind, &levels, &moment).inject;
    Adds {
        methodology: adds(Injection::SystemPrompt),
        gates: adds(Injection::GateGuidance),
        style: adds(Injection::StyleGuidance),
    }
}

/// What stands before the prompt: the methodology, what the chain says, the prompt's own system
/// message, the style.
fn system(
    context: &Context<'_>,
    node: &Node,
    own: Option<String>,
    values: &Values,
    adds: &Adds,
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
        let text = Text {
            body: preface.clone(),
            file: node.chain.clone(),
            line: 1,
        };
        let rendered = context.engine.renderer.render(&text, &node.chain, values);
        parts.push(rendered.map_err(|error| template(&error))?);
    }
    let mut message: Vec<String> = own.into_iter().collect();
    if adds.style
        && let Some(id) = &node.style
        && let Some(style) = context.plan.styles.get(id)
    {
        let guidance = format!("Style ({}): {}", style.name, style.guidance.trim());
        match style.enhancement_mode {
            Mode::Prepend => message.insert(0, guidance),
            Mode::Append => message.push(guidance),
            Mode::Replace => message = vec![guidance],
        }
    }
    parts.append(&mut message);
    parts.retain(|part| !part.trim().is_empty());
    Ok(parts.join("\n\n"))
}

/// What is said around a step that a sub-agent should do.
fn hand_off(node: &Node, prompt: &Prompt) -> String {
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
