//! Shows one resource: its content, its location and its dependents.

use std::fmt::Write as _;

use deliberate_core::truncate_chars;
use deliberate_toolkit::ToolError;
use serde_json::{Map, Value, json};

use super::{list::wants_full_detail, write::requested_id};
use crate::{
    library::PromptLibrary,
    model::{ChainStep, LibraryItemKind, LibraryLayer, Prompt, StepKind},
    resource_manager::{
        ManageContext, ManageResult,
        disk::{
            history::VersionHistory,
            resource_path::{self, check_id},
        },
        edit::dependents,
        errors::unknown_name,
        request::{Input, ManageReply, ReplyFormat},
    },
};

/// The characters of a text that are shown unless the full text is requested.
const DEFAULT_TEXT_CHARS: usize = 600;

/// Describes the type of a prompt.
pub(crate) fn prompt_kind(prompt: &Prompt) -> String {
    match prompt.steps.len() {
        0 => "prompt".to_owned(),
        1 => "chain with 1 step".to_owned(),
        count => format!("chain with {count} steps"),
    }
}

impl ManageContext {
    /// Shows one resource.
    pub(crate) fn inspect(
        &self,
        kind: LibraryItemKind,
        input: &Input,
    ) -> Result<ManageResult, ToolError> {
        let given = requested_id(input)?;
        // The files are read again, because another process may have changed them a moment ago.
        // This matters above all for the hash.
        let library = match check_id(kind, given) {
            Ok(()) => self.refresh_library(kind, given)?,
            Err(_) => self.engine.live_library.current().unwrap_or_default(),
        };
        let missing = || {
            unknown_name(
                kind.as_str(),
                given,
                resource_path::resource_ids(&library, kind),
            )
        };
        // The resource is found by its id, ignoring spelling variants. A broken resource that never
        // loaded has only problems.
        let id = resource_path::find_origin(&library, kind, given)
            .map(|(id, _)| id)
            .or_else(|| match kind {
                LibraryItemKind::Prompt => library.prompt(given).map(|it| it.id.clone()),
                LibraryItemKind::Gate => library.gate(given).map(|it| it.id.clone()),
                LibraryItemKind::Methodology => library.methodology(given).map(|it| it.id.clone()),
                LibraryItemKind::Style => library.style(given).map(|it| it.id.clone()),
                LibraryItemKind::Script => None,
            });
        let Some(id) = id else {
            let problems = resource_problems(&library, kind, given);
            if problems.is_empty() {
                check_id(kind, given)?;
                return Err(missing());
            }
            let reply =
                ManageReply::new(format!("`{given}` can't be used:\n{}", problems.join("\n")))
                    .with_fact("problems", problems);
            return Ok(ManageResult::without_changes(reply, Vec::new()));
        };
        let full = wants_full_detail(&input.rest)?;
        let (mut text, mut facts) =
            render_resource(&library, kind, &id, full).ok_or_else(missing)?;
        self.add_common_facts(&library, kind, &id, &mut text, &mut facts)?;
        if input.format == Some(ReplyFormat::Json) {
            text = Value::Object(facts.clone()).to_string();
        }
        Ok(ManageResult::without_changes(
            ManageReply { said: text, facts },
            Vec::new(),
        ))
    }

