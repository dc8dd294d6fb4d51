//! `gateway_search`: finds tools of upstream servers by words.

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
    Gateway, GatewayError,
    gateway::{CallerView, CatalogTool, ToolSearchResult, UnreachableServer},
    injection_scan,
};

/// The number of tools that are returned by default.
const DEFAULT_LIMIT: u32 = 5;
/// The number of tools that are returned with the complete schema.
const FULL_SCHEMA_COUNT: usize = 3;
/// The maximum length of a description.
const DESCRIPTION_CHARS: usize = 300;
/// A larger schema is returned as parameter names only.
const SCHEMA_BYTES: usize = 16 * 1024;

/// The hint of a list of servers.
const MORE: &str = "gateway_call also takes NAME__resources/list, NAME__resources/read (uri), \
                    NAME__prompts/list, NAME__prompts/get (name, arguments) and NAME__instructions.";

pub struct GatewaySearch(pub Arc<Gateway>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Words; empty lists the servers
    #[serde(default)]
    #[schemars(length(max = 500))]
    query: String,
    /// Only this server
    server: Option<String>,
    #[schemars(range(min = 1, max = 50))]
    limit: Option<u32>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Best first
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<ToolMatch>>,
    /// The servers, if the query was empty
    #[serde(skip_serializing_if = "Option::is_none")]
    servers: Option<Vec<ConnectedServer>>,
    /// How to reach what the servers offer beside tools
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<&'static str>,
    /// Servers that could not be searched
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unavailable: Vec<UnavailableServer>,
    /// Matching tools, quarantined until the operator approves them
    #[serde(skip_serializing_if = "Vec::is_empty")]
    quarantined: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ToolMatch {
    /// Name for `gateway_call`
    tool: String,
    description: String,
    /// Schema of its arguments
    #[serde(skip_serializing_if = "Option::is_none")]
    input_schema: Option<Value>,
    /// Argument names, if the schema is left out; required ones end in `*`
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
                          arguments. Call them with gateway_call.",
            hints: ToolHints {
                open_world: true,
                ..ToolHints::READ_ONLY
            },
            asks_model: false,
            limits: ToolLimits::default(),
        }
    }

    fn is_offered(&self) -> bool {
        self.0.has_servers()
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let view = CallerView(&call.principal().scope);
        if let Some(server) = &input.server {
            self.check_server(server, view)?;
        }
        // A caller with an owner may be remote.
        let named = call.owner().is_some();
        let limit = usize::try_from(input.limit.unwrap_or(DEFAULT_LIMIT)).unwrap_or(usize::MAX);
        let output = if input.query.trim().is_empty() {
            self.list_servers(input.server.as_deref(), named, view)
                .await
        } else {
            let query = input.query.trim();
            let server = input.server.as_deref();
            let found = self.0.search(query, server, limit, view).await;
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
    /// Fails if the caller sees no such server.
    fn check_server(&self, name: &str, view: CallerView<'_>) -> Result<(), GatewayError> {
        let found = self.0.upstream(name);
        let found = found.map_err(|error| view.filter_error(&self.0, error))?;
        if view.shows_server(&found) {
            return Ok(());
        }
        let all = self.0.visible_upstreams(None, view);
        Err(GatewayError::UnknownServer {
            name: truncate_chars(name, 80),
            nearest: None,
            all: all.iter().map(|it| it.name().to_owned()).collect(),
        })
    }

    async fn list_servers(&self, only: Option<&str>, named: bool, view: CallerView<'_>) -> Output {
        let unavailable = self.0.refresh_for_search(only, view).await;
        let upstreams = self.0.visible_upstreams(only, view);
        let servers = upstreams.iter().map(|served| ConnectedServer {
            server: served.name().to_owned(),
            description: served.settings.description.clone(),
            tools: served.catalog().map_or(0, |known| {
                known
                    .tools
                    .iter()
                    .filter(|tool| tool.quarantine.is_none())
                    .filter(|tool| view.shows_tool(served.name(), &tool.qualified_name))
                    .count()
            }),
        });
        Output {
            tools: None,
            servers: Some(servers.collect()),
            more: Some(MORE),
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
        more: None,
        unavailable: to_unavailable(found.unavailable, named),
        quarantined: found.quarantined.iter().map(ToString::to_string).collect(),
    }
}

/// Converts the servers that could not be searched. The reason may contain a server's text, and a
/// model reads it.
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
