//! The one tool through which all others of research can be called, for clients that are shown no
//! others: it says what there is, and calling it with a tool's name is calling that tool.

use deliberate_core::{did_you_mean, truncate_chars};
use deliberate_toolkit::{
    RESUME_TOOL, Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput, answer_schema,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::rendering::{custom_error, read_only_output, tool_meta};

/// What there is to call: name, what it is for, and what makes the schema of its arguments. That is
/// made when it is asked for, because making all of them would be felt at the start.
#[derive(Debug, Clone)]
pub(crate) struct ToolEntry {
    name: &'static str,
    description: &'static str,
    arguments: fn() -> Value,
}

impl ToolEntry {
    pub(crate) fn new<T: Tool>(tool: &T) -> Self {
        let about = tool.meta();
        Self {
            name: about.name,
            description: about.description,
            arguments: arguments_schema::<T>,
        }
    }
}

fn arguments_schema<T: Tool>() -> Value {
    answer_schema::<T::Input>()
}

/// `research`.
pub(crate) struct ResearchTool(pub(crate) Vec<ToolEntry>);

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// help with `arguments.tool` tells its arguments
    #[serde(default = "help")]
    #[expect(
        dead_code,
        reason = "read by `stands_for`, before the call is this tool's"
    )]
    tool: String,
    #[serde(default)]
    arguments: serde_json::Map<String, Value>,
}

fn help() -> String {
    HELP.to_owned()
}

const HELP: &str = "help";

/// What there is.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
}

impl Tool for ResearchTool {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        let about = tool_meta(
            "research",
            "Research",
            "Find, read, question and cite papers: search_papers, process_pdf, search_articles, \
             answer_research_question… (help lists all)",
            // It stands for all of them, those that delete and those that ask the net among them.
            ToolHints {
                destructive: true,
                open_world: true,
                ..ToolHints::ADDITIVE
            },
        );
        ToolMeta {
            asks_model: true,
            ..about
        }
    }

    fn alias_targets(&self) -> Vec<&'static str> {
        self.0.iter().map(|it| it.name).collect()
    }

    fn resolve_alias(&self, arguments: &Value) -> Option<(String, Value)> {
        let name = arguments.get("tool")?.as_str()?;
        let own = self.meta().name;
        if name == HELP || name == own {
            return None;
        }
        // What is not behind it, its help says, in words that fit a client that is shown no others.
        if name != RESUME_TOOL && self.0.iter().all(|it| it.name != name) {
            let help = json!({ "tool": HELP, "arguments": { "tool": name } });
            return Some((own.to_owned(), help));
        }
        Some((name.to_owned(), forwarded_arguments(arguments)))
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let asked = input.arguments.get("tool").and_then(Value::as_str);
        let said = match asked {
            Some(name) => self.render_tool_help(name, call)?,
            None => self.render_tool_list(call),
        };
        Ok(read_only_output(Output { said }))
    }
}

/// The arguments of the tool that is meant. Models put them beside its name as often as not; none is
/// passed over, and what the tool does not know it refuses.
fn forwarded_arguments(arguments: &Value) -> Value {
    let mut beside = arguments.as_object().cloned().unwrap_or_default();
    beside.remove("tool");
    match beside.remove("arguments") {
        Some(Value::Object(mut given)) => {
            for (name, value) in beside {
                given.entry(name).or_insert(value);
            }
            Value::Object(given)
        }
        None | Some(Value::Null) => Value::Object(beside),
        Some(given) => given,
    }
}

impl ResearchTool {
    /// Those that the caller may use.
    fn render_tool_list(&self, call: &ToolContext) -> String {
        let line = |it: &ToolEntry| format!("- `{}`: {}\n", it.name, it.description);
        let theirs = self.0.iter().filter(|it| call.may_use(it.name));
        let lines: String = theirs.map(line).collect();
        format!(
            "# Research tools\n\nCall them by name with `tool` and `arguments`; \
             `{{\"tool\": \"help\", \"arguments\": {{\"tool\": NAME}}}}` tells the arguments of one.\n\n{lines}"
        )
    }

    fn render_tool_help(&self, name: &str, call: &ToolContext) -> Result<String, ToolError> {
        let mut theirs = self.0.iter().filter(|it| call.may_use(it.name));
        let names = theirs.clone().map(|it| it.name);
        let Some(known) = theirs.find(|it| it.name == name) else {
            let meant = did_you_mean(name, names).map(|it| format!("Did you mean {it}? "));
            return Err(custom_error(
                "UnknownTool",
                format!("research has no tool named {:?}", truncate_chars(name, 80)),
                format!(
                    "{}Call research with tool \"help\" to see all names.",
                    meant.unwrap_or_default()
                ),
            ));
        };
        let schema = serde_json::to_string_pretty(&(known.arguments)()).unwrap_or_default();
        Ok(format!(
            "# {name}\n\n{}\n\nArguments:\n```json\n{schema}\n```\n",
            known.description
        ))
    }
}
