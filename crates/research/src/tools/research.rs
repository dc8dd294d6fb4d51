//! The `research` tool: the single entry to all research tools, for clients that list no others. It
//! lists them, and a call with a tool's name is a call of that tool.

use deliberate_core::{did_you_mean, truncate_chars};
use deliberate_toolkit::{
    ErrorCode, RESUME_TOOL, Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput,
    answer_schema,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::rendering::{custom_error, read_only_output, tool_meta};

/// A tool behind `research`: its name, its description, and a function that builds the schema of
/// its arguments. Schemas are built on demand, because building all would slow down the start.
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

/// The `research` tool.
pub(crate) struct ResearchTool(pub(crate) Vec<ToolEntry>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// help with `arguments.tool` shows its arguments
    #[serde(default = "help")]
    #[expect(dead_code, reason = "read by `resolve_alias` before this tool runs")]
    tool: String,
    #[serde(default)]
    arguments: serde_json::Map<String, Value>,
}

fn help() -> String {
    HELP.to_owned()
}

const HELP: &str = "help";

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
            // The hints cover all tools behind it, including those that delete or use the network.
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
        // An unknown name is answered by the help, in words that fit a client that lists no others.
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

/// The arguments for the target tool. Models often put them next to its name; they are all passed
/// on, and the target tool rejects unknown ones.
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
    /// Lists the tools that the caller may use.
    fn render_tool_list(&self, call: &ToolContext) -> String {
        let line = |it: &ToolEntry| format!("- `{}`: {}\n", it.name, it.description);
        let theirs = self.0.iter().filter(|it| call.may_use(it.name));
        let lines: String = theirs.map(line).collect();
        format!(
            "# Research tools\n\nCall them by name with `tool` and `arguments`; \
             `{{\"tool\": \"help\", \"arguments\": {{\"tool\": NAME}}}}` shows the arguments of one.\n\n{lines}"
        )
    }

    fn render_tool_help(&self, name: &str, call: &ToolContext) -> Result<String, ToolError> {
        let mut theirs = self.0.iter().filter(|it| call.may_use(it.name));
        let names = theirs.clone().map(|it| it.name);
        let Some(known) = theirs.find(|it| it.name == name) else {
            let meant = did_you_mean(name, names).map(|it| format!("Did you mean {it}? "));
            return Err(custom_error(
                ErrorCode::UnknownTool,
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
