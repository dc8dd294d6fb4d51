//! A well-behaved client: one operation after another on one connection, every answer checked.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::ensure;
use deliberate_testkit::load::{ClientProtocol, LoadClient, LoadConnection, request_head};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{client_tag::ClientTag, resources, scenarios::SoakScenario};
use crate::SoakContext;

/// The pause between operations; a person or a model is not faster.
const PAUSE: Duration = Duration::from_millis(100);
/// The number of request ids per client. Ids of different clients differ, so that a swapped answer
/// is detected.
const IDS_EACH: u64 = 1_000_000;

/// The features of the server besides tools.
pub(crate) struct ServerFeatures {
    pub(crate) resources: bool,
    pub(crate) prompts: bool,
    pub(crate) sse: bool,
    pub(crate) tools: usize,
}

impl ServerFeatures {
    pub(crate) async fn detect(host: SocketAddr) -> anyhow::Result<Self> {
        let mut caller = LoadClient::new(host, ClientProtocol::Legacy, 1);
        let params = json!({
            "protocolVersion": ClientProtocol::Legacy.version(),
            "capabilities": {},
            "clientInfo": { "name": "soak", "version": "0" },
        });
        let handshake = caller.request("initialize", params).await?;
        let declared = &handshake["capabilities"];
        Ok(Self {
            resources: declared["resources"].is_object(),
            prompts: declared["prompts"].is_object(),
            sse: has_sse(host).await?,
            tools: tools(&mut caller).await?,
        })
    }
}

async fn has_sse(host: SocketAddr) -> anyhow::Result<bool> {
    let mut connection = LoadConnection::open(host).await?;
    let request = request_head("GET", "/sse", &host.to_string(), "", 0);
    connection.send(request.as_bytes()).await?;
    let (answer, _) = connection.into_event_stream().await?;
    Ok(answer.status == 200 && answer.is_stream)
}

/// Counts the listed tools on all pages.
async fn tools(caller: &mut LoadClient) -> anyhow::Result<usize> {
    let (mut count, mut params) = (0, json!({}));
    loop {
        let page = caller.request("tools/list", params).await?;
        count += page["tools"].as_array().map_or(0, Vec::len);
        match &page["nextCursor"] {
            Value::String(cursor) => params = json!({ "cursor": cursor }),
            _ => return Ok(count),
        }
    }
}

pub(crate) async fn run(scene: SoakContext, offer: Arc<ServerFeatures>, number: usize) {
    let era = ClientProtocol::ALL[number % 2];
    let ids = IDS_EACH * (number as u64 + 1);
    let mut client = WellBehavedClient {
        caller: LoadClient::new(scene.host, era, ids),
        scenario: SoakScenario::new(ClientTag::new(number)),
        features: offer,
    };
    // Clients start with different operations, so that they do not all do the same at the same
    // time.
    let mut turn = number;
    while !scene.is_over() {
        let (what, done) = client.run_step(turn).await;
        match done {
            Ok(()) => scene.counters.record_success(what),
            Err(error) => scene.counters.record_failure(what, &error),
        }
        turn += 1;
        sleep(PAUSE + PAUSE * u32::try_from(turn % 4).unwrap_or(0)).await;
    }
}

struct WellBehavedClient {
    caller: LoadClient,
    scenario: SoakScenario,
    features: Arc<ServerFeatures>,
}

impl WellBehavedClient {
    async fn run_step(&mut self, turn: usize) -> (&'static str, anyhow::Result<()>) {
        let (caller, errands) = (&mut self.caller, &mut self.scenario);
        match turn % 12 {
            0 => ("linear, a new session", errands.start_session(caller).await),
            1 | 2 => (
                "linear, the next step",
                errands.continue_session(caller).await,
            ),
            3 => ("tree", errands.tree(caller).await),
            4 => ("got_init and got_generate", errands.graph(caller).await),
            5 => ("got_state", errands.graph_state(caller).await),
            6 => ("get", errands.get(caller).await),
            7 => ("search", errands.search(caller).await),
            8 => ("sessions", errands.list(caller).await),
            9 => ("tools/list", self.check_tools().await),
            10 if self.features.resources => {
                ("resources", resources::resources(caller, errands).await)
            }
            11 if self.features.prompts => ("prompts", resources::prompts(caller, errands).await),
            _ => ("ping or discover", self.ping().await),
        }
    }

    async fn check_tools(&mut self) -> anyhow::Result<()> {
        let found = tools(&mut self.caller).await?;
        ensure!(found == self.features.tools, "{found} tools are listed");
        Ok(())
    }

    /// Sends a ping, or a discovery request in the new revision, which has no ping.
    async fn ping(&mut self) -> anyhow::Result<()> {
        let method = match self.caller.protocol() {
            ClientProtocol::Legacy => "ping",
            ClientProtocol::Modern => "server/discover",
        };
        self.caller.request(method, json!({})).await.map(drop)
    }
}
