//! Who wants to hear of which changes.
//!
//! Everyone who listens has a line of their own: what is due to them is noted there and sent by a
//! task of theirs, so that no call waits for a client to read. What changes again before it was
//! sent is sent once; the last change is never lost. Knows lines and addresses, not the protocol.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use deliberate_toolkit::{Event, Listener, Touched};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// How much may be listened to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubscriptionLimits {
    /// Lines open at once, all clients together.
    pub lines: usize,
    /// Addresses that one line may ask for.
    pub addresses: usize,
}

impl Default for SubscriptionLimits {
    fn default() -> Self {
        Self {
            lines: 4_096,
            addresses: 1_000,
        }
    }
}

/// All who listen. Hears from the gate what was touched (`Registry::heard_by`), and passes it on
/// to whom it concerns.
#[derive(Debug, Default)]
pub struct Subscriptions {
    limits: SubscriptionLimits,
    lines: Mutex<Lines>,
    closed: CancellationToken,
}

#[derive(Debug, Default)]
struct Lines {
    next: u64,
    open: HashMap<u64, Arc<Line>>,
}

/// What one listener wants, and what is due to them.
#[derive(Debug, Default)]
pub(super) struct Line {
    state: Mutex<State>,
    bell: Notify,
}

#[derive(Debug, Default)]
struct State {
    wants: Wants,
    due: Due,
}

/// What a listener wants to hear of.
#[derive(Debug, Clone, Default)]
pub(super) struct Wants {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
    pub(super) addresses: HashSet<String>,
}

/// What a listener has to be told. No larger than what they want.
#[derive(Debug, Default, PartialEq, Eq)]
struct Due {
    tools: bool,
    prompts: bool,
    resources: bool,
    addresses: BTreeSet<String>,
}

/// One thing to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Notice {
    Tools,
    Prompts,
    Resources,
    Updated(String),
}

/// A line that is open until this is dropped.
#[derive(Debug)]
pub(super) struct OpenLine {
    all: Arc<Subscriptions>,
    number: u64,
    line: Arc<Line>,
}

