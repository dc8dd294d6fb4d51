//! The connection of a client: made once for all who wait for it, made again when it is lost, with
//! longer and longer rests while that fails.

use std::{
    sync::{Arc, Mutex, PoisonError, Weak, atomic::Ordering},
    time::Duration,
};

use futures::{
    FutureExt as _,
    future::{BoxFuture, Shared as SharedFuture},
};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    Changed, Client, Inner,
    connection::{Asking, Connection},
    handshake,
    hearing::{News, Shared},
};
use crate::{
    Error, ErrorKind,
    transport::{Era, TransportError},
};

/// The first rest after a failure; each further one is twice as long.
const FIRST_REST: Duration = Duration::from_millis(250);
/// The longest rest.
const LONGEST_REST: Duration = Duration::from_secs(30);
/// A connection that ended sooner than this counts as a failure: the server may be dying again
/// and again.
const SHORT_LIFE: Duration = Duration::from_secs(5);

type Attempt = SharedFuture<BoxFuture<'static, Result<Arc<Connection>, Error>>>;

/// How a connection is come by.
enum Way {
    Live(Arc<Connection>),
    Awaited(Attempt),
}

/// How it stands with connecting.
#[derive(Default)]
pub(super) struct Connecting {
    state: Mutex<Standing>,
}

#[derive(Default)]
struct Standing {
    attempt: Option<Attempt>,
    /// Failures in a row.
    failures: u32,
    /// Not to be tried before this, and why.
    rest: Option<(Instant, String)>,
    /// The era in which it was connected before.
    era: Option<Era>,
}

impl Client {
    /// The live connection, or a new one.
    pub(super) async fn connection(&self) -> Result<Arc<Connection>, Error> {
        if let Some(live) = self.live() {
            return Ok(live);
        }
        if self.0.stopped.is_cancelled() {
            return Err(self.stopped());
        }
        match self.attempt()? {
            Way::Live(live) => Ok(live),
            Way::Awaited(attempt) => attempt.await,
        }
    }

    /// The connection, if there is one now.
    pub(super) fn live(&self) -> Option<Arc<Connection>> {
        let live = self.0.live.read().unwrap_or_else(PoisonError::into_inner);
        live.as_ref().filter(|live| live.is_live()).cloned()
    }

    pub(super) fn take_live(&self) -> Option<Arc<Connection>> {
        let mut live = self.0.live.write().unwrap_or_else(PoisonError::into_inner);
        live.take()
    }

    /// The attempt that runs, or a new one; everyone who waits shares it, and it goes on if one of
    /// them goes away.
    fn attempt(&self) -> Result<Way, Error> {
        let mut standing = self.0.standing();
        if let Some(attempt) = &standing.attempt {
            return Ok(Way::Awaited(attempt.clone()));
        }
        // It may have come about since it was last looked for.
        if let Some(live) = self.live() {
            return Ok(Way::Live(live));
        }
        if let Some((until, because)) = &standing.rest {
            let wait = until.saturating_duration_since(Instant::now());
            if !wait.is_zero() {
                let because = because.clone();
                return Err(Error::new(
                    self.name(),
                    ErrorKind::Resting { wait, because },
                ));
            }
        }
        // The attempt is no user: it ends when there is none.
        let (client, era) = (Self(self.0.clone(), None), standing.era);
        let running = tokio::spawn(async move {
            let outcome = connect(&client, era).await;
            // Here, for nobody may be waiting any more.
            client.0.standing().attempt = None;
            outcome
        });
        let name = self.name().to_owned();
        let attempt = async move {
            let ended = |_| Err(Error::new(name, ErrorKind::Stopped));
            running.await.unwrap_or_else(ended)
        };
        let attempt = attempt.boxed().shared();
        standing.attempt = Some(attempt.clone());
        Ok(Way::Awaited(attempt))
    }

    /// Whether it rests after failures, and for how long still.
    pub(crate) fn resting(&self) -> Option<Duration> {
        let standing = self.0.standing();
        let (until, _) = standing.rest.as_ref()?;
        let wait = until.saturating_duration_since(Instant::now());
        (!wait.is_zero()).then_some(wait)
    }

    pub(super) fn is_connecting(&self) -> bool {
        self.0.standing().attempt.is_some()
    }
}

impl Inner {
    fn standing(&self) -> std::sync::MutexGuard<'_, Standing> {
        self.connecting
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Once is an accident, and the next call finds a new connection. Again is a habit.
    fn died_young(&self, because: String) {
        if self.standing().failures > 0 {
            return self.failed(because);
        }
        self.standing().failures = 1;
    }

    fn failed(&self, because: String) {
        let mut standing = self.standing();
        standing.failures = standing.failures.saturating_add(1);
        let rest = FIRST_REST
            .saturating_mul(1 << standing.failures.saturating_sub(1).min(10))
            .min(LONGEST_REST);
        standing.rest = Some((Instant::now() + rest, because));
    }

    /// What the connection has to say about the client as a whole.
    fn hear(&self, news: News) {
        match news {
            News::Changed(changed) => {
                self.lists.forget(&changed);
                self.handler.changed(&self.config.name, changed);
            }
            News::Listening => self.lists.forget(&Changed::Tools),
            News::Ended => self.lost(true),
            // The server is there, and knows what it does.
            News::Forgotten => self.lost(false),
        }
    }

