//! Tools that return one kind of content each, or an error.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents, Tool};
use serde_json::json;

use crate::tools::{FixtureResult, build_tool, error_result, text_result};

/// A red PNG of one pixel.
pub(crate) const PNG_BASE64: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// A silent WAV.
const WAV_BASE64: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==";

pub(crate) fn tools() -> Vec<Tool> {
    vec![
        build_tool("test_simple_text", "Returns a text", &json!({})),
        build_tool("test_image_content", "Returns an image", &json!({})),
        build_tool("test_audio_content", "Returns audio", &json!({})),
        build_tool("test_embedded_resource", "Returns a resource", &json!({})),
        build_tool(
            "test_multiple_content_types",
            "Returns a text, an image and a resource",
            &json!({}),
        ),
        build_tool("test_error_handling", "Always returns an error", &json!({})),
    ]
}

pub(crate) fn has_tool(name: &str) -> bool {
    tools().iter().any(|tool| tool.name == name)
}

pub(crate) fn call_tool(name: &str) -> FixtureResult {
    let content = match name {
        "test_image_content" => vec![ContentBlock::image(PNG_BASE64, "image/png")],
        "test_audio_content" => vec![ContentBlock::audio(WAV_BASE64, "audio/wav")],
        "test_embedded_resource" => vec![embedded_resource(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content.",
        )],
        "test_multiple_content_types" => vec![
            ContentBlock::text("Multiple content types test:"),
            ContentBlock::image(PNG_BASE64, "image/png"),
            embedded_resource(
                "test://mixed-content-resource",
                "application/json",
                r#"{"test":"data","value":123}"#,
            ),
        ],
        "test_error_handling" => {
            return error_result("This tool intentionally returns an error for testing");
        }
        _ => return text_result("This is a simple text response for testing."),
    };
    Ok(CallToolResult::success(content).into())
}

fn embedded_resource(uri: &str, kind: &str, text: &str) -> ContentBlock {
    ContentBlock::resource(ResourceContents::text(text, uri).with_mime_type(kind))
}
