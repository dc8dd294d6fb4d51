//! The `gates` action: lists gates, enables or disables them, and shows criteria that cannot be
//! checked here.

use deliberate_core::{Change, truncate_chars};
use deliberate_toolkit::{ToolError, compute};
use serde_json::{Value, json};

use super::{
    ControlContext, ControlOperation, OperationResult,
    operation_result::{TextLines, pluralize},
};
use crate::{
    engine::SETTING_KEYS,
    gate::{compiled_pattern, schema_problems},
    library::PromptLibrary,
    model::{CriterionKind, Gate},
};

pub(super) const OPERATIONS: &[ControlOperation] = &[
    ControlOperation {
        name: "list",
        accepted_fields: &["search_query", "limit"],
        run: |desk| Box::pin(async { Ok(list(desk)) }),
    },
    ControlOperation {
        name: "status",
        accepted_fields: &[],
        run: |desk| Box::pin(status(desk)),
    },
    ControlOperation {
        name: "health",
        accepted_fields: &[],
        run: |desk| Box::pin(health(desk)),
    },
    ControlOperation {
        name: "enable",
        accepted_fields: &["persist"],
        run: |desk| Box::pin(async { set_enabled(desk, true) }),
    },
    ControlOperation {
        name: "disable",
        accepted_fields: &["persist"],
        run: |desk| Box::pin(async { set_enabled(desk, false) }),
    },
];

fn list(context: &ControlContext<'_>) -> OperationResult {
    let wanted = context
        .input
        .search_query
        .clone()
        .unwrap_or_default()
        .to_lowercase();
    let limit = context.limit(100, 1_000);
    let all = context.library.gates.values();
    let found: Vec<_> = all
        .filter(|it| {
            let texts = [&it.id, &it.name, &it.description];
            texts
                .iter()
                .any(|text| text.to_lowercase().contains(&wanted))
        })
        .collect();
    let mut lines = TextLines::default();
    lines.add(enabled_text(context));
    let entries: Vec<Value> = found
        .iter()
        .take(limit)
        .map(|it| {
            lines.add(format!(
                "- {}: {}",
                it.id,
                truncate_chars(&it.description, 120)
            ));
            json!({
                "id": it.id,
                "name": it.name,
                "severity": it.severity,
                "type": it.kind,
                "criteria": it.criteria.len(),
                "always_on": is_active_by_default(it),
                "layer": it.origin.layer,
            })
        })
        .collect();
    if found.is_empty() {
        lines.add("no gate matches");
    } else if found.len() > limit {
        lines.add(format!("… and {} more; raise limit", found.len() - limit));
    }
    let fields =
        json!({ "gates": entries, "total": found.len(), "on": !context.settings.gates_off });
    OperationResult::new(lines.into_text(), fields)
}

