//! Tests of tool-name matching, which the public interface does not expose.

use serde_json::json;

use super::validate::validate_calls;
use crate::{ModelRequest, ToolCall, ToolDefinition};

fn match_name(names: &[&str], called: &str) -> Option<String> {
    let function = |name: &&str| ToolDefinition {
        name: (*name).to_owned(),
        ..ToolDefinition::default()
    };
    let ask = ModelRequest {
        functions: names.iter().map(function).collect(),
        ..ModelRequest::default()
    };
    let call = ToolCall {
        name: called.to_owned(),
        arguments: json!({}),
        ..ToolCall::default()
    };
    validate_calls(vec![call], &ask)
        .0
        .pop()
        .map(|call| call.name)
}

#[test]
fn a_name_that_is_nearly_right_is_known_if_only_one_is_meant() {
    let names = ["files__read", "files__write", "web__read", "echo"];
    let cases = [
        ("files__read", Some("files__read")),
        ("Files.Read", Some("files__read")),
        ("write", Some("files__write")),
        ("functions.echo", Some("echo")),
        ("read", None),
        ("files", None),
        ("ec", None),
        ("", None),
        ("delete", None),
    ];
    for (called, meant) in cases {
        assert_eq!(match_name(&names, called).as_deref(), meant, "{called}");
    }
    // The exact name takes precedence over similar ones.
    assert_eq!(
        match_name(&["read", "READ"], "READ").as_deref(),
        Some("READ")
    );
}
