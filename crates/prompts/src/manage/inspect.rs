//! Shows one thing: what it is made of, where it stands, who uses it.

use std::fmt::Write as _;

use deliberate_core::cut_to_chars;
use deliberate_toolkit::ToolError;
use serde_json::{Map, Value, json};

use super::{
    Desk, Done,
    change::wanted_id,
    failure::unknown,
    history::History,
    list::detail,
    place::{self, checked_id},
    request::{Format, Input, Told},
    users,
};
use crate::{
    library::Library,
    model::{ChainStep, Kind, Layer, Prompt, StepKind},
};

/// Characters of a text that are shown unless all of it is asked for.
const USUAL: usize = 600;

/// What a prompt is.
pub(super) fn what(prompt: &Prompt) -> String {
    match prompt.steps.len() {
        0 => "prompt".to_owned(),
        1 => "chain with 1 step".to_owned(),
        count => format!("chain with {count} steps"),
    }
}

impl Desk {
    /// Shows one thing.
    pub(super) fn inspect(&self, kind: Kind, input: &Input) -> Result<Done, ToolError> {
        let given = wanted_id(input)?;
        // What others wrote a moment ago counts, above all its hash.
        let library = match checked_id(kind, given) {
            Ok(()) => self.current(kind, given)?,
            Err(_) => self.engine.shelf.now().unwrap_or_default(),
        };
        let missing = || unknown(kind.as_str(), given, place::ids(&library, kind));
        // By id, or as people mix it up; one that is broken and never worked has only problems.
        let id = place::spelled(&library, kind, given)
            .map(|(id, _)| id)
            .or_else(|| match kind {
                Kind::Prompt => library.prompt(given).map(|it| it.id.clone()),
                Kind::Gate => library.gate(given).map(|it| it.id.clone()),
                Kind::Methodology => library.methodology(given).map(|it| it.id.clone()),
                Kind::Style => library.style(given).map(|it| it.id.clone()),
                Kind::Script => None,
            });
        let Some(id) = id else {
            let problems = problems(&library, kind, given);
            if problems.is_empty() {
                checked_id(kind, given)?;
                return Err(missing());
            }
            let told = Told::new(format!("`{given}` can't be used:\n{}", problems.join("\n")))
                .with("problems", problems);
            return Ok(Done::said(told, Vec::new()));
        };
        let full = detail(&input.rest)?;
        let (mut said, mut facts) = shown(&library, kind, &id, full).ok_or_else(missing)?;
        self.add_common(&library, kind, &id, &mut said, &mut facts)?;
        if input.format == Some(Format::Json) {
            said = Value::Object(facts.clone()).to_string();
        }
        Ok(Done::said(Told { said, facts }, Vec::new()))
    }

    fn add_common(
        &self,
        library: &Library,
        kind: Kind,
        id: &str,
        said: &mut String,
        facts: &mut Map<String, Value>,
    ) -> Result<(), ToolError> {
        let Some((_, origin)) = place::spelled(library, kind, id) else {
            return Ok(());
        };
        let versions = match self.in_workspace(kind, id) {
            Ok(Some(thing)) => History::read(&self.folder_of(&thing)?, &thing)?
                .map_or(0, |history| history.versions.len()),
            _ => 0,
        };
        let users = users::users(library, kind, id);
        let problems = problems(library, kind, id);
        let shipped = if origin.layer == Layer::Shipped {
            " (shipped)"
        } else {
            ""
        };
        line(said, "file", &format!("{}{shipped}", origin.file));
        line(said, "hash", &origin.hash);
        line(said, "versions", &versions.to_string());
        line(said, "used by", &users.join(", "));
        if !problems.is_empty() {
            let _ = write!(said, "\nproblems:\n{}", problems.join("\n"));
            facts.insert("problems".to_owned(), problems.into());
        }
        facts.insert("file".to_owned(), origin.file.into());
        facts.insert("layer".to_owned(), json!(origin.layer));
        facts.insert("hash".to_owned(), origin.hash.into());
        facts.insert("versions".to_owned(), versions.into());
        facts.insert("used_by".to_owned(), users.into());
        Ok(())
    }
}

fn shown(
    library: &Library,
    kind: Kind,
    id: &str,
    full: bool,
) -> Option<(String, Map<String, Value>)> {
    let cut = |text: &str| {
        if full {
            text.to_owned()
        } else {
            cut_to_chars(text, USUAL)
        }
    };
    match kind {
        Kind::Prompt => library
            .prompts
            .get(id)
            .map(|prompt| of_prompt(prompt, &cut)),
        Kind::Gate => library.gates.get(id).map(|gate| {
            let facts = facts_of(gate);
            let mut said = head(&gate.id, &gate.name, "gate", &gate.description);
            line(&mut said, "severity", &word(&facts, "severity"));
            line(&mut said, "type", &word(&facts, "type"));
            line(&mut said, "guidance", &cut(&gate.guidance));
            for (index, criterion) in gate.criteria.iter().enumerate() {
                line(
                    &mut said,
                    &format!("criterion {}", index + 1),
                    &cut(&json!(criterion).to_string()),
                );
            }
            (said, facts)
        }),
        Kind::Methodology => library.methodologies.get(id).map(|it| {
            let facts = facts_of(it);
            let mut said = head(&it.id, &it.name, "methodology", &it.description);
            line(&mut said, "enabled", if it.enabled { "yes" } else { "no" });
            let phases: Vec<&str> = it.phases.iter().map(|phase| phase.name.as_str()).collect();
            line(&mut said, "phases", &phases.join(" → "));
            line(&mut said, "gates", &it.gates.include.join(", "));
            line(&mut said, "guidance", &cut(&it.system_prompt_guidance));
            (said, facts)
        }),
        Kind::Style => library.styles.get(id).map(|it| {
            let facts = facts_of(it);
            let mut said = head(&it.id, &it.name, "style", &it.description);
            line(&mut said, "guidance", &cut(&it.guidance));
            (said, facts)
        }),
        Kind::Script => None,
    }
}

