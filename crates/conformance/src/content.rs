//! Tools that return one kind of content each, or an error.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents, Tool};
use serde_json::json;

use crate::tools::{Answer, fails, says, tool};

/// A red PNG of one pixel.
pub(crate) const IMAGE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// A WAV without a sound in it.
const SOUND: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==";

pub(crate) fn tools() -> Vec<Tool> {
    vec![
        tool("test_simple_text", "Returns a text", &json!({})),
        tool("test_image_content", "Returns an image", &json!({})),
        tool("test_audio_content", "Returns a sound", &json!({})),
        tool("test_embedded_resource", "Returns a resource", &json!({})),
        tool(
            "test_multiple_content_types",
            "Returns a text, an image and a resource",
            &json!({}),
        ),
        tool("test_error_handling", "Always goes wrong", &json!({})),
    ]
}

pub(crate) fn has(name: &str) -> bool {
    tools().iter().any(|tool| tool.name == name)
}

pub(crate) fn call(name: &str) -> Answer {
    let content = match name {
        "test_image_content" => vec![ContentBlock::image(IMAGE, "image/png")],
        "test_audio_content" => vec![ContentBlock::audio(SOUND, "audio/wav")],
        "test_embedded_resource" => vec![embedded(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content.",
        )],
        "test_multiple_content_types" => vec![
            ContentBlock::text("Multiple content types test:"),
            ContentBlock::image(IMAGE, "image/png"),
            embedded(
                "test://mixed-content-resource",
                "application/json",
                r#"{"test":"data","value":123}"#,
            ),
        ],
        "test_error_handling" => {
            return fails("This tool intentionally returns an error for testing");
        }
        _ => return says("This is a simple text response for testing."),
    };
    Ok(CallToolResult::success(content).into())
}

fn embedded(uri: &str, kind: &str, text: &str) -> ContentBlock {
    ContentBlock::resource(ResourceContents::text(text, uri).with_mime_type(kind))
}
