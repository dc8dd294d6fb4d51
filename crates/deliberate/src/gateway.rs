//! Servers that are written down to a gateway that reaches them, and its changes to what clients
//! are told.

use std::sync::Arc;

use deliberate_adapter::config::Mistake;
use deliberate_gateway::{Gateway, GatewayOptions, GatewayServer, ServerPages};
use deliberate_server::Subscriptions;
use deliberate_store::Store;
use deliberate_toolkit::{Event, Listener as _};

use crate::servers::{Catalogue, Known, Logins};

/// The gateway to those of these servers that can be used, and why others can't. Connects to none
/// of them. `quiet` says that what is kept back is shown, so that it need not be logged.
pub(crate) fn to<'a>(
    servers: impl Iterator<Item = &'a Known>,
    logins: &Logins,
    store: Arc<dyn Store>,
    quiet: bool,
) -> (Arc<Gateway>, Vec<Mistake>) {
    let mut options = GatewayOptions::new(Vec::new(), store);
    options.quiet = quiet;
    let mut mistakes = Vec::new();
    for known in servers {
        match GatewayServer::from_listed(known.listed.clone()) {
            Ok(server) => options.servers.push(server),
            Err(error) => {
                let why = error.to_string();
                options.left_out.insert(known.name().to_owned(), why);
                mistakes.extend(error.mistakes);
            }
        }
    }
    let (gateway, more) = Gateway::of_usable(options, |server, handler| {
        logins.client(&server.config, handler)
    });
    mistakes.extend(more);
    (gateway, mistakes)
}

/// The gateway that clients use, if there is anything behind it: other servers are no reason not to
/// serve.
pub(crate) fn for_clients(
    catalogue: &Catalogue,
    store: &Arc<dyn Store>,
    subscriptions: &Arc<Subscriptions>,
) -> Option<Arc<Gateway>> {
    catalogue.on().next()?;
    let (gateway, mistakes) = to(catalogue.on(), &catalogue.logins, store.clone(), false);
    for mistake in mistakes {
        let Mistake { place, what, .. } = mistake;
        tracing::warn!("a server is not used as it is written: {place}: {what}");
    }
    let told = subscriptions.clone();
    gateway.on_change(Box::new(move || tell(&told)));
    Some(gateway)
}

/// Tells clients that there are other tools now, and that the pages of the servers read so.
fn tell(subscriptions: &Subscriptions) {
    subscriptions.tools_changed();
    subscriptions.hear(Event::Touched(&ServerPages::touched()));
}
