//! The `injection explain` operation: shows, for a step of a run or of a command, which level
//! decides about each kind of guidance and the decisions of the others. It uses the same decision
//! as the rendering of the step.

use deliberate_toolkit::{ArgumentIssue, ToolError};
use serde_json::{Map, Value, json};

use crate::{
    chain::{ChainPlan, ChainProgress, PlannedStep},
    engine::InjectionInputs,
    injection::{self as injection_rules, ExplanationLine},
    model::Injection,
    tools::system_control::{
        ControlContext, OperationResult, operation_result::TextLines, session,
    },
};

/// A run to explain.
struct ExplainedRun {
    plan: std::sync::Arc<ChainPlan>,
    state: ChainProgress,
    /// The id of the run; empty if it has not begun.
    run_id: String,
}

pub(crate) async fn explain(desk: &ControlContext<'_>) -> Result<OperationResult, ToolError> {
    let given = desk.require_text("session_id", desk.input.session_id.as_ref())?;
    let only = desk
        .input
        .kind
        .as_deref()
        .map(super::parse_kind)
        .transpose()?;
    let explained_run = find_run(desk, given).await?;
    let node = find_step(desk, &explained_run)?;
    let at = InjectionInputs {
        step: node,
        plan: &explained_run.plan,
        state: &explained_run.state,
        library: &desk.library,
        overrides: &desk.settings.overrides,
        run_id: &explained_run.run_id,
        now: desk.call.now(),
    };
    let (levels, moment) = (at.levels(), at.context());
    let mut lines = TextLines::default();
    let total = explained_run.plan.len();
    let review = if moment.in_review { ", in review" } else { "" };
    lines.add(format!(
        "Step {} of {total} ({}){review}:",
        node.number, node.name
    ));
    let mut kinds = Map::new();
    let wanted = |kind: &Injection| only.is_none_or(|only| only == *kind);
    for kind in Injection::ALL.into_iter().filter(wanted) {
        let explanation_lines = injection_rules::explain(kind, &levels, &moment);
        add_explanation(&mut lines, kind, &explanation_lines);
        let there = has_content(node, kind);
        if !there {
            lines.add(format!("  but the step has no {}", content_name(kind)));
        }
        let decided = explanation_lines.iter().find(|it| it.decides);
        kinds.insert(
            kind.as_str().to_owned(),
            json!({
                "inject": decided.and_then(|it| it.inject).unwrap_or(false),
                "level": decided.map(|it| it.level),
                "has_something": there,
                "levels": explanation_lines,
            }),
        );
    }
    let fields = json!({
        "run": Some(&explained_run.run_id).filter(|run| !run.is_empty()),
        "step": node.number,
        "name": node.name,
        "kinds": kinds,
    });
    Ok(OperationResult::new(lines.into_text(), fields))
}

/// Returns the run with that id, or the run that the command would begin.
async fn find_run(
    control_context: &ControlContext<'_>,
    given: &str,
) -> Result<ExplainedRun, ToolError> {
    if let Some(id) = session::find_run(control_context, given).await? {
        let read = session::load_run(control_context, &id).await?;
        return Ok(ExplainedRun {
            plan: read.plan.into(),
            state: read.state,
            run_id: id.to_string(),
        });
    }
    let marked = given.contains(">>") || given.starts_with('/');
    let command = if marked {
        given.to_owned()
    } else {
        format!(">>{given}")
    };
    let context = control_context
        .engine
        .outline(control_context.call, command)
        .await?;
    Ok(ExplainedRun {
        plan: context.plan,
        state: context.state,
        run_id: String::new(),
    })
}

/// Returns the named step, else the current one.
fn find_step<'a>(
    context: &ControlContext<'_>,
    run: &'a ExplainedRun,
) -> Result<&'a PlannedStep, ToolError> {
    let number = context
        .input
        .step
        .unwrap_or_else(|| run.state.current_step(&run.plan));
    run.plan.step(number).ok_or_else(|| {
        let rule = format!("must be from 1 to {}", run.plan.len());
        ToolError::Invalid(vec![
            ArgumentIssue::new("step", rule).with_value(&Value::from(number)),
        ])
    })
}

/// Returns whether the step has guidance of this kind.
fn has_content(node: &PlannedStep, kind: Injection) -> bool {
    match kind {
        Injection::SystemPrompt => node.methodology.is_some(),
        Injection::GateGuidance => !node.gates.is_empty(),
        Injection::StyleGuidance => node.style.is_some(),
    }
}

const fn content_name(kind: Injection) -> &'static str {
    match kind {
        Injection::SystemPrompt => "methodology",
        Injection::GateGuidance => "gates",
        Injection::StyleGuidance => "style",
    }
}

/// Adds the decision of every level about a kind of guidance, with the deciding level marked.
pub(crate) fn add_explanation(lines: &mut TextLines, kind: Injection, told: &[ExplanationLine]) {
    let decided = told.iter().find(|it| it.decides);
    let yes = decided.and_then(|it| it.inject).unwrap_or(false);
    let level = decided.map_or("nobody", |it| it.level.as_str());
    let verb = if yes {
        "is injected"
    } else {
        "is not injected"
    };
    lines.add(format!("{} {verb}, decided by {level}", kind.as_str()));
    for line in told {
        let mark = if line.decides { "→" } else { " " };
        let says = match line.inject {
            Some(true) => "yes",
            Some(false) => "no",
            None => "–",
        };
        lines.add(format!(
            "  {mark} {}: {says} ({})",
            line.level.as_str(),
            line.reason
        ));
    }
}
