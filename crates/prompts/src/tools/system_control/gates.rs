//! `gates`: which there are, whether they are on, and which can't do their work here.

use deliberate_core::{Change, cut_to_chars};
use deliberate_toolkit::ToolError;
use serde_json::{Value, json};

use super::{
    Desk, Done, Operation,
    done::{Lines, count},
};
use crate::{
    engine::KEYS,
    gate::{compiled_pattern, problems_of},
    model::{CriterionKind, Gate},
};

pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        name: "list",
        takes: &["search_query", "limit"],
        run: |desk| Box::pin(async { Ok(list(desk)) }),
    },
    Operation {
        name: "status",
        takes: &[],
        run: |desk| Box::pin(async { Ok(status(desk)) }),
    },
    Operation {
        name: "health",
        takes: &[],
        run: |desk| Box::pin(async { Ok(health(desk)) }),
    },
    Operation {
        name: "enable",
        takes: &["persist"],
        run: |desk| Box::pin(async { turn(desk, true) }),
    },
    Operation {
        name: "disable",
        takes: &["persist"],
        run: |desk| Box::pin(async { turn(desk, false) }),
    },
];

fn list(desk: &Desk<'_>) -> Done {
    let wanted = desk
        .input
        .search_query
        .clone()
        .unwrap_or_default()
        .to_lowercase();
    let limit = desk.limit(100, 1_000);
    let all = desk.library.gates.values();
    let found: Vec<_> = all
        .filter(|it| {
            let texts = [&it.id, &it.name, &it.description];
            texts
                .iter()
                .any(|text| text.to_lowercase().contains(&wanted))
        })
        .collect();
    let mut lines = Lines::default();
    lines.add(on_line(desk));
    let entries: Vec<Value> = found
        .iter()
        .take(limit)
        .map(|it| {
            lines.add(format!(
                "- {}: {}",
                it.id,
                cut_to_chars(&it.description, 120)
            ));
            json!({
                "id": it.id,
                "name": it.name,
                "severity": it.severity,
                "type": it.kind,
                "criteria": it.criteria.len(),
                "always_on": always_on(it),
                "layer": it.origin.layer,
            })
        })
        .collect();
    if found.is_empty() {
        lines.add("no gate fits");
    } else if found.len() > limit {
        lines.add(format!("… and {} more; raise limit", found.len() - limit));
    }
    let fields = json!({ "gates": entries, "total": found.len(), "on": !desk.settings.gates_off });
    Done::new(lines.end(), fields)
}

fn on_line(desk: &Desk<'_>) -> &'static str {
    if desk.settings.gates_off {
        "gates are switched off: none is shown or checked"
    } else {
        "gates are on"
    }
}

/// Whether it applies without being asked for, where it fits.
fn always_on(gate: &Gate) -> bool {
    gate.activation
        .as_ref()
        .is_none_or(|it| !it.explicit_request)
}

fn status(desk: &Desk<'_>) -> Done {
    let gates = desk.library.gates.values();
    let by_themselves: Vec<&str> = gates
        .filter(|it| always_on(it))
        .map(|it| it.id.as_str())
        .collect();
    let (total, unchecked) = (desk.library.gates.len(), unchecked(desk).len());
    let mut lines = Lines::default();
    lines.add(on_line(desk));
    lines.add(count(total, "gate"));
    lines.add(format!(
        "active by themselves where they fit: {}",
        by_themselves.len()
    ));
    lines.add(format!("criteria that can't be checked here: {unchecked}"));
    let fields = json!({
        "on": !desk.settings.gates_off,
        "total": total,
        "active_by_themselves": by_themselves,
        "unchecked_criteria": unchecked,
    });
    Done::new(lines.end(), fields)
}

fn health(desk: &Desk<'_>) -> Done {
    let found = unchecked(desk);
    let mut lines = Lines::default();
    if found.is_empty() {
        lines.add(format!(
            "All {} can be checked.",
            count(desk.library.gates.len(), "gate")
        ));
    }
    let entries: Vec<Value> = found
        .into_iter()
        .map(|it| {
            lines.add(format!("- {} criterion {}: {}", it.gate, it.number, it.why));
            json!({ "gate": it.gate, "criterion": it.number, "file": it.file, "why": it.why })
        })
        .collect();
    Done::new(
        lines.end(),
        json!({ "healthy": entries.is_empty(), "unchecked": entries }),
    )
}

/// A criterion that nobody can check here.
pub(super) struct Unchecked {
    gate: String,
    file: String,
    /// Its number in the gate, from 1.
    number: usize,
    why: String,
}

/// The criteria that nobody can check here, and why.
pub(super) fn unchecked(desk: &Desk<'_>) -> Vec<Unchecked> {
    let mut found = Vec::new();
    for gate in desk.library.gates.values() {
        for (index, criterion) in gate.criteria.iter().enumerate() {
            if let Some(why) = why_not(desk, &criterion.kind) {
                found.push(Unchecked {
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

fn why_not(desk: &Desk<'_>, kind: &CriterionKind) -> Option<String> {
    match kind {
        CriterionKind::ContentCheck {
            required_patterns,
            forbidden_patterns,
            ..
        } => broken(required_patterns.iter().chain(forbidden_patterns)),
        CriterionKind::PatternCheck { regex_patterns, .. } => broken(regex_patterns.iter()),
        CriterionKind::SchemaCheck { schema } => problems_of(schema, &Value::Null).err(),
        CriterionKind::ShellVerify(check) => {
            let allowed = desk.engine.runner.allowed(&check.command);
            allowed.err().map(|error| error.to_string())
        }
        CriterionKind::ScriptTool { tool } => match desk.library.scripts.get(tool) {
            None => Some(format!("there is no script {tool:?}")),
            Some(script) => {
                let allowed = desk.engine.runner.script_allowed(script);
                allowed.err().map(|error| error.to_string())
            }
        },
        CriterionKind::MethodologyCompliance { methodology, .. } => {
            let named = methodology.as_deref()?;
            let known = desk.library.methodology(named).is_some();
            (!known).then(|| format!("there is no methodology {named:?} that is enabled"))
        }
        // These need nothing but the answer, or somebody's judgement.
        CriterionKind::CitationCheck { .. } | CriterionKind::LlmSelfCheck { .. } => None,
    }
}

fn broken<'a>(mut patterns: impl Iterator<Item = &'a String>) -> Option<String> {
    patterns.find_map(|pattern| compiled_pattern(pattern).err())
}

fn turn(desk: &Desk<'_>, on: bool) -> Result<Done, ToolError> {
    desk.kept_for_good()?;
    let said = if on {
        "Gates are on."
    } else {
        "Gates are off: commands from now on get none, not even those they ask for."
    };
    let change = Change::SetState {
        key: KEYS.gates.to_owned(),
        value: Some(json!(on)),
        at: desk.call.now(),
    };
    Ok(Done::new(said, json!({ "on": on })).keeping(change))
}
