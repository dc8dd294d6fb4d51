//! `gateway_search`: finds a tool of another server by words.

use std::sync::Arc;

use deliberate_core::truncate_chars;
use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SEARCH_TOOL;
use crate::{
    Gateway,
    gateway::{CatalogTool, ToolSearchResult, UnreachableServer},
    injection_scan,
};

/// How many tools are told if the caller does not say.
const DEFAULT_LIMIT: u32 = 5;
/// Of how many tools the whole schema is told.
const FULL_SCHEMA_COUNT: usize = 3;
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
    tools: Option<Vec<ToolMatch>>,
    /// The servers, if no words were given
    #[serde(skip_serializing_if = "Option::is_none")]
    servers: Option<Vec<ConnectedServer>>,
    /// Servers that could not be searched
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unavailable: Vec<UnavailableServer>,
    /// Tools that fit, but are kept back until whoever runs this server approves them
    #[serde(skip_serializing_if = "Vec::is_empty")]
    quarantined: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ToolMatch {
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
struct ConnectedServer {
    server: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    tools: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct UnavailableServer {
    server: String,
    why: String,
}

impl Tool for GatewaySearch {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: SEARCH_TOOL,
            title: "Find a tool",
            description: "Finds tools of connected MCP servers by words, best first, with their \
                          arguments. Call what it finds with gateway_call.",
            hints: ToolHints {
                open_world: true,
                ..ToolHints::READ_ONLY
            },
            asks_model: false,
            limits: ToolLimits::default(),
        }
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        if let Some(server) = &input.server {
            self.0.upstream(server)?;
        }
        // Who has a name may be anywhere.
        let named = call.owner().is_some();
        let limit = usize::try_from(input.limit.unwrap_or(DEFAULT_LIMIT)).unwrap_or(usize::MAX);
        let output = if input.query.trim().is_empty() {
            self.list_servers(input.server.as_deref(), named).await
        } else {
            let query = input.query.trim();
            let found = self.0.search(query, input.server.as_deref(), limit).await;
            to_output(found, named)
        };
        Ok(ToolOutput {
            output,
            changes: Vec::new(),
            session: None,
        })
    }
}

impl GatewaySearch {
    async fn list_servers(&self, only: Option<&str>, named: bool) -> Output {
        let unavailable = self.0.refresh_for_search(only).await;
        let wanted = self
            .0
            .upstreams()
            .filter(|it| only.is_none_or(|name| name == it.name()));
        let servers = wanted.map(|served| ConnectedServer {
            server: served.name().to_owned(),
            description: served.settings.description.clone(),
            tools: served.catalog().map_or(0, |known| {
                known
                    .tools
                    .iter()
                    .filter(|tool| tool.quarantine.is_none())
                    .count()
            }),
        });
        Output {
            tools: None,
            servers: Some(servers.collect()),
            unavailable: to_unavailable(unavailable, named),
            quarantined: Vec::new(),
        }
    }
}

fn to_output(found: ToolSearchResult, named: bool) -> Output {
    let tools = found.tools.iter().enumerate();
    Output {
        tools: Some(
            tools
                .map(|(at, tool)| to_match(tool, at < FULL_SCHEMA_COUNT))
                .collect(),
        ),
        servers: None,
        unavailable: to_unavailable(found.unavailable, named),
        quarantined: found.quarantined.iter().map(ToString::to_string).collect(),
    }
}

/// What could not be searched. Why may hold what a server said, and a model reads it.
fn to_unavailable(unavailable: Vec<UnreachableServer>, named: bool) -> Vec<UnavailableServer> {
    let each = unavailable.into_iter();
    each.map(|it| UnavailableServer {
        server: it.server,
        why: injection_scan::to_one_line(
            if named {
                &it.redacted_reason
            } else {
                &it.reason
            },
            DESCRIPTION_CHARS,
        ),
    })
    .collect()
}

fn to_match(tool: &CatalogTool, whole: bool) -> ToolMatch {
    let schema = tool.def.input_schema();
    let whole = whole && schema.to_string().len() <= SCHEMA_BYTES;
    ToolMatch {
        tool: tool.qualified_name.to_string(),
        description: tool.summary(DESCRIPTION_CHARS),
        input_schema: whole.then(|| injection_scan::strip_definition(schema)),
        parameters: (!whole).then(|| parameter_names(schema)),
        read_only: tool.def.read_only(),
        destructive: tool.def.destructive(),
    }
}

fn parameter_names(schema: &Value) -> Vec<String> {
    const MAX_PARAMETERS: usize = 100;
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let names = schema.get("properties").and_then(Value::as_object);
    let names = names
        .into_iter()
        .flat_map(|all| all.keys())
        .take(MAX_PARAMETERS);
    names
        .map(|name| {
            let star = if is_required(name) { "*" } else { "" };
            format!("{}{star}", truncate_chars(name, 80))
        })
        .collect()
}
