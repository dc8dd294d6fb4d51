//! Lenient JSON access: a field of the wrong type counts as missing, a number may be written as
//! text, and a single value may stand in place of a list.

use deliberate_core::{ArxivId, Doi, PartialDate};
use serde_json::Value;

use super::text_cleanup;

/// Text at a pointer, without markup.
pub(crate) fn text(value: &Value, pointer: &str) -> Option<String> {
    text_cleanup::clean_markup(&raw(value, pointer)?, text_cleanup::MAX_LINE_CHARS)
}

/// A title at a pointer.
pub(crate) fn title(value: &Value, pointer: &str) -> Option<String> {
    text_cleanup::clean_markup(&raw(value, pointer)?, text_cleanup::MAX_TITLE_CHARS)
}

/// An abstract at a pointer.
pub(crate) fn summary(value: &Value, pointer: &str) -> Option<String> {
    text_cleanup::clean_abstract(&raw(value, pointer)?)
}

/// A URL at a pointer.
pub(crate) fn url(value: &Value, pointer: &str) -> Option<String> {
    text_cleanup::clean_url(&raw(value, pointer)?)
}

/// A DOI at a pointer.
pub(crate) fn doi(value: &Value, pointer: &str) -> Option<Doi> {
    Doi::parse(&raw(value, pointer)?)
}

/// An arXiv id at a pointer.
pub(crate) fn arxiv(value: &Value, pointer: &str) -> Option<ArxivId> {
    ArxivId::parse(&raw(value, pointer)?)
}

/// A full or partial date at a pointer.
pub(crate) fn date(value: &Value, pointer: &str) -> Option<PartialDate> {
    PartialDate::parse(&raw(value, pointer)?)
}

/// A number at a pointer, which may be written as text.
pub(crate) fn number(value: &Value, pointer: &str) -> Option<u64> {
    let value = value.pointer(pointer)?;
    let written = || value.as_str().and_then(|it| it.trim().parse().ok());
    value.as_u64().or_else(written)
}

/// A boolean at a pointer: `true`, `"Y"`, `1`.
pub(crate) fn flag(value: &Value, pointer: &str) -> Option<bool> {
    let value = value.pointer(pointer)?;
    let written = || match value.as_str()?.to_lowercase().as_str() {
        "y" | "yes" | "true" => Some(true),
        "n" | "no" | "false" => Some(false),
        _ => None,
    };
    value.as_bool().or_else(written)
}

/// The list at a pointer. A single value counts as a list of one.
pub(crate) fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    match value.pointer(pointer) {
        None | Some(Value::Null) => &[],
        Some(Value::Array(all)) => all,
        Some(one) => std::slice::from_ref(one),
    }
}

/// The texts of a list at a pointer, without duplicates.
pub(crate) fn texts(value: &Value, pointer: &str, inner: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for it in list(value, pointer).iter().filter_map(|it| text(it, inner)) {
        if all.len() < text_cleanup::MAX_KEYWORDS && !all.contains(&it) {
            all.push(it);
        }
    }
    all
}

/// Text or a number at a pointer, unchanged.
pub(crate) fn raw(value: &Value, pointer: &str) -> Option<String> {
    match value.pointer(pointer)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The error message of a response, if it holds one.
pub(crate) fn error_message(value: &Value) -> Option<String> {
    let said = [
        "/error/message",
        "/error",
        "/errMsg",
        "/esearchresult/ERROR",
        "/message/0/message",
        "/message",
        "/messages/0/status",
        "/detail",
    ]
    .iter()
    .find_map(|it| text_cleanup::clean_text(&raw(value, it)?, 200));
    said.filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn types_do_not_matter_much() {
        let it =
            json!({"a": "12", "b": 12, "c": [1], "d": {"e": "x &amp; y"}, "f": null, "g": "Y"});
        assert_eq!(
            (number(&it, "/a"), number(&it, "/b"), number(&it, "/c")),
            (Some(12), Some(12), None)
        );
        assert_eq!(text(&it, "/d/e").as_deref(), Some("x & y"));
        assert_eq!(text(&it, "/c"), None);
        assert_eq!(
            (
                list(&it, "/c").len(),
                list(&it, "/d").len(),
                list(&it, "/f").len()
            ),
            (1, 1, 0)
        );
        assert_eq!((flag(&it, "/g"), flag(&it, "/a")), (Some(true), None));
    }
}