fn enabled_text(context: &ControlContext<'_>) -> &'static str {
    if context.settings.gates_off {
        "gates are disabled: none is shown or checked"
    } else {
        "gates are enabled"
    }
}

/// Returns whether a gate applies without being requested, where its activation rules match.
fn is_active_by_default(gate: &Gate) -> bool {
    gate.activation
        .as_ref()
        .is_none_or(|it| !it.explicit_request)
}

async fn status(context: &ControlContext<'_>) -> Result<OperationResult, ToolError> {
    let gates = context.library.gates.values();
    let by_themselves: Vec<&str> = gates
        .filter(|it| is_active_by_default(it))
        .map(|it| it.id.as_str())
        .collect();
    let (total, unchecked) = (
        context.library.gates.len(),
        uncheckable_criteria(context).await?.len(),
    );
    let mut lines = TextLines::default();
    lines.add(enabled_text(context));
    lines.add(pluralize(total, "gate"));
    lines.add(format!(
        "active automatically where they match: {}",
        by_themselves.len()
    ));
    lines.add(format!("criteria that cannot be checked here: {unchecked}"));
    let fields = json!({
        "on": !context.settings.gates_off,
        "total": total,
        "active_by_themselves": by_themselves,
        "unchecked_criteria": unchecked,
    });
    Ok(OperationResult::new(lines.into_text(), fields))
}

async fn health(context: &ControlContext<'_>) -> Result<OperationResult, ToolError> {
    let found = uncheckable_criteria(context).await?;
    let mut lines = TextLines::default();
    if found.is_empty() {
        lines.add(format!(
            "All {} can be checked.",
            pluralize(context.library.gates.len(), "gate")
        ));
    }
    let entries: Vec<Value> = found
        .into_iter()
        .map(|it| {
            lines.add(format!("- {} criterion {}: {}", it.gate, it.number, it.why));
            json!({ "gate": it.gate, "criterion": it.number, "file": it.file, "why": it.why })
        })
        .collect();
    Ok(OperationResult::new(
        lines.into_text(),
        json!({ "healthy": entries.is_empty(), "unchecked": entries }),
    ))
}

/// A criterion that cannot be checked here.
pub(super) struct UncheckableCriterion {
    gate: String,
    file: String,
    /// The number in the gate, from 1.
    number: usize,
    why: String,
}

/// Returns the criteria that cannot be checked here, with the reasons.
pub(super) async fn uncheckable_criteria(
    desk: &ControlContext<'_>,
) -> Result<Vec<UncheckableCriterion>, ToolError> {
    let library = desk.library.clone();
    // Compiling the patterns and schemas of all gates may take long.
    let found = compute(move || uncheckable_in_library(&library, &invalid_definition)).await?;
    let elsewhere = uncheckable_in_library(&desk.library, &|kind| not_allowed(desk, kind));
    let mut all: Vec<UncheckableCriterion> = found.into_iter().chain(elsewhere).collect();
    all.sort_by(|a, b| (&a.gate, a.number).cmp(&(&b.gate, b.number)));
    Ok(all)
}

fn uncheckable_in_library(
    library: &PromptLibrary,
    reason: &dyn Fn(&CriterionKind) -> Option<String>,
) -> Vec<UncheckableCriterion> {
    let mut found = Vec::new();
    for gate in library.gates.values() {
        for (index, criterion) in gate.criteria.iter().enumerate() {
            if let Some(why) = reason(&criterion.kind) {
                found.push(UncheckableCriterion {
                    gate: gate.id.clone(),
                    file: gate.origin.file.clone(),
                    number: index + 1,
                    why,
                });
            }
        }
    }
    found
}

/// Returns why the patterns or the schema of a criterion can't be used.
fn invalid_definition(kind: &CriterionKind) -> Option<String> {
    match kind {
        CriterionKind::ContentCheck {
            required_patterns,
            forbidden_patterns,
            ..
        } => invalid_pattern(required_patterns.iter().chain(forbidden_patterns)),
        CriterionKind::PatternCheck { regex_patterns, .. } => {
            invalid_pattern(regex_patterns.iter())
        }
        CriterionKind::SchemaCheck { schema } => schema_problems(schema, &Value::Null).err(),
        _ => None,
    }
}

/// Returns why a criterion is not allowed here, or what it needs and is not there.
fn not_allowed(context: &ControlContext<'_>, kind: &CriterionKind) -> Option<String> {
    match kind {
        CriterionKind::ShellVerify(check) => {
            let allowed = context.engine.runner.check_command(&check.command);
            allowed.err().map(|error| error.to_string())
        }
        CriterionKind::ScriptTool { tool } => match context.library.scripts.get(tool) {
            None => Some(format!("there is no script {tool:?}")),
            Some(script) => {
                let allowed = context.engine.runner.check_script(script);
                allowed.err().map(|error| error.to_string())
            }
        },
        CriterionKind::MethodologyCompliance { methodology, .. } => {
            let named = methodology.as_deref()?;
            let known = context.library.methodology(named).is_some();
            (!known).then(|| format!("there is no enabled methodology {named:?}"))
        }
        _ => None,
    }
}

fn invalid_pattern<'a>(mut patterns: impl Iterator<Item = &'a String>) -> Option<String> {
    patterns.find_map(|pattern| compiled_pattern(pattern).err())
}

fn set_enabled(context: &ControlContext<'_>, on: bool) -> Result<OperationResult, ToolError> {
    context.require_persist()?;
    let text = if on {
        "Gates are enabled."
    } else {
        "Gates are disabled: new commands get none, not even those they request."
    };
    let change = Change::SetState {
        key: SETTING_KEYS.gates.to_owned(),
        value: Some(json!(on)),
        at: context.call.now(),
    };
    Ok(OperationResult::new(text, json!({ "on": on })).with_change(change))
}
