//! The `injection` action: shows when guidance is injected, and overrides it at run time.

mod explain;

use deliberate_core::{Change, truncate_chars};
use deliberate_toolkit::{ArgumentIssue, ErrorCode, ToolError};
use serde_json::{Map, json};

use super::{
    ControlContext, ControlOperation, OperationResult, invalid_choice,
    operation_result::{TextLines, pluralize},
};
use crate::{
    engine::{SETTING_KEYS, engine_error},
    injection::{
        self, InjectionContext, InjectionLevels, InjectionOverride, InjectionSources, OverrideScope,
    },
    model::Injection,
};

/// The most overrides at a time.
const MAX_OVERRIDES: usize = 100;

/// The longest duration of an override: a year.
const MAX_OVERRIDE_MS: u64 = 365 * 24 * 3_600 * 1_000;

pub(super) const OPERATIONS: &[ControlOperation] = &[
    ControlOperation {
        name: "status",
        accepted_fields: &[],
        run: |desk| Box::pin(async { Ok(status(desk)) }),
    },
    ControlOperation {
        name: "override",
        accepted_fields: &["type", "enabled", "scope", "scope_id", "expires_in_ms"],
        run: |desk| Box::pin(async { set_override(desk) }),
    },
    ControlOperation {
        name: "reset",
        accepted_fields: &["type", "scope", "scope_id"],
        run: |desk| Box::pin(async { reset_overrides(desk) }),
    },
    ControlOperation {
        name: "explain",
        accepted_fields: &["session_id", "step", "type"],
        run: |desk| Box::pin(explain::explain(desk)),
    },
];

/// Returns the levels and the context of a first step that has no rules of its own.
pub(super) fn default_levels<'a>(
    context: &'a ControlContext<'_>,
) -> (InjectionLevels<'a>, InjectionContext<'a>) {
    let levels = InjectionLevels::new(InjectionSources {
        overrides: &context.settings.overrides,
        config: Some(&context.library.injection),
        ..InjectionSources::default()
    });
    (levels, InjectionContext::single_step(context.call.now()))
}

fn status(context: &ControlContext<'_>) -> OperationResult {
    let (levels, moment) = default_levels(context);
    let mut lines = TextLines::default();
    lines.add("For the first step of a prompt without its own rules:");
    let mut kinds = Map::new();
    for kind in Injection::ALL {
        let explanation_lines = injection::explain(kind, &levels, &moment);
        explain::add_explanation(&mut lines, kind, &explanation_lines);
        kinds.insert(kind.as_str().to_owned(), json!(explanation_lines));
    }
    let config = &context.library.injection;
    let own = |rules: &crate::model::InjectionRules| {
        Injection::ALL
            .iter()
            .any(|kind| rules.rule_for(*kind).is_some())
    };
    let prompts = context.library.prompts.values();
    let prompts: Vec<&str> = prompts
        .filter(|it| own(&it.injection) || it.steps.iter().any(|step| own(&step.injection)))
        .map(|it| it.id.as_str())
        .collect();
    let categories = context.library.categories.values();
    let categories: Vec<&str> = categories
        .filter(|it| own(&it.injection) || config.categories.contains_key(&it.id))
        .map(|it| it.id.as_str())
        .collect();
    let chains: Vec<&str> = config.chains.iter().map(|it| it.chain.as_str()).collect();
    for (what, names) in [
        ("categories with rules", &categories),
        ("chains with rules in the workspace", &chains),
        ("prompts with rules", &prompts),
    ] {
        if !names.is_empty() {
            lines.add(format!("{what}: {}", names.join(", ")));
        }
    }
    lines.add(format!(
        "{}:",
        pluralize(context.settings.overrides.len(), "override")
    ));
    for it in &context.settings.overrides {
        lines.add(format!("- {}", override_line(it)));
    }
    let fields = json!({
        "kinds": kinds,
        "categories": categories,
        "chains": chains,
        "prompts": prompts,
        "overrides": context.settings.overrides,
    });
    OperationResult::new(lines.into_text(), fields)
}

/// Formats an override as one line.
fn override_line(it: &InjectionOverride) -> String {
    let on = if it.enabled { "on" } else { "off" };
    let scope = scope_name(it.scope);
    let whose = it.scope_id.as_deref().unwrap_or("any");
    let until = it.expires_at.map(|at| format!(", until {at}"));
    let kind = it.kind.as_str();
    format!(
        "{kind} {on} for {scope} {whose}{}",
        until.unwrap_or_default()
    )
}

const fn scope_name(scope: OverrideScope) -> &'static str {
    match scope {
        OverrideScope::Session => "session",
        OverrideScope::Chain => "chain",
        OverrideScope::Step => "step",
    }
}

