//! Says what there is, filtered and page by page.

use std::fmt::Write as _;

use deliberate_core::cut_to_chars;
use deliberate_toolkit::ToolError;
use serde_json::{Map, Value, json};

use super::{
    Desk, Done,
    failure::refused,
    fields,
    request::{Format, Input, Told},
};
use crate::{
    library::Library,
    model::{Kind, Layer, Origin},
};

/// How many are shown unless asked otherwise, and at most.
const USUAL: usize = 100;
const MOST: usize = 1_000;

/// One thing, as a list shows it.
struct Line<'l> {
    id: &'l str,
    name: &'l str,
    description: &'l str,
    group: &'l str,
    what: String,
    severity: Option<String>,
    enabled: bool,
    origin: &'l Origin,
}

impl<'l> Line<'l> {
    /// A line of something that has no more to it.
    const fn of(id: &'l str, name: &'l str, description: &'l str, origin: &'l Origin) -> Self {
        Self {
            id,
            name,
            description,
            group: "",
            what: String::new(),
            severity: None,
            enabled: true,
            origin,
        }
    }
}

impl Desk {
    /// Lists the things of a kind.
    pub(super) fn list(&self, kind: Kind, input: &Input) -> Result<Done, ToolError> {
        let library = self.engine.shelf.now().unwrap_or_default();
        let filters = filters(input)?;
        let enabled_only = fields::is_on(&input.rest, "enabled_only")?;
        let lines: Vec<Line<'_>> = lines(&library, kind)
            .into_iter()
            .filter(|line| line.enabled || !enabled_only)
            .filter(|line| filters.iter().all(|filter| filter.fits(line)))
            .collect();
        let total = lines.len();
        let offset = offset(&input.rest)?;
        let limit = input.limit.unwrap_or(USUAL).min(MOST);
        let page: Vec<Line<'_>> = lines.into_iter().skip(offset).take(limit).collect();
        let full = detail(&input.rest)?;
        let next = (offset + page.len() < total).then_some(offset + page.len());
        let mut told = match input.format.unwrap_or_default() {
            Format::Text => Told::new(self.text(kind, &page, full, total, next)),
            Format::Json => {
                let items: Vec<Value> = page.iter().map(Line::json).collect();
                let whole = json!({ "total": total, "next_offset": next, "items": items });
                Told::new(whole.to_string()).with("items", items)
            }
        };
        told = told.with("total", total);
        if let Some(next) = next {
            told = told.with("next_offset", next);
        }
        Ok(Done::said(told, Vec::new()))
    }

    fn text(
        &self,
        kind: Kind,
        page: &[Line<'_>],
        full: bool,
        total: usize,
        next: Option<usize>,
    ) -> String {
        let mut said = format!(
            "{total} {}{}",
            kind.as_str(),
            if total == 1 { "" } else { "s" }
        );
        let mut group = "";
        for line in page {
            if kind == Kind::Prompt && line.group != group {
                group = line.group;
                let _ = write!(said, "\n[{group}]");
            }
            let _ = write!(said, "\n{}: {}", line.id, line.name);
            if kind == Kind::Methodology && self.in_use.as_deref() == Some(line.id) {
                said.push_str(" (in use)");
            }
            if !line.enabled {
                said.push_str(" (off)");
            }
            if line.what != "prompt" && !line.what.is_empty() {
                let more = line.severity.as_ref();
                let more = more.map_or_else(String::new, |it| format!(", {it}"));
                let _ = write!(said, " ({}{more})", line.what);
            }
            if full && !line.description.is_empty() {
                let _ = write!(said, " - {}", cut_to_chars(line.description, 200));
            }
        }
        if let Some(next) = next {
            let _ = write!(said, "\nMore with offset: {next}.");
        }
        said
    }
}

impl Line<'_> {
    fn json(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("id".to_owned(), self.id.into());
        fields.insert("name".to_owned(), self.name.into());
        fields.insert("description".to_owned(), self.description.into());
        if !self.group.is_empty() {
            fields.insert("category".to_owned(), self.group.into());
        }
        if !self.what.is_empty() {
            fields.insert("type".to_owned(), self.what.clone().into());
        }
        if let Some(severity) = &self.severity {
            fields.insert("severity".to_owned(), severity.clone().into());
        }
        if !self.enabled {
            fields.insert("enabled".to_owned(), false.into());
        }
        fields.insert("layer".to_owned(), layer(self.origin).into());
        Value::Object(fields)
    }
}