fn of_prompt(prompt: &Prompt, cut: &dyn Fn(&str) -> String) -> (String, Map<String, Value>) {
    let mut said = head(&prompt.id, &prompt.name, &what(prompt), &prompt.description);
    line(&mut said, "category", &prompt.category);
    for argument in &prompt.arguments {
        let kind = json!(argument.kind);
        let kind = kind.as_str().unwrap_or_default();
        let needed = if argument.required { ", required" } else { "" };
        let about = argument.description.as_deref().unwrap_or_default();
        let _ = write!(
            said,
            "\nargument {} ({kind}{needed}): {about}",
            argument.name
        );
    }
    for (index, step) in prompt.steps.iter().enumerate() {
        let _ = write!(said, "\nstep {}: {}", index + 1, step_words(step));
    }
    let gates = users::gates_of(prompt);
    line(&mut said, "gates", &gates.join(", "));
    line(&mut said, "without", &prompt.gates.exclude.join(", "));
    line(&mut said, "tools", &prompt.tools.join(", "));
    let body = |text: &Option<crate::model::Text>| {
        text.as_ref()
            .map_or_else(String::new, |text| cut(&text.body))
    };
    line(&mut said, "system message", &body(&prompt.system));
    line(&mut said, "template", &body(&prompt.template));
    let steps: Vec<String> = prompt.steps.iter().map(step_words).collect();
    let facts = json!({
        "id": prompt.id,
        "name": prompt.name,
        "description": prompt.description,
        "category": prompt.category,
        "type": if prompt.is_chain() { "chain" } else { "prompt" },
        "total_steps": prompt.steps.len(),
        "steps": steps,
        "arguments": prompt.arguments,
        "gates": gates,
        "tools": prompt.tools,
    });
    let facts = match facts {
        Value::Object(facts) => facts,
        _ => Map::new(),
    };
    (said, facts)
}

/// A step in a line.
pub(super) fn step_words(step: &ChainStep) -> String {
    let mut words = match &step.kind {
        StepKind::Prompt { id } if *id == step.name => id.clone(),
        StepKind::Prompt { id } => format!("{} ({id})", step.name),
        StepKind::Tool { name, .. } => format!("{} (tool {name})", step.name),
        StepKind::Parallel(inner) => {
            let inner: Vec<String> = inner.iter().map(step_words).collect();
            inner.join(" + ")
        }
    };
    if let Some(when) = &step.when {
        let _ = write!(words, ", if {}", cut_to_chars(when, 80));
    }
    if let Some(otherwise) = &step.otherwise {
        let _ = write!(words, ", else {}", step_words(otherwise));
    }
    words
}

fn facts_of(it: &impl serde::Serialize) -> Map<String, Value> {
    match serde_json::to_value(it) {
        Ok(Value::Object(mut facts)) => {
            facts.shift_remove("origin");
            facts
        }
        _ => Map::new(),
    }
}

fn word(facts: &Map<String, Value>, name: &str) -> String {
    let word = facts.get(name).and_then(Value::as_str);
    word.unwrap_or_default().to_owned()
}

fn head(id: &str, name: &str, what: &str, description: &str) -> String {
    format!("{id}: {name} ({what})\n{description}")
}

fn line(said: &mut String, name: &str, value: &str) {
    if !value.is_empty() {
        let _ = write!(said, "\n{name}: {value}");
    }
}

/// What is wrong with a thing, a line each.
pub(super) fn problems(library: &Library, kind: Kind, id: &str) -> Vec<String> {
    library
        .problems
        .iter()
        .filter(|problem| problem.kind == kind && problem.id.eq_ignore_ascii_case(id))
        .map(in_a_line)
        .collect()
}

/// A problem in a line.
pub(super) fn in_a_line(problem: &crate::library::Problem) -> String {
    let place = problem
        .line
        .map_or_else(String::new, |line| format!(":{line}"));
    let help = problem.help.as_deref().unwrap_or_default();
    let kept = if problem.last_good_kept {
        " The last good version is in use."
    } else {
        ""
    };
    format!("{}{place}: {} {help}{kept}", problem.file, problem.message)
        .trim_end()
        .to_owned()
}
