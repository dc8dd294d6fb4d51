//! Subscriptions of a connection, for both eras of the protocol, and the sending of notifications.
//!
//! Clients of the handshake revisions subscribe to URIs one by one on a connection; newer ones open
//! a `subscriptions/listen` request that names everything. Both become a subscriber of
//! [`Subscriptions`], which ends with the connection or the request.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use deliberate_toolkit::Registry;
use rmcp::{
    ErrorData, Peer, RoleServer,
    model::{ResourceUpdatedNotificationParam, SubscribeRequestParams, SubscriptionFilter},
    service::{RequestContext, SubscriptionContext, SubscriptionSink},
};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::{ChangeNotification, Subscriber, SubscriberGuard, SubscriberInterests, Subscriptions};
use crate::mcp::catalog::{
    caller_context,
    error::{not_subscribable, server_busy},
    resources::{check_readable, may_see_any},
};

/// The pause after a notification; changes in the meantime are sent together.
const BATCH_WINDOW: Duration = Duration::from_millis(100);

/// The subscriptions of one connection. A clone belongs to another connection: the SDK moves a
/// handler into each connection and drops it with the connection.
#[derive(Debug, Default)]
pub(crate) struct ConnectionSubscriptions {
    subscription: Mutex<Option<PeerSubscription>>,
    /// Whether the client has requested the list of resources.
    has_listed_resources: AtomicBool,
    ending: CancellationToken,
}

impl Clone for ConnectionSubscriptions {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// The subscription of a handshake client, until this is dropped.
#[derive(Debug)]
struct PeerSubscription {
    guard: SubscriberGuard,
    task: AbortHandle,
}

impl Drop for PeerSubscription {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ConnectionSubscriptions {
    /// Cancelled by a transport whose input has ended: requests that only listen end, so that they
    /// do not delay the shutdown.
    pub(crate) fn input_ended(&self) -> CancellationToken {
        self.ending.clone()
    }

    /// Subscribes an initialized client to changes of the lists.
    pub(crate) fn on_initialized(&self, all: &Arc<Subscriptions>, peer: &Peer<RoleServer>) {
        if let Some(line) = self.subscriber(all, peer) {
            line.watch_lists();
            if self.has_listed_resources.load(Ordering::Acquire) {
                line.watch_resource_list();
            }
        }
    }

    /// Subscribes the client to changes of the resource list. Every new session changes this list,
    /// so only clients that have requested it are notified.
    pub(crate) fn on_resources_listed(&self) {
        self.has_listed_resources.store(true, Ordering::Release);
        let open = self
            .subscription
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(told) = open.as_ref() {
            told.guard.subscriber().watch_resource_list();
        }
    }

    /// Subscribes to changes of a resource.
    pub(crate) fn subscribe(
        &self,
        all: &Arc<Subscriptions>,
        registry: &Registry,
        request: SubscribeRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        check_readable(registry, &request.uri, &caller_context(context))?;
        if !is_subscribable(registry, &request.uri) {
            return Err(not_subscribable(&request.uri));
        }
        let Some(line) = self.subscriber(all, &context.peer) else {
            return Err(too_many_subscribers());
        };
        let most = all.limits().uris;
        if line.watch_uri(request.uri, most) {
            return Ok(());
        }
        let text =
            format!("a connection may subscribe to at most {most} URIs; unsubscribe from some");
        Err(server_busy(text))
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        let open = self
            .subscription
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(told) = open.as_ref() {
            told.guard.subscriber().unwatch_uri(uri);
        }
    }

