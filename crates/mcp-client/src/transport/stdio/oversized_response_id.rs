//! Finds the request that an oversized message answers: its id is searched in the beginning, where
//! most servers write it, and in the end.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::jsonrpc::RequestId;

/// Returns the request id of a response of which only the two ends are known.
pub(super) fn response_id(head: &[u8], tail: &[u8]) -> Option<RequestId> {
    match scan_head(head) {
        HeadScan::Id(id) => Some(id),
        HeadScan::NotResponse => None,
        HeadScan::NotFound => scan_tail(tail),
    }
}

enum HeadScan {
    Id(RequestId),
    /// The message is not a response: it is a request or a notification.
    NotResponse,
    NotFound,
}

/// Scans the fields of the outermost object, as far as they are present.
fn scan_head(head: &[u8]) -> HeadScan {
    let mut id = None;
    let so_far = |id: Option<RequestId>| id.map_or(HeadScan::NotFound, HeadScan::Id);
    let Some(mut rest) = head.trim_ascii_start().strip_prefix(b"{") else {
        return HeadScan::NotResponse;
    };
    loop {
        let Some((name, after)) = read_string(rest.trim_ascii_start()) else {
            return so_far(id);
        };
        let Some(value) = after.trim_ascii_start().strip_prefix(b":") else {
            return so_far(id);
        };
        if name == b"method" {
            return HeadScan::NotResponse;
        }
        if let (b"result" | b"error", Some(id)) = (name, id) {
            return HeadScan::Id(id);
        }
        let Some((value, after)) =
            value_length(value).and_then(|length| value.split_at_checked(length))
        else {
            return so_far(id);
        };
        if name == b"id" {
            id = parse_id(value.trim_ascii());
            if id.is_none() {
                return HeadScan::NotResponse;
            }
        }
        match after.strip_prefix(b",") {
            Some(next) => rest = next,
            None => return so_far(id),
        }
    }
}

/// Reads a quoted string at the beginning, as written, and returns the rest.
fn read_string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
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

/// Returns the length of the value at the beginning, if its end is present.
fn value_length(bytes: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        match rest.first()? {
            b'"' => {
                at = bytes.len() - read_string(rest)?.1.len();
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

/// Tries to parse what follows each `"id"` as the last fields of the outermost object. A field of
/// an inner object does not match, because more than one brace closes after it.
fn scan_tail(tail: &[u8]) -> Option<RequestId> {
    #[derive(Deserialize)]
    struct TailFields<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
        #[serde(default)]
        method: Option<serde::de::IgnoredAny>,
    }
    memchr::memmem::rfind_iter(tail, b"\"id\"").find_map(|at| {
        let mut object = vec![b'{'];
        object.extend_from_slice(tail.get(at..)?);
        let last: TailFields<'_> = serde_json::from_slice(&object).ok()?;
        match last.method {
            Some(_) => None,
            None => parse_id(last.id.get().as_bytes()),
        }
    })
}

/// Reads the id of an answer. Our ids are numbers; some servers return them as strings.
fn parse_id(value: &[u8]) -> Option<RequestId> {
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
            assert_eq!(response_id(head.as_bytes(), CUT), Some(7), "{head}");
        }
    }

    #[test]
    fn the_id_is_found_at_the_end() {
        let head = br#"{"result":{"id":3,"content":[{"text":"xxx"#;
        for tail in [
            r#"xx\"id\":4}"}]},"id":7}"#,
            r#"x"}],"id":4},"id":"7", "jsonrpc":"2.0"} "#,
        ] {
            assert_eq!(response_id(head, tail.as_bytes()), Some(7), "{tail}");
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
            let found = response_id(head.as_bytes(), tail.as_bytes());
            assert_eq!(found, None, "{head}");
        }
    }
}