    fn add_common_facts(
        &self,
        library: &PromptLibrary,
        kind: LibraryItemKind,
        id: &str,
        said: &mut String,
        facts: &mut Map<String, Value>,
    ) -> Result<(), ToolError> {
        let Some((_, origin)) = resource_path::find_origin(library, kind, id) else {
            return Ok(());
        };
        let versions = match self.find_in_workspace(kind, id) {
            Ok(Some(files)) => VersionHistory::read(&self.resource_folder(&files)?, &files)?
                .map_or(0, |history| history.versions.len()),
            _ => 0,
        };
        let users = dependents::find_dependents(library, kind, id);
        let problems = resource_problems(library, kind, id);
        let shipped = if origin.layer == LibraryLayer::Shipped {
            " (shipped)"
        } else {
            ""
        };
        add_line(said, "file", &format!("{}{shipped}", origin.file));
        add_line(said, "hash", &origin.hash);
        add_line(said, "versions", &versions.to_string());
        add_line(said, "used by", &users.join(", "));
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

fn render_resource(
    library: &PromptLibrary,
    kind: LibraryItemKind,
    id: &str,
    full: bool,
) -> Option<(String, Map<String, Value>)> {
    let cut = |text: &str| {
        if full {
            text.to_owned()
        } else {
            truncate_chars(text, DEFAULT_TEXT_CHARS)
        }
    };
    match kind {
        LibraryItemKind::Prompt => library
            .prompts
            .get(id)
            .map(|prompt| render_prompt(prompt, &cut)),
        LibraryItemKind::Gate => library.gates.get(id).map(|gate| {
            let facts = to_facts(gate);
            let mut said = render_heading(&gate.id, &gate.name, "gate", &gate.description);
            add_line(&mut said, "severity", &text_fact(&facts, "severity"));
            add_line(&mut said, "type", &text_fact(&facts, "type"));
            add_line(&mut said, "guidance", &cut(&gate.guidance));
            for (index, criterion) in gate.criteria.iter().enumerate() {
                add_line(
                    &mut said,
                    &format!("criterion {}", index + 1),
                    &cut(&json!(criterion).to_string()),
                );
            }
            (said, facts)
        }),
        LibraryItemKind::Methodology => library.methodologies.get(id).map(|it| {
            let facts = to_facts(it);
            let mut said = render_heading(&it.id, &it.name, "methodology", &it.description);
            add_line(&mut said, "enabled", if it.enabled { "yes" } else { "no" });
            let phases: Vec<&str> = it.phases.iter().map(|phase| phase.name.as_str()).collect();
            add_line(&mut said, "phases", &phases.join(" → "));
            add_line(&mut said, "gates", &it.gates.include.join(", "));
            add_line(&mut said, "guidance", &cut(&it.system_prompt_guidance));
            (said, facts)
        }),
        LibraryItemKind::Style => library.styles.get(id).map(|it| {
            let facts = to_facts(it);
            let mut said = render_heading(&it.id, &it.name, "style", &it.description);
            add_line(&mut said, "guidance", &cut(&it.guidance));
            (said, facts)
        }),
        LibraryItemKind::Script => None,
    }
}

fn render_prompt(prompt: &Prompt, cut: &dyn Fn(&str) -> String) -> (String, Map<String, Value>) {
    let mut said = render_heading(
        &prompt.id,
        &prompt.name,
        &prompt_kind(prompt),
        &prompt.description,
    );
    add_line(&mut said, "category", &prompt.category);
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
        let _ = write!(said, "\nstep {}: {}", index + 1, describe_step(step));
    }
    let gates = dependents::prompt_gates(prompt);
    add_line(&mut said, "gates", &gates.join(", "));
    add_line(&mut said, "without", &prompt.gates.exclude.join(", "));
    add_line(&mut said, "tools", &prompt.tools.join(", "));
    let body = |text: &Option<crate::model::TemplateSource>| {
        text.as_ref()
            .map_or_else(String::new, |text| cut(&text.body))
    };
    add_line(&mut said, "system message", &body(&prompt.system));
    add_line(&mut said, "template", &body(&prompt.template));
    let steps: Vec<String> = prompt.steps.iter().map(describe_step).collect();
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

/// Describes a step in one line.
pub(crate) fn describe_step(step: &ChainStep) -> String {
    let mut words = match &step.kind {
        StepKind::Prompt { id } if *id == step.name => id.clone(),
        StepKind::Prompt { id } => format!("{} ({id})", step.name),
        StepKind::Tool { name, .. } => format!("{} (tool {name})", step.name),
        StepKind::Parallel(inner) => {
            let inner: Vec<String> = inner.iter().map(describe_step).collect();
            inner.join(" + ")
        }
    };
    if let Some(when) = &step.when {
        let _ = write!(words, ", if {}", truncate_chars(when, 80));
    }
    if let Some(otherwise) = &step.otherwise {
        let _ = write!(words, ", else {}", describe_step(otherwise));
    }
    words
}

fn to_facts(it: &impl serde::Serialize) -> Map<String, Value> {
    match serde_json::to_value(it) {
        Ok(Value::Object(mut facts)) => {
            facts.shift_remove("origin");
            facts
        }
        _ => Map::new(),
    }
}

fn text_fact(facts: &Map<String, Value>, name: &str) -> String {
    let word = facts.get(name).and_then(Value::as_str);
    word.unwrap_or_default().to_owned()
}

fn render_heading(id: &str, name: &str, what: &str, description: &str) -> String {
    format!("{id}: {name} ({what})\n{description}")
}

fn add_line(said: &mut String, name: &str, value: &str) {
    if !value.is_empty() {
        let _ = write!(said, "\n{name}: {value}");
    }
}

/// Returns the problems of a resource, one line each.
pub(crate) fn resource_problems(
    library: &PromptLibrary,
    kind: LibraryItemKind,
    id: &str,
) -> Vec<String> {
    library
        .problems
        .iter()
        .filter(|problem| problem.kind == kind && problem.id.eq_ignore_ascii_case(id))
        .map(problem_line)
        .collect()
}

/// Formats a problem as one line.
pub(crate) fn problem_line(problem: &crate::library::LibraryProblem) -> String {
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
