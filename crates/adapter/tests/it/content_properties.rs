//! Tests that blocks and results are written as they were read, known or not, in the same order.

use deliberate_adapter::content::{
    ContentPart, DataError, EmbeddedContents, McpPromptMessage, McpToolResult, PartKind,
    ToModelContent as _,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i32>().prop_map(Value::from),
        "[a-z ]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::vec(("[a-z]{1,3}", inner), 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// A field of a block: mostly a known one, with a value that mostly fits.
fn field() -> impl Strategy<Value = (String, Value)> {
    let known = prop::sample::select(
        &[
            "text",
            "data",
            "mimeType",
            "uri",
            "name",
            "title",
            "description",
            "blob",
            "size",
            "annotations",
            "_meta",
            "resource",
            "role",
            "content",
            "extra",
        ][..],
    );
    let held = prop_oneof![
        4 => "[a-zA-Z0-9+/=]{0,8}".prop_map(Value::from),
        1 => json_value(),
        1 => any::<u32>().prop_map(Value::from),
    ];
    (known.prop_map(str::to_owned), held)
}

fn block() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(
        &[
            "text",
            "image",
            "audio",
            "resource",
            "resource_link",
            "video",
            "",
        ][..],
    );
    let resource = prop::collection::vec(field(), 0..6);
    let at = any::<prop::sample::Index>();
    (
        kind,
        prop::collection::vec(field(), 0..8),
        resource,
        at,
        any::<bool>(),
    )
        .prop_map(|(kind, mut fields, resource, at, nest)| {
            let place = at.index(fields.len() + 1);
            fields.insert(place, ("type".to_owned(), json!(kind)));
            if nest {
                let inner: Map<String, Value> = resource.into_iter().collect();
                fields.push(("resource".to_owned(), Value::Object(inner)));
            }
            Value::Object(fields.into_iter().collect())
        })
}

