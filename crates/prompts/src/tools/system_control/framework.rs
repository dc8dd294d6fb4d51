//! The `framework` action: the active methodology. It is kept in the store, so that a switch
//! survives a restart and applies to every process at once.

use std::sync::Arc;

use deliberate_core::{Change, truncate_chars};
use deliberate_toolkit::{ErrorCode, ToolError};
use serde_json::{Value, json};

use super::{
    ControlContext, ControlOperation, OperationResult, operation_result::TextLines, status,
};
use crate::{
    engine::{MethodologySetting, SETTING_KEYS, engine_error},
    model::Methodology,
};

/// The most characters of a reason that are stored.
const MAX_REASON_CHARS: usize = 500;

pub(super) const OPERATIONS: &[ControlOperation] = &[
    ControlOperation {
        name: "list",
        accepted_fields: &["search_query"],
        run: |desk| Box::pin(async { Ok(list(desk)) }),
    },
    ControlOperation {
        name: "switch",
        accepted_fields: &["framework", "reason", "persist"],
        run: |desk| Box::pin(async { switch(desk) }),
    },
    ControlOperation {
        name: "enable",
        accepted_fields: &["reason", "persist"],
        run: |desk| Box::pin(async { set_enabled(desk, true) }),
    },
    ControlOperation {
        name: "disable",
        accepted_fields: &["reason", "persist"],
        run: |desk| Box::pin(async { set_enabled(desk, false) }),
    },
    ControlOperation {
        name: "inspect",
        accepted_fields: &["framework"],
        run: |desk| Box::pin(async { inspect(desk) }),
    },
    ControlOperation {
        name: "list_methodologies",
        accepted_fields: &["search_query"],
        run: |desk| Box::pin(async { Ok(list(desk)) }),
    },
];

fn list(context: &ControlContext<'_>) -> OperationResult {
    let wanted = context
        .input
        .search_query
        .clone()
        .unwrap_or_default()
        .to_lowercase();
    let active = context.settings.methodology();
    let fits = |it: &&Arc<Methodology>| {
        [&it.id, &it.name, &it.description]
            .iter()
            .any(|text| text.to_lowercase().contains(&wanted))
    };
    let found: Vec<&Arc<Methodology>> = context
        .library
        .methodologies
        .values()
        .filter(fits)
        .collect();
    let mut lines = TextLines::default();
    lines.add(status::framework_line(context));
    let entries: Vec<Value> = found
        .into_iter()
        .map(|it| {
            let in_use = active.is_some_and(|id| has_id(it, id));
            let mark = match (in_use, it.enabled) {
                (true, _) => " (active)",
                (false, true) => "",
                (false, false) => " (disabled in its file)",
            };
            let phases: Vec<&str> = it.phases.iter().map(|phase| phase.name.as_str()).collect();
            lines.add(format!(
                "- {}{mark}: {}",
                it.id,
                truncate_chars(&it.description, 120)
            ));
            if !phases.is_empty() {
                lines.add(format!("  {}", phases.join(" → ")));
            }
            json!({
                "id": it.id,
                "name": it.name,
                "enabled": it.enabled,
                "active": in_use,
                "phases": phases,
                "layer": it.origin.layer,
            })
        })
        .collect();
    OperationResult::new(
        lines.into_text(),
        json!({ "methodologies": entries, "active": active }),
    )
}

fn has_id(methodology: &Methodology, id: &str) -> bool {
    methodology.id.eq_ignore_ascii_case(id)
}

fn switch(context: &ControlContext<'_>) -> Result<OperationResult, ToolError> {
    context.require_persist()?;
    let wanted = context.require_text("framework", context.input.framework.as_ref())?;
    let found = find_methodology(context, wanted)?;
    let before = context.settings.methodology().map(str::to_owned);
    let framework = MethodologySetting {
        active: Some(found.id.clone()),
        off: false,
        since: Some(context.call.now()),
        reason: reason(context),
    };
    let id = &found.id;
    let from = before.as_deref().map(|it| format!(" (before: {it})"));
    let from = from.unwrap_or_default();
    let text = format!(
        "Active methodology from now on: {id}{from}. Runs that have begun continue as planned."
    );
    let fields = json!({ "active": id, "before": before });
    Ok(OperationResult::new(text, fields).with_change(store_change(context, &framework)))
}

