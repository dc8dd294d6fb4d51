//! Subscribers to changes and their pending notifications.
//!
//! Every subscriber has its own pending set, which its own task sends, so that no call waits for a
//! client to read. Several changes of one resource before the sending become one notification; the
//! last change is never lost. This module knows subscribers and URIs, not the protocol.

pub(crate) mod connection;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use deliberate_toolkit::{CallEvent, CallListener, ResourceChange};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Limits of subscriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubscriptionLimits {
    /// The largest number of subscribers.
    pub subscribers: usize,
    /// The largest number of URIs per subscriber.
    pub uris: usize,
}

impl Default for SubscriptionLimits {
    fn default() -> Self {
        Self {
            subscribers: 4_096,
            uris: 1_000,
        }
    }
}

/// All subscribers. The dispatcher reports changes (`Registry::heard_by`), which are passed on to
/// the interested subscribers.
#[derive(Debug, Default)]
pub struct Subscriptions {
    limits: SubscriptionLimits,
    subscribers: Mutex<SubscriberMap>,
    closed: CancellationToken,
}

#[derive(Debug, Default)]
struct SubscriberMap {
    next_id: u64,
    by_id: HashMap<u64, Arc<Subscriber>>,
}

/// The interests and pending notifications of one subscriber.
#[derive(Debug, Default)]
pub(super) struct Subscriber {
    state: Mutex<SubscriberState>,
    notify: Notify,
}

#[derive(Debug, Default)]
struct SubscriberState {
    interests: SubscriberInterests,
    pending: PendingNotifications,
}

/// The interests of a subscriber.
#[derive(Debug, Clone, Default)]
pub(super) struct SubscriberInterests {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
    pub(super) uris: HashSet<String>,
}

/// The pending notifications of a subscriber. They are never more than its interests.
#[derive(Debug, Default, PartialEq, Eq)]
struct PendingNotifications {
    tools: bool,
    prompts: bool,
    resources: bool,
    uris: BTreeSet<String>,
}

/// A notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChangeNotification {
    Tools,
    Prompts,
    Resources,
    ResourceUpdated(String),
}

/// Removes the subscriber when dropped.
#[derive(Debug)]
pub(super) struct SubscriberGuard {
    hub: Arc<Subscriptions>,
    id: u64,
    subscriber: Arc<Subscriber>,
}

