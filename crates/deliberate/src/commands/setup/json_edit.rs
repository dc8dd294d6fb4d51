//! Edits a client's JSON file. The new text is spliced into the old one, so that everything else
//! keeps its order, spelling and spacing byte for byte: such files are edited by hand and kept
//! under version control. A file with comments is not JSON and is not changed.

use std::ops::Range;

use secrecy::ExposeSecret as _;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::Serialize as _;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::server_entry::{ClientConfigEdit, ServerEntry};

const DEFAULT_INDENT: &str = "  ";

/// Adds `entry` under `key`. An existing entry of that name keeps its other fields, such as
/// variables added by hand.
pub(super) fn edit(
    text: &str,
    key: &str,
    typed: bool,
    entry: &ServerEntry,
) -> anyhow::Result<ClientConfigEdit> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let root = match serde_json::from_str::<&RawValue>(text) {
        Ok(root) => root,
        Err(error) => {
            let line = error.line();
            return Ok(ClientConfigEdit::ManualEditNeeded(format!(
                "line {line} is not plain JSON, perhaps because of a comment or a trailing comma"
            )));
        }
    };
    let Some(members) = JsonMembers::parse(root) else {
        return Ok(ClientConfigEdit::ManualEditNeeded(
            "it is not a JSON object".to_owned(),
        ));
    };
    let file = JsonText::new(text);
    let Some(servers) = members.find(key) else {
        let mut servers = Map::new();
        servers.insert(
            entry.name.clone(),
            Value::Object(fill_entry(Map::new(), typed, entry)),
        );
        let change = file.insert_member(root, &members, key, &Value::Object(servers), 1)?;
        return Ok(file.apply(&change));
    };
    let Some(inner) = JsonMembers::parse(servers) else {
        return Ok(ClientConfigEdit::ManualEditNeeded(format!(
            "`{key}` in it is not an object"
        )));
    };
    let Some(existing) = inner.find(&entry.name) else {
        let value = Value::Object(fill_entry(Map::new(), typed, entry));
        let change = file.insert_member(servers, &inner, &entry.name, &value, 2)?;
        return Ok(file.apply(&change));
    };
    let before = serde_json::from_str::<Map<String, Value>>(existing.get()).unwrap_or_default();
    let after = fill_entry(before.clone(), typed, entry);
    if before == after {
        return Ok(ClientConfigEdit::Unchanged);
    }
    Ok(file.apply(&JsonTextReplacement {
        range: file.span(existing),
        text: file.render(&Value::Object(after), 2)?,
    }))
}

/// Returns the block to paste into an empty file.
pub(super) fn render_block(key: &str, typed: bool, entry: &ServerEntry) -> anyhow::Result<String> {
    match edit("", key, typed, entry)? {
        ClientConfigEdit::Changed(text) => Ok(text),
        ClientConfigEdit::Unchanged | ClientConfigEdit::ManualEditNeeded(_) => Ok(String::new()),
    }
}

/// Returns the commands of all servers under `key`, or `None` if the text is not JSON.
pub(super) fn server_commands(text: &str, key: &str) -> Option<Vec<String>> {
    let root = serde_json::from_str::<Value>(text).ok()?;
    let servers = root.get(key).and_then(Value::as_object);
    let commands = servers
        .into_iter()
        .flat_map(Map::values)
        .filter_map(|server| {
            let command = server.get("command")?.as_str()?;
            Some(command.to_owned())
        });
    Some(commands.collect())
}

fn fill_entry(
    mut server: Map<String, Value>,
    typed: bool,
    entry: &ServerEntry,
) -> Map<String, Value> {
    if typed {
        server.insert("type".to_owned(), "stdio".into());
    }
    server.insert("command".to_owned(), entry.command.clone().into());
    server.insert("args".to_owned(), entry.args.clone().into());
    if !entry.env.is_empty() {
        let env = server
            .entry("env")
            .or_insert_with(|| Value::Object(Map::new()));
        if !env.is_object() {
            *env = Value::Object(Map::new());
        }
        for (name, value) in &entry.env {
            if let Value::Object(env) = env {
                env.insert(name.clone(), value.expose_secret().into());
            }
        }
    }
    server
}

/// The members of an object, in order and as written.
struct JsonMembers<'a>(Vec<(String, &'a RawValue)>);

impl<'a> JsonMembers<'a> {
    fn parse(object: &'a RawValue) -> Option<Self> {
        serde_json::from_str(object.get()).ok()
    }

    /// Of two members with the same name the last one counts, as in most parsers.
    fn find(&self, name: &str) -> Option<&'a RawValue> {
        let member = self.0.iter().rfind(|(member, _)| member == name)?;
        Some(member.1)
    }
}

impl<'de> Deserialize<'de> for JsonMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = JsonMembers<'de>;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(JsonMembers(members))
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}

struct JsonTextReplacement {
    range: Range<usize>,
    text: String,
}

struct JsonText<'a> {
    text: &'a str,
    indent: &'a str,
}

impl<'a> JsonText<'a> {
    fn new(text: &'a str) -> Self {
        let mut indents = text.lines().filter_map(|line| {
            let (indent, _) = line.split_once(|c: char| !matches!(c, ' ' | '\t'))?;
            (!indent.is_empty()).then_some(indent)
        });
        Self {
            text,
            indent: indents.next().unwrap_or(DEFAULT_INDENT),
        }
    }

    /// Returns the position of a value. It is borrowed from the text, so its offset is the distance
    /// between the two.
    fn span(&self, value: &RawValue) -> Range<usize> {
        let value = value.get();
        let start = value.as_ptr().addr() - self.text.as_ptr().addr();
        start..start + value.len()
    }

    /// Adds a last member to an object whose members are indented `depth` times.
    fn insert_member(
        &self,
        object: &RawValue,
        members: &JsonMembers<'_>,
        name: &str,
        value: &Value,
        depth: usize,
    ) -> anyhow::Result<JsonTextReplacement> {
        let indent = self.indent.repeat(depth);
        let name = serde_json::to_string(name)?;
        let value = self.render(value, depth)?;
        Ok(match members.0.last() {
            Some((_, last)) => {
                let end = self.span(last).end;
                JsonTextReplacement {
                    range: end..end,
                    text: format!(",\n{indent}{name}: {value}"),
                }
            }
            None => JsonTextReplacement {
                range: self.span(object),
                text: format!(
                    "{{\n{indent}{name}: {value}\n{}}}",
                    self.indent.repeat(depth - 1)
                ),
            },
        })
    }

    fn render(&self, value: &Value, depth: usize) -> anyhow::Result<String> {
        let mut bytes = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(self.indent.as_bytes());
        value.serialize(&mut serde_json::Serializer::with_formatter(
            &mut bytes, formatter,
        ))?;
        let text = String::from_utf8(bytes)?;
        Ok(text.replace('\n', &format!("\n{}", self.indent.repeat(depth))))
    }

    fn apply(&self, change: &JsonTextReplacement) -> ClientConfigEdit {
        let line_end = if self.text.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        };
        let (Some(before), Some(after)) = (
            self.text.get(..change.range.start),
            self.text.get(change.range.end..),
        ) else {
            return ClientConfigEdit::ManualEditNeeded(
                "its structure is not understood".to_owned(),
            );
        };
        let new = [before, &change.text.replace('\n', line_end), after].concat();
        // Other programs depend on this file: never return a text that is not JSON.
        match serde_json::from_str::<&RawValue>(&new) {
            Ok(_) => ClientConfigEdit::Changed(new),
            Err(_) => {
                ClientConfigEdit::ManualEditNeeded("its structure is not understood".to_owned())
            }
        }
    }
}
