//! How a client subscribes, in both eras, and how it is told.
//!
//! Older clients subscribe to addresses one by one, on a connection that lives; newer ones open
//! a `subscriptions/listen` request that names all they want. Either way a line is opened among
//! the [`Subscriptions`], and closed with the connection or the request.

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

/// How long a listener is left in peace after it was told something; what changes meanwhile is
/// told together.
const BATCH_WINDOW: Duration = Duration::from_millis(100);

/// What belongs to one connection. A clone belongs to another: the SDK moves a face into each
/// connection it serves, and drops it with the connection.
#[derive(Debug, Default)]
pub(crate) struct ConnectionSubscriptions {
    subscription: Mutex<Option<PeerSubscription>>,
    /// Whether the client has looked at the list of resources.
    has_listed_resources: AtomicBool,
    ending: CancellationToken,
}

impl Clone for ConnectionSubscriptions {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// An older client that is told of changes until this is dropped.
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
    /// Cancelled by a transport whose input has ended: whoever only listens is let go, so that
    /// they hold up nothing.
    pub(crate) fn input_ended(&self) -> CancellationToken {
        self.ending.clone()
    }

    /// The client is ready: it hears when a list is another.
    pub(crate) fn on_initialized(&self, all: &Arc<Subscriptions>, peer: &Peer<RoleServer>) {
        if let Some(line) = self.subscriber(all, peer) {
            line.watch_lists();
            if self.has_listed_resources.load(Ordering::Acquire) {
                line.watch_resource_list();
            }
        }
    }

    /// The client looks at the list of resources. Every session that begins makes it another, so
    /// only those hear of it who have looked.
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

    /// The client wants to hear when this reads differently.
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
        let text = format!("a connection may subscribe to {most} addresses; unsubscribe from some");
        Err(server_busy(text))
    }

    /// The client no longer wants to.
    pub(crate) fn unsubscribe(&self, uri: &str) {
        let open = self
            .subscription
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(told) = open.as_ref() {
            told.guard.subscriber().unwatch_uri(uri);
        }
    }

    /// The line of this connection, opened when it is first needed.
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

/// Whether anybody is told when what stands at that address changes.
fn is_subscribable(registry: &Registry, uri: &str) -> bool {
    let mut families = registry.resources();
    families.any(|family| family.matches(uri) && family.supports_subscriptions())
}

/// What of a filter is taken: addresses of which something is told, as many as one may ask for.
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

/// Tells a newer client what it asked for until it leaves or the server stops.
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
        // Who may see none is not told when there are others.
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
    server_busy("too many clients listen already; try again later")
}

/// Where notices go.
enum NotificationSink {
    Peer(Peer<RoleServer>),
    Sink(SubscriptionSink),
}

/// Sends what is due until nobody can hear it any more.
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
    /// False if the other side has gone.
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
