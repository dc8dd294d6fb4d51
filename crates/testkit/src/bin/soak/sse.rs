//! A well-behaved client of the oldest transport: it listens on `/sse`, posts to the address it
//! receives, and must get the answer to its own request and nothing else.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context as _, ensure};
use deliberate_testkit::load::{LoadConnection, LoadEventStream, request_head};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::client_tag::ClientTag;
use crate::SoakContext;

const PAUSE: Duration = Duration::from_millis(300);
const TIMEOUT: Duration = Duration::from_mins(1);
/// The number of calls after which a client is replaced by a new one.
const CALLS_EACH: u64 = 20;
const VERSION: &str = "2024-11-05";

pub(crate) async fn run(scene: SoakContext, number: usize) {
    let marker = ClientTag::new(number);
    while !scene.is_over() {
        if let Err(error) = run_client(&scene, &marker).await {
            scene
                .counters
                .record_failure("the old SSE transport", &error);
            sleep(PAUSE).await;
        }
    }
}

async fn run_client(scene: &SoakContext, marker: &ClientTag) -> anyhow::Result<()> {
    let mut client = SseClient::open(scene.host).await?;
    let params = json!({
        "protocolVersion": VERSION,
        "capabilities": {},
        "clientInfo": { "name": marker.word(), "version": "0" },
    });
    client.request(1, "initialize", params).await?;
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    client.post(&initialized).await?;
    for id in 2..CALLS_EACH {
        if scene.is_over() {
            break;
        }
        let content = format!("{} asks question {id} the old way", marker.word());
        let params = json!({ "name": "reasoning_linear", "arguments": { "content": content } });
        let response = client.request(id, "tools/call", params).await?;
        let result = &response["result"];
        ensure!(
            result.is_object() && result["isError"] != true,
            "{response}"
        );
        marker.check_present(result)?;
        marker.check_alone(result)?;
        scene.counters.record_success("the old SSE transport");
        sleep(PAUSE).await;
    }
    Ok(())
}

struct SseClient {
    host: SocketAddr,
    events: LoadEventStream,
    posts: LoadConnection,
    target: String,
}

impl SseClient {
    async fn open(host: SocketAddr) -> anyhow::Result<Self> {
        let mut connection = LoadConnection::open(host).await?;
        let request = request_head("GET", "/sse", &host.to_string(), "", 0);
        connection.send(request.as_bytes()).await?;
        let (answer, mut events) = timeout(TIMEOUT, connection.into_event_stream()).await??;
        ensure!(answer.status == 200, "/sse answers {}", answer.status);
        let (name, data) = timeout(TIMEOUT, events.next()).await??;
        ensure!(name == "endpoint", "the first event is {name}");
        let base = format!("http://{host}");
        Ok(Self {
            host,
            events,
            posts: LoadConnection::open(host).await?,
            target: data.strip_prefix(&base).unwrap_or(&data).to_owned(),
        })
    }

    async fn request(&mut self, id: u64, method: &str, params: Value) -> anyhow::Result<Value> {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.post(&message).await?;
        loop {
            let (_, data) = timeout(TIMEOUT, self.events.next())
                .await
                .context("no event within a minute")??;
            let message: Value = serde_json::from_str(&data)?;
            if message.get("method").is_none() {
                ensure!(
                    message["id"] == id,
                    "an answer to another request: {message}"
                );
                return Ok(message);
            }
        }
    }

    async fn post(&mut self, message: &Value) -> anyhow::Result<()> {
        let body = message.to_string();
        let host = self.host.to_string();
        let mut request = request_head("POST", &self.target, &host, "", body.len());
        request.push_str(&body);
        let answer = self.posts.exchange(request.as_bytes()).await?;
        ensure!((200..300).contains(&answer.status), "{}", answer.summary());
        Ok(())
    }
}