impl Subscriptions {
    pub fn new(limits: SubscriptionLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Notifies subscribers of a change of the tool list.
    pub fn tools_changed(&self) {
        self.notify_subscribers(|wants, due| due.tools |= wants.tools);
    }

    /// Notifies subscribers of a change of the prompt list.
    pub fn prompts_changed(&self) {
        self.notify_subscribers(|wants, due| due.prompts |= wants.prompts);
    }

    /// Notifies subscribers of a change of the resource list.
    pub fn resources_changed(&self) {
        self.notify_subscribers(|wants, due| due.resources |= wants.resources);
    }

    /// Notifies subscribers of a change of a resource.
    pub fn resource_updated(&self, uri: &str) {
        self.notify_changes(&[ResourceChange::Resource(uri.to_owned())]);
    }

    /// Ends every open `subscriptions/listen` properly when the server stops.
    pub fn close(&self) {
        self.closed.cancel();
    }

    pub fn subscriber_count(&self) -> usize {
        self.lock_subscribers().by_id.len()
    }

    pub(super) async fn wait_closed(&self) {
        self.closed.cancelled().await;
    }

    pub(super) fn limits(&self) -> SubscriptionLimits {
        self.limits
    }

    /// Adds a subscriber; `None` if there are too many.
    pub(super) fn subscribe(
        self: &Arc<Self>,
        wants: SubscriberInterests,
    ) -> Option<SubscriberGuard> {
        let line = Arc::new(Subscriber::default());
        line.lock_state().interests = wants;
        let mut lines = self.lock_subscribers();
        if lines.by_id.len() >= self.limits.subscribers {
            return None;
        }
        let number = lines.next_id;
        lines.next_id += 1;
        lines.by_id.insert(number, line.clone());
        drop(lines);
        let all = self.clone();
        Some(SubscriberGuard {
            hub: all,
            id: number,
            subscriber: line,
        })
    }

    fn notify_changes(&self, touched: &[ResourceChange]) {
        self.notify_subscribers(|wants, due| {
            for one in touched {
                match one {
                    ResourceChange::ListChanged => due.resources |= wants.resources,
                    ResourceChange::Resource(uri) => {
                        if wants.uris.contains(uri) {
                            due.uris.insert(uri.clone());
                        }
                    }
                    ResourceChange::Prefix(start) => {
                        let under = wants.uris.iter().filter(|uri| uri.starts_with(start));
                        due.uris.extend(under.cloned());
                    }
                }
            }
        });
    }

    fn notify_subscribers(&self, note: impl Fn(&SubscriberInterests, &mut PendingNotifications)) {
        let open: Vec<Arc<Subscriber>> = self.lock_subscribers().by_id.values().cloned().collect();
        for line in open {
            let mut state = line.lock_state();
            let SubscriberState {
                interests: wants,
                pending: due,
            } = &mut *state;
            note(wants, due);
            let rings = *due != PendingNotifications::default();
            drop(state);
            if rings {
                line.notify.notify_one();
            }
        }
    }

    fn lock_subscribers(&self) -> MutexGuard<'_, SubscriberMap> {
        self.subscribers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallListener for Subscriptions {
    fn on_event(&self, event: CallEvent<'_>) {
        if let CallEvent::ResourcesChanged(touched) = event {
            self.notify_changes(touched);
        }
    }
}

impl SubscriberGuard {
    pub(super) fn subscriber(&self) -> Arc<Subscriber> {
        self.subscriber.clone()
    }
}

impl Drop for SubscriberGuard {
    fn drop(&mut self) {
        self.hub.lock_subscribers().by_id.remove(&self.id);
    }
}

impl Subscriber {
    /// Subscribes to the lists of tools and prompts.
    pub(super) fn watch_lists(&self) {
        let wants = &mut self.lock_state().interests;
        (wants.tools, wants.prompts) = (true, true);
    }

    /// Subscribes to the list of resources.
    pub(super) fn watch_resource_list(&self) {
        self.lock_state().interests.resources = true;
    }

    /// Subscribes to a URI; returns false if the subscriber already has `most`.
    pub(super) fn watch_uri(&self, uri: String, most: usize) -> bool {
        let addresses = &mut self.lock_state().interests.uris;
        if addresses.len() >= most && !addresses.contains(&uri) {
            return false;
        }
        addresses.insert(uri);
        true
    }

    /// Unsubscribes from a URI and drops its pending notification.
    pub(super) fn unwatch_uri(&self, uri: &str) {
        let mut state = self.lock_state();
        state.interests.uris.remove(uri);
        state.pending.uris.remove(uri);
    }

    /// Waits for pending notifications and takes them.
    pub(super) async fn next_notifications(&self) -> Vec<ChangeNotification> {
        loop {
            let due = std::mem::take(&mut self.lock_state().pending);
            let notices = due.into_notifications();
            if !notices.is_empty() {
                return notices;
            }
            self.notify.notified().await;
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, SubscriberState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PendingNotifications {
    fn into_notifications(self) -> Vec<ChangeNotification> {
        let lists = [
            (self.tools, ChangeNotification::Tools),
            (self.prompts, ChangeNotification::Prompts),
            (self.resources, ChangeNotification::Resources),
        ];
        let lists = lists.into_iter().filter(|(due, _)| *due);
        let updates = self
            .uris
            .into_iter()
            .map(ChangeNotification::ResourceUpdated);
        lists.map(|(_, notice)| notice).chain(updates).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interested_in(address: &str) -> SubscriberInterests {
        SubscriberInterests {
            uris: HashSet::from([address.to_owned()]),
            ..SubscriberInterests::default()
        }
    }

    #[tokio::test]
    async fn a_burst_is_told_once_and_the_last_change_is_told() {
        let all = Arc::new(Subscriptions::default());
        let open = all.subscribe(interested_in("x:a")).unwrap();
        let line = open.subscriber();
        for _ in 0..1_000 {
            all.resource_updated("x:a");
            all.resource_updated("x:b");
        }
        assert_eq!(
            line.next_notifications().await,
            [ChangeNotification::ResourceUpdated("x:a".to_owned())]
        );
        assert_eq!(line.lock_state().pending, PendingNotifications::default());
        all.resource_updated("x:a");
        assert_eq!(
            line.next_notifications().await,
            [ChangeNotification::ResourceUpdated("x:a".to_owned())]
        );
    }

    #[tokio::test]
    async fn what_lies_under_an_address_is_told_where_it_is_wanted() {
        let all = Arc::new(Subscriptions::default());
        let open = all.subscribe(interested_in("x:a/b")).unwrap();
        all.on_event(CallEvent::ResourcesChanged(&[
            ResourceChange::Prefix("x:a/".to_owned()),
            ResourceChange::ListChanged,
        ]));
        assert_eq!(
            open.subscriber().next_notifications().await,
            [ChangeNotification::ResourceUpdated("x:a/b".to_owned())]
        );
    }

    #[test]
    fn lines_are_counted_and_let_go() {
        let all = Arc::new(Subscriptions::new(SubscriptionLimits {
            subscribers: 2,
            uris: 1,
        }));
        let (first, second) = (
            all.subscribe(SubscriberInterests::default()),
            all.subscribe(SubscriberInterests::default()),
        );
        assert!(first.is_some() && all.subscribe(SubscriberInterests::default()).is_none());
        drop(first);
        let third = all.subscribe(SubscriberInterests::default()).unwrap();
        assert!(third.subscriber().watch_uri("x:a".to_owned(), 1));
        assert!(third.subscriber().watch_uri("x:a".to_owned(), 1));
        assert!(!third.subscriber().watch_uri("x:b".to_owned(), 1));
        drop((second, third));
        assert_eq!(all.subscriber_count(), 0);
    }
}
