//! Parses the includes of a template: `{{ref:prompt}}` and `{{script:id …}}`. Knows their syntax,
//! not their content.

use serde_json::{Map, Value};

use super::tag_scanner::{TemplateTokenKind, tokenize};

/// An include and its location in the template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncludeReference {
    pub target: IncludeTarget,
    /// The line of the template, from 1.
    pub line: u32,
    /// The byte offset in the template.
    pub offset: usize,
}

/// The content that an include refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IncludeTarget {
    /// The text of another prompt, by id.
    Prompt(String),
    /// The output of a script.
    Script {
        id: String,
        /// The path of a field in the output; all of it if empty.
        field: Vec<String>,
        /// The input of the script, as a JSON object.
        input: String,
    },
}

/// Returns all includes of a template in order, except in comments and raw blocks.
pub fn find_includes(template: &str) -> Vec<IncludeReference> {
    let mut found = Vec::new();
    let mut line = 1_u32;
    for piece in tokenize(template) {
        let inside = piece.split_tag().1;
        if piece.kind == TemplateTokenKind::Print
            && let Some(Ok(target)) = parse_target(inside)
        {
            found.push(IncludeReference {
                target,
                line,
                offset: piece.start,
            });
        }
        let breaks = piece.text.matches('\n').count();
        line = line.saturating_add(u32::try_from(breaks).unwrap_or(u32::MAX));
    }
    found
}

/// Parses the content of a tag as an include: `None` if it is an expression, an error if the
/// include is malformed.
pub(crate) fn parse_target(inside: &str) -> Option<Result<IncludeTarget, String>> {
    let inside = inside.trim();
    if let Some(id) = inside.strip_prefix("ref:") {
        let id = id.trim();
        return Some(if is_id(id, true) {
            Ok(IncludeTarget::Prompt(id.to_owned()))
        } else {
            Err("write {{ref:prompt_id}}, with an id of letters, digits, `_`, `-` and `/`".into())
        });
    }
    let call = inside.strip_prefix("script:")?.trim();
    Some(parse_script(call).ok_or_else(|| {
        "write {{script:id}}, {{script:id.field}} or {{script:id name='text' n=1 b=true}}".into()
    }))
}

fn parse_script(call: &str) -> Option<IncludeTarget> {
    let end = call.find(char::is_whitespace).unwrap_or(call.len());
    let (name, rest) = call.split_at_checked(end)?;
    let mut parts = name.split('.');
    let id = parts.next().filter(|id| is_id(id, false))?;
    let field: Vec<String> = parts.map(str::to_owned).collect();
    if field.iter().any(|part| !is_id(part, false)) {
        return None;
    }
    Some(IncludeTarget::Script {
        id: id.to_owned(),
        field,
        input: Value::Object(parse_pairs(rest)?).to_string(),
    })
}

/// Parses `k='v' n=1 b=true`; returns `None` if it is malformed.
fn parse_pairs(text: &str) -> Option<Map<String, Value>> {
    let mut found = Map::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=')?;
        let name = name.trim();
        if !is_id(name, false) {
            return None;
        }
        let (value, after) = parse_value(after.trim_start())?;
        found.insert(name.to_owned(), value);
        rest = after.trim_start_matches(|letter: char| letter == ',' || letter.is_whitespace());
    }
    Some(found)
}

fn parse_value(text: &str) -> Option<(Value, &str)> {
    if let Some(quote @ ('"' | '\'')) = text.chars().next() {
        return parse_quoted(text.get(1..)?, quote);
    }
    let end = text
        .find(|letter: char| letter == ',' || letter.is_whitespace())
        .unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(end)?;
    let value = match serde_json::from_str(word) {
        Ok(value @ (Value::Number(_) | Value::Bool(_) | Value::Null)) => value,
        _ => Value::String(word.to_owned()),
    };
    (!word.is_empty()).then_some((value, rest))
}

/// Parses text up to its closing quote. A backslash escapes a quote or a backslash.
fn parse_quoted(text: &str, quote: char) -> Option<(Value, &str)> {
    let mut found = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        if letter == quote {
            return Some((Value::String(found), text.get(at + letter.len_utf8()..)?));
        }
        if letter == '\\' {
            match letters.next()?.1 {
                'n' => found.push('\n'),
                't' => found.push('\t'),
                plain @ ('"' | '\'' | '\\') => found.push(plain),
                other => found.extend(['\\', other]),
            }
        } else {
            found.push(letter);
        }
    }
    None
}

fn is_id(id: &str, nested: bool) -> bool {
    !id.is_empty()
        && id.chars().all(|letter| {
            letter.is_alphanumeric() || matches!(letter, '_' | '-') || (nested && letter == '/')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_ok(inside: &str) -> Option<IncludeTarget> {
        parse_target(inside).and_then(Result::ok)
    }

    #[test]
    fn both_kinds_are_read_as_they_are_written() {
        assert_eq!(
            parse_ok(" ref: a/b "),
            Some(IncludeTarget::Prompt("a/b".into()))
        );
        assert_eq!(parse_target("ref_count"), None);
        assert!(matches!(parse_target("ref:../x"), Some(Err(_))));
        assert!(matches!(parse_target("script:a k='open"), Some(Err(_))));
        let expected = IncludeTarget::Script {
            id: "count".into(),
            field: vec!["total".into(), "words".into()],
            input: r#"{"k":"it's }} fine","n":1,"b":true,"w":"low"}"#.into(),
        };
        assert_eq!(
            parse_ok(r"script:count.total.words k='it\'s }} fine' n=1 b=true w=low"),
            Some(expected)
        );
    }

    #[test]
    fn comments_and_raw_blocks_take_nothing_in() {
        let found =
            find_includes("{# {{ref:a}} #}{% raw %}{{ref:b}}{% endraw %}\n{{- ref:c -}} {{ x }}");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].target, IncludeTarget::Prompt("c".into()));
        assert_eq!(found[0].line, 2);
    }
}
