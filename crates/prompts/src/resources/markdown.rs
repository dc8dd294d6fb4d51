//! Renders library items as Markdown pages.

use std::fmt::Write as _;

use super::uri::{LibraryResourceKind, LibraryUriPart};
use crate::{
    library::PromptLibrary,
    model::{Gate, ItemOrigin, Methodology, Prompt, ResponseStyle, StepKind, TemplateSource},
};

/// Renders a list with one line per item.
pub(super) fn render_list(what: LibraryResourceKind, library: &PromptLibrary) -> String {
    let line = |id: &str, about: &str| format!("- {id}: {}\n", first_line(about));
    let lines: String = match what {
        LibraryResourceKind::Prompt => library.prompts.values().map(|it| prompt_line(it)).collect(),
        LibraryResourceKind::Gate => library
            .gates
            .values()
            .map(|it| line(&it.id, &it.description))
            .collect(),
        LibraryResourceKind::Methodology => library
            .methodologies
            .values()
            .map(|it| line(&it.id, &it.description))
            .collect(),
        LibraryResourceKind::Style => library
            .styles
            .values()
            .map(|it| line(&it.id, &it.description))
            .collect(),
        LibraryResourceKind::Run => String::new(),
    };
    if lines.is_empty() {
        return "None.\n".to_owned();
    }
    lines
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}

fn prompt_line(prompt: &Prompt) -> String {
    let (call, about) = (prompt.call_signature(), first_line(&prompt.description));
    format!("- {call}: {about}\n")
}

/// Renders one item; `None` if there is no item with that id.
pub(super) fn render_item(
    kind: LibraryResourceKind,
    id: &str,
    part: LibraryUriPart,
    library: &PromptLibrary,
) -> Option<String> {
    Some(match (kind, part) {
        (LibraryResourceKind::Prompt, LibraryUriPart::Full) => {
            render_prompt(library.prompts.get(id)?)
        }
        (LibraryResourceKind::Prompt, LibraryUriPart::Text) => {
            let text = library.prompts.get(id)?.template.as_ref()?;
            text.body.clone()
        }
        (LibraryResourceKind::Gate, LibraryUriPart::Full) => render_gate(library.gates.get(id)?),
        (LibraryResourceKind::Gate, LibraryUriPart::Text) => {
            library.gates.get(id)?.guidance.clone()
        }
        (LibraryResourceKind::Methodology, LibraryUriPart::Full) => {
            render_methodology(library.methodologies.get(id)?)
        }
        (LibraryResourceKind::Methodology, LibraryUriPart::Text) => {
            let methodology = library.methodologies.get(id)?;
            methodology.system_prompt_guidance.clone()
        }
        (LibraryResourceKind::Style, LibraryUriPart::Full) => render_style(library.styles.get(id)?),
        (LibraryResourceKind::Style, LibraryUriPart::Text) => {
            library.styles.get(id)?.guidance.clone()
        }
        (LibraryResourceKind::Run, _) => return None,
    })
}

/// A Markdown page under construction.
struct LibraryMarkdown(String);

impl LibraryMarkdown {
    fn new(name: &str, id: &str, description: &str, origin: &ItemOrigin) -> Self {
        let mut page = Self(format!("# {name}\n\n`{id}`, from {}\n", origin.file));
        page.paragraph(description);
        page
    }

    fn paragraph(&mut self, text: &str) {
        let text = text.trim();
        if !text.is_empty() {
            let _ = write!(self.0, "\n{text}\n");
        }
    }

    fn list(&mut self, heading: &str, lines: &[String]) {
        if lines.is_empty() {
            return;
        }
        let _ = write!(self.0, "\n## {heading}\n\n");
        for line in lines {
            let _ = writeln!(self.0, "- {line}");
        }
    }

    /// Adds a code block with a fence longer than any in the text.
    fn code_block(&mut self, heading: &str, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        let mut longest = 0_usize;
        let mut row = 0_usize;
        for letter in text.chars() {
            row = if letter == '`' { row + 1 } else { 0 };
            longest = longest.max(row);
        }
        let fence = "`".repeat(longest.max(2) + 1);
        let text = text.trim_end();
        let _ = write!(self.0, "\n## {heading}\n\n{fence}\n{text}\n{fence}\n");
    }
}

