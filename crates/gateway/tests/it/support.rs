//! A registry with the gateway in front of mock upstream servers.

use std::{path::Path, sync::Arc, time::Duration};

use deliberate_core::{SystemClock, SystemIds};
use deliberate_gateway::{Gateway, GatewayOptions, GatewayServer, register};
use deliberate_mcp_client::{McpClient, ServerConfig, transport::McpEra};
use deliberate_store::Store;
use deliberate_testkit::fixtures;
pub(crate) use deliberate_testkit::{fixtures::progress_caller, wait_until};
use deliberate_toolkit::{
    CallOutcome, CallerContext, ClientFeatures, ClientRequestError, ClientRequests, InputReply,
    Principal, Registry, RegistryDeps, Tool, ToolError, ToolScope,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::mock_upstream::{MockConnector, MockUpstream};

pub(crate) struct GatewayFixture {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) store: Arc<dyn Store>,
}

/// Opens the store in a folder.
pub(crate) fn open_store(folder: &Path) -> Arc<dyn Store> {
    fixtures::open_store(&folder.join("it.db"))
}

pub(crate) fn temp_dir() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// The options of a mock server with this name.
pub(crate) fn server(name: &str) -> GatewayServer {
    let mut config = ServerConfig::stdio(name, "played", [""; 0]);
    config.limits.connect_timeout = Duration::from_secs(20);
    GatewayServer::new(config)
}

impl GatewayFixture {
    /// Creates a fixture whose searches wait longer than anything takes on a busy machine.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        servers: Vec<(GatewayServer, Arc<MockUpstream>)>,
    ) -> Self {
        Self::with_search_wait(store, servers, Duration::from_secs(20))
    }

    /// Creates a fixture with a short search wait, for servers that never answer.
    pub(crate) fn with_search_wait(
        store: Arc<dyn Store>,
        servers: Vec<(GatewayServer, Arc<MockUpstream>)>,
        search_wait: Duration,
    ) -> Self {
        let players: Vec<(String, Arc<MockUpstream>)> = servers
            .iter()
            .map(|(server, player)| (server.config.name.clone(), player.clone()))
            .collect();
        let servers = servers.into_iter().map(|(server, _)| server).collect();
        let mut options = GatewayOptions::new(servers, store.clone());
        options.search_wait = search_wait;
        let gateway = Gateway::with_clients(options, move |server, handler| {
            let (_, player) = players
                .iter()
                .find(|(name, _)| *name == server.config.name)
                .unwrap();
            let connector = Arc::new(MockConnector(player.clone()));
            Ok(McpClient::with_connector(
                server.config.clone(),
                connector,
                handler,
            ))
        })
        .unwrap();
        let registry = Registry::new(registry_deps(&store));
        Self {
            registry: Arc::new(register(registry, &gateway)),
            gateway,
            store,
        }
    }

    /// Creates a fixture whose clients connect as the servers' settings say.
    pub(crate) fn with_real_servers(store: Arc<dyn Store>, servers: Vec<GatewayServer>) -> Self {
        let gateway = Gateway::new(GatewayOptions::new(servers, store.clone())).unwrap();
        let registry = Registry::new(registry_deps(&store));
        Self {
            registry: Arc::new(register(registry, &gateway)),
            gateway,
            store,
        }
    }

    /// Creates a fixture with one server of the handshake era and these tools, in its own store.
    pub(crate) fn with_one_server(folder: &TempDir, tools: &[Value]) -> (Self, Arc<MockUpstream>) {
        let player = Arc::new(MockUpstream::new(McpEra::Handshake, tools.to_vec()));
        let fixture = Self::new(
            open_store(folder.path()),
            vec![(server("far"), player.clone())],
        );
        (fixture, player)
    }

    /// Adds a tool of our own, before the first call.
    pub(crate) fn add_tool(&mut self, tool: impl Tool) {
        let registry = Registry::new(registry_deps(&self.store)).with(tool);
        self.registry = Arc::new(register(registry, &self.gateway));
    }

    pub(crate) async fn call_as(
        &self,
        caller: CallerContext,
        name: &str,
        arguments: Value,
    ) -> Result<Value, ToolError> {
        match self.registry.call(name, arguments, caller).await? {
            CallOutcome::Done(output) => Ok(output),
            CallOutcome::NeedsReply(_) => panic!("it thinks"),
        }
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Result<Value, ToolError> {
        self.call_as(CallerContext::default(), name, arguments)
            .await
    }

    /// Calls an external tool and returns its raw result.
    pub(crate) async fn call_upstream(
        &self,
        tool: &str,
        arguments: Value,
    ) -> Result<Value, ToolError> {
        let arguments = json!({ "tool": tool, "arguments": arguments });
        let output = self.call("gateway_call", arguments).await?;
        Ok(output["handed_on"].clone())
    }

    pub(crate) async fn search(&self, query: &str) -> Value {
        self.call("gateway_search", json!({ "query": query }))
            .await
            .unwrap()
    }
}

fn registry_deps(store: &Arc<dyn Store>) -> RegistryDeps {
    RegistryDeps {
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        ..fixtures::registry_deps(store.clone(), None)
    }
}

/// Builds a tool definition.
pub(crate) fn tool(name: &str, description: &str) -> Value {
    json!({ "name": name, "description": description, "inputSchema": { "type": "object" } })
}

pub(crate) fn tool_names(found: &Value) -> Vec<String> {
    let tools = found["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["tool"].as_str().unwrap().to_owned())
        .collect()
}

pub(crate) fn text(result: &Value) -> Value {
    let text = result["content"][0]["text"].as_str().unwrap();
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// A client whose user always answers with this name.
struct NamedUser(&'static str);

impl ClientRequests for NamedUser {
    fn request(&self, _: &str, _: Value) -> BoxFuture<'_, Result<Value, ClientRequestError>> {
        let answer = json!({ "action": "accept", "content": { "name": self.0 } });
        Box::pin(async { Ok(answer) })
    }
}

/// A client of the handshake era of this user.
pub(crate) fn named_user(name: &'static str) -> CallerContext {
    CallerContext {
        principal: Principal {
            name: Some(name.into()),
            scope: ToolScope::All,
        },
        client: ClientFeatures {
            elicitation: true,
            requests: Some(Arc::new(NamedUser(name))),
            ..ClientFeatures::default()
        },
        ..CallerContext::default()
    }
}

/// A client of 2026-07-28 with this name and all features.
pub(crate) fn modern_caller(name: &str) -> CallerContext {
    CallerContext {
        principal: Principal {
            name: Some(name.into()),
            scope: ToolScope::All,
        },
        client: ClientFeatures {
            modern: true,
            elicitation: true,
            elicitation_url: true,
            sampling: true,
            roots: true,
            requests: None,
            log: None,
        },
        ..CallerContext::default()
    }
}

/// The same client, sending its call again.
pub(crate) fn resuming_caller(name: &str, state: &str, responses: Value) -> CallerContext {
    CallerContext {
        input_reply: Some(InputReply {
            state: state.to_owned(),
            responses,
        }),
        ..modern_caller(name)
    }
}
