//! Tools with special schemas: one with the keywords of JSON Schema 2020-12, one with an argument
//! that is repeated in an HTTP header.

use rmcp::model::Tool;
use serde_json::json;

use crate::tools::{FixtureCall, FixtureResult, build_tool_with_schema, text_result};

pub(crate) fn tools() -> Vec<Tool> {
    vec![
        build_tool_with_schema(
            "json_schema_2020_12_tool",
            "Tool with JSON Schema 2020-12 features",
            json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "$defs": {
                    "address": {
                        "$anchor": "addressDef",
                        "type": "object",
                        "properties": {
                            "street": { "type": "string" },
                            "city": { "type": "string" },
                        },
                    },
                },
                "properties": {
                    "name": { "type": "string" },
                    "address": { "$ref": "#/$defs/address" },
                    "contactMethod": { "type": "string", "enum": ["phone", "email"] },
                    "phone": { "type": "string" },
                    "email": { "type": "string" },
                },
                "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
                "if": {
                    "properties": { "contactMethod": { "const": "phone" } },
                    "required": ["contactMethod"],
                },
                "then": { "required": ["phone"] },
                "else": { "required": ["email"] },
                "additionalProperties": false,
            }),
        ),
        build_tool_with_schema(
            "test_custom_header",
            "Returns a value that is also sent as a header",
            json!({
                "type": "object",
                "properties": { "value": { "type": "string", "x-mcp-header": "Value" } },
                "required": ["value"],
            }),
        ),
    ]
}

pub(crate) fn has_tool(name: &str) -> bool {
    tools().iter().any(|tool| tool.name == name)
}

pub(crate) fn call_tool(call: &FixtureCall<'_>) -> FixtureResult {
    match call.argument("value") {
        Some(value) => text_result(value.as_str().unwrap_or_default()),
        None => text_result("The arguments were accepted."),
    }
}