/// Parses a kind of guidance.
pub(super) fn parse_kind(given: &str) -> Result<Injection, ToolError> {
    let known = |it: &Injection| it.as_str() == given.trim();
    let found = Injection::ALL.into_iter().find(known);
    found.ok_or_else(|| invalid_choice("type", given, Injection::ALL.map(Injection::as_str)))
}

fn parse_scope(given: &str) -> Result<OverrideScope, ToolError> {
    let all = [
        OverrideScope::Session,
        OverrideScope::Chain,
        OverrideScope::Step,
    ];
    let found = all.into_iter().find(|it| scope_name(*it) == given.trim());
    found.ok_or_else(|| invalid_choice("scope", given, all.map(scope_name)))
}

fn scope_id(context: &ControlContext<'_>) -> Result<Option<String>, ToolError> {
    let id = context.input.scope_id.as_deref().map(str::trim);
    let id = id.filter(|it| !it.is_empty());
    if id.is_some_and(|it| it.len() > 300) {
        let rule = "must have at most 300 bytes";
        return Err(ToolError::Invalid(vec![ArgumentIssue::new(
            "scope_id", rule,
        )]));
    }
    Ok(id.map(str::to_owned))
}

fn set_override(context: &ControlContext<'_>) -> Result<OperationResult, ToolError> {
    let kind = parse_kind(context.require_text("type", context.input.kind.as_ref())?)?;
    let enabled = context.input.enabled.ok_or_else(|| {
        ToolError::Invalid(vec![ArgumentIssue::new(
            "enabled",
            "is required: true or false",
        )])
    })?;
    let lasts = context.input.expires_in_ms;
    if lasts.is_some_and(|it| it == 0 || it > MAX_OVERRIDE_MS) {
        let rule = format!("must be from 1 to {MAX_OVERRIDE_MS}");
        return Err(ToolError::Invalid(vec![ArgumentIssue::new(
            "expires_in_ms",
            rule,
        )]));
    }
    let micros = lasts.map(|ms| i64::try_from(ms.saturating_mul(1_000)).unwrap_or(i64::MAX));
    let new = InjectionOverride {
        kind,
        enabled,
        scope: context
            .input
            .scope
            .as_deref()
            .map_or(Ok(OverrideScope::Session), parse_scope)?,
        scope_id: scope_id(context)?,
        expires_at: micros.map(|micros| context.call.now().plus_micros(micros)),
    };
    let same = |it: &InjectionOverride| {
        it.kind == new.kind && it.scope == new.scope && it.scope_id == new.scope_id
    };
    let mut all = context.settings.overrides.clone();
    all.retain(|it| !same(it));
    if all.len() >= MAX_OVERRIDES {
        return Err(engine_error(
            ErrorCode::TooMany,
            format!("there are already {MAX_OVERRIDES} overrides"),
            "Remove some with injection reset.",
        ));
    }
    let text = format!("Set: {}.", override_line(&new));
    all.push(new);
    Ok(OperationResult::new(text, json!({ "overrides": all }))
        .with_change(store_change(context, &all)))
}

fn reset_overrides(context: &ControlContext<'_>) -> Result<OperationResult, ToolError> {
    let kind = context.input.kind.as_deref().map(parse_kind).transpose()?;
    let scope = context
        .input
        .scope
        .as_deref()
        .map(parse_scope)
        .transpose()?;
    let id = scope_id(context)?;
    let goes = |it: &InjectionOverride| {
        kind.is_none_or(|kind| kind == it.kind)
            && scope.is_none_or(|scope| scope == it.scope)
            && (id.is_none() || id == it.scope_id)
    };
    let (gone, stay): (Vec<InjectionOverride>, Vec<InjectionOverride>) =
        context.settings.overrides.iter().cloned().partition(goes);
    let mut lines = TextLines::default();
    lines.add(format!(
        "{} removed, {} left.",
        pluralize(gone.len(), "override"),
        stay.len()
    ));
    for it in &gone {
        lines.add(format!("- {}", truncate_chars(&override_line(it), 200)));
    }
    let fields = json!({ "removed": gone.len(), "overrides": stay });
    Ok(OperationResult::new(lines.into_text(), fields).with_change(store_change(context, &stay)))
}

fn store_change(context: &ControlContext<'_>, overrides: &[InjectionOverride]) -> Change {
    Change::SetState {
        key: SETTING_KEYS.overrides.to_owned(),
        value: (!overrides.is_empty()).then(|| json!(overrides)),
        at: context.call.now(),
    }
}
