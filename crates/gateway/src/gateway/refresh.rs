//! Finding out what the servers have, and keeping that current.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, PoisonError, Weak, atomic::Ordering},
    time::Duration,
};

use deliberate_adapter::{
    ErrorKind,
    client::{Fresh, ToolList},
};
use deliberate_toolkit::Guest;
use tokio::time::Instant;

use super::{
    Gateway, Known, KnownTool, Served,
    known::{self, Listed},
};
use crate::Error;

/// How often the pins are looked at again while a tool is kept back.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// How often they are while nobody asks.
const LOOK_AGAIN_UNASKED: Duration = Duration::from_secs(5);
/// How often a list is asked for while nobody asks and nothing is told.
const UNASKED: Duration = Duration::from_mins(5);
/// A list that was asked for in this time will do, whatever its server says.
const JUST_NOW: Duration = Duration::from_secs(3);
/// A server that tells of changes in a row is listened to once in this time.
const CALM: Duration = Duration::from_millis(200);
const FIRST_REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_mins(1);

impl Gateway {
    /// Connects the servers whose tools are shown beside ours, in the background, and keeps what
    /// is known of them current until [`Gateway::stop`].
    pub fn start(self: &Arc<Self>) {
        for served in self.served().filter(|served| served.about.expose.any()) {
            tokio::spawn(keep_current(
                Arc::downgrade(self),
                served.clone(),
                self.stopped.clone(),
            ));
        }
    }

    /// What is known of a server's tools, found out if need be.
    pub(crate) async fn refresh(
        &self,
        served: &Arc<Served>,
        fresh: Fresh,
    ) -> Result<Arc<Known>, Error> {
        let listed = self.listed(served, fresh).await?;
        if let Some(known) = served.known().filter(|it| it.is_current(&listed.list)) {
            return Ok(known);
        }
        let _judging = served.judging.lock().await;
        let before = served.known();
        if let Some(known) = before.clone().filter(|it| it.is_current(&listed.list)) {
            return Ok(known);
        }
        self.judge(served, listed, before).await
    }

    /// The list of a server's tools. One that was asked for just now will do, even if the server
    /// says that it is not to be kept, unless it was heard since that there may be another.
    async fn listed(&self, served: &Served, fresh: Fresh) -> Result<Listed, Error> {
        let heard = served.news.heard();
        let recent = served.known().filter(|known| {
            let listed = &known.listed;
            fresh == Fresh::Cached && listed.heard == heard && listed.at.elapsed() < JUST_NOW
        });
        if let Some(known) = recent {
            return Ok(known.listed.clone());
        }
        Ok(Listed {
            list: self.client(served)?.tools(fresh).await?,
            at: Instant::now(),
            heard,
        })
    }

    /// Looks at the pins again, though nothing else may have changed.
    pub(super) async fn rejudge(&self, served: &Arc<Served>) -> Result<(), Error> {
        let _judging = served.judging.lock().await;
        if let Some(known) = served.known() {
            self.judge(served, known.listed.clone(), Some(known))
                .await?;
        }
        Ok(())
    }

    /// Finds out how each tool of a list stands, and lets everyone know.
    async fn judge(
        &self,
        served: &Arc<Served>,
        listed: Listed,
        before: Option<Arc<Known>>,
    ) -> Result<Arc<Known>, Error> {
        let (offering, of, then) = (listed.list.clone(), served.clone(), before.clone());
        let read = move || known::read(&offering, &of.about, then.as_deref());
        let read = tokio::task::spawn_blocking(read).await;
        let read =
            read.map_err(|_| deliberate_adapter::Error::new(served.name(), ErrorKind::Stopped))?;
        let offered: Vec<_> = read.iter().map(known::Read::offered).collect();
        let anew = before
            .as_ref()
            .is_none_or(|known| known.keeps_back || !known.pins_read);
        let settled = served.pins.settle(&offered, anew, served.about.trust).await;
        let names = self.tool_names();
        let owner = |word: &str| other_owner(&names, served.name(), word);
        let known = Arc::new(Known::new(listed, read, settled, &served.about, &owner));
        for tool in known.newly_kept_back(before.as_deref()) {
            if !self.quiet {
                tracing::warn!(server = served.name(), tool = %tool.full, "a tool is kept back until it is approved");
            }
        }
        served.set_known(known.clone());
        self.spread();
        Ok(served.known().unwrap_or(known))
    }