fn find_methodology<'d>(
    context: &'d ControlContext<'_>,
    wanted: &str,
) -> Result<&'d Arc<Methodology>, ToolError> {
    let library = &context.library;
    if let Some(found) = library.methodology(wanted) {
        return Ok(found);
    }
    let text = truncate_chars(wanted, 80);
    let disabled = library
        .methodologies
        .keys()
        .any(|id| id.eq_ignore_ascii_case(wanted));
    if disabled {
        return Err(engine_error(
            ErrorCode::Disabled,
            format!("methodology {text:?} is disabled in its file"),
            "Set enabled: true in its methodology.yaml.",
        ));
    }
    let known = library.methodologies.values().filter(|it| it.enabled);
    let names = known.map(|it| it.id.as_str());
    Err(super::invalid_choice("framework", &text, names))
}

/// Enables or disables methodologies, without changing the chosen one.
fn set_enabled(context: &ControlContext<'_>, on: bool) -> Result<OperationResult, ToolError> {
    context.require_persist()?;
    let chosen = context.settings.framework.active.clone();
    let framework = MethodologySetting {
        // A methodology that comes from the configuration is not stored, so that changing the
        // configuration still has an effect.
        active: chosen
            .clone()
            .filter(|_| chosen != context.engine.options.methodology),
        off: !on,
        since: Some(context.call.now()),
        reason: reason(context),
    };
    let text = match (on, &chosen) {
        (false, _) => "Methodologies are disabled.".to_owned(),
        (true, Some(id)) => format!("Methodologies are enabled; active: {id}."),
        (true, None) => {
            "Methodologies are enabled, but none is chosen yet; use `switch`.".to_owned()
        }
    };
    let fields = json!({ "on": on, "active": chosen });
    Ok(OperationResult::new(text, fields).with_change(store_change(context, &framework)))
}

fn reason(context: &ControlContext<'_>) -> Option<String> {
    let reason = context.input.reason.as_deref().map(str::trim);
    reason
        .filter(|it| !it.is_empty())
        .map(|it| truncate_chars(it, MAX_REASON_CHARS))
}

fn store_change(context: &ControlContext<'_>, framework: &MethodologySetting) -> Change {
    Change::SetState {
        key: SETTING_KEYS.framework.to_owned(),
        value: serde_json::to_value(framework).ok(),
        at: context.call.now(),
    }
}

fn inspect(context: &ControlContext<'_>) -> Result<OperationResult, ToolError> {
    let wanted = match &context.input.framework {
        Some(wanted) => wanted.clone(),
        None => context
            .settings
            .methodology()
            .unwrap_or_default()
            .to_owned(),
    };
    let wanted = context.require_text("framework", Some(&wanted))?;
    let all = context.library.methodologies.values();
    let it = match all.clone().find(|it| has_id(it, wanted)) {
        Some(it) => it,
        None => find_methodology(context, wanted)?,
    };
    let disabled = if it.enabled { "" } else { ", disabled" };
    let mut lines = TextLines::default();
    lines.add(format!(
        "{} ({}), from {}{disabled}",
        it.name, it.id, it.origin.file
    ));
    if !it.description.is_empty() {
        lines.add(&it.description);
    }
    for phase in &it.phases {
        let required = if phase.required { "" } else { " (optional)" };
        lines.add(format!(
            "- {}{required}: {}",
            phase.name,
            truncate_chars(&phase.description, 200)
        ));
    }
    for gate in &it.methodology_gates {
        lines.add(format!(
            "gate {}: {}",
            gate.id,
            truncate_chars(&gate.description, 200)
        ));
    }
    lines.add(format!("\n{}", it.system_prompt_guidance.trim()));
    let mut fields = serde_json::to_value(it.as_ref()).unwrap_or_default();
    if let Some(fields) = fields.as_object_mut() {
        fields.shift_remove("rest");
    }
    Ok(OperationResult::new(
        lines.into_text(),
        json!({ "methodology": fields }),
    ))
}
