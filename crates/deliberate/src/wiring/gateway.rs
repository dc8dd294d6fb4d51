//! Builds the gateway from the configured servers, and forwards its changes to clients.

use std::sync::Arc;

use deliberate_gateway::{Gateway, GatewayOptions, GatewayServer, ServerResources};
use deliberate_mcp_client::config::ConfigProblem;
use deliberate_server::Subscriptions;
use deliberate_store::Store;
use deliberate_toolkit::{CallEvent, CallListener as _};

use crate::servers::{OAuthLogins, ServerCatalog, ServerDefinition};

/// Builds the gateway to the valid ones of these servers, and returns the errors of the others.
/// Connects to none. `quiet` means that quarantined tools are displayed, so that they need not be
/// logged.
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

/// Builds the gateway for clients, if there are servers: errors of upstream servers do not stop
/// this one.
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
        tracing::warn!("the definition of a server is invalid: {place}: {what}");
    }
    let told = subscriptions.clone();
    gateway.on_change(Box::new(move || notify_clients(&told)));
    Some(gateway)
}

/// Notifies clients that the tools, and the resources of the servers, have changed.
fn notify_clients(subscriptions: &Subscriptions) {
    subscriptions.tools_changed();
    subscriptions.on_event(CallEvent::ResourcesChanged(
        &ServerResources::resource_changes(),
    ));
}
