//! Recognizes refusals that concern tools: the endpoint accepts none, or not these.

use crate::ModelRequest;

/// How an endpoint refuses tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolSupportError {
    /// The endpoint, or its model, accepts no tools.
    Unsupported,
    /// The endpoint does not accept the tools of this request.
    ThisRequest,
}

impl ToolSupportError {
    /// Returns what a refusal says about the request's tools, if it mentions them.
    pub(super) fn classify(status: u16, refusal: &str, ask: &ModelRequest) -> Option<Self> {
        const ABOUT: &[&str] = &["tool", "function", "template", "jinja"];
        const NEVER: &[&str] = &[
            "support",
            "enable",
            "require",
            "unknown",
            "unrecogni",
            "unexpected",
            "extra",
            "not permitted",
            "not allowed",
            "template",
            "jinja",
        ];
        const ABOUT_THESE: &[&str] = &["schema", "parameters", "tools[", "tools.", "messages"];
        let refusal = refusal.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| refusal.contains(word));
        let speaks = match status {
            400 | 422 => says(ABOUT),
            500.. => Self::is_hidden_refusal(status, &refusal),
            _ => false,
        };
        let mut names = ask.functions.iter().map(|it| it.name.to_lowercase());
        let these = says(ABOUT_THESE) || names.any(|name| refusal.contains(&name));
        speaks.then_some(if says(NEVER) && !these {
            Self::Unsupported
        } else {
            Self::ThisRequest
        })
    }

    /// Returns whether a server error is a refusal: some local servers fail when the template of
    /// their model does not support tools.
    pub(super) fn is_hidden_refusal(status: u16, body: &str) -> bool {
        let body = body.to_lowercase();
        let speaks = ["tools", "tool_", "tool call", "template", "jinja"]
            .iter()
            .any(|word| body.contains(word));
        status >= 500 && speaks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolDefinition;

    #[test]
    fn what_is_refused_is_told_apart() {
        let ask = ModelRequest {
            functions: vec![ToolDefinition {
                name: "look_up".to_owned(),
                ..ToolDefinition::default()
            }],
            ..ModelRequest::default()
        };
        let cases = [
            (
                400,
                "registry/gemma does not support tools",
                Some(ToolSupportError::Unsupported),
            ),
            (
                500,
                "tools param requires --jinja flag",
                Some(ToolSupportError::Unsupported),
            ),
            (
                400,
                "\"auto\" tool choice requires --enable-auto-tool-choice",
                Some(ToolSupportError::Unsupported),
            ),
            (
                422,
                "loc: body, tools: extra fields not permitted",
                Some(ToolSupportError::Unsupported),
            ),
            (
                400,
                "Invalid schema for function 'look_up': unsupported",
                Some(ToolSupportError::ThisRequest),
            ),
            (
                400,
                "tools[0].function.name: unexpected characters",
                Some(ToolSupportError::ThisRequest),
            ),
            (
                400,
                "an assistant message with 'tool_calls' must be followed",
                Some(ToolSupportError::ThisRequest),
            ),
            (400, "the context is too long", None),
            (500, "the function timed out", None),
            (401, "no tools for you", None),
        ];
        for (status, text, meant) in cases {
            assert_eq!(
                ToolSupportError::classify(status, text, &ask),
                meant,
                "{text}"
            );
        }
    }
}
