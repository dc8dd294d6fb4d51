//! The way out itself: what callers hold.

use std::{path::Path, sync::Arc, time::Duration};

use deliberate_core::{Clock, SystemClock};
use futures::FutureExt as _;
use secrecy::ExposeSecret as _;
use url::Url;

use super::{
    Download, Downloaded, Names, Reply, Request, SystemNames, WebError, WebOptions, cache::Cache,
    client::Clients, download::download, exchange::exchange, flight::Flights, guard::Guard,
    hex::digest, pace::Pacer, persist::Persistence, request::host_of,
};

/// The way out to the net. Clones share everything.
///
/// Proxies named by the environment are not used: behind one, nothing here could tell where a name
/// leads. The server needs its own way to the net.
#[derive(Clone)]
pub struct Web {
    parts: Arc<Parts>,
}

/// What it is made of.
pub(super) struct Parts {
    pub(super) guard: Guard,
    pub(super) clients: Clients,
    pub(super) pacer: Pacer,
    pub(super) cache: Cache,
    pub(super) clock: Arc<dyn Clock>,
    flights: Flights,
}

impl std::fmt::Debug for Web {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Web").finish_non_exhaustive()
    }
}

impl Web {
    /// A way out. Nothing is read or asked yet.
    pub fn new(options: WebOptions) -> Result<Self, WebError> {
        Self::with(options, Arc::new(SystemClock), Arc::new(SystemNames))
    }

    /// The same, by another clock and with other names.
    pub fn with(
        options: WebOptions,
        clock: Arc<dyn Clock>,
        names: Arc<dyn Names>,
    ) -> Result<Self, WebError> {
        let WebOptions {
            agent,
            folder,
            cache_bytes,
            trusted,
        } = options;
        let folder = folder.as_deref();
        let parts = Parts {
            guard: Guard::new(&trusted)?,
            clients: Clients::new(&agent, names)?,
            pacer: Pacer::new(folder, Arc::clone(&clock)),
            cache: Cache::new(folder, cache_bytes, Arc::clone(&clock)),
            clock,
            flights: Flights::default(),
        };
        Ok(Self {
            parts: Arc::new(parts),
        })
    }

    /// Asks, or gives the answer kept from before. Those who ask the same at the same time share
    /// one answer.
    pub async fn get(&self, request: Request) -> Result<Reply, WebError> {
        self.parts.guard.check(&request.url)?;
        let key = key_of(&request);
        let flight = flight_key(&key, &request);
        let parts = Arc::clone(&self.parts);
        let begin = move || async move { parts.answer(&key, &request).await }.boxed();
        self.parts.flights.join(flight, begin).await
    }

    /// Whether an address may be asked at all, as far as it says so itself: what its name leads to
    /// is seen only when it is asked.
    pub fn permits(&self, url: &Url) -> bool {
        self.parts.guard.check(url).is_ok()
    }

    /// How long those who are asked at this pace are still left alone, because one of them said
    /// "slower"; zero if they are not.
    pub async fn cooling(&self, pace: &str) -> Duration {
        self.parts.pacer.cooling(pace).await
    }

    /// Forgets the answer that is kept, if there is one: for callers who found that it can't be
    /// read.
    pub async fn forget(&self, request: &Request) {
        self.parts.cache.remove(&key_of(request)).await;
    }

    /// Fetches a file. It is there whole or not at all; what stood there before is replaced.
    ///
    /// `progress` is told how many bytes there are and, if it is known, of how many.
    pub async fn download(
        &self,
        request: Download,
        to: &Path,
        progress: &(dyn Fn(u64, Option<u64>) + Send + Sync),
    ) -> Result<Downloaded, WebError> {
        self.parts.guard.check(&request.url)?;
        let trying = Persistence {
            pacer: &self.parts.pacer,
            pace: &request.pace,
            host: host_of(&request.url),
            time: request.time,
        };
        trying
            .run(|| download(&self.parts, &request, to, progress).boxed())
            .await
    }
}

impl Parts {
    async fn answer(&self, key: &str, request: &Request) -> Result<Reply, WebError> {
        if !request.keep.is_zero()
            && let Some(kept) = self.cache.read(key, request.keep).await
            && kept.body.len() as u64 <= request.most_bytes
        {
            return Ok(kept);
        }
        let trying = Persistence {
            pacer: &self.pacer,
            pace: &request.pace,
            host: host_of(&request.url),
            time: request.time,
        };
        let reply = trying.run(|| exchange(self, request).boxed()).await?;
        if !request.keep.is_zero() && is_worth_keeping(&reply, request) {
            self.cache.write(key, &reply).await;
        }
        Ok(reply)
    }
}

/// What makes two questions the same: everything but the keys.
fn key_of(request: &Request) -> String {
    let method: &[u8] = if request.body.is_some() {
        b"POST"
    } else {
        b"GET"
    };
    let url = request.outgoing().clean(request.url.clone());
    let body = request.body.as_ref().map(ToString::to_string);
    digest(&[
        method,
        url.as_str().as_bytes(),
        body.unwrap_or_default().as_bytes(),
        request.accept.as_bytes(),
    ])
}

/// Who may share an answer that is under way: those with the same keys and the same bounds. Stays
/// in memory.
fn flight_key(key: &str, request: &Request) -> String {
    let bounds = format!(
        "{} {:?} {:?}",
        request.most_bytes, request.time, request.keep
    );
    let mut parts = vec![key.as_bytes(), bounds.as_bytes()];
    for (name, value) in request.secrets.iter().chain(&request.secret_query) {
        parts.push(name.as_bytes());
        parts.push(value.expose_secret().as_bytes());
    }
    digest(&parts)
}

/// A page of a hotel's network in place of the answer, or one that broke off, is not for later.
fn is_worth_keeping(reply: &Reply, request: &Request) -> bool {
    let wants = |kind: &str| request.accept.contains(kind);
    let is_stray_page = reply.is_html() && !wants("html") && !wants("*/*");
    let is_broken = || {
        request.accept == "application/json"
            && serde_json::from_slice::<serde::de::IgnoredAny>(&reply.body).is_err()
    };
    reply.status == 200 && !is_stray_page && !is_broken() && !echoes_secret(reply, request)
}

/// Shorter keys are in every text.
const SHORTEST_SECRET: usize = 6;

/// Whether an answer repeats a key: then it is not kept.
fn echoes_secret(reply: &Reply, request: &Request) -> bool {
    let mut secrets = request.secrets.iter().chain(&request.secret_query);
    secrets.any(|(_, secret)| {
        let secret = secret.expose_secret().as_bytes();
        secret.len() >= SHORTEST_SECRET
            && [&reply.body, reply.url.as_str().as_bytes()]
                .iter()
                .any(|it| memchr::memmem::find(it, secret).is_some())
    })
}
