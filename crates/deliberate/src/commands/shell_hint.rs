//! Translates errors for the shell: the hints of tools are written for MCP clients and name tools
//! and arguments; at the shell they name commands and flags.

use deliberate_store::StoreError;
use deliberate_toolkit::ToolError;

/// Phrases of hints and their form at the shell, replaced in this order. `…` in a phrase stands for
/// any text.
const PHRASES: &[(&str, &str)] = &[
    // Reasoning.
    (
        "Use an id from an earlier answer (reasoning_sessions lists them). To begin a new session, \
         omit session_id.",
        "`deliberate sessions` lists them. To begin a new session, omit --session.",
    ),
    ("reasoning_sessions lists", "`deliberate sessions` lists"),
    ("reasoning_get shows", "`deliberate sessions show` shows"),
    (
        "Use an id from the answer of an earlier call; a short one such as t3 or n2 needs its \
         session_id or graph_id beside it.",
        "`deliberate sessions show` prints the ids of a session.",
    ),
    (
        "Use a got tool on it, or begin another session.",
        "Use --mode graph on it, or omit --session to begin another.",
    ),
    (
        "Use a … tool on it, or begin another session.",
        "`deliberate sessions show` prints it; omit --session to begin another.",
    ),
    (
        "Read the session again, then retry.",
        "Look at it with `deliberate sessions show`, then retry.",
    ),
    (
        "Send less text, or start a new session.",
        "Send less text, or omit --session.",
    ),
    (
        "Ask for fewer; max_branches was set when the graph was created.",
        "Begin another graph: omit --session.",
    ),
    ("session_id", "--session"),
    // Prompts.
    (
        "Send chain_id … alone to try again, or with gate_action …abort\".",
        "Continue it to try again.",
    ),
    (
        "Copy the chain_id that was shown with the step.",
        "Copy the id that was printed after --resume.",
    ),
    (
        "Check the number; system_control {\"action\":\"session\"} lists the runs. To start a new \
         run, send the command.",
        "Check the number; `deliberate prompt list` shows the prompts that start a new run.",
    ),
    (
        "Continue with the open step; force_restart starts a new run.",
        "Continue with --resume, or start a new run without it.",
    ),
    (
        "resource_manager with action list shows every",
        "`deliberate prompt list` shows every",
    ),
    ("chain_id", "--resume"),
    // Papers.
    (
        "Call list_research_questions",
        "Use `deliberate papers call list_research_questions`",
    ),
    (
        "Call list_discovery_sources",
        "Use `deliberate papers call list_discovery_sources`",
    ),
    (
        "reindex_collection rebuilds",
        "`deliberate papers call reindex_collection` rebuilds",
    ),
    (
        "Call download_pdf with the same identifier first.",
        "Download it first: `deliberate papers add --download`.",
    ),
    (
        "with download_pdf under another filename",
        "with `deliberate papers call download_pdf` under another filename",
    ),
    (
        "Call again with force_run to run it anyway.",
        "Add \"force_run\": true to its arguments to run it anyway.",
    ),
    // Servers.
    (
        "Search for tools with gateway_search.",
        "`deliberate servers tools` lists them.",
    ),
    // All.
    (
        "Call reasoning_resume … to get its asks.",
        "Repeat the command.",
    ),
    (
        "Correct the arguments and retry.",
        "Correct the command and retry.",
    ),
    ("Repeat the original call.", "Repeat the command."),
    ("Retry when the server is running again.", "Retry."),
    (
        "List the tools to see their names.",
        "`deliberate tools` lists them.",
    ),
];

/// The arguments of tools at the start of an error, and what they are called at the shell.
const ARGUMENTS: &[(&str, &str)] = &[("content", "the question"), ("session_id", "--session")];

/// Starts of the names of tools that have no command.
const TOOL_NAMES: &[&str] = &[
    "reasoning_",
    "gateway_",
    "system_control",
    "resource_manager",
];

