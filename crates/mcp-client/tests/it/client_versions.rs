//! Tests of version negotiation, and of what a client sends with each request in the stateless era.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use deliberate_mcp_client::{
    CallOptions, McpClient, ServerConfig,
    client::{CachePolicy, NoClientHandler},
    transport::McpEra,
};
use serde_json::{Value, json};

use super::transport_http_support::{HttpTestServer, RecordedRequest, ResponseWriter};

fn client(server: &HttpTestServer) -> McpClient {
    let config = ServerConfig::http("odd", server.url.as_str()).unwrap();
    McpClient::new(config, Arc::new(NoClientHandler)).unwrap()
}

async fn result(
    request: &RecordedRequest,
    back: ResponseWriter,
    result: &Value,
) -> Option<ResponseWriter> {
    let answer = json!({ "jsonrpc": "2.0", "id": request.id(), "result": result });
    back.json(&answer.to_string()).await
}

async fn refuse(
    request: &RecordedRequest,
    back: ResponseWriter,
    supported: &str,
) -> Option<ResponseWriter> {
    let error = json!({ "code": -32022, "message": "no", "data": { "supported": [supported] } });
    let answer = json!({ "jsonrpc": "2.0", "id": request.id(), "error": error });
    let headers = [("content-type", "application/json")];
    back.answer(400, &headers, &answer.to_string()).await
}

fn discover_result() -> Value {
    json!({ "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } })
}

fn methods(server: &HttpTestServer) -> Vec<String> {
    let requests = server.requests();
    let calls = requests.iter().filter(|request| request.method == "POST");
    calls
        .map(|request| request.json()["method"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_server_that_refuses_a_revision_it_lists_is_asked_once_more() {
    let first = Arc::new(AtomicBool::new(true));
    let server = HttpTestServer::start(move |request, back| {
        let is_first = first.swap(false, Ordering::SeqCst);
        async move {
            if is_first {
                return refuse(&request, back, "2026-07-28").await;
            }
            result(&request, back, &discover_result()).await
        }
    })
    .await;
    let side = client(&server).server_info().await.unwrap();
    assert_eq!(side.era, McpEra::Stateless);
    assert_eq!(methods(&server), ["server/discover", "server/discover"]);
}

#[tokio::test]
async fn a_server_that_does_not_mean_it_is_spoken_to_as_before() {
    for (supported, asked) in [("2026-07-28", 2), ("2025-11-25", 1)] {
        let server = HttpTestServer::start(move |request, back| async move {
            if request.method != "POST" {
                return back.answer(405, &[], "").await;
            }
            match request.json()["method"].as_str() {
                Some("server/discover") => refuse(&request, back, supported).await,
                Some("initialize") => {
                    let said = json!({ "protocolVersion": "2025-11-25", "capabilities": {} });
                    result(&request, back, &said).await
                }
                _ => back.accept().await,
            }
        })
        .await;
        let side = client(&server).server_info().await.unwrap();
        assert_eq!(side.era, McpEra::Handshake);
        let methods = methods(&server);
        let discovers = methods.iter().filter(|it| *it == "server/discover");
        assert_eq!(discovers.count(), asked, "{supported}");
    }
}

#[tokio::test]
async fn headers_are_made_of_a_list_that_is_no_longer_fresh() {
    let server = HttpTestServer::start(|request, back| async move {
        let said = match request.json()["method"].as_str() {
            Some("server/discover") => discover_result(),
            Some("tools/list") => json!({ "resultType": "complete", "ttlMs": 0, "tools": [{
                "name": "look",
                "inputSchema": { "type": "object", "properties": {
                    "region": { "type": "string", "x-mcp-header": "Region" },
                } },
            }] }),
            _ => json!({ "resultType": "complete", "content": [] }),
        };
        result(&request, back, &said).await
    })
    .await;
    let client = client(&server);
    client.tools(CachePolicy::Refresh).await.unwrap();
    let arguments = json!({ "region": "north" });
    let called = client.call("look", arguments, CallOptions::default());
    called.await.unwrap();
    let requests = server.requests();
    let call = requests.last().unwrap();
    assert_eq!(call.header("mcp-param-region"), Some("north"));
}

#[tokio::test]
async fn a_server_is_listened_to_before_anything_is_asked_of_it() {
    let listened = Arc::new(AtomicBool::new(false));
    let server = HttpTestServer::start(move |request, back| {
        let listened = listened.clone();
        async move {
            if request.method == "GET" {
                tokio::time::sleep(Duration::from_millis(50)).await;
                let back = back.begin_events().await?;
                listened.store(true, Ordering::SeqCst);
                return back.hang().await;
            }
            let capabilities = json!({ "tools": {} });
            match request.json()["method"].as_str() {
                Some("initialize") => {
                    let version = "2025-11-25";
                    let said = json!({ "protocolVersion": version, "capabilities": capabilities });
                    result(&request, back, &said).await
                }
                Some("tools/list") if listened.load(Ordering::SeqCst) => {
                    result(&request, back, &json!({ "tools": [] })).await
                }
                Some("notifications/initialized") => back.accept().await,
                _ => back.answer(400, &[], "").await,
            }
        }
    })
    .await;
    client(&server).tools(CachePolicy::Refresh).await.unwrap();
}