fn layer(origin: &Origin) -> &'static str {
    match origin.layer {
        Layer::Shipped => "shipped",
        Layer::Workspace => "workspace",
    }
}

/// A choice as the files spell it.
fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn lines(library: &Library, kind: Kind) -> Vec<Line<'_>> {
    let mut lines: Vec<Line<'_>> = match kind {
        Kind::Prompt => library
            .prompts
            .values()
            .map(|it| Line {
                id: &it.id,
                name: &it.name,
                description: &it.description,
                group: &it.category,
                what: super::inspect::what(it),
                severity: None,
                enabled: true,
                origin: &it.origin,
            })
            .collect(),
        Kind::Gate => library
            .gates
            .values()
            .map(|it| Line {
                id: &it.id,
                name: &it.name,
                description: &it.description,
                group: "",
                what: word(&json!(it.kind)),
                severity: Some(word(&json!(it.severity))),
                enabled: true,
                origin: &it.origin,
            })
            .collect(),
        Kind::Methodology => library
            .methodologies
            .values()
            .map(|it| Line {
                enabled: it.enabled,
                ..Line::of(&it.id, &it.name, &it.description, &it.origin)
            })
            .collect(),
        Kind::Style => library
            .styles
            .values()
            .map(|it| Line {
                enabled: it.enabled,
                ..Line::of(&it.id, &it.name, &it.description, &it.origin)
            })
            .collect(),
        Kind::Script => Vec::new(),
    };
    lines.sort_by(|a, b| (a.group, a.id).cmp(&(b.group, b.id)));
    lines
}

/// What a line must have.
enum Filter {
    Word(String),
    Category(String),
    Type(String),
    Layer(String),
}

impl Filter {
    fn fits(&self, line: &Line<'_>) -> bool {
        let has = |text: &str, word: &str| text.to_lowercase().contains(word);
        match self {
            Self::Word(word) => {
                has(line.id, word)
                    || has(line.name, word)
                    || has(line.description, word)
                    || has(line.group, word)
            }
            Self::Category(name) => line.group.eq_ignore_ascii_case(name),
            Self::Type(name) => {
                line.what.split_whitespace().next() == Some(name.as_str())
                    || line.severity.as_ref() == Some(name)
            }
            Self::Layer(name) => layer(line.origin) == name,
        }
    }
}

fn filters(input: &Input) -> Result<Vec<Filter>, ToolError> {
    let mut filters = Vec::new();
    let search = fields::text(&input.rest, "search_query")?;
    for word in [input.filter.as_deref(), search]
        .into_iter()
        .flatten()
        .flat_map(str::split_whitespace)
        .take(20)
    {
        let word = word.to_lowercase();
        filters.push(match word.split_once(':') {
            Some(("category", name)) => Filter::Category(name.to_owned()),
            Some(("type", name)) => Filter::Type(name.to_owned()),
            Some(("layer", name)) => Filter::Layer(name.to_owned()),
            _ => Filter::Word(word),
        });
    }
    if let Some(name) = fields::text(&input.rest, "category")? {
        filters.push(Filter::Category(name.to_owned()));
    }
    Ok(filters)
}

fn offset(given: &Map<String, Value>) -> Result<usize, ToolError> {
    match given.get("offset") {
        None => Ok(0),
        Some(value) => value
            .as_u64()
            .and_then(|number| usize::try_from(number).ok())
            .ok_or_else(|| refused("`offset` must be a whole number.", "Leave it out to begin.")),
    }
}

/// Whether everything is wanted.
pub(super) fn detail(given: &Map<String, Value>) -> Result<bool, ToolError> {
    match given.get("detail") {
        None => Ok(false),
        Some(Value::Bool(full)) => Ok(*full),
        Some(Value::String(word)) => Ok(matches!(word.as_str(), "full" | "detailed" | "true")),
        Some(_) => Err(refused(
            "`detail` must be `full` or `summary`.",
            "Leave it out.",
        )),
    }
}
