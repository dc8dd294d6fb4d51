//! Lists resources, filtered and page by page.

use std::fmt::Write as _;

use deliberate_core::truncate_chars;
use deliberate_toolkit::ToolError;
use serde_json::{Map, Value, json};

use crate::{
    library::PromptLibrary,
    model::{ItemOrigin, LibraryItemKind, LibraryLayer},
    resource_manager::{
        ManageContext, ManageResult,
        errors::invalid_input,
        extra_fields,
        request::{Input, ManageReply, ReplyFormat},
    },
};

/// The default and the highest number of entries on a page.
const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 1_000;

/// One resource in a list.
struct ResourceListEntry<'l> {
    id: &'l str,
    name: &'l str,
    description: &'l str,
    group: &'l str,
    kind: String,
    severity: Option<String>,
    enabled: bool,
    origin: &'l ItemOrigin,
}

impl<'l> ResourceListEntry<'l> {
    /// Creates an entry without details.
    const fn new(id: &'l str, name: &'l str, description: &'l str, origin: &'l ItemOrigin) -> Self {
        Self {
            id,
            name,
            description,
            group: "",
            kind: String::new(),
            severity: None,
            enabled: true,
            origin,
        }
    }
}

impl ManageContext {
    /// Lists the resources of a kind.
    pub(crate) fn list(
        &self,
        kind: LibraryItemKind,
        input: &Input,
    ) -> Result<ManageResult, ToolError> {
        let library = self.engine.live_library.current().unwrap_or_default();
        let filters = parse_filters(input)?;
        let enabled_only = extra_fields::bool_field(&input.rest, "enabled_only")?;
        let lines: Vec<ResourceListEntry<'_>> = list_entries(&library, kind)
            .into_iter()
            .filter(|line| line.enabled || !enabled_only)
            .filter(|line| filters.iter().all(|filter| filter.matches(line)))
            .collect();
        let total = lines.len();
        let offset = parse_offset(&input.rest)?;
        let limit = input.limit.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT);
        let page: Vec<ResourceListEntry<'_>> = lines.into_iter().skip(offset).take(limit).collect();
        let full = wants_full_detail(&input.rest)?;
        let next = (offset + page.len() < total).then_some(offset + page.len());
        let mut reply = match input.format.unwrap_or_default() {
            ReplyFormat::Text => ManageReply::new(self.render_list(kind, &page, full, total, next)),
            ReplyFormat::Json => {
                let items: Vec<Value> = page.iter().map(ResourceListEntry::to_json).collect();
                let whole = json!({ "total": total, "next_offset": next, "items": items });
                ManageReply::new(whole.to_string()).with_fact("items", items)
            }
        };
        reply = reply.with_fact("total", total);
        if let Some(next) = next {
            reply = reply.with_fact("next_offset", next);
        }
        Ok(ManageResult::without_changes(reply, Vec::new()))
    }

    fn render_list(
        &self,
        kind: LibraryItemKind,
        page: &[ResourceListEntry<'_>],
        full: bool,
        total: usize,
        next: Option<usize>,
    ) -> String {
        let mut text = format!(
            "{total} {}{}",
            kind.as_str(),
            if total == 1 { "" } else { "s" }
        );
        let mut group = "";
        for line in page {
            if kind == LibraryItemKind::Prompt && line.group != group {
                group = line.group;
                let _ = write!(text, "\n[{group}]");
            }
            let _ = write!(text, "\n{}: {}", line.id, line.name);
            if kind == LibraryItemKind::Methodology
                && self.active_methodology.as_deref() == Some(line.id)
            {
                text.push_str(" (active)");
            }
            if !line.enabled {
                text.push_str(" (off)");
            }
            if line.kind != "prompt" && !line.kind.is_empty() {
                let more = line.severity.as_ref();
                let more = more.map_or_else(String::new, |it| format!(", {it}"));
                let _ = write!(text, " ({}{more})", line.kind);
            }
            if full && !line.description.is_empty() {
                let _ = write!(text, " - {}", truncate_chars(line.description, 200));
            }
        }
        if let Some(next) = next {
            let _ = write!(text, "\nMore with offset: {next}.");
        }
        text
    }
}