    /// The subscriber of this connection, created on first use.
    fn subscriber(
        &self,
        all: &Arc<Subscriptions>,
        peer: &Peer<RoleServer>,
    ) -> Option<Arc<Subscriber>> {
        let mut slot = self
            .subscription
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if slot.is_none() {
            let open = all.subscribe(SubscriberInterests::default())?;
            let (line, outlet) = (open.subscriber(), NotificationSink::Peer(peer.clone()));
            let task =
                tokio::spawn(async move { send_notifications(&line, outlet).await }).abort_handle();
            *slot = Some(PeerSubscription { guard: open, task });
        }
        slot.as_ref().map(|told| told.guard.subscriber())
    }
}

/// Tells whether a resource supports subscriptions.
fn is_subscribable(registry: &Registry, uri: &str) -> bool {
    let mut families = registry.resources();
    families.any(|family| family.matches(uri) && family.supports_subscriptions())
}

/// The accepted part of a filter: subscribable URIs up to the limit.
pub(crate) fn accepted_filter(
    all: &Subscriptions,
    registry: &Registry,
    requested: &SubscriptionFilter,
) -> SubscriptionFilter {
    let mut accepted = requested.clone();
    if let Some(addresses) = &mut accepted.resource_subscriptions {
        addresses.truncate(all.limits().uris);
        addresses.retain(|uri| is_subscribable(registry, uri));
    }
    accepted
}

/// Serves a `subscriptions/listen` request until the client ends it or the server stops.
pub(crate) async fn listen(
    all: &Arc<Subscriptions>,
    registry: &Registry,
    connection: &ConnectionSubscriptions,
    context: SubscriptionContext,
) -> Result<(), ErrorData> {
    let filter = context.accepted();
    let caller = caller_context(context.request_context());
    let addresses = filter.resource_subscriptions.iter().flatten();
    let wants = SubscriberInterests {
        tools: filter.tools_list_changed == Some(true),
        prompts: filter.prompts_list_changed == Some(true),
        // A principal that may see no resources is not notified of new ones.
        resources: filter.resources_list_changed == Some(true)
            && may_see_any(registry, &caller.principal),
        uris: addresses
            .filter(|uri| check_readable(registry, uri, &caller).is_ok())
            .cloned()
            .collect(),
    };
    let open = all.subscribe(wants).ok_or_else(too_many_subscribers)?;
    let line = open.subscriber();
    let ending = connection.input_ended();
    tokio::select! {
        () = context.cancelled() => {}
        () = ending.cancelled() => {}
        () = all.wait_closed() => {}
        () = send_notifications(&line, NotificationSink::Sink(context.sink().clone())) => {}
    }
    Ok(())
}

fn too_many_subscribers() -> ErrorData {
    server_busy("too many clients are subscribed; try again later")
}

/// The destination of notifications.
enum NotificationSink {
    Peer(Peer<RoleServer>),
    Sink(SubscriptionSink),
}

/// Sends pending notifications until the client is gone.
async fn send_notifications(line: &Subscriber, outlet: NotificationSink) {
    loop {
        for notice in line.next_notifications().await {
            if !outlet.send(notice).await {
                return;
            }
        }
        tokio::time::sleep(BATCH_WINDOW).await;
    }
}

impl NotificationSink {
    /// Sends one notification. Returns false if the client is gone.
    async fn send(&self, notice: ChangeNotification) -> bool {
        match self {
            Self::Peer(peer) => match notice {
                ChangeNotification::Tools => peer.notify_tool_list_changed().await.is_ok(),
                ChangeNotification::Prompts => peer.notify_prompt_list_changed().await.is_ok(),
                ChangeNotification::Resources => peer.notify_resource_list_changed().await.is_ok(),
                ChangeNotification::ResourceUpdated(uri) => {
                    let params = ResourceUpdatedNotificationParam::new(uri);
                    peer.notify_resource_updated(params).await.is_ok()
                }
            },
            Self::Sink(sink) => match notice {
                ChangeNotification::Tools => sink.notify_tool_list_changed().await.is_ok(),
                ChangeNotification::Prompts => sink.notify_prompt_list_changed().await.is_ok(),
                ChangeNotification::Resources => sink.notify_resource_list_changed().await.is_ok(),
                ChangeNotification::ResourceUpdated(uri) => {
                    sink.notify_resource_updated(uri).await.is_ok()
                }
            },
        }
    }
}
