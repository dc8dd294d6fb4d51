//! `gateway_search`: finds a tool of another server by words.

use std::sync::Arc;

use deliberate_core::cut_to_chars;
use deliberate_toolkit::{About, Annotations, Call, Limits, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SEARCH;
use crate::{
    Gateway,
    gateway::{Found, KnownTool, Unreached},
    scan,
};

/// How many tools are told if the caller does not say.
const USUAL: u32 = 5;
/// Of how many tools the whole schema is told.
const WHOLE: usize = 3;
/// What is told of a description.
const DESCRIPTION_CHARS: usize = 300;
/// A schema that is longer is told by its names alone.
const SCHEMA_BYTES: usize = 16 * 1024;

/// `gateway_search`.
pub struct GatewaySearch(pub Arc<Gateway>);

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Words; none lists the servers
    #[serde(default)]
    #[schemars(length(max = 500))]
    query: String,
    /// Only this server
    server: Option<String>,
    #[schemars(range(min = 1, max = 50))]
    limit: Option<u32>,
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The best first
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<Match>>,
    /// The servers, if no words were given
    #[serde(skip_serializing_if = "Option::is_none")]
    servers: Option<Vec<Connected>>,
    /// Servers that could not be searched
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unavailable: Vec<Unavailable>,
    /// Tools that fit, but are kept back until whoever runs this server approves them
    #[serde(skip_serializing_if = "Vec::is_empty")]
    quarantined: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Match {
    /// What `gateway_call` calls it
    tool: String,
    description: String,
    /// The schema of its arguments
    #[serde(skip_serializing_if = "Option::is_none")]
    input_schema: Option<Value>,
    /// The names of its arguments, where the schema is not told; required ones end in `*`
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Vec<String>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    read_only: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    destructive: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Connected {
    server: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    tools: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Unavailable {
    server: String,
    why: String,
}

impl Tool for GatewaySearch {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        About {
            name: SEARCH,
            title: "Find a tool",
            description: "Finds tools of connected MCP servers by words, best first, with their \
                          arguments. Call what it finds with gateway_call.",
            annotations: Annotations {
                open_world: true,
                ..Annotations::READS
            },
            thinks: false,
            limits: Limits::default(),
        }
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        if let Some(server) = &input.server {
            self.0.server(server)?;
        }
        // Who has a name may be anywhere.
        let named = call.owner().is_some();
        let limit = usize::try_from(input.limit.unwrap_or(USUAL)).unwrap_or(usize::MAX);
        let output = if input.query.trim().is_empty() {
            self.servers(input.server.as_deref(), named).await
        } else {
            let query = input.query.trim();
            let found = self.0.search(query, input.server.as_deref(), limit).await;
            output(found, named)
        };
        Ok(Outcome {
            output,
            changes: Vec::new(),
            session: None,
        })
    }
}

impl GatewaySearch {
    async fn servers(&self, only: Option<&str>, named: bool) -> Output {
        let unavailable = self.0.gather(only).await;
        let wanted = self
            .0
            .served()
            .filter(|it| only.is_none_or(|name| name == it.name()));
        let servers = wanted.map(|served| Connected {
            server: served.name().to_owned(),
            description: served.about.description.clone(),
            tools: served.known().map_or(0, |known| {
                known
                    .tools
                    .iter()
                    .filter(|tool| tool.kept_back.is_none())
                    .count()
            }),
        });
        Output {
            tools: None,
            servers: Some(servers.collect()),
            unavailable: told(unavailable, named),
            quarantined: Vec::new(),
        }
    }
}

fn output(found: Found, named: bool) -> Output {
    let tools = found.tools.iter().enumerate();
    Output {
        tools: Some(tools.map(|(at, tool)| matched(tool, at < WHOLE)).collect()),
        servers: None,
        unavailable: told(found.unavailable, named),
        quarantined: found.kept_back.iter().map(ToString::to_string).collect(),
    }
}

/// What could not be searched. Why may hold what a server said, and a model reads it.
fn told(unavailable: Vec<Unreached>, named: bool) -> Vec<Unavailable> {
    let each = unavailable.into_iter();
    each.map(|it| Unavailable {
        server: it.server,
        why: scan::one_line(if named { &it.outward } else { &it.why }, DESCRIPTION_CHARS),
    })
    .collect()
}

fn matched(tool: &KnownTool, whole: bool) -> Match {
    let schema = tool.def.input_schema();
    let whole = whole && schema.to_string().len() <= SCHEMA_BYTES;
    Match {
        tool: tool.full.to_string(),
        description: tool.said(DESCRIPTION_CHARS),
        input_schema: whole.then(|| scan::stripped(schema)),
        parameters: (!whole).then(|| parameters(schema)),
        read_only: tool.def.read_only(),
        destructive: tool.def.destructive(),
    }
}

fn parameters(schema: &Value) -> Vec<String> {
    const MOST: usize = 100;
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let names = schema.get("properties").and_then(Value::as_object);
    let names = names.into_iter().flat_map(|all| all.keys()).take(MOST);
    names
        .map(|name| {
            let star = if is_required(name) { "*" } else { "" };
            format!("{}{star}", cut_to_chars(name, 80))
        })
        .collect()
}
