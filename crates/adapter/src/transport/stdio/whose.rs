//! Whose answer a message is that is too long to be held: its id is looked for in its beginning,
//! where most servers write it, and in its end.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::wire::RequestId;

/// The request that a message answers of which only the two ends are known.
pub(super) fn answered(head: &[u8], tail: &[u8]) -> Option<RequestId> {
    match in_head(head) {
        Found::Id(id) => Some(id),
        Found::NoAnswer => None,
        Found::Nothing => in_tail(tail),
    }
}

enum Found {
    Id(RequestId),
    /// It is no answer: the server asks or tells something.
    NoAnswer,
    Nothing,
}

/// Goes through the fields of the outermost object, as far as they are there.
fn in_head(head: &[u8]) -> Found {
    let mut id = None;
    let so_far = |id: Option<RequestId>| id.map_or(Found::Nothing, Found::Id);
    let Some(mut rest) = head.trim_ascii_start().strip_prefix(b"{") else {
        return Found::NoAnswer;
    };
    loop {
        let Some((name, after)) = text(rest.trim_ascii_start()) else {
            return so_far(id);
        };
        let Some(value) = after.trim_ascii_start().strip_prefix(b":") else {
            return so_far(id);
        };
        if name == b"method" {
            return Found::NoAnswer;
        }
        if let (b"result" | b"error", Some(id)) = (name, id) {
            return Found::Id(id);
        }
        let Some((value, after)) =
            value_length(value).and_then(|length| value.split_at_checked(length))
        else {
            return so_far(id);
        };
        if name == b"id" {
            id = number(value.trim_ascii());
            if id.is_none() {
                return Found::NoAnswer;
            }
        }
        match after.strip_prefix(b",") {
            Some(next) => rest = next,
            None => return so_far(id),
        }
    }
}

/// A text in quotes at the beginning, as it is written, and what comes after it.
fn text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let inside = bytes.strip_prefix(b"\"")?;
    let mut escaped = false;
    for (at, byte) in inside.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some((inside.get(..at)?, inside.get(at + 1..)?)),
            _ => {}
        }
    }
    None
}

/// How far the value at the beginning goes, if its end is there.
fn value_length(bytes: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        match rest.first()? {
            b'"' => {
                at = bytes.len() - text(rest)?.1.len();
                continue;
            }
            b'{' | b'[' => depth += 1,
            b',' | b'}' if depth == 0 => return Some(at),
            b'}' | b']' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        at += 1;
    }
    None
}

/// Tries what follows each `"id"` as the last fields of the outermost object. A field of an inner
/// object does not fit, for more than one brace closes after it.
fn in_tail(tail: &[u8]) -> Option<RequestId> {
    #[derive(Deserialize)]
    struct Last<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
        #[serde(default)]
        method: Option<serde::de::IgnoredAny>,
    }
    memchr::memmem::rfind_iter(tail, b"\"id\"").find_map(|at| {
        let mut object = vec![b'{'];
        object.extend_from_slice(tail.get(at..)?);
        let last: Last<'_> = serde_json::from_slice(&object).ok()?;
        match last.method {
            Some(_) => None,
            None => number(last.id.get().as_bytes()),
        }
    })
}

/// Our ids are numbers; some servers answer with the number as text.
fn number(value: &[u8]) -> Option<RequestId> {
    let bare = value
        .strip_prefix(b"\"")
        .and_then(|inside| inside.strip_suffix(b"\""))
        .unwrap_or(value);
    std::str::from_utf8(bare).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUT: &[u8] = br#"ontent":[{"type":"text","text":"and so on"}]}}"#;

    #[test]
    fn the_id_is_found_at_the_beginning() {
        for head in [
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"text":"xx"#,
            r#" { "id" : "7" , "result":{"#,
            r#"{"_meta":{"id":1,"a":["}\"{"]},"id":7,"result":"#,
        ] {
            assert_eq!(answered(head.as_bytes(), CUT), Some(7), "{head}");
        }
    }

    #[test]
    fn the_id_is_found_at_the_end() {
        let head = br#"{"result":{"id":3,"content":[{"text":"xxx"#;
        for tail in [
            r#"xx\"id\":4}"}]},"id":7}"#,
            r#"x"}],"id":4},"id":"7", "jsonrpc":"2.0"} "#,
        ] {
            assert_eq!(answered(head, tail.as_bytes()), Some(7), "{tail}");
        }
    }

    #[test]
    fn what_is_no_answer_of_ours_has_no_id() {
        for (head, tail) in [
            (r#"{"id":7,"method":"x","params":{"#, r"}}"),
            (r#"{"method":"x","params":{"#, r#"},"id":7}"#),
            (r#"{"result":{"#, r#""x":{"id":7}}}"#),
            (r#"{"id":"abc","result":{"#, r"}"),
            (r#"[{"id":7,"result":{"#, r#"},"id":7}"#),
            ("a banner without an end", r#","id":7}"#),
            ("", ""),
        ] {
            let found = answered(head.as_bytes(), tail.as_bytes());
            assert_eq!(found, None, "{head}");
        }
    }
}