    fn lost(&self, counts: bool) {
        let ended = {
            let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
            let is_news = |live: &&Arc<Connection>| {
                !live.is_live() && !live.mourned.swap(true, Ordering::AcqRel)
            };
            let ended = live.as_ref().filter(is_news);
            ended.map(|live| (live.since, live.shared.why_ended.get().cloned()))
        };
        let Some((since, why)) = ended else {
            return;
        };
        let why = why.unwrap_or_else(|| "it ended".to_owned());
        self.counts.lost(&why);
        self.lists.forget(&Changed::Tools);
        if since.elapsed() >= SHORT_LIFE {
            self.standing().failures = 0;
        } else if counts {
            self.died_young(why);
        }
        self.handler
            .changed(&self.config.name, Changed::Disconnected);
    }
}

/// Makes a connection that is ready for requests, and puts it in its place.
async fn connect(client: &Client, era: Option<Era>) -> Result<Arc<Connection>, Error> {
    let limit = client.config().limits.connect;
    let outcome = tokio::select! {
        biased;
        () = client.0.stopped.cancelled() => Err(client.stopped()),
        outcome = tokio::time::timeout(limit, handshake::connected(client, era)) => {
            outcome.unwrap_or_else(|_| {
                Err(Error::new(client.name(), ErrorKind::Timeout { after: limit }))
            })
        }
    };
    match outcome {
        Ok(connection) => {
            let connection = Arc::new(connection);
            {
                // Failures are forgotten when it has lived for a while.
                let mut standing = client.0.standing();
                standing.rest = None;
                standing.era = connection.side().map(|side| side.era);
            }
            client.0.counts.connected();
            // The one before has ended; who still waits there for an answer holds on to it.
            let live = client.0.live.write();
            let before = live
                .unwrap_or_else(PoisonError::into_inner)
                .replace(connection.clone());
            drop(before);
            listen(&client.0, &connection);
            client.0.handler.changed(client.name(), Changed::Connected);
            // It may have ended, or been ended, before it was put in its place.
            if client.0.stopped.is_cancelled() {
                client.close().await;
                return Err(client.stopped());
            }
            if !connection.is_live() {
                client.0.lost(true);
            }
            Ok(connection)
        }
        Err(mut error) => {
            // What was exchanged so far was no call.
            error.sent = crate::transport::Sent::No;
            client.0.counts.failed_to_connect(&error);
            // Who is refused can log in at any moment, and is then let in at once.
            let refused = matches!(
                error.kind,
                ErrorKind::Transport(TransportError::Unauthorized { .. })
            );
            if !refused {
                client.0.failed(error.to_string());
            }
            if matches!(error.kind, ErrorKind::Rpc(_) | ErrorKind::Malformed { .. }) {
                // It may speak otherwise than it did.
                client.0.standing().era = None;
            }
            Err(error)
        }
    }
}

/// What a new connection is read by.
pub(super) fn shared(client: &Client) -> Arc<Shared> {
    let inner: Weak<Inner> = Arc::downgrade(&client.0);
    Shared::new(
        client.name().to_owned(),
        client.0.handler.clone(),
        move |news| {
            if let Some(inner) = inner.upgrade() {
                inner.hear(news);
            }
        },
    )
}

/// Servers of 2026-07-28 tell what changed to who listens.
fn listen(inner: &Arc<Inner>, connection: &Arc<Connection>) {
    let Some(side) = connection.side().filter(|side| side.era == Era::Stateless) else {
        return;
    };
    let mut wanted = json!({});
    let lists = [
        ("tools", "toolsListChanged"),
        ("prompts", "promptsListChanged"),
        ("resources", "resourcesListChanged"),
    ];
    for (capability, name) in lists {
        if let (true, Some(wanted)) = (side.tells_changes(capability), wanted.as_object_mut()) {
            wanted.insert(name.to_owned(), json!(true));
        }
    }
    if wanted.as_object().is_none_or(serde_json::Map::is_empty) {
        return;
    }
    let params = handshake::with_meta(inner, side, json!({ "notifications": wanted }));
    let (connection, ended) = (Arc::downgrade(connection), connection.shared.ended.clone());
    tokio::spawn(async move {
        tokio::select! {
            () = ended.cancelled() => {}
            () = keep_listening(connection, params) => {}
        }
    });
}

async fn keep_listening(connection: Weak<Connection>, params: Value) {
    let mut rest = Duration::from_secs(1);
    loop {
        let begun = Instant::now();
        {
            let Some(connection) = connection.upgrade() else {
                return;
            };
            let asking = Asking {
                method: "subscriptions/listen".to_owned(),
                params: params.as_object().cloned().unwrap_or_default(),
                name: None,
                headers: Vec::new(),
                answer: None,
                longest: None,
                progress: None,
                wants_progress: false,
                handler: None,
                cancellable: true,
            };
            drop(connection.request(asking).await);
        }
        if begun.elapsed() > Duration::from_mins(1) {
            rest = Duration::from_secs(1);
        }
        tokio::time::sleep(rest).await;
        rest = (rest * 2).min(Duration::from_mins(5));
    }
}
