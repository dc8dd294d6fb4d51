//! A server's resources, prompts and instructions, called like tools of it: `files__resources/read`.
//! Every client can call tools, and few can do more.

use std::sync::Arc;

use deliberate_json_schema::unmark_large_integers;
use deliberate_mcp_client::{
    ClientError, ClientErrorKind, McpClient,
    client::{CallOptions, ToolCallResult},
};
use serde_json::{Value, json};

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
        let (upstream, name) = self.split_tool_name(full)?;
        let (_, method) = METHODS.iter().find(|(known, _)| *known == name)?;
        let is_tool = upstream
            .catalog()
            .is_some_and(|known| known.get(name).is_some());
        (!is_tool && upstream.settings.allows(name)).then_some((upstream, *method))
    }
}

impl ServerMethod {
    /// Runs the method. What [`ServerMethod::to_tool_result`] converts is returned as the server wrote
    /// it, because it may ask for input.
    pub(super) async fn run(
        self,
        upstream: &Upstream,
        arguments: &Value,
        principal: Option<&str>,
        options: CallOptions,
    ) -> Result<ToolCallResult, GatewayError> {
        let text = |field: &'static str| {
            let given = arguments.get(field).and_then(Value::as_str);
            given.ok_or_else(|| GatewayError::MissingArgument {
                tool: format!("{}__{}", upstream.name(), self.name()),
                field,
            })
        };
        let subject = match self {
            Self::ReadResource => text("uri")?,
            Self::GetPrompt => text("name")?,
            _ => "",
        };
        let client = upstream.clients.client(principal)?;
        let result = if self == Self::Instructions {
            // They came with the connection: nothing is sent that counts.
            instructions(upstream, &client).await?
        } else {
            let sent = self.send(&client, subject, arguments, options);
            client.count_as_call(sent).await?
        };
        Ok(ToolCallResult {
            result,
            server: upstream.name().to_owned(),
        })
    }

    /// Sends the requests of the method. `subject` is the resource or prompt.
    async fn send(
        self,
        client: &McpClient,
        subject: &str,
        arguments: &Value,
        options: CallOptions,
    ) -> Result<Value, ClientError> {
        let list = |name: &str, items: Vec<Value>| text_result(&json!({ name: items }).to_string());
        let (capability, params) = match self {
            Self::ListResources => return Ok(list("resources", client.resources().await?)),
            Self::ListTemplates => {
                let templates = client.resource_templates().await?;
                return Ok(list("resourceTemplates", templates));
            }
            Self::ListPrompts => return Ok(list("prompts", client.prompts().await?)),
            Self::ReadResource => ("resources", json!({ "uri": subject })),
            Self::GetPrompt => ("prompts", prompt_params(subject, arguments)),
            // The connection has brought them.
            Self::Instructions => return Ok(Value::Null),
        };
        if !client.server_info().await?.has_capability(capability) {
            let kind = ClientErrorKind::Unsupported { capability };
            return Err(ClientError::new(client.name(), kind));
        }
        let answer = client.request(self.name(), params, options).await;
        answer.map_err(|error| error.with_subject(subject))
    }

    /// Converts the result of a resource or a prompt to the form of a tool's result.
    pub(super) fn to_tool_result(self, result: Value) -> Value {
        match self {
            Self::ReadResource => {
                let contents = result.get("contents").and_then(Value::as_array);
                let embed = |contents: &Value| json!({ "type": "resource", "resource": contents });
                let blocks: Vec<Value> = contents.into_iter().flatten().map(embed).collect();
                json!({ "content": blocks })
            }
            // Marks within a text would stay.
            Self::GetPrompt => text_result(&unmark_large_integers(result.to_string())),
            _ => result,
        }
    }
}

fn prompt_params(name: &str, arguments: &Value) -> Value {
    match arguments.get("arguments") {
        None | Some(Value::Null) => json!({ "name": name }),
        Some(given) => json!({ "name": name, "arguments": given }),
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
