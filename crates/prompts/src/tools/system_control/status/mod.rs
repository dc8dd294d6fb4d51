//! The `status` action: the state of the engine.

mod health;

use deliberate_core::ChainState;
use deliberate_store::Pagination;
use deliberate_toolkit::ToolError;
use serde_json::{Map, Value, json};

use super::{
    ControlContext, ControlOperation, OperationResult, library_problems,
    operation_result::{TextLines, pluralize},
    session,
};
use crate::{
    injection,
    library::PromptLibrary,
    model::{Injection, LibraryLayer},
};

pub(super) const OPERATIONS: &[ControlOperation] = &[
    ControlOperation {
        name: "default",
        accepted_fields: &["show_details"],
        run: |desk| Box::pin(full_status(desk)),
    },
    ControlOperation {
        name: "health",
        accepted_fields: &[],
        run: |desk| Box::pin(health::health(desk)),
    },
    ControlOperation {
        name: "diagnostics",
        accepted_fields: &[],
        run: |desk| Box::pin(diagnostics(desk)),
    },
    ControlOperation {
        name: "framework_status",
        accepted_fields: &["show_details"],
        run: |desk| Box::pin(async { Ok(framework_status(desk)) }),
    },
];

/// The problems that are shown by default.
const DEFAULT_PROBLEMS: usize = 20;

/// The most problems that are shown.
const MAX_PROBLEMS: usize = 1_000;

async fn full_status(context: &ControlContext<'_>) -> Result<OperationResult, ToolError> {
    let library = &context.library;
    let details = context.input.show_details == Some(true);
    let open = count_open_runs(context).await?;
    let mut lines = TextLines::default();
    let counts = resource_counts(library);
    for (kind, number) in &counts {
        let of = |layer: &str| number.get(layer).and_then(Value::as_u64).unwrap_or(0);
        let (shipped, own) = (of("shipped"), of("workspace"));
        lines.add(format!(
            "{kind}: {} ({shipped} shipped, {own} in the workspace)",
            shipped + own
        ));
    }
    lines.add(framework_line(context));
    let on = if context.settings.gates_off {
        "disabled"
    } else {
        "enabled"
    };
    lines.add(format!("gates are {on}"));
    lines.add(format!("open runs: {open}"));
    let overrides = context.settings.overrides.len();
    if overrides > 0 {
        lines.add(format!("injection overrides: {overrides}"));
    }
    let shown = if details {
        MAX_PROBLEMS
    } else {
        DEFAULT_PROBLEMS
    };
    add_problems(&mut lines, library, shown);
    let fields = json!({
        "counts": counts,
        "framework": framework_value(context),
        "gates_on": !context.settings.gates_off,
        "open_runs": open,
        "problems": library.problems.iter().take(shown).collect::<Vec<_>>(),
        "problems_total": library.problems.len(),
    });
    let mut more = Value::Null;
    if details {
        let categories: Vec<Value> = library
            .categories
            .values()
            .map(|it| {
                let prompts = library.prompts.values();
                let prompts = prompts.filter(|prompt| prompt.category == it.id).count();
                lines.add(format!(
                    "category {}: {}",
                    it.id,
                    pluralize(prompts, "prompt")
                ));
                json!({ "id": it.id, "name": it.name, "prompts": prompts })
            })
            .collect();
        lines.add(format!("library generation: {}", library.generation));
        more = json!({
            "categories": categories,
            "generation": library.generation,
            "overrides": context.settings.overrides,
        });
    }
    Ok(OperationResult::new(lines.into_text(), fields).with_fields(more))
}

/// Counts the resources of each kind by layer.
fn resource_counts(library: &PromptLibrary) -> Map<String, Value> {
    let prompts = library.prompts.values();
    let chains = prompts.clone().filter(|it| it.is_chain());
    let all: [(&str, Vec<LibraryLayer>); 5] = [
        ("prompts", prompts.map(|it| it.origin.layer).collect()),
        ("chains", chains.map(|it| it.origin.layer).collect()),
        (
            "gates",
            library.gates.values().map(|it| it.origin.layer).collect(),
        ),
        (
            "methodologies",
            library
                .methodologies
                .values()
                .map(|it| it.origin.layer)
                .collect(),
        ),
        (
            "styles",
            library.styles.values().map(|it| it.origin.layer).collect(),
        ),
    ];
    all.into_iter()
        .map(|(kind, layers)| {
            let shipped = layers
                .iter()
                .filter(|it| **it == LibraryLayer::Shipped)
                .count();
            let own = layers.len() - shipped;
            (
                kind.to_owned(),
                json!({ "shipped": shipped, "workspace": own }),
            )
        })
        .collect()
}

