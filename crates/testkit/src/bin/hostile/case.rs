//! One hostile case: the tool calls that it makes, one after the other.

use serde_json::{Value, json};

use crate::{
    expressions::{expression, template},
    random::Random,
    schemas::{answer, pattern, schema, wrong_arguments},
};

/// The kinds of cases, for the report.
pub(crate) const KINDS: [&str; 8] = [
    "command",
    "condition",
    "template",
    "schema",
    "gate",
    "argument",
    "stored gate",
    "wrong arguments",
];

/// A case: a first call, and a second one that may need the id of the run.
pub(crate) struct HostileCase {
    pub(crate) kind: usize,
    pub(crate) first: (&'static str, Value),
    /// The answer that is sent to the run, or the command that uses what was made.
    pub(crate) then: Option<FollowUp>,
}

pub(crate) enum FollowUp {
    Answer(String),
    Command(String),
    /// Looks at all gates of the library.
    Health,
}

impl HostileCase {
    /// Returns the next case; `caller` has prompts of its own.
    pub(crate) fn generate(random: &mut Random, caller: u64) -> Self {
        let kind = random.below(KINDS.len());
        let engine = |arguments| ("prompt_engine", arguments);
        let (first, then) = match kind {
            0 => (engine(json!({ "command": command(random) })), None),
            1 => {
                let condition = expression(random, 4).replace('"', "'");
                let command = format!("? \"{condition}\" : >>teach_me \"how TLS works\"");
                (engine(json!({ "command": command })), None)
            }
            2 => {
                let id = prompt_id(caller);
                (
                    prompt_call("update", &id, &template(random), None),
                    Some(FollowUp::Command(use_prompt(random, &id))),
                )
            }
            5 => {
                let id = prompt_id(caller);
                let pattern = pattern(random);
                (
                    prompt_call("update", &id, "{{ topic }}", Some(&pattern)),
                    Some(FollowUp::Command(use_prompt(random, &id))),
                )
            }
            6 => (stored_gate(random, caller), Some(FollowUp::Health)),
            7 => (wrong_arguments(random), None),
            3 => {
                let criterion = json!({ "type": "schema_check", "schema": schema(random) });
                (
                    engine(with_gate(&criterion)),
                    Some(FollowUp::Answer(answer(random))),
                )
            }
            _ => {
                let patterns: Vec<String> =
                    (0..random.below(60)).map(|_| pattern(random)).collect();
                let criterion = match random.below(2) {
                    0 => json!({ "type": "pattern_check", "regex_patterns": patterns }),
                    _ => {
                        json!({ "type": "content_check", "required_patterns": patterns, "max_length": 1e18 })
                    }
                };
                (
                    engine(with_gate(&criterion)),
                    Some(FollowUp::Answer(answer(random))),
                )
            }
        };
        Self { kind, first, then }
    }
}

/// Returns the id of a caller's prompt.
pub(crate) fn prompt_id(caller: u64) -> String {
    format!("hostile_{caller}")
}

fn with_gate(criterion: &Value) -> Value {
    let gate = json!({ "id": "x", "name": "X", "pass_criteria": [criterion] });
    json!({ "command": ">>teach_me \"how TLS works\"", "gates": [gate] })
}

/// Returns the call that creates or updates a prompt.
pub(crate) fn prompt_call(
    action: &str,
    id: &str,
    template: &str,
    pattern: Option<&str>,
) -> (&'static str, Value) {
    let topic = match pattern {
        None => json!({ "name": "topic" }),
        Some(pattern) => json!({ "name": "topic", "validation": { "pattern": pattern } }),
    };
    let arguments = json!({
        "resource_type": "prompt", "action": action, "id": id, "name": "Hostile",
        "description": "Takes long", "category": "people", "user_message_template": template,
        "arguments": [topic],
    });
    ("resource_manager", arguments)
}

/// Returns the command that uses a prompt with a long argument.
fn use_prompt(random: &mut Random, id: &str) -> String {
    let unit = random.pick(&["t", "ab", "aab"]);
    format!(">>{id} topic:\"{}\"", unit.repeat(random.below(300_000)))
}

/// Returns the call that stores a gate with many patterns or a large schema.
fn stored_gate(random: &mut Random, caller: u64) -> (&'static str, Value) {
    let criterion = if random.below(2) == 0 {
        json!({ "type": "schema_check", "schema": schema(random) })
    } else {
        let patterns: Vec<String> = (0..random.below(300)).map(|_| pattern(random)).collect();
        json!({ "type": "pattern_check", "regex_patterns": patterns })
    };
    let action = random.pick(&["create", "update"]);
    let arguments = json!({
        "resource_type": "gate", "action": action, "id": format!("hostile_{caller}"),
        "name": "G", "type": "validation", "description": "d", "guidance": "g",
        "pass_criteria": [criterion],
    });
    ("resource_manager", arguments)
}

/// Returns a command that is long, nested or repeated.
fn command(random: &mut Random) -> String {
    let step = ">>teach_me \"x\"";
    match random.below(8) {
        0 => vec![step; random.below(3_000)].join(" --> "),
        1 => format!("{step} * {}", random.number()),
        2 => format!(
            "{}{step}{}",
            "(".repeat(random.below(5_000)),
            ")".repeat(random.below(5_000))
        ),
        3 => format!(">>teach_me \"{}", "\\\"".repeat(random.below(50_000))),
        4 => format!(">>teach_me {}", "a:b ".repeat(random.below(20_000))),
        5 => format!("{step} {}", ":: \"y\" ".repeat(random.below(2_000))),
        6 => "? \"1\" : ".repeat(random.below(2_000)) + step,
        _ => vec![step; random.below(2_000)].join(" + "),
    }
}
