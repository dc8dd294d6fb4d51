//! The servers there are, what each offers, and what may be used of it.
//!
//! `sift` finds out which servers can be used together, `known` is what is known of one server's tools, `refresh` finds that out and keeps it current,
//! `find` finds tools, `calling` calls them, `rounds` goes through what is asked
//! meanwhile, `looking` is for whoever runs the program. Every
//! server is on its own: nobody waits for one because of another.

mod calling;
mod find;
mod known;
mod looking;
mod refresh;
mod rounds;
mod sift;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use deliberate_adapter::{
    Client,
    adapter::{Adapter, AdapterConfig},
    client::{Changed, Handler, Offers, Status},
    config::{ConfigError, Mistake},
};
use deliberate_toolkit::Guest;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub(crate) use calling::Underway;
pub(crate) use find::{Found, Unreached};
pub(crate) use known::{Known, KnownTool};
pub use looking::{ServerLook, Standing, ToolLook};
pub(crate) use rounds::{Calling, SentAgain};

use crate::{GatewayOptions, GatewayServer, asked::Waiting, pins::Pins};
use sift::Sifted;

/// Other servers' tools.
pub struct Gateway {
    adapter: Adapter,
    servers: BTreeMap<String, Arc<Served>>,
    /// Why others are not among them.
    left_out: BTreeMap<String, String>,
    /// Those that may ask a client's model.
    samplers: Arc<BTreeSet<String>>,
    /// Which servers have a tool of that name.
    names: RwLock<Arc<HashMap<String, BTreeSet<String>>>>,
    guests: RwLock<Arc<[Guest]>>,
    spreading: Mutex<()>,
    hears: Mutex<Vec<Box<dyn Fn() + Send + Sync>>>,
    pub(crate) waiting: Waiting,
    pub(crate) search_wait: Duration,
    quiet: bool,
    stopped: CancellationToken,
}

/// A server, and what is known of it.
pub(crate) struct Served {
    pub(crate) about: GatewayServer,
    pins: Pins,
    known: RwLock<Option<Arc<Known>>>,
    /// One finds out, the others wait and take what it found.
    judging: tokio::sync::Mutex<()>,
    news: Arc<News>,
    /// Whether a search waited for its tools and did not get them in time.
    in_vain: AtomicBool,
}

/// What a server tells by itself.
#[derive(Default)]
struct News {
    /// Rings when something is not as it was.
    bell: Notify,
    /// Counts what may have made its list of tools another.
    heard: AtomicU64,
    /// Whether there was a connection before.
    connected: AtomicBool,
    /// Whether there is another one now than when the list was asked for.
    reconnected: AtomicBool,
}

impl News {
    fn hear(&self, what: &Changed) {
        match what {
            Changed::Tools | Changed::Disconnected => {}
            Changed::Connected => {
                let before = self.connected.swap(true, Ordering::Relaxed);
                self.reconnected.fetch_or(before, Ordering::Relaxed);
            }
            _ => return,
        }
        self.heard.fetch_add(1, Ordering::Relaxed);
        self.bell.notify_one();
    }

    fn heard(&self) -> u64 {
        self.heard.load(Ordering::Relaxed)
    }
}

impl Served {
    pub(crate) fn name(&self) -> &str {
        &self.about.config.name
    }

    /// What is known of its tools, if anything is.
    pub(crate) fn known(&self) -> Option<Arc<Known>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.clone()
    }

    fn set_known(&self, known: Arc<Known>) {
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Some(known);
    }

    /// Other servers have other tools now.
    fn judge_again(&self, owner: &dyn Fn(&str) -> Option<String>) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let again = known
            .as_ref()
            .and_then(|known| known.judged_again(&self.about, owner));
        if let Some(again) = again {
            *known = Some(Arc::new(again));
        }
    }
}

/// What a server is told of us when it is connected, and what it tells by itself. Outside a call
/// there is nobody whom it could ask.
struct Door {
    sampling: bool,
    news: Arc<News>,
}

impl Handler for Door {
    fn offers(&self) -> Offers {
        Offers {
            sampling: self.sampling,
            elicitation: true,
            elicitation_url: true,
            roots: true,
        }
    }

    fn changed(&self, _: &str, what: Changed) {
        self.news.hear(&what);
    }
}

impl Gateway {
    /// A gateway to these servers. Every mistake is named; nothing is connected.
    pub fn new(options: GatewayOptions) -> Result<Arc<Self>, ConfigError> {
        Self::with_clients(options, usual_client)
    }

    /// A gateway to those of these servers that can be used, and what is wrong with the others.
    /// Clients are of your own making.
    pub fn of_usable(
        options: GatewayOptions,
        client: impl Fn(&GatewayServer, Arc<dyn Handler>) -> Result<Client, deliberate_adapter::Error>,
    ) -> (Arc<Self>, Vec<Mistake>) {
        Self::made(options, client)
    }