impl ResourceListEntry<'_> {
    fn to_json(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("id".to_owned(), self.id.into());
        fields.insert("name".to_owned(), self.name.into());
        fields.insert("description".to_owned(), self.description.into());
        if !self.group.is_empty() {
            fields.insert("category".to_owned(), self.group.into());
        }
        if !self.kind.is_empty() {
            fields.insert("type".to_owned(), self.kind.clone().into());
        }
        if let Some(severity) = &self.severity {
            fields.insert("severity".to_owned(), severity.clone().into());
        }
        if !self.enabled {
            fields.insert("enabled".to_owned(), false.into());
        }
        fields.insert("layer".to_owned(), layer_name(self.origin).into());
        Value::Object(fields)
    }
}

fn layer_name(origin: &ItemOrigin) -> &'static str {
    match origin.layer {
        LibraryLayer::Shipped => "shipped",
        LibraryLayer::Workspace => "workspace",
    }
}

/// Returns an enum value as the files spell it.
fn choice_name(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn list_entries(library: &PromptLibrary, kind: LibraryItemKind) -> Vec<ResourceListEntry<'_>> {
    let mut lines: Vec<ResourceListEntry<'_>> = match kind {
        LibraryItemKind::Prompt => library
            .prompts
            .values()
            .map(|it| ResourceListEntry {
                id: &it.id,
                name: &it.name,
                description: &it.description,
                group: &it.category,
                kind: super::inspect::prompt_kind(it),
                severity: None,
                enabled: true,
                origin: &it.origin,
            })
            .collect(),
        LibraryItemKind::Gate => library
            .gates
            .values()
            .map(|it| ResourceListEntry {
                id: &it.id,
                name: &it.name,
                description: &it.description,
                group: "",
                kind: choice_name(&json!(it.kind)),
                severity: Some(choice_name(&json!(it.severity))),
                enabled: true,
                origin: &it.origin,
            })
            .collect(),
        LibraryItemKind::Methodology => library
            .methodologies
            .values()
            .map(|it| ResourceListEntry {
                enabled: it.enabled,
                ..ResourceListEntry::new(&it.id, &it.name, &it.description, &it.origin)
            })
            .collect(),
        LibraryItemKind::Style => library
            .styles
            .values()
            .map(|it| ResourceListEntry {
                enabled: it.enabled,
                ..ResourceListEntry::new(&it.id, &it.name, &it.description, &it.origin)
            })
            .collect(),
        LibraryItemKind::Script => Vec::new(),
    };
    lines.sort_by(|a, b| (a.group, a.id).cmp(&(b.group, b.id)));
    lines
}

/// One condition of the filter.
enum ResourceListFilter {
    Word(String),
    Category(String),
    Type(String),
    Layer(String),
}

impl ResourceListFilter {
    fn matches(&self, line: &ResourceListEntry<'_>) -> bool {
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
                line.kind.split_whitespace().next() == Some(name.as_str())
                    || line.severity.as_ref() == Some(name)
            }
            Self::Layer(name) => layer_name(line.origin) == name,
        }
    }
}

fn parse_filters(input: &Input) -> Result<Vec<ResourceListFilter>, ToolError> {
    let mut filters = Vec::new();
    let search = extra_fields::text_field(&input.rest, "search_query")?;
    for word in [input.filter.as_deref(), search]
        .into_iter()
        .flatten()
        .flat_map(str::split_whitespace)
        .take(20)
    {
        let word = word.to_lowercase();
        filters.push(match word.split_once(':') {
            Some(("category", name)) => ResourceListFilter::Category(name.to_owned()),
            Some(("type", name)) => ResourceListFilter::Type(name.to_owned()),
            Some(("layer", name)) => ResourceListFilter::Layer(name.to_owned()),
            _ => ResourceListFilter::Word(word),
        });
    }
    if let Some(name) = extra_fields::text_field(&input.rest, "category")? {
        filters.push(ResourceListFilter::Category(name.to_owned()));
    }
    Ok(filters)
}

fn parse_offset(given: &Map<String, Value>) -> Result<usize, ToolError> {
    match given.get("offset") {
        None => Ok(0),
        Some(value) => value
            .as_u64()
            .and_then(|number| usize::try_from(number).ok())
            .ok_or_else(|| {
                invalid_input(
                    "`offset` must be a whole number.",
                    "Leave it out to start at the beginning.",
                )
            }),
    }
}

/// Returns whether full detail is requested.
pub(crate) fn wants_full_detail(given: &Map<String, Value>) -> Result<bool, ToolError> {
    match given.get("detail") {
        None => Ok(false),
        Some(Value::Bool(full)) => Ok(*full),
        Some(Value::String(word)) => Ok(matches!(word.as_str(), "full" | "detailed" | "true")),
        Some(_) => Err(invalid_input(
            "`detail` must be `full` or `summary`.",
            "Leave it out.",
        )),
    }
}
