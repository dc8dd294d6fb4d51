//! The stack under test: the guard, the front of `/mcp` and the SDK's service, as the server puts
//! them together, around a tiny handler. [`service`] is the one place that says what is tested.

use axum::Router;
use deliberate_server::http::{
    StreamableHttpOptions,
    auth::Access,
    guard::{GuardOptions, HttpGuard},
    mcp_routes,
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ServerCapabilities,
        ServerConfig,
    },
    service::RequestContext,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::BODY_LIMIT;

/// Where MCP is served.
pub const ENDPOINT: &str = "/mcp";

/// What requests are sent to.
pub fn build_service() -> Router {
    let options = StreamableHttpOptions {
        body_bytes: BODY_LIMIT,
        sessions: None,
    };
    let (draining, stopped) = (CancellationToken::new(), CancellationToken::new());
    let guard = GuardOptions {
        body_bytes: BODY_LIMIT,
        ..GuardOptions::default()
    };
    let (mcp, _) = mcp_routes(|| FuzzEchoHandler, &options, draining, stopped);
    HttpGuard::new(&guard, Access::open()).protect(mcp)
}

struct FuzzEchoHandler;

impl ServerHandler for FuzzEchoHandler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let text = arguments.get("text").and_then(Value::as_str);
        let content = ContentBlock::text(text.unwrap_or_default());
        Ok(CallToolResult::success(vec![content]).into())
    }
}
