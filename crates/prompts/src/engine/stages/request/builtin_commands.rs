//! Commands that need no prompt: `list`, `help`, `status`, `gates`, `analytics`, `chains`,
//! `framework switch NAME`. A prompt of the same name takes precedence when it is called with `>>`.

use deliberate_core::truncate_chars;
use deliberate_toolkit::ToolError;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::{
    engine::{EngineContext, StageOutcome, stages::EngineStage},
    library::PromptLibrary,
};

/// The most prompts in a list.
const MAX_LISTED: usize = 200;

const HELP: &str = include_str!("help.md");

pub(crate) struct BuiltinCommands;

/// A command that the engine answers itself.
#[derive(Debug, PartialEq, Eq)]
enum BuiltinCommand<'a> {
    List(&'a str),
    Gates(&'a str),
    Help,
    /// A call of `system_control`: its action, its operation and one more argument.
    Control(&'static str, &'static str, Option<(&'static str, &'a str)>),
}

impl EngineStage for BuiltinCommands {
    fn name(&self) -> &'static str {
        "words"
    }

    fn run<'a>(
        &'a self,
        context: &'a mut EngineContext<'_>,
    ) -> BoxFuture<'a, Result<StageOutcome, ToolError>> {
        Box::pin(async move {
            if context.request.chain_id.is_some() {
                return Ok(StageOutcome::Next);
            }
            let command = context.request.command.clone().unwrap_or_default();
            let Some(word) = parse_builtin(&command, &context.library) else {
                return Ok(StageOutcome::Next);
            };
            context.reply.said = match word {
                BuiltinCommand::Help => HELP.to_owned(),
                BuiltinCommand::List(query) => list_prompts(&context.library, query),
                BuiltinCommand::Gates(query) => list_gates(&context.library, query),
                BuiltinCommand::Control(action, operation, more) => {
                    let mut arguments = Map::new();
                    arguments.insert("action".to_owned(), json!(action));
                    arguments.insert("operation".to_owned(), json!(operation));
                    if let Some((name, value)) = more {
                        arguments.insert(name.to_owned(), json!(value));
                    }
                    let arguments = Value::Object(arguments);
                    let outcome = context
                        .call
                        .run_tool("word", "system_control", arguments)
                        .await?;
                    context.changes.extend(outcome.changes);
                    let said = outcome.output.get("said").and_then(Value::as_str);
                    said.unwrap_or_default().to_owned()
                }
            };
            Ok(StageOutcome::Done)
        })
    }
}

/// Parses a built-in command; `None` if the command is not one or names a prompt.
fn parse_builtin<'a>(command: &'a str, library: &PromptLibrary) -> Option<BuiltinCommand<'a>> {
    let command = command.trim();
    let bare = command.trim_start_matches(">>").trim_start_matches('/');
    let marked = bare.len() < command.len();
    let (word, rest) = match bare.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim()),
        None => (bare, ""),
    };
    if marked && library.prompt(word).is_some() {
        return None;
    }
    let one_word = !rest.contains(char::is_whitespace) && !rest.contains("-->");
    match word.to_ascii_lowercase().as_str() {
        "list" if rest.is_empty() || rest.eq_ignore_ascii_case("prompts") => {
            Some(BuiltinCommand::List(""))
        }
        "list" if rest.eq_ignore_ascii_case("gates") => Some(BuiltinCommand::Gates("")),
        "list" if rest.eq_ignore_ascii_case("chains") => {
            Some(BuiltinCommand::Control("session", "list", None))
        }
        "list" | "listprompt" | "listprompts" | "prompts" if one_word => {
            Some(BuiltinCommand::List(rest))
        }
        "help" | "guide" if one_word => Some(BuiltinCommand::Help),
        "status" if rest.is_empty() => Some(BuiltinCommand::Control("status", "default", None)),
        "gate" | "gates" if one_word => Some(BuiltinCommand::Gates(rest)),
        "analytic" | "analytics" if rest.is_empty() => {
            Some(BuiltinCommand::Control("analytics", "view", None))
        }
        "chains" if rest.is_empty() => Some(BuiltinCommand::Control("session", "list", None)),
        "chain" if rest.eq_ignore_ascii_case("list") => {
            Some(BuiltinCommand::Control("session", "list", None))
        }
        "framework" | "methodology" if rest.eq_ignore_ascii_case("list") => {
            Some(BuiltinCommand::Control("framework", "list", None))
        }
        "chain" => {
            let id = rest.strip_prefix("status")?.trim();
            Some(BuiltinCommand::Control(
                "session",
                "inspect",
                Some(("session_id", id)),
            ))
        }
        "framework" | "methodology" => {
            let named = rest
                .strip_prefix("switch")
                .or_else(|| rest.strip_prefix("change"))?
                .trim();
            Some(BuiltinCommand::Control(
                "framework",
                "switch",
                Some(("framework", named)),
            ))
        }
        _ => None,
    }
}

/// Lists the prompts by category.
fn list_prompts(library: &PromptLibrary, query: &str) -> String {
    let wanted = query.to_lowercase();
    let fits = |text: &str| text.to_lowercase().contains(&wanted);
    let mut found: Vec<_> = library
        .prompts
        .values()
        .filter(|it| {
            wanted.is_empty()
                || fits(&it.id)
                || fits(&it.name)
                || fits(&it.description)
                || fits(&it.category)
        })
        .filter(|it| !it.id.contains('/') || !wanted.is_empty())
        .collect();
    found.sort_by(|one, other| (&one.category, &one.id).cmp(&(&other.category, &other.id)));
    let total = found.len();
    if total == 0 {
        return format!("No prompt matches {query:?}. `list` shows all.");
    }
    let mut lines = Vec::new();
    let mut category = "";
    for prompt in found.into_iter().take(MAX_LISTED) {
        if prompt.category != category {
            category = &prompt.category;
            let gap = if lines.is_empty() { "" } else { "\n" };
            lines.push(format!("{gap}{category}"));
        }
        let about = truncate_chars(&prompt.description, 100);
        lines.push(format!("- {}: {about}", prompt.call_signature()));
    }
    if total > MAX_LISTED {
        let more = total - MAX_LISTED;
        lines.push(format!("\n… and {more} more; add a search word."));
    }
    lines.join("\n")
}

fn list_gates(library: &PromptLibrary, query: &str) -> String {
    let wanted = query.to_lowercase();
    let fits = |text: &str| text.to_lowercase().contains(&wanted);
    let found = library
        .gates
        .values()
        .filter(|it| wanted.is_empty() || fits(&it.id) || fits(&it.description));
    let lines: Vec<String> = found
        .take(MAX_LISTED)
        .map(|it| format!("- {}: {}", it.id, truncate_chars(&it.description, 100)))
        .collect();
    if lines.is_empty() {
        return format!("No gate matches {query:?}. `gates` shows all.");
    }
    lines.join("\n")
}
