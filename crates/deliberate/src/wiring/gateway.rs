//! Servers that are written down to a gateway that reaches them, and its changes to what clients
//! are told.

use std::sync::Arc;

use deliberate_adapter::config::ConfigProblem;
use deliberate_gateway::{Gateway, GatewayOptions, GatewayServer, ServerResources};
use deliberate_server::Subscriptions;
use deliberate_store::Store;
use deliberate_toolkit::{CallEvent, CallListener as _};

use crate::servers::{OAuthLogins, ServerCatalog, ServerDefinition};

/// The gateway to those of these servers that can be used, and why others can't. Connects to none
/// of them. `quiet` says that what is kept back is shown, so that it need not be logged.
pub(crate) fn build_gateway<'a>(
    servers: impl Iterator<Item = &'a ServerDefinition>,
    logins: &OAuthLogins,
    store: Arc<dyn Store>,
    quiet: bool,
) -> (Arc<Gateway>, Vec<ConfigProblem>) {
    let mut options = GatewayOptions::new(Vec::new(), store);
    options.quiet = quiet;
    let mut mistakes = Vec::new();
    for known in servers {
        match GatewayServer::from_configured(known.server.clone()) {
            Ok(server) => options.servers.push(server),
            Err(error) => {
                let why = error.to_string();
                options.excluded.insert(known.name().to_owned(), why);
                mistakes.extend(error.problems);
            }
        }
    }
    let (gateway, more) = Gateway::with_usable_servers(options, |server, handler| {
        logins.build_client(&server.config, handler)
    });
    mistakes.extend(more);
    (gateway, mistakes)
}

/// The gateway that clients use, if there is anything behind it: other servers are no reason not to
/// serve.
pub(crate) fn build_client_gateway(
    catalogue: &ServerCatalog,
    store: &Arc<dyn Store>,
    subscriptions: &Arc<Subscriptions>,
) -> Option<Arc<Gateway>> {
    catalogue.enabled().next()?;
    let (gateway, mistakes) =
        build_gateway(catalogue.enabled(), &catalogue.logins, store.clone(), false);
    for mistake in mistakes {
        let ConfigProblem {
            path: place,
            message: what,
            ..
        } = mistake;
        tracing::warn!("a server is not used as it is written: {place}: {what}");
    }
    let told = subscriptions.clone();
    gateway.on_change(Box::new(move || notify_clients(&told)));
    Some(gateway)
}

/// Tells clients that there are other tools now, and that the pages of the servers read so.
fn notify_clients(subscriptions: &Subscriptions) {
    subscriptions.tools_changed();
    subscriptions.on_event(CallEvent::ResourcesChanged(
        &ServerResources::resource_changes(),
    ));
}