/// Returns the error with its hint, both in the words of the shell. Errors that are not of a tool
/// or of the store stay as they are.
pub(crate) fn explain_error(error: anyhow::Error) -> anyhow::Error {
    let hint = match (
        error.downcast_ref::<ToolError>(),
        error.downcast_ref::<StoreError>(),
    ) {
        (Some(error), _) => error.hint(),
        (_, Some(error)) => error.hint(),
        _ => return error,
    };
    let message = translate_argument(format!("{error:#}"));
    match hint {
        Some(hint) => anyhow::anyhow!("{message}. {}", translate_hint(&hint)),
        None => anyhow::anyhow!(message),
    }
}

/// Returns the hint in the words of the shell.
pub(crate) fn translate_hint(hint: &str) -> String {
    let mut text = hint.to_owned();
    for (phrase, replacement) in PHRASES {
        text = replace_phrase(&text, phrase, replacement);
    }
    if TOOL_NAMES.iter().any(|name| text.contains(name)) {
        text.push_str(
            " (Tools are called from an MCP client; `deliberate setup` adds this server.)",
        );
    }
    text
}

fn translate_argument(message: String) -> String {
    for (argument, name) in ARGUMENTS {
        if let Some(rule) = message
            .strip_prefix(argument)
            .and_then(|it| it.strip_prefix(": "))
        {
            return format!("{name} {rule}");
        }
    }
    message
}

