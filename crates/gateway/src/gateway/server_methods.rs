//! A server's resources, prompts and instructions, called like tools of it: `files__resources/read`.
//! Every client can call tools, and few can do more.

use std::sync::Arc;

use deliberate_mcp_client::McpClient;
use serde_json::{Map, Value, json};

use super::{Gateway, Upstream};
use crate::{
    GatewayError,
    injection_scan::{self, ScanSeverity},
};

/// A method of the protocol that is called like a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerMethod {
    ListResources,
    ListTemplates,
    ReadResource,
    ListPrompts,
    GetPrompt,
    Instructions,
}

/// The methods by their names, which are those of the protocol.
const METHODS: [(&str, ServerMethod); 6] = [
    ("resources/list", ServerMethod::ListResources),
    ("resources/templates/list", ServerMethod::ListTemplates),
    ("resources/read", ServerMethod::ReadResource),
    ("prompts/list", ServerMethod::ListPrompts),
    ("prompts/get", ServerMethod::GetPrompt),
    ("instructions", ServerMethod::Instructions),
];

impl ServerMethod {
    pub(crate) fn name(self) -> &'static str {
        let found = METHODS.iter().find(|(_, method)| *method == self);
        found.map_or("", |(name, _)| name)
    }
}

impl Gateway {
    /// Returns the method that a name stands for, unless the server has a tool of this name or the
    /// settings exclude it.
    pub(crate) fn find_method(&self, full: &str) -> Option<(Arc<Upstream>, ServerMethod)> {
        let upstream = self.upstream_of_tool(full)?;
        let name = full.strip_prefix(upstream.name())?.strip_prefix("__")?;
        let (_, method) = METHODS.iter().find(|(known, _)| *known == name)?;
        let is_tool = upstream
            .catalog()
            .is_some_and(|known| known.get(name).is_some());
        (!is_tool && upstream.settings.allows(name)).then_some((upstream, *method))
    }

    /// Runs a method and returns its answer in the form of a tool's result.
    pub(crate) async fn run_method(
        &self,
        upstream: &Upstream,
        method: ServerMethod,
        arguments: &Map<String, Value>,
        principal: Option<&str>,
    ) -> Result<Value, GatewayError> {
        let client = upstream.clients.for_principal(principal)?;
        let text = |field: &'static str| {
            let given = arguments.get(field).and_then(Value::as_str);
            given.ok_or_else(|| GatewayError::MissingArgument {
                tool: format!("{}__{}", upstream.name(), method.name()),
                field,
            })
        };
        let list = |name: &str, items: Vec<Value>| text_result(&json!({ name: items }).to_string());
        Ok(match method {
            ServerMethod::ListResources => list("resources", client.resources().await?),
            ServerMethod::ListTemplates => {
                list("resourceTemplates", client.resource_templates().await?)
            }
            ServerMethod::ListPrompts => list("prompts", client.prompts().await?),
            ServerMethod::ReadResource => {
                let read = client.read_resource(text("uri")?).await?;
                let contents = read.get("contents").and_then(Value::as_array);
                let embed = |contents: &Value| json!({ "type": "resource", "resource": contents });
                let blocks: Vec<Value> = contents.into_iter().flatten().map(embed).collect();
                json!({ "content": blocks })
            }
            ServerMethod::GetPrompt => {
                let given = arguments.get("arguments").cloned().unwrap_or_default();
                let prompt = client.get_prompt(text("name")?, given).await?;
                let links = &self.resource_links;
                links.add_prompt(principal, upstream.name(), &prompt);
                text_result(&prompt.to_string())
            }
            ServerMethod::Instructions => instructions(upstream, &client).await?,
        })
    }
}

/// Returns the server's instructions, unless they look like prompt injection.
async fn instructions(upstream: &Upstream, client: &McpClient) -> Result<Value, GatewayError> {
    let info = client.server_info().await?;
    let refusal = |why: String| GatewayError::Quarantined {
        server: upstream.name().to_owned(),
        tool: ServerMethod::Instructions.name().to_owned(),
        why,
    };
    let text = info.instructions.as_deref().unwrap_or_default();
    if !upstream.settings.trust {
        let scanned = injection_scan::scan_instructions(text).await;
        let findings =
            scanned.map_err(|error| refusal(format!("they could not be scanned: {error}")))?;
        let mut severities = findings.iter().map(|it| it.severity);
        if severities.any(|it| it == ScanSeverity::Refused) {
            let why = "they contain hidden characters or orders to a model";
            return Err(refusal(why.to_owned()));
        }
    }
    Ok(text_result(&injection_scan::strip_hidden(text)))
}

fn text_result(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}