/// Counts the open runs.
pub(super) async fn count_open_runs(desk: &ControlContext<'_>) -> Result<usize, ToolError> {
    let filter = session::visible_runs(desk, Some(ChainState::Open));
    let runs = desk
        .call
        .store()
        .runs(&filter, Pagination::limit(Pagination::MAX))
        .await?;
    Ok(runs.len())
}

fn framework_value(context: &ControlContext<'_>) -> Value {
    let framework = &context.settings.framework;
    json!({
        "active": framework.active,
        "on": !framework.off,
        "since": framework.since,
        "reason": framework.reason,
    })
}

/// Describes the active methodology in one line.
pub(super) fn framework_line(desk: &ControlContext<'_>) -> String {
    let framework = &desk.settings.framework;
    let since = framework.since.map(|it| format!(", since {it}"));
    let reason = framework.reason.as_deref().map(|it| format!(" ({it})"));
    let (since, reason) = (since.unwrap_or_default(), reason.unwrap_or_default());
    match &framework.active {
        _ if framework.off => format!("methodologies are disabled{since}{reason}"),
        None => "no methodology is active".to_owned(),
        Some(id) if desk.library.methodology(id).is_none() => {
            format!(
                "methodology {id} is chosen, but it does not exist or is \
                     disabled{since}{reason}"
            )
        }
        Some(id) => format!("active methodology: {id}{since}{reason}"),
    }
}

fn add_problems(lines: &mut TextLines, library: &PromptLibrary, most: usize) {
    let total = library.problems.len();
    if total == 0 {
        lines.add("no problems");
        return;
    }
    lines.add(format!("{}:", pluralize(total, "problem")));
    for problem in library.problems.iter().take(most) {
        lines.add(library_problems::problem_line(problem));
    }
    if total > most {
        lines.add(format!("… and {} more", total - most));
    }
}

async fn diagnostics(context: &ControlContext<'_>) -> Result<OperationResult, ToolError> {
    let library = &context.library;
    let store = context.call.store().info().await?;
    let mut lines = TextLines::default();
    let watching =
        library_problems::watcher_problem(library).map_or("yes", |it| it.message.as_str());
    lines.add(format!("library generation: {}", library.generation));
    lines.add(format!("files are watched: {watching}"));
    lines.add(format!("store schema version: {}", store.schema_version));
    let limits = super::config::limit_values(&context.engine.options.limits);
    for (name, value) in &limits {
        lines.add(format!("limit {name}: {value}"));
    }
    add_problems(&mut lines, library, MAX_PROBLEMS);
    let fields = json!({
        "generation": library.generation,
        "watching": library_problems::watcher_problem(library).is_none(),
        "store_version": store.schema_version,
        "limits": limits,
        "traced_calls": context.engine.traces.last(usize::MAX).len(),
        "problems": library.problems.iter().take(MAX_PROBLEMS).collect::<Vec<_>>(),
        "problems_total": library.problems.len(),
    });
    Ok(OperationResult::new(lines.into_text(), fields))
}

fn framework_status(context: &ControlContext<'_>) -> OperationResult {
    let mut lines = TextLines::default();
    lines.add(framework_line(context));
    let mut more = Value::Null;
    if context.settings.methodology().is_some() {
        lines.add(describe_injection(context));
    }
    if context.input.show_details == Some(true)
        && let Some(it) = context
            .settings
            .methodology()
            .and_then(|id| context.library.methodology(id))
    {
        let phases: Vec<&str> = it.phases.iter().map(|phase| phase.name.as_str()).collect();
        lines.add(format!("phases: {}", phases.join(", ")));
        lines.add(&it.system_prompt_guidance);
        more = json!({ "phases": phases });
    }
    OperationResult::new(lines.into_text(), framework_value(context)).with_fields(more)
}

/// Describes whether the methodology's guidance is injected into a first step without rules of its
/// own.
fn describe_injection(context: &ControlContext<'_>) -> String {
    let (levels, moment) = super::injection::default_levels(context);
    let decided = injection::decide(Injection::SystemPrompt, &levels, &moment);
    format!(
        "its guidance is {} into a first step: {} ({})",
        if decided.inject {
            "injected"
        } else {
            "not injected"
        },
        decided.reason,
        decided.level.as_str()
    )
}
