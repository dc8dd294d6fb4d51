//! The baseline of the benchmarks: a minimal MCP server on the same SDK. It has one tool that
//! echoes its text, and no configuration, storage or logs. It runs over standard input and output,
//! or over HTTP, where it prints one line, `listening ADDRESS`.

use std::{
    io::{self, Write},
    net::SocketAddr,
    sync::Arc,
};

use axum::Router;
use clap::Parser;

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
        JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
        Tool,
    },
    service::RequestContext,
    transport::{
        io::stdio_pipes,
        streamable_http_server::{
            StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
        },
    },
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Serves one tool, `echo`.
#[derive(Debug, Parser)]
struct EchoArgs {
    /// Serve HTTP at this address, under `/mcp`; port 0 picks a free one.
    #[arg(long)]
    http: Option<SocketAddr>,
    /// Answer over HTTP with plain JSON, which is cheaper than the SDK's default of a stream.
    #[arg(long, requires = "http")]
    json: bool,
}

struct EchoServer {
    tool: Tool,
}

impl EchoServer {
    fn new() -> Self {
        let mut schema = JsonObject::new();
        schema.insert("type".to_owned(), json!("object"));
        schema.insert(
            "properties".to_owned(),
            json!({ "text": { "type": "string" } }),
        );
        let tool = Tool::new("echo", "Gives back its text.", Arc::new(schema));
        Self { tool }
    }
}

impl ServerHandler for EchoServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("echo-floor", "0"))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![self.tool.clone()]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let text = arguments
            .get("text")
            .and_then(Value::as_str)
            .unwrap_or_default();
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = EchoArgs::parse();
    if let Some(address) = arguments.http {
        return serve_http(address, arguments.json).await;
    }
    EchoServer::new()
        .serve(stdio_pipes())
        .await?
        .waiting()
        .await?;
    Ok(())
}

async fn serve_http(address: SocketAddr, json: bool) -> anyhow::Result<()> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(json);
    // The SDK asks for a handler with every request.
    let echo = Arc::new(EchoServer::new());
    let sessions = Arc::new(NeverSessionManager::default());
    let mcp = StreamableHttpService::new(move || Ok(Arc::clone(&echo)), sessions, config);
    let listener = TcpListener::bind(address).await?;
    let mut stdout = io::stdout();
    writeln!(stdout, "listening {}", listener.local_addr()?)?;
    stdout.flush()?;
    axum::serve(listener, Router::new().route_service("/mcp", mcp)).await?;
    Ok(())
}