impl Subscriptions {
    /// Nobody listens yet.
    pub fn new(limits: SubscriptionLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Tells whoever wants to know that the list of tools is another.
    pub fn tools_changed(&self) {
        self.tell(|wants, due| due.tools |= wants.tools);
    }

    /// Tells whoever wants to know that the list of prompts is another.
    pub fn prompts_changed(&self) {
        self.tell(|wants, due| due.prompts |= wants.prompts);
    }

    /// Tells whoever wants to know that the list of resources is another.
    pub fn resources_changed(&self) {
        self.tell(|wants, due| due.resources |= wants.resources);
    }

    /// Tells whoever wants to know that something reads differently now.
    pub fn updated(&self, uri: &str) {
        self.touched(&[Touched::Resource(uri.to_owned())]);
    }

    /// Ends every open `subscriptions/listen` in good order; for a server that stops.
    pub fn close(&self) {
        self.closed.cancel();
    }

    /// How many listen now.
    pub fn listeners(&self) -> usize {
        self.lines().open.len()
    }

    pub(super) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    pub(super) fn limits(&self) -> SubscriptionLimits {
        self.limits
    }

    /// A new line; `None` if there are too many.
    pub(super) fn open(self: &Arc<Self>, wants: Wants) -> Option<OpenLine> {
        let line = Arc::new(Line::default());
        line.state().wants = wants;
        let mut lines = self.lines();
        if lines.open.len() >= self.limits.lines {
            return None;
        }
        let number = lines.next;
        lines.next += 1;
        lines.open.insert(number, line.clone());
        drop(lines);
        let all = self.clone();
        Some(OpenLine { all, number, line })
    }

    fn touched(&self, touched: &[Touched]) {
        self.tell(|wants, due| {
            for one in touched {
                match one {
                    Touched::List => due.resources |= wants.resources,
                    Touched::Resource(uri) => {
                        if wants.addresses.contains(uri) {
                            due.addresses.insert(uri.clone());
                        }
                    }
                    Touched::Under(start) => {
                        let under = wants.addresses.iter().filter(|uri| uri.starts_with(start));
                        due.addresses.extend(under.cloned());
                    }
                }
            }
        });
    }

    fn tell(&self, note: impl Fn(&Wants, &mut Due)) {
        let open: Vec<Arc<Line>> = self.lines().open.values().cloned().collect();
        for line in open {
            let mut state = line.state();
            let State { wants, due } = &mut *state;
            note(wants, due);
            let rings = *due != Due::default();
            drop(state);
            if rings {
                line.bell.notify_one();
            }
        }
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener for Subscriptions {
    fn hear(&self, event: Event<'_>) {
        if let Event::Touched(touched) = event {
            self.touched(touched);
        }
    }
}

impl OpenLine {
    pub(super) fn line(&self) -> Arc<Line> {
        self.line.clone()
    }
}

impl Drop for OpenLine {
    fn drop(&mut self) {
        self.all.lines().open.remove(&self.number);
    }
}

impl Line {
    /// Asks for the lists that change seldom.
    pub(super) fn want_lists(&self) {
        let wants = &mut self.state().wants;
        (wants.tools, wants.prompts) = (true, true);
    }

    /// Asks for the list of resources.
    pub(super) fn want_resources(&self) {
        self.state().wants.resources = true;
    }

    /// Asks for an address; false if it has `most` already.
    pub(super) fn want(&self, uri: String, most: usize) -> bool {
        let addresses = &mut self.state().wants.addresses;
        if addresses.len() >= most && !addresses.contains(&uri) {
            return false;
        }
        addresses.insert(uri);
        true
    }

    /// No longer asks for an address. What was due of it is not told either.
    pub(super) fn leave(&self, uri: &str) {
        let mut state = self.state();
        state.wants.addresses.remove(uri);
        state.due.addresses.remove(uri);
    }

    /// Waits until something is due.
    pub(super) async fn due(&self) -> Vec<Notice> {
        loop {
            let due = std::mem::take(&mut self.state().due);
            let notices = due.notices();
            if !notices.is_empty() {
                return notices;
            }
            self.bell.notified().await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Due {
    fn notices(self) -> Vec<Notice> {
        let lists = [
            (self.tools, Notice::Tools),
            (self.prompts, Notice::Prompts),
            (self.resources, Notice::Resources),
        ];
        let lists = lists.into_iter().filter(|(due, _)| *due);
        let updates = self.addresses.into_iter().map(Notice::Updated);
        lists.map(|(_, notice)| notice).chain(updates).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanting(address: &str) -> Wants {
        Wants {
            addresses: HashSet::from([address.to_owned()]),
            ..Wants::default()
        }
    }

    #[tokio::test]
    async fn a_burst_is_told_once_and_the_last_change_is_told() {
        let all = Arc::new(Subscriptions::default());
        let open = all.open(wanting("x:a")).unwrap();
        let line = open.line();
        for _ in 0..1_000 {
            all.updated("x:a");
            all.updated("x:b");
        }
        assert_eq!(line.due().await, [Notice::Updated("x:a".to_owned())]);
        assert_eq!(line.state().due, Due::default());
        all.updated("x:a");
        assert_eq!(line.due().await, [Notice::Updated("x:a".to_owned())]);
    }

    #[tokio::test]
    async fn what_lies_under_an_address_is_told_where_it_is_wanted() {
        let all = Arc::new(Subscriptions::default());
        let open = all.open(wanting("x:a/b")).unwrap();
        all.hear(Event::Touched(&[
            Touched::Under("x:a/".to_owned()),
            Touched::List,
        ]));
        assert_eq!(
            open.line().due().await,
            [Notice::Updated("x:a/b".to_owned())]
        );
    }

    #[test]
    fn lines_are_counted_and_let_go() {
        let all = Arc::new(Subscriptions::new(SubscriptionLimits {
            lines: 2,
            addresses: 1,
        }));
        let (first, second) = (all.open(Wants::default()), all.open(Wants::default()));
        assert!(first.is_some() && all.open(Wants::default()).is_none());
        drop(first);
        let third = all.open(Wants::default()).unwrap();
        assert!(third.line().want("x:a".to_owned(), 1));
        assert!(third.line().want("x:a".to_owned(), 1));
        assert!(!third.line().want("x:b".to_owned(), 1));
        drop((second, third));
        assert_eq!(all.listeners(), 0);
    }
}