fn render_prompt(it: &Prompt) -> String {
    let mut page = LibraryMarkdown::new(&it.name, &it.id, &it.description, &it.origin);
    page.paragraph(&format!("Category: {}", it.category));
    let arguments: Vec<String> = it
        .arguments
        .iter()
        .map(|it| {
            let required = if it.required { ", required" } else { "" };
            let kind = serde_json::to_value(it.kind).unwrap_or_default();
            let kind = kind.as_str().unwrap_or("string").to_owned();
            let default = it
                .default_value
                .as_ref()
                .map(|it| format!(", default {it}"));
            let about = it.description.as_deref().unwrap_or_default();
            format!(
                "`{}` ({kind}{required}{}) {about}",
                it.name,
                default.unwrap_or_default()
            )
        })
        .collect();
    page.list("Arguments", &arguments);
    let steps: Vec<String> = it
        .steps
        .iter()
        .map(|step| step_line(&step.name, &step.kind))
        .collect();
    page.list("Steps", &steps);
    let gates = it.gates.include.iter().cloned();
    let own = it.gates.inline_gate_definitions.iter();
    let own = own.filter_map(|it| it.name.clone().or_else(|| it.id.clone()));
    let gates: Vec<String> = gates.chain(own).collect();
    page.list("Gates", &gates);
    let body = |text: Option<&TemplateSource>| text.map(|it| it.body.clone()).unwrap_or_default();
    page.code_block("System message", &body(it.system.as_ref()));
    page.code_block("Template", &body(it.template.as_ref()));
    page.0
}

fn step_line(name: &str, kind: &StepKind) -> String {
    match kind {
        StepKind::Prompt { id } => format!("{name}: prompt `{id}`"),
        StepKind::Tool { name: tool, .. } => format!("{name}: tool `{tool}`"),
        StepKind::Parallel(steps) => {
            let inner: Vec<String> = steps
                .iter()
                .map(|it| step_line(&it.name, &it.kind))
                .collect();
            format!("{name}: in parallel, {}", inner.join("; "))
        }
    }
}

fn render_gate(it: &Gate) -> String {
    let mut page = LibraryMarkdown::new(&it.name, &it.id, &it.description, &it.origin);
    let severity = serde_json::to_value(it.severity).unwrap_or_default();
    page.paragraph(&format!(
        "Severity: {}",
        severity.as_str().unwrap_or_default()
    ));
    page.code_block("Guidance", &it.guidance);
    let criteria: Vec<String> = it
        .criteria
        .iter()
        .map(|criterion| {
            let fields = serde_json::to_value(&criterion.kind).unwrap_or_default();
            let kind = fields
                .get("type")
                .and_then(|it| it.as_str())
                .unwrap_or_default();
            let about = criterion.description.as_deref().unwrap_or_default();
            format!("{kind}: {about}")
                .trim_end_matches([':', ' '])
                .to_owned()
        })
        .collect();
    page.list("Criteria", &criteria);
    page.0
}

fn render_methodology(it: &Methodology) -> String {
    let mut page = LibraryMarkdown::new(&it.name, &it.id, &it.description, &it.origin);
    if !it.enabled {
        page.paragraph("Disabled in its file.");
    }
    page.code_block("Guidance", &it.system_prompt_guidance);
    let phases: Vec<String> = it
        .phases
        .iter()
        .map(|phase| format!("{}: {}", phase.name, first_line(&phase.description)))
        .collect();
    page.list("Phases", &phases);
    let gates: Vec<String> = it
        .methodology_gates
        .iter()
        .map(|gate| format!("{}: {}", gate.id, first_line(&gate.description)))
        .collect();
    page.list("Gates", &gates);
    page.0
}

fn render_style(it: &ResponseStyle) -> String {
    let mut page = LibraryMarkdown::new(&it.name, &it.id, &it.description, &it.origin);
    page.code_block("Guidance", &it.guidance);
    page.0
}