    /// [`Gateway::new`] with clients of your own making, such as ones with another transport.
    pub fn with_clients(
        options: GatewayOptions,
        client: impl Fn(&GatewayServer, Arc<dyn Handler>) -> Result<Client, deliberate_adapter::Error>,
    ) -> Result<Arc<Self>, ConfigError> {
        let (gateway, mistakes) = Self::made(options, client);
        if mistakes.is_empty() {
            Ok(gateway)
        } else {
            Err(mistakes.into())
        }
    }

    fn made(
        options: GatewayOptions,
        client: impl Fn(&GatewayServer, Arc<dyn Handler>) -> Result<Client, deliberate_adapter::Error>,
    ) -> (Arc<Self>, Vec<Mistake>) {
        let mut sifted = Sifted::of(options.servers);
        let mut clients = BTreeMap::new();
        for about in std::mem::take(&mut sifted.servers) {
            let news = Arc::new(News::default());
            let door = Door {
                sampling: about.sampling,
                news: news.clone(),
            };
            let name = about.config.name.clone();
            match client(&about, Arc::new(door)) {
                Ok(client) => {
                    clients.insert(name, (client, news));
                    sifted.servers.push(about);
                }
                Err(error) => sifted.leave_out(&name, mistakes_of(&name, error)),
            }
        }
        sifted.forget_missing_fallbacks();
        let served = |about: GatewayServer| {
            let (client, news) = clients.remove(&about.config.name)?;
            let served = Served {
                pins: Pins::new(client.name(), options.store.clone(), options.clock.clone()),
                about,
                known: RwLock::default(),
                judging: tokio::sync::Mutex::default(),
                news,
                in_vain: AtomicBool::new(false),
            };
            Some((client, Arc::new(served)))
        };
        let (clients, served): (Vec<_>, Vec<_>) =
            sifted.servers.into_iter().filter_map(served).unzip();
        let samplers = served.iter().filter(|it| it.about.sampling);
        let mut left_out = options.left_out;
        left_out.extend(sifted.left_out);
        // Arguments and answers are held to the definition that was judged, here.
        let config = AdapterConfig {
            validate: false,
            ..AdapterConfig::default()
        };
        let gateway = Self {
            adapter: Adapter::with_clients(clients, config),
            samplers: Arc::new(samplers.map(|it| it.name().to_owned()).collect()),
            servers: served
                .into_iter()
                .map(|it| (it.name().to_owned(), it))
                .collect(),
            left_out,
            names: RwLock::default(),
            guests: RwLock::new(Arc::from([])),
            spreading: Mutex::default(),
            hears: Mutex::default(),
            waiting: Waiting::default(),
            search_wait: options.search_wait,
            quiet: options.quiet,
            stopped: CancellationToken::new(),
        };
        (Arc::new(gateway), sifted.mistakes)
    }

    /// Calls this whenever the tools that clients see beside ours are others.
    pub fn on_change(&self, hear: Box<dyn Fn() + Send + Sync>) {
        let mut hears = self.hears.lock().unwrap_or_else(PoisonError::into_inner);
        hears.push(hear);
    }

    /// Ends all connections in good order; programs that were started end.
    pub async fn stop(&self) {
        self.stopped.cancel();
        self.waiting.clear();
        self.adapter.close().await;
    }

    /// The names of the servers.
    pub fn names(&self) -> Vec<&str> {
        self.servers.keys().map(String::as_str).collect()
    }

    /// How the servers do; asks none of them.
    pub fn status(&self) -> Vec<Status> {
        self.adapter.status()
    }

    /// The tools that clients see beside ours, as far as they are known.
    pub(crate) fn guests(&self) -> Arc<[Guest]> {
        let guests = self.guests.read().unwrap_or_else(PoisonError::into_inner);
        guests.clone()
    }

    pub(crate) fn served(&self) -> impl Iterator<Item = &Arc<Served>> {
        self.servers.values()
    }

    pub(crate) fn server(&self, name: &str) -> Result<&Arc<Served>, crate::Error> {
        self.servers
            .get(name)
            .ok_or_else(|| match self.left_out.get(name) {
                Some(why) => crate::Error::LeftOut {
                    server: name.to_owned(),
                    why: why.clone(),
                },
                None => self.unknown_server(name),
            })
    }

    fn unknown_server(&self, name: &str) -> crate::Error {
        crate::Error::UnknownServer {
            name: deliberate_core::cut_to_chars(name, 80),
            nearest: deliberate_core::nearest(name, self.servers.keys().map(String::as_str)),
            all: self.servers.keys().cloned().collect(),
        }
    }

    fn client(&self, server: &Served) -> Result<&Client, crate::Error> {
        let client = self.adapter.client(server.name());
        client.ok_or_else(|| self.unknown_server(server.name()))
    }
}

fn usual_client(
    server: &GatewayServer,
    handler: Arc<dyn Handler>,
) -> Result<Client, deliberate_adapter::Error> {
    Client::new(server.config.clone(), handler)
}

fn mistakes_of(server: &str, error: deliberate_adapter::Error) -> Vec<Mistake> {
    match error.kind {
        deliberate_adapter::ErrorKind::Config(error) => error.mistakes,
        _ => vec![Mistake::new(format!("servers.{server}"), error.to_string())],
    }
}
