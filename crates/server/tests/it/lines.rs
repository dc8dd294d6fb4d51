//! Splitting bytes into lines: complete lines are unchanged, lines that are too long yield their
//! id.

use deliberate_server::stdio::{LineSplitter, StdioLine};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn split_chunks(limit: usize, pieces: &[&[u8]]) -> Vec<StdioLine> {
    let mut lines = LineSplitter::new(limit);
    let mut found = Vec::new();
    for piece in pieces {
        lines.push(piece, |line| found.push(line));
    }
    found.extend(lines.finish());
    found
}

fn complete_line(text: &str) -> StdioLine {
    StdioLine::Complete(text.as_bytes().to_vec())
}

fn too_long_line(id: Option<&str>) -> StdioLine {
    StdioLine::TooLong {
        id: id.map(str::to_owned),
    }
}

#[test]
fn lines_end_at_newlines_and_at_the_end() {
    assert_eq!(split_chunks(10, &[]), []);
    assert_eq!(split_chunks(10, &[b""]), []);
    assert_eq!(
        split_chunks(10, &[b"\n\n"]),
        [complete_line(""), complete_line("")]
    );
    assert_eq!(
        split_chunks(10, &[b"a\nb", b"c\n", b"d"]),
        [complete_line("a"), complete_line("bc"), complete_line("d")]
    );
}

#[test]
fn the_limit_is_exact_and_the_next_line_is_read_again() {
    assert_eq!(
        split_chunks(3, &[b"abc\nabcd\nab\n"]),
        [
            complete_line("abc"),
            too_long_line(None),
            complete_line("ab")
        ]
    );
    assert_eq!(
        split_chunks(3, &[b"ab", b"cd", b"ef\nxy"]),
        [too_long_line(None), complete_line("xy")]
    );
    assert_eq!(split_chunks(3, &[b"abcdef"]), [too_long_line(None)]);
}

#[test]
fn the_id_of_a_long_line_is_its_own_and_only_if_it_is_whole() {
    let cases = [
        (r#"{"id":12,"x":""}"#, Some("12")),
        (r#"{"x":"","id":12}"#, Some("12")),
        (r#"{"x":{"id":1},"id":"it"}"#, Some(r#""it""#)),
        (r#"{"x":"\"id\":5,","id": -7 }"#, Some("-7")),
        (r#"{"x":["id",{"id":1}]}"#, None),
        (r#"{"xid":1,"ids":2}"#, None),
        (r#"{"id":12"#, None),
        (r#"{"id":"ab"#, None),
        (r#"{"id":nul}"#, None),
        (r#"{"id":1-2}"#, None),
        (r#"[{"id":1}]"#, None),
        (r#"{"id":"\ud800"}"#, None),
    ];
    for (line, id) in cases {
        assert_eq!(
            split_chunks(4, &[line.as_bytes()]),
            [too_long_line(id)],
            "{line}"
        );
    }
    let huge = format!(r#"{{"id":"{}"}}"#, "x".repeat(100_000));
    assert_eq!(
        split_chunks(4, &[huge.as_bytes()]),
        [too_long_line(None)],
        "an id of that size is not kept"
    );
}

/// Arbitrary JSON with texts that could confuse a scan for `"id":`.
fn any_json() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        Just("id".to_owned()),
        Just("\"id\":1".to_owned()),
        Just("\\".to_owned()),
        Just("{[]}".to_owned()),
        ".{0,8}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((text.clone(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn any_id() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from)
    ]
}

proptest! {
    #[test]
    fn the_id_is_found_wherever_it_stands_and_however_the_bytes_come(
        before in proptest::collection::vec(("[a-z]{3,6}", any_json()), 0..3),
        id in any_id(),
        after in proptest::collection::vec(("[a-z]{3,6}", any_json()), 0..3),
        limit in 1_usize..9,
        cut in 0_usize..400,
    ) {
        let mut message = Map::new();
        message.extend(before);
        message.insert("id".to_owned(), id.clone());
        message.extend(after);
        message.insert("pad".to_owned(), json!("xxxxxxxx"));
        let text = Value::Object(message).to_string();
        let (head, tail) = text.as_bytes().split_at(cut.min(text.len()));
        let expected = too_long_line(Some(&id.to_string()));
        prop_assert_eq!(split_chunks(limit, &[head, tail]), [expected]);
    }
}