    fn names_now(&self) -> HashMap<String, BTreeSet<String>> {
        let mut names: HashMap<String, BTreeSet<String>> = HashMap::new();
        for served in self.served() {
            let Some(known) = served.known() else {
                continue;
            };
            for tool in &known.tools {
                let owners = names.entry(tool.def.name.clone()).or_default();
                owners.insert(served.name().to_owned());
            }
        }
        names
    }

    fn tool_names(&self) -> Arc<HashMap<String, BTreeSet<String>>> {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        names.clone()
    }

    /// Lets everyone know what was found out about one server.
    fn spread(&self) {
        // What is told last must be what was found out last.
        let _spreading = self
            .spreading
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let names = Arc::new(self.names_now());
        if *names != *self.tool_names() {
            *self.names.write().unwrap_or_else(PoisonError::into_inner) = names.clone();
            for served in self.served() {
                let owner = |word: &str| other_owner(&names, served.name(), word);
                served.judge_again(&owner);
            }
        }
        let guests: Arc<[Guest]> = self.guests_now().into();
        let changed = {
            let mut now = self.guests.write().unwrap_or_else(PoisonError::into_inner);
            let changed = *now != guests;
            *now = guests;
            changed
        };
        if changed {
            let hears = self.hears.lock().unwrap_or_else(PoisonError::into_inner);
            hears.iter().for_each(|hear| hear());
        }
    }

    fn guests_now(&self) -> Vec<Guest> {
        let mut taken = BTreeSet::new();
        let mut guests = Vec::new();
        for known in self.served().filter_map(|served| served.known()) {
            for tool in &known.tools {
                let seen = tool.exposed && tool.kept_back.is_none();
                if seen && taken.insert(tool.full.clone()) {
                    guests.push(Guest {
                        name: tool.full.clone(),
                        definition: tool.shown.clone(),
                    });
                }
            }
        }
        guests
    }
}

/// Which other server has a tool of that name, if the server itself has none.
fn other_owner(
    names: &HashMap<String, BTreeSet<String>>,
    server: &str,
    word: &str,
) -> Option<String> {
    let owners = names.get(word)?;
    if owners.contains(server) {
        return None;
    }
    owners.first().cloned()
}

impl Known {
    /// The tools that are kept back and were not before.
    fn newly_kept_back(&self, before: Option<&Self>) -> impl Iterator<Item = &Arc<KnownTool>> {
        let was = move |tool: &KnownTool| {
            let then = before.and_then(|before| before.get(&tool.def.name));
            then.is_some_and(|then| then.kept_back.is_some())
        };
        let kept_back = self.tools.iter().filter(|tool| tool.kept_back.is_some());
        kept_back.filter(move |tool| !was(tool))
    }

    /// Whether it was made of this list, and nothing may have been approved since.
    fn is_current(&self, list: &Arc<ToolList>) -> bool {
        let look_again = self.keeps_back || !self.pins_read;
        Arc::ptr_eq(&self.listed.list, list) && !(look_again && self.looked.elapsed() >= LOOK_AGAIN)
    }
}

/// Keeps what is known of one server current. A server that can't be reached is tried again, less
/// and less often.
async fn keep_current(
    gateway: Weak<Gateway>,
    served: Arc<Served>,
    stopped: tokio_util::sync::CancellationToken,
) {
    let mut rest = FIRST_REST;
    loop {
        // Who comes back may be another than who went.
        let fresh = if served.news.reconnected.swap(false, Ordering::Relaxed) {
            Fresh::Anew
        } else {
            Fresh::Cached
        };
        let outcome = {
            let Some(gateway) = gateway.upgrade() else {
                return;
            };
            tokio::select! {
                biased;
                () = stopped.cancelled() => return,
                outcome = gateway.refresh(&served, fresh) => outcome,
            }
        };
        let wait = match &outcome {
            Ok(known) => {
                rest = FIRST_REST;
                if known.keeps_back || !known.pins_read {
                    LOOK_AGAIN_UNASKED
                } else {
                    UNASKED
                }
            }
            Err(error) => {
                tracing::debug!(
                    server = served.name(),
                    code = error.code(),
                    "tools can't be listed"
                );
                rest = (rest * 2).min(LONGEST_REST);
                rest
            }
        };
        let begun = Instant::now();
        tokio::select! {
            biased;
            () = stopped.cancelled() => return,
            () = served.news.bell.notified() => {
                // What failed is not tried again by what its failing rings.
                let calm = if outcome.is_ok() { CALM } else { wait };
                tokio::select! {
                    biased;
                    () = stopped.cancelled() => return,
                    () = tokio::time::sleep_until(begun + calm) => {}
                }
            }
            () = tokio::time::sleep(wait) => {}
        }
    }
}
