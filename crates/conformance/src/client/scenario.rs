//! Runs a scenario. Nearly all do the same: connect, list everything the server has, and use it.

use std::sync::Arc;

use deliberate_adapter::schema::Parameters;
use deliberate_mcp_client::{
    CallOptions, McpClient, ServerConfig,
    client::{CachePolicy, ToolDef},
    config::{AuthConfig, TransportConfig},
    oauth::{OAuthClient, OAuthClientOptions},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{auto_accept::AutoAccept, headless_browser::HeadlessBrowser};

/// The URL at which the suite expects our client metadata document.
const CLIENT_METADATA: &str = "https://conformance-test.local/client-metadata.json";

/// The tool of `json-schema-2020-12-preservation`, and the tool that receives its schema.
const RICH_TOOL: &str = "json_schema_2020_12_tool";
const ECHO_TOOL: &str = "json_schema_echo";

/// The context that the suite provides beside the URL.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct ScenarioContext {
    #[serde(rename = "toolCalls")]
    tool_calls: Vec<ScenarioCall>,
    client_id: Option<String>,
    client_secret: Option<String>,
    issuer: Option<String>,
}

#[derive(Deserialize)]
struct ScenarioCall {
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

pub(crate) async fn run(name: &str, url: &str, context: ScenarioContext) -> anyhow::Result<()> {
    let client = build_client(name, url, &context)?;
    let outcome = run_scenario(name, &client, context.tool_calls).await;
    client.close().await;
    outcome
}

fn build_client(name: &str, url: &str, context: &ScenarioContext) -> anyhow::Result<McpClient> {
    let config = ServerConfig::http("suite", url)?;
    let TransportConfig::Http(http) = &config.transport else {
        anyhow::bail!("the transport is not HTTP");
    };
    let alone = name.starts_with("auth/client-credentials");
    let options = OAuthClientOptions {
        auth: AuthConfig {
            client_id: context.client_id.clone(),
            client_secret: context.client_secret.clone().map(Into::into),
            scopes: Vec::new(),
            issuer: context.issuer.clone(),
        },
        client_metadata: Some(CLIENT_METADATA.parse()?),
        browser: if alone {
            None
        } else {
            Some(Arc::new(HeadlessBrowser::new()?))
        },
        ..OAuthClientOptions::default()
    };
    let auth = OAuthClient::new(http.url.clone(), options);
    Ok(McpClient::with_authorizer(
        config,
        Arc::new(auth),
        Arc::new(AutoAccept),
    )?)
}

async fn run_scenario(
    name: &str,
    client: &McpClient,
    calls: Vec<ScenarioCall>,
) -> anyhow::Result<()> {
    let tools = client.tools(CachePolicy::Refresh).await?;
    if name == "json-schema-2020-12-preservation" {
        let rich = tools.get(RICH_TOOL).map(|tool| tool.input_schema().clone());
        let arguments = json!({ "schema": rich });
        client
            .call(ECHO_TOOL, arguments, CallOptions::default())
            .await?;
        return Ok(());
    }
    if name == "json-schema-ref-no-deref" {
        // The tool cannot be called; using its schema shows that nothing is fetched.
        for tool in &tools.tools {
            Parameters::from_schema(tool.input_schema());
            tool.check_arguments(&json!({}));
        }
        return Ok(());
    }
    if calls.is_empty() {
        for tool in &tools.tools {
            let arguments = sample_arguments(tool);
            client
                .call(&tool.name, arguments, CallOptions::default())
                .await?;
        }
    }
    for call in calls {
        let arguments = Value::Object(call.arguments);
        client
            .call(&call.name, arguments, CallOptions::default())
            .await?;
    }
    let side = client.server_info().await?;
    if side.has_capability("resources") {
        for resource in client.resources().await? {
            if let Some(uri) = resource.get("uri").and_then(Value::as_str) {
                client.read_resource(uri).await?;
            }
        }
    }
    if side.has_capability("prompts") {
        for prompt in client.prompts().await? {
            if let Some(name) = prompt.get("name").and_then(Value::as_str) {
                client.get_prompt(name, json!({})).await?;
            }
        }
    }
    if name == "auth/authorization-server-migration" {
        // The suite changes the authorization server after the first request with a token.
        client.tools(CachePolicy::Refresh).await?;
    }
    Ok(())
}

/// Builds a value of the right type for each required argument.
fn sample_arguments(tool: &ToolDef) -> Value {
    let schema = tool.input_schema();
    let required = schema.get("required").and_then(Value::as_array);
    let mut arguments = Map::new();
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        let kind = schema
            .get("properties")
            .and_then(|properties| properties.get(name)?.get("type")?.as_str());
        let value = match kind {
            Some("string") => json!("test"),
            Some("integer" | "number") => json!(1),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            _ => json!({}),
        };
        arguments.insert(name.to_owned(), value);
    }
    Value::Object(arguments)
}