/// Replaces each occurrence of a phrase, in which `…` stands for the shortest text that fits.
fn replace_phrase(text: &str, phrase: &str, replacement: &str) -> String {
    let mut parts = phrase.split('…');
    let first = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    let mut result = String::with_capacity(text.len());
    let mut remaining = text;
    while let Some((before, after)) = remaining.split_once(first) {
        let end = rest.iter().try_fold(after, |after, part| {
            after.split_once(part).map(|(_, after)| after)
        });
        let Some(end) = end else {
            break;
        };
        result.push_str(before);
        result.push_str(replacement);
        remaining = end;
    }
    result.push_str(remaining);
    result
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use deliberate_toolkit::{ArgumentIssue, EntityKind, ErrorCode};

    use super::*;

    #[test]
    fn a_hint_names_commands_and_flags() {
        for (hint, wanted) in [
            (
                "Use an id from an earlier answer (reasoning_sessions lists them). To begin a new \
                 session, omit session_id.",
                "`deliberate sessions` lists them. To begin a new session, omit --session.",
            ),
            (
                "Use a tree tool on it, or begin another session.",
                "`deliberate sessions show` prints it; omit --session to begin another.",
            ),
            (
                "Send chain_id \"chain-plan#4\" alone to try again, or with gate_action \"skip\" or \
                 \"abort\".",
                "Continue it to try again.",
            ),
            (
                "Call list_research_questions to see all.",
                "Use `deliberate papers call list_research_questions` to see all.",
            ),
            (
                "Search for tools with gateway_search.",
                "`deliberate servers tools` lists them.",
            ),
            ("Retry in a moment.", "Retry in a moment."),
        ] {
            assert_eq!(translate_hint(hint), wanted);
        }
    }

    #[test]
    fn a_tool_without_a_command_is_told_to_be_one() {
        let hint = translate_hint("Make room with reasoning_got_prune.");
        assert!(
            hint.starts_with("Make room with reasoning_got_prune. (Tools are"),
            "{hint}"
        );
    }

    #[test]
    fn errors_that_every_command_can_meet_speak_of_commands() {
        let issue = |field: &str| ArgumentIssue::new(field, "must not be empty");
        let custom = |hint: &str| ToolError::Custom {
            code: ErrorCode::Conflict,
            message: "no".to_owned(),
            hint: Some(hint.to_owned()),
        };
        let errors = [
            ToolError::UnknownTool {
                name: "x".to_owned(),
                nearest: None,
            },
            ToolError::Invalid(vec![issue("content")]),
            ToolError::Invalid(vec![issue("session_id")]),
            ToolError::NotFound {
                what: EntityKind::SUSPENDED_CALL,
                id: "x".to_owned(),
            },
            ToolError::Stopping,
            ToolError::Timeout { limit_ms: 1 },
            ToolError::Overloaded { running: 1 },
            StoreError::AlreadyEnded.into(),
            StoreError::Conflict {
                reason: "changed".to_owned(),
            }
            .into(),
            custom("Call reasoning_resume with its id alone to get its asks."),
        ];
        for error in errors {
            let told = explain_error(error.into()).to_string();
            for word in ["reasoning_", "session_id", "argument", "content:", "call."] {
                assert!(!told.contains(word), "{told}");
            }
        }
        let told = explain_error(ToolError::Invalid(vec![issue("content")]).into());
        assert_eq!(
            told.to_string(),
            "the question must not be empty. Correct the command and retry."
        );
        let other = anyhow::anyhow!("content: is mine");
        assert_eq!(explain_error(other).to_string(), "content: is mine");
    }

    /// Returns the hints in the sources of a crate: the literals, and the constants of the same file,
    /// after `hint:` and `instead:`.
    fn hints_in_sources(folder: &Path) -> Vec<String> {
        let mut hints = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                hints.extend(hints_in_sources(&path));
                continue;
            }
            let source = std::fs::read_to_string(&path).unwrap_or_default();
            for part in ["hint: ", "instead: "]
                .iter()
                .flat_map(|mark| source.split(mark).skip(1))
            {
                let code = part
                    .trim_start_matches("Some(")
                    .trim_start()
                    .trim_start_matches("format!(");
                let hint = match constant_name(code) {
                    Some(name) => Some(
                        literal_of_constant(&source, name)
                            .unwrap_or_else(|| panic!("{name} is not in {}", path.display())),
                    ),
                    None => string_literal(code),
                };
                hints.extend(hint);
            }
        }
        hints
    }

    /// Returns the string literal that the code begins with, on one line.
    fn string_literal(code: &str) -> Option<String> {
        let literal = code.trim_start().strip_prefix('"')?;
        let lines = literal.split('"').next()?.lines();
        Some(
            lines
                .map(|line| line.trim_start().trim_end_matches('\\'))
                .collect(),
        )
    }

    /// Returns the name that the code begins with, if it is that of a constant.
    fn constant_name(code: &str) -> Option<&str> {
        let is_in_name =
            |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
        let end = code.find(|letter: char| !is_in_name(letter))?;
        let (name, rest) = code.split_at(end);
        (name.len() > 1 && rest.starts_with([',', ')', '.'])).then_some(name)
    }

    fn literal_of_constant(source: &str, name: &str) -> Option<String> {
        let (_, after) = source.split_once(&format!("const {name}: &str ="))?;
        string_literal(after)
    }

    #[test]
    fn a_hint_in_a_constant_is_found() {
        let source = "const HINT: &str = \"Use \\\n     it.\";";
        assert_eq!(constant_name("HINT,\n}"), Some("HINT"));
        assert_eq!(constant_name("Some(hint)"), None);
        assert_eq!(literal_of_constant(source, "HINT").unwrap(), "Use it.");
    }

    #[test]
    fn no_hint_of_a_feature_names_arguments_or_tools_at_the_shell() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut count = 0;
        for name in ["reasoning", "research", "toolkit", "gateway"] {
            for hint in hints_in_sources(&crates.join(name).join("src")) {
                count += 1;
                let told = translate_hint(&hint);
                let outside_code: String = told.split('`').step_by(2).collect();
                let is_technical = outside_code
                    .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
                    .any(|word| word.contains('_') && word.to_lowercase() == word);
                assert!(
                    !is_technical || told.contains("MCP client") || told.contains("\"force_run\""),
                    "{told}"
                );
            }
        }
        assert!(count > 15, "{count} hints were found");
    }

    #[test]
    fn a_phrase_with_a_gap_is_replaced_only_as_a_whole() {
        assert_eq!(replace_phrase("a1b a2b a3", "a…b", "x"), "x x a3");
        assert_eq!(replace_phrase("none", "a…b", "x"), "none");
    }
}
