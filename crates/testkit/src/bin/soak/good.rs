//! A well-behaved client: one errand after another on one connection, every answer checked.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::ensure;
use deliberate_testkit::load::{Caller, Connection, Era, head};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{Scene, errands::Errands, marker::Marker, shelf};

/// A person, or a program that thinks, is not faster.
const PAUSE: Duration = Duration::from_millis(100);
/// Ids of different clients differ, so that a swapped answer shows.
const IDS_EACH: u64 = 1_000_000;

/// What the server has beside tools.
pub(crate) struct Offer {
    pub(crate) resources: bool,
    pub(crate) prompts: bool,
    pub(crate) sse: bool,
    pub(crate) tools: usize,
}

impl Offer {
    pub(crate) async fn of(host: SocketAddr) -> anyhow::Result<Self> {
        let mut caller = Caller::new(host, Era::Legacy, 1);
        let params = json!({
            "protocolVersion": Era::Legacy.version(),
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
    let mut connection = Connection::open(host).await?;
    let request = head("GET", "/sse", &host.to_string(), "", 0);
    connection.send(request.as_bytes()).await?;
    let (answer, _) = connection.open_ended().await?;
    Ok(answer.status == 200 && answer.is_stream)
}

/// How many tools are listed, all pages together.
async fn tools(caller: &mut Caller) -> anyhow::Result<usize> {
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

pub(crate) async fn run(scene: Scene, offer: Arc<Offer>, number: usize) {
    let era = Era::ALL[number % 2];
    let ids = IDS_EACH * (number as u64 + 1);
    let mut client = Good {
        caller: Caller::new(scene.host, era, ids),
        errands: Errands::new(Marker::new(number)),
        offer,
    };
    // Not all at the same errand at the same time.
    let mut turn = number;
    while !scene.is_over() {
        let (what, done) = client.errand(turn).await;
        match done {
            Ok(()) => scene.tally.well(what),
            Err(error) => scene.tally.failed(what, &error),
        }
        turn += 1;
        sleep(PAUSE + PAUSE * u32::try_from(turn % 4).unwrap_or(0)).await;
    }
}

struct Good {
    caller: Caller,
    errands: Errands,
    offer: Arc<Offer>,
}

impl Good {
    async fn errand(&mut self, turn: usize) -> (&'static str, anyhow::Result<()>) {
        let (caller, errands) = (&mut self.caller, &mut self.errands);
        match turn % 12 {
            0 => ("linear, a new session", errands.begin(caller).await),
            1 | 2 => ("linear, the next step", errands.go_on(caller).await),
            3 => ("tree", errands.tree(caller).await),
            4 => ("got_init and got_generate", errands.graph(caller).await),
            5 => ("got_state", errands.graph_state(caller).await),
            6 => ("get", errands.get(caller).await),
            7 => ("search", errands.search(caller).await),
            8 => ("sessions", errands.list(caller).await),
            9 => ("tools/list", self.same_tools().await),
            10 if self.offer.resources => ("resources", shelf::resources(caller, errands).await),
            11 if self.offer.prompts => ("prompts", shelf::prompts(caller, errands).await),
            _ => ("ping or discover", self.greet().await),
        }
    }

    async fn same_tools(&mut self) -> anyhow::Result<()> {
        let found = tools(&mut self.caller).await?;
        ensure!(found == self.offer.tools, "{found} tools are listed");
        Ok(())
    }

    /// The new revision has no ping.
    async fn greet(&mut self) -> anyhow::Result<()> {
        let method = match self.caller.era() {
            Era::Legacy => "ping",
            Era::Modern => "server/discover",
        };
        self.caller.request(method, json!({})).await.map(drop)
    }
}
