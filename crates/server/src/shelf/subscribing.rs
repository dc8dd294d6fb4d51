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

use super::{
    caller,
    error::{busy, nothing_told},
    resources::{may_read, sees_some},
    subscriptions::{Line, Notice, OpenLine, Subscriptions, Wants},
};

/// How long a listener is left in peace after it was told something; what changes meanwhile is
/// told together.
const PAUSE: Duration = Duration::from_millis(100);

/// What belongs to one connection. A clone belongs to another: the SDK moves a face into each
/// connection it serves, and drops it with the connection.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    open: Mutex<Option<Told>>,
    /// Whether the client has looked at the list of resources.
    listed: AtomicBool,
    ending: CancellationToken,
}

impl Clone for Connection {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// An older client that is told of changes until this is dropped.
#[derive(Debug)]
struct Told {
    open: OpenLine,
    task: AbortHandle,
}

impl Drop for Told {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Connection {
    /// Cancelled by a transport whose input has ended: whoever only listens is let go, so that
    /// they hold up nothing.
    pub(crate) fn ending(&self) -> CancellationToken {
        self.ending.clone()
    }

    /// The client is ready: it hears when a list is another.
    pub(crate) fn ready(&self, all: &Arc<Subscriptions>, peer: &Peer<RoleServer>) {
        if let Some(line) = self.line(all, peer) {
            line.want_lists();
            if self.listed.load(Ordering::Acquire) {
                line.want_resources();
            }
        }
    }

    /// The client looks at the list of resources. Every session that begins makes it another, so
    /// only those hear of it who have looked.
    pub(crate) fn listed(&self) {
        self.listed.store(true, Ordering::Release);
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(told) = open.as_ref() {
            told.open.line().want_resources();
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
        may_read(registry, &request.uri, &caller(context))?;
        if !is_told(registry, &request.uri) {
            return Err(nothing_told(&request.uri));
        }
        let Some(line) = self.line(all, &context.peer) else {
            return Err(too_many_lines());
        };
        let most = all.limits().addresses;
        if line.want(request.uri, most) {
            return Ok(());
        }
        let text = format!("a connection may subscribe to {most} addresses; unsubscribe from some");
        Err(busy(text))
    }

    /// The client no longer wants to.
    pub(crate) fn unsubscribe(&self, uri: &str) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(told) = open.as_ref() {
            told.open.line().leave(uri);
        }
    }

    /// The line of this connection, opened when it is first needed.
    fn line(&self, all: &Arc<Subscriptions>, peer: &Peer<RoleServer>) -> Option<Arc<Line>> {
        let mut slot = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.is_none() {
            let open = all.open(Wants::default())?;
            let (line, outlet) = (open.line(), Outlet::Peer(peer.clone()));
            let task = tokio::spawn(async move { tell(&line, outlet).await }).abort_handle();
            *slot = Some(Told { open, task });
        }
        slot.as_ref().map(|told| told.open.line())
    }
}

/// Whether anybody is told when what stands at that address changes.
fn is_told(registry: &Registry, uri: &str) -> bool {
    let mut families = registry.resources();
    families.any(|family| family.knows(uri) && family.tells_of_changes())
}

/// What of a filter is taken: addresses of which something is told, as many as one may ask for.
pub(crate) fn accepted(
    all: &Subscriptions,
    registry: &Registry,
    requested: &SubscriptionFilter,
) -> SubscriptionFilter {
    let mut accepted = requested.clone();
    if let Some(addresses) = &mut accepted.resource_subscriptions {
        addresses.truncate(all.limits().addresses);
        addresses.retain(|uri| is_told(registry, uri));
    }
    accepted
}

/// Tells a newer client what it asked for until it leaves or the server stops.
pub(crate) async fn listen(
    all: &Arc<Subscriptions>,
    registry: &Registry,
    connection: &Connection,
    context: SubscriptionContext,
) -> Result<(), ErrorData> {
    let filter = context.accepted();
    let caller = caller(context.request_context());
    let addresses = filter.resource_subscriptions.iter().flatten();
    let wants = Wants {
        tools: filter.tools_list_changed == Some(true),
        prompts: filter.prompts_list_changed == Some(true),
        // Who may see none is not told when there are others.
        resources: filter.resources_list_changed == Some(true)
            && sees_some(registry, &caller.principal),
        addresses: addresses
            .filter(|uri| may_read(registry, uri, &caller).is_ok())
            .cloned()
            .collect(),
    };
    let open = all.open(wants).ok_or_else(too_many_lines)?;
    let line = open.line();
    let ending = connection.ending();
    tokio::select! {
        () = context.cancelled() => {}
        () = ending.cancelled() => {}
        () = all.closed() => {}
        () = tell(&line, Outlet::Sink(context.sink().clone())) => {}
    }
    Ok(())
}

fn too_many_lines() -> ErrorData {
    busy("too many clients listen already; try again later")
}

/// Where notices go.
enum Outlet {
    Peer(Peer<RoleServer>),
    Sink(SubscriptionSink),
}

/// Sends what is due until nobody can hear it any more.
async fn tell(line: &Line, outlet: Outlet) {
    loop {
        for notice in line.due().await {
            if !outlet.send(notice).await {
                return;
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

impl Outlet {
    /// False if the other side has gone.
    async fn send(&self, notice: Notice) -> bool {
        match self {
            Self::Peer(peer) => match notice {
                Notice::Tools => peer.notify_tool_list_changed().await.is_ok(),
                Notice::Prompts => peer.notify_prompt_list_changed().await.is_ok(),
                Notice::Resources => peer.notify_resource_list_changed().await.is_ok(),
                Notice::Updated(uri) => {
                    let params = ResourceUpdatedNotificationParam::new(uri);
                    peer.notify_resource_updated(params).await.is_ok()
                }
            },
            Self::Sink(sink) => match notice {
                Notice::Tools => sink.notify_tool_list_changed().await.is_ok(),
                Notice::Prompts => sink.notify_prompt_list_changed().await.is_ok(),
                Notice::Resources => sink.notify_resource_list_changed().await.is_ok(),
                Notice::Updated(uri) => sink.notify_resource_updated(uri).await.is_ok(),
            },
        }
    }
}
