//! `injection`: when guidance is added, and deciding it at run time.

use deliberate_core::{Change, cut_to_chars};
use deliberate_toolkit::{Issue, ToolError};
use serde_json::{Map, json};

use super::{
    Desk, Done, Operation,
    done::{Lines, count},
    explain, one_of,
};
use crate::{
    engine::{KEYS, failure},
    inject::{self, LevelSources, Levels, Moment, Override, Scope},
    model::Injection,
};

/// Overrides that may hold at once.
const MOST: usize = 100;

/// The longest an override may be set to hold: a year.
const LONGEST_MS: u64 = 365 * 24 * 3_600 * 1_000;

pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        name: "status",
        takes: &[],
        run: |desk| Box::pin(async { Ok(status(desk)) }),
    },
    Operation {
        name: "override",
        takes: &["type", "enabled", "scope", "scope_id", "expires_in_ms"],
        run: |desk| Box::pin(async { set(desk) }),
    },
    Operation {
        name: "reset",
        takes: &["type", "scope", "scope_id"],
        run: |desk| Box::pin(async { reset(desk) }),
    },
    Operation {
        name: "explain",
        takes: &["session_id", "step", "type"],
        run: |desk| Box::pin(explain::explain(desk)),
    },
];

/// What holds for everything: a first step that has no rules of its own.
pub(super) fn everywhere<'a>(desk: &'a Desk<'_>) -> (Levels<'a>, Moment<'a>) {
    let levels = Levels::new(LevelSources {
        overrides: &desk.settings.overrides,
        config: Some(&desk.library.injection),
        ..LevelSources::default()
    });
    (levels, Moment::single(desk.call.now()))
}

fn status(desk: &Desk<'_>) -> Done {
    let (levels, moment) = everywhere(desk);
    let mut lines = Lines::default();
    lines.add("For the first step of anything without rules of its own:");
    let mut kinds = Map::new();
    for kind in Injection::ALL {
        let told = inject::explain(kind, &levels, &moment);
        explain::add(&mut lines, kind, &told);
        kinds.insert(kind.as_str().to_owned(), json!(told));
    }
    let config = &desk.library.injection;
    let own = |rules: &crate::model::InjectionRules| {
        Injection::ALL.iter().any(|kind| rules.of(*kind).is_some())
    };
    let prompts = desk.library.prompts.values();
    let prompts: Vec<&str> = prompts
        .filter(|it| own(&it.injection) || it.steps.iter().any(|step| own(&step.injection)))
        .map(|it| it.id.as_str())
        .collect();
    let categories = desk.library.categories.values();
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
        count(desk.settings.overrides.len(), "override")
    ));
    for it in &desk.settings.overrides {
        lines.add(format!("- {}", line(it)));
    }
    let fields = json!({
        "kinds": kinds,
        "categories": categories,
        "chains": chains,
        "prompts": prompts,
        "overrides": desk.settings.overrides,
    });
    Done::new(lines.end(), fields)
}

/// An override in a line.
fn line(it: &Override) -> String {
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

const fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Session => "session",
        Scope::Chain => "chain",
        Scope::Step => "step",
    }
}

/// The kind that was named.
pub(super) fn kind(given: &str) -> Result<Injection, ToolError> {
    let known = |it: &Injection| it.as_str() == given.trim();
    let found = Injection::ALL.into_iter().find(known);
    found.ok_or_else(|| one_of("type", given, Injection::ALL.map(Injection::as_str)))
}

fn scope(given: &str) -> Result<Scope, ToolError> {
    let all = [Scope::Session, Scope::Chain, Scope::Step];
    let found = all.into_iter().find(|it| scope_name(*it) == given.trim());
    found.ok_or_else(|| one_of("scope", given, all.map(scope_name)))
}

fn scope_id(desk: &Desk<'_>) -> Result<Option<String>, ToolError> {
    let id = desk.input.scope_id.as_deref().map(str::trim);
    let id = id.filter(|it| !it.is_empty());
    if id.is_some_and(|it| it.len() > 300) {
        let rule = "must have at most 300 bytes";
        return Err(ToolError::Invalid(vec![Issue::new("scope_id", rule)]));
    }
    Ok(id.map(str::to_owned))
}

fn set(desk: &Desk<'_>) -> Result<Done, ToolError> {
    let kind = kind(desk.needed("type", desk.input.kind.as_ref())?)?;
    let enabled = desk.input.enabled.ok_or_else(|| {
        ToolError::Invalid(vec![Issue::new("enabled", "is required: true or false")])
    })?;
    let lasts = desk.input.expires_in_ms;
    if lasts.is_some_and(|it| it == 0 || it > LONGEST_MS) {
        let rule = format!("must be from 1 to {LONGEST_MS}");
        return Err(ToolError::Invalid(vec![Issue::new("expires_in_ms", rule)]));
    }
    let micros = lasts.map(|ms| i64::try_from(ms.saturating_mul(1_000)).unwrap_or(i64::MAX));
    let new = Override {
        kind,
        enabled,
        scope: desk
            .input
            .scope
            .as_deref()
            .map_or(Ok(Scope::Session), scope)?,
        scope_id: scope_id(desk)?,
        expires_at: micros.map(|micros| desk.call.now().plus_micros(micros)),
    };
    let same =
        |it: &Override| it.kind == new.kind && it.scope == new.scope && it.scope_id == new.scope_id;
    let mut all = desk.settings.overrides.clone();
    all.retain(|it| !same(it));
    if all.len() >= MOST {
        return Err(failure(
            "TooMany",
            format!("{MOST} overrides hold already"),
            "Remove some with injection reset.",
        ));
    }
    let said = format!("Set: {}.", line(&new));
    all.push(new);
    Ok(Done::new(said, json!({ "overrides": all })).keeping(kept(desk, &all)))
}

fn reset(desk: &Desk<'_>) -> Result<Done, ToolError> {
    let kind = desk.input.kind.as_deref().map(kind).transpose()?;
    let scope = desk.input.scope.as_deref().map(scope).transpose()?;
    let id = scope_id(desk)?;
    let goes = |it: &Override| {
        kind.is_none_or(|kind| kind == it.kind)
            && scope.is_none_or(|scope| scope == it.scope)
            && (id.is_none() || id == it.scope_id)
    };
    let (gone, stay): (Vec<Override>, Vec<Override>) =
        desk.settings.overrides.iter().cloned().partition(goes);
    let mut lines = Lines::default();
    lines.add(format!(
        "{} removed, {} left.",
        count(gone.len(), "override"),
        stay.len()
    ));
    for it in &gone {
        lines.add(format!("- {}", cut_to_chars(&line(it), 200)));
    }
    let fields = json!({ "removed": gone.len(), "overrides": stay });
    Ok(Done::new(lines.end(), fields).keeping(kept(desk, &stay)))
}

fn kept(desk: &Desk<'_>, overrides: &[Override]) -> Change {
    Change::SetState {
        key: KEYS.overrides.to_owned(),
        value: (!overrides.is_empty()).then(|| json!(overrides)),
        at: desk.call.now(),
    }
}
