//! The block of YAML at the head of a Markdown file, between two lines of `---`. Read are texts, in
//! quotes or not, texts of several lines, and lists of texts or of people; all else is passed over.

use super::head::joined;
use crate::Meta;
use crate::structure::{find_arxiv, find_doi};

/// What has more lines is a text that begins with a rule.
const MOST_LINES: usize = 500;

/// The most values of a field, and the longest value in bytes.
const MOST: usize = 100;
const LONGEST: usize = 20_000;

/// What the block says.
pub(super) struct Front {
    pub(super) meta: Meta,
    /// The abstract, which such a file has nowhere else.
    pub(super) summary: Option<String>,
}

/// What stands at the head of a text, and the text behind it; nothing if there is no such block.
pub(super) fn front_matter(text: &str) -> Option<(Front, &str)> {
    let mut rest = text.strip_prefix("---")?.trim_start_matches([' ', '\t']);
    rest = rest.strip_prefix('\n')?;
    let mut fields: Vec<Field> = Vec::new();
    for _ in 0..MOST_LINES {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        rest = after;
        let line = line.trim_end();
        if line == "---" || line == "..." {
            return (!fields.is_empty()).then(|| (front(&fields), rest));
        }
        if !take(line, &mut fields) || rest.is_empty() {
            return None;
        }
    }
    None
}

/// A field of the block and what it says.
#[derive(Default)]
struct Field {
    key: String,
    values: Vec<String>,
    /// Whether its value is all that stands below it.
    is_block: bool,
    /// Whether its value stands beside it, and may go on below.
    is_text: bool,
}

impl Field {
    fn add(&mut self, value: &str) {
        let value = scalar(value);
        if self.values.len() < MOST && value.len() <= LONGEST && !value.is_empty() {
            self.values.push(value);
        }
    }

    fn go_on(&mut self, line: &str) {
        match self.values.last_mut() {
            Some(value) if value.len() + line.len() < LONGEST => {
                value.push(' ');
                value.push_str(line);
            }
            Some(_) => {}
            None => self.values.push(line.to_owned()),
        }
    }
}

/// Takes in a line; false if no such block has it.
fn take(line: &str, fields: &mut Vec<Field>) -> bool {
    let bare = line.trim_start();
    if bare.is_empty() || bare.starts_with('#') {
        return true;
    }
    if bare.len() < line.len() || bare == "-" || bare.starts_with("- ") {
        let Some(field) = fields.last_mut() else {
            return false;
        };
        inner(bare, field);
        return true;
    }
    let Some((key, value)) = line.split_once(':') else {
        return false;
    };
    let named = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !key.chars().all(named) || !(value.is_empty() || value.starts_with([' ', '\t'])) {
        return false;
    }
    fields.push(field(key, value.trim()));
    true
}

fn field(key: &str, value: &str) -> Field {
    let mut field = Field {
        key: key.to_lowercase().replace('-', "_"),
        ..Field::default()
    };
    match value.as_bytes().first() {
        Some(b'|' | b'>') => field.is_block = true,
        Some(b'[') => {
            let inside = value.trim_start_matches('[');
            let inside = inside.rsplit_once(']').map_or(inside, |(items, _)| items);
            for item in items(inside) {
                field.add(item);
            }
        }
        Some(b'{' | b'&' | b'*' | b'!') | None => {}
        Some(_) => {
            field.is_text = true;
            field.add(value);
        }
    }
    field
}

/// A line below a field: more of its text, an item of its list, or a person's name.
fn inner(line: &str, field: &mut Field) {
    if field.is_block {
        field.go_on(line);
        return;
    }
    let item = line.strip_prefix('-').map(str::trim);
    let name = item.unwrap_or(line).strip_prefix("name:");
    match (name, item) {
        (Some(name), _) => field.add(name),
        (None, Some(item)) if !is_pair(item) => field.add(item),
        (None, None) if field.is_text => field.go_on(line),
        _ => {}
    }
}

/// `key: value`, where a text was looked for.
fn is_pair(item: &str) -> bool {
    let quoted = item.starts_with(['"', '\'']);
    !quoted && (item.contains(": ") || item.ends_with(':'))
}

/// The items of a list on one line. A quote at the beginning of one keeps its commas.
fn items(list: &str) -> Vec<&str> {
    let (mut quote, mut begins) = (None, true);
    let parts = list.split(|c: char| {
        match (quote, c) {
            (None, '"' | '\'') if begins => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        let parts = c == ',' && quote.is_none();
        begins = parts || (begins && c.is_whitespace());
        parts
    });
    parts.map(str::trim).collect()
}

/// A value without its quotes, or the remark behind it; nothing for one that says nothing.
fn scalar(value: &str) -> String {
    let value = value.trim();
    let quoted = |mark: char| {
        let (inside, behind) = value.strip_prefix(mark)?.rsplit_once(mark)?;
        let ends = behind.is_empty() || behind.trim_start().starts_with('#');
        ends.then_some(inside)
    };
    if let Some(inside) = quoted('"') {
        return inside.replace("\\\"", "\"").replace("\\\\", "\\");
    }
    if let Some(inside) = quoted('\'') {
        return inside.replace("''", "'");
    }
    match value.split(" #").next().unwrap_or_default().trim_end() {
        "~" | "null" => String::new(),
        value => value.to_owned(),
    }
}

/// What is said under the first of these names that says something.
fn all<'f>(fields: &'f [Field], names: &[&str]) -> Option<&'f Field> {
    names.iter().find_map(|name| {
        let mut same = fields.iter().filter(|it| it.key == *name);
        same.find(|it| !it.values.is_empty())
    })
}

fn one(fields: &[Field], names: &[&str]) -> Option<String> {
    all(fields, names)?.values.first().cloned()
}

fn front(fields: &[Field]) -> Front {
    let authors = all(fields, &["authors", "author"]);
    let each = authors.filter(|it| !it.is_text);
    let keywords = all(fields, &["keywords", "tags", "categories", "subject"]);
    let arxiv = one(fields, &["arxiv_id", "arxiv", "eprint"]);
    let meta = Meta {
        title: one(fields, &["title"]),
        authors: authors.and_then(|it| joined(&it.values)),
        author_list: each.map(|it| it.values.clone()).unwrap_or_default(),
        keywords: keywords.and_then(|it| joined(&it.values)),
        published: one(fields, &["date", "published", "publication_date", "year"]),
        venue: one(fields, &["journal", "venue", "container_title"]),
        language: one(fields, &["lang", "language"]),
        doi: one(fields, &["doi"]).and_then(|said| find_doi(&said)),
        arxiv_id: arxiv.and_then(|said| find_arxiv(&format!("arxiv:{said}"))),
        ..Meta::default()
    };
    Front {
        meta,
        summary: one(fields, &["abstract"]),
    }
}