fn result() -> impl Strategy<Value = Value> {
    let content = prop_oneof![
        4 => prop::collection::vec(prop_oneof![4 => block(), 1 => json_value()], 0..4)
            .prop_map(Value::Array),
        1 => json_value(),
    ];
    let field = prop_oneof![
        3 => content.prop_map(|it| ("content", it)),
        1 => json_value().prop_map(|it| ("structuredContent", it)),
        1 => prop_oneof![any::<bool>().prop_map(Value::Bool), json_value()]
            .prop_map(|it| ("isError", it)),
        1 => json_value().prop_map(|it| ("_meta", it)),
        1 => json_value().prop_map(|it| ("resultType", it)),
    ];
    prop_oneof![
        9 => prop::collection::vec(field, 0..6).prop_map(|fields| {
            let fields = fields.into_iter().map(|(key, it)| (key.to_owned(), it));
            Value::Object(fields.collect())
        }),
        1 => json_value(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn a_block_read_and_written_is_the_same(block in prop_oneof![9 => block(), 1 => json_value()]) {
        let written = ContentPart::from_value(&block).to_value();
        // Compared as text, so that the order of the fields counts.
        prop_assert_eq!(written.to_string(), block.to_string());
    }

    #[test]
    fn a_result_read_and_written_is_the_same(result in result()) {
        let read = McpToolResult::from_value(&result);
        prop_assert_eq!(read.to_value().to_string(), result.to_string());
        // No content may prevent the conversion to text or model content.
        let _ = (read.text(), read.to_openai(), read.to_anthropic());
    }

    #[test]
    fn a_prompts_message_read_and_written_is_the_same(message in block()) {
        let read = McpPromptMessage::from_value(&message);
        prop_assert_eq!(read.to_value().to_string(), message.to_string());
        let _ = (read.to_openai(), read.to_anthropic());
    }
}

#[test]
fn every_kind_of_block_is_typed_and_keeps_its_other_fields() {
    let read = |block: Value| ContentPart::from_value(&block);
    let text = read(
        json!({"type": "text", "text": "t", "annotations": {"priority": 1}, "_meta": {"a": 1}, "new": 2}),
    );
    assert_eq!(text.kind, PartKind::Text("t".to_owned()));
    assert_eq!(text.annotations().unwrap()["priority"], 1);
    assert_eq!(text.meta().unwrap()["a"], 1);
    assert_eq!(text.extra["new"], 2);
    let image = read(json!({"type": "image", "data": "aGk=", "mimeType": "image/png"}));
    assert!(matches!(&image.kind, PartKind::Image(it) if it.decode().unwrap() == b"hi"));
    assert!(matches!(
        read(json!({"type": "audio", "data": "", "mimeType": "audio/wav"})).kind,
        PartKind::Audio(_)
    ));
    let PartKind::Resource(resource) =
        read(json!({"type": "resource", "resource": {"uri": "a:b", "text": "x", "mimeType": "text/plain"}})).kind
    else {
        panic!("a resource");
    };
    assert_eq!(resource.contents, EmbeddedContents::Text("x".to_owned()));
    let PartKind::Link(link) =
        read(json!({"type": "resource_link", "uri": "a:b", "name": "n", "title": "T", "size": 5}))
            .kind
    else {
        panic!("a link");
    };
    assert_eq!(
        (link.name.as_str(), link.title.as_deref(), link.size),
        ("n", Some("T"), Some(5))
    );
    for odd in [
        json!({"type": "video"}),
        json!({"type": "image", "data": 1}),
        json!(3),
        json!({"type": "resource", "resource": {"uri": "a"}}),
    ] {
        assert!(matches!(read(odd.clone()).kind, PartKind::Opaque(it) if it == odd));
    }
}

#[test]
fn a_changed_part_is_written_as_changed() {
    let mut part = ContentPart::from_value(&json!({"_meta": {}, "text": "old", "type": "text"}));
    part.kind = PartKind::Text("new".to_owned());
    assert_eq!(
        part.to_value().to_string(),
        r#"{"_meta":{},"text":"new","type":"text"}"#
    );
    assert_eq!(
        ContentPart::text("x").to_value(),
        json!({"type": "text", "text": "x"})
    );
    let result = McpToolResult::new(vec![ContentPart::text("x")]);
    assert_eq!(
        result.to_value(),
        json!({"content": [{"type": "text", "text": "x"}]})
    );
    let mut read = McpToolResult::from_value(&json!({"structuredContent": 1, "isError": false}));
    read.is_error = true;
    assert_eq!(
        read.to_value(),
        json!({"structuredContent": 1, "isError": true})
    );
}

#[test]
fn data_is_decoded_when_asked_and_told_when_it_is_none() {
    let media = |data: &str| {
        let block = json!({"type": "image", "data": data, "mimeType": "image/png"});
        match ContentPart::from_value(&block).kind {
            PartKind::Image(it) => it.decode(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(media("aGVs\nbG8").unwrap(), b"hello");
    assert_eq!(media("-_-_").unwrap(), [251, 255, 191]);
    assert!(matches!(media("not base64!"), Err(DataError::NotBase64(_))));
}

#[test]
fn the_messages_of_a_prompt() {
    let read = McpPromptMessage::from_result(&json!({"messages": [
        {"role": "user", "content": {"type": "text", "text": "Ask."}},
        {"role": "assistant", "content": {"type": "image", "data": "aGk=", "mimeType": "image/jpg"}},
        "odd"
    ]}));
    assert_eq!(read.len(), 3);
    assert_eq!(
        read[0].to_openai(),
        json!({"role": "user", "content": [{"type": "text", "text": "Ask."}]})
    );
    assert_eq!(
        read[1].to_anthropic()["content"][0]["source"]["media_type"],
        "image/jpeg"
    );
    assert_eq!(
        (read[2].role.as_str(), read[2].to_value()),
        ("", json!("odd"))
    );
    assert!(McpPromptMessage::from_result(&json!({})).is_empty());
}
