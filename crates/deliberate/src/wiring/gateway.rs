//! Builds the gateway from the configured servers, and forwards its changes to clients.

use std::{collections::BTreeMap, sync::Arc};

use deliberate_gateway::{Gateway, GatewayOptions, GatewayServer, ServerResources};
use deliberate_mcp_client::config::ConfigProblem;
use deliberate_server::Subscriptions;
use deliberate_store::Store;
use deliberate_toolkit::{CallEvent, CallListener as _};

use crate::{
    config::{AppSettings, LoadedConfig},
    servers::{OAuthLogins, ServerCatalog, ServerDefinition},
};

/// Builds the gateway of a command to the valid ones of these servers. Connects to none. The command
/// displays quarantined tools, so they are not logged.
pub(crate) fn build_command_gateway<'a>(
    servers: impl Iterator<Item = &'a ServerDefinition>,
    logins: &OAuthLogins,
    store: Arc<dyn Store>,
) -> Arc<Gateway> {
    let (servers, excluded, _) = read_definitions(servers);
    let mut options = GatewayOptions::new(servers, store);
    options.quiet = true;
    options.excluded = excluded;
    open_gateway(options, logins).0
}

/// Opens a gateway to the usable servers, and returns the problems of the others.
fn open_gateway(
    options: GatewayOptions,
    logins: &OAuthLogins,
) -> (Arc<Gateway>, Vec<ConfigProblem>) {
    let logins = logins.clone();
    Gateway::with_usable_servers(options, move |server, handler| {
        logins.build_client(&server.config, handler)
    })
}

/// Returns the valid servers, the reasons why others are excluded, and all errors.
fn read_definitions<'a>(
    definitions: impl Iterator<Item = &'a ServerDefinition>,
) -> (
    Vec<GatewayServer>,
    BTreeMap<String, String>,
    Vec<ConfigProblem>,
) {
    let (mut servers, mut excluded, mut mistakes) = (Vec::new(), BTreeMap::new(), Vec::new());
    for known in definitions {
        match GatewayServer::from_configured(known.server.clone()) {
            Ok(server) => servers.push(server),
            Err(error) => {
                excluded.insert(known.name().to_owned(), error.to_string());
                mistakes.extend(error.problems);
            }
        }
    }
    (servers, excluded, mistakes)
}

/// Replaces the servers of a running gateway by those of the settings. Connections of servers that
/// are configured as before stay open.
pub(crate) async fn reload_servers(gateway: &Arc<Gateway>, loaded: &LoadedConfig) {
    let catalogue = ServerCatalog::read(loaded);
    for problem in &catalogue.problems {
        tracing::warn!("{problem}");
    }
    let (servers, excluded, mistakes) = read_definitions(catalogue.enabled());
    let report = gateway.reload(servers, excluded).await;
    for ConfigProblem { path, message, .. } in mistakes.iter().chain(&report.problems) {
        tracing::warn!("the definition of a server is invalid: {path}: {message}");
    }
    tracing::info!(
        added = ?report.added,
        changed = ?report.changed,
        removed = ?report.removed,
        "servers were reloaded"
    );
}

/// Builds the gateway for clients. There may be no servers yet: some may be added while this one
/// runs. Errors of upstream servers do not stop this one.
pub(crate) fn build_client_gateway(
    catalogue: &ServerCatalog,
    settings: &AppSettings,
    store: &Arc<dyn Store>,
    subscriptions: &Arc<Subscriptions>,
) -> Arc<Gateway> {
    let (servers, excluded, mut mistakes) = read_definitions(catalogue.enabled());
    let mut options = GatewayOptions::new(servers, store.clone());
    options.excluded = excluded;
    options.principal_share = settings.limits.principal_share;
    let (gateway, more) = open_gateway(options, &catalogue.logins);
    mistakes.extend(more);
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
    gateway
}

/// Notifies clients that the tools, and the resources of the servers, have changed.
fn notify_clients(subscriptions: &Subscriptions) {
    subscriptions.tools_changed();
    subscriptions.on_event(CallEvent::ResourcesChanged(
        &ServerResources::resource_changes(),
    ));
}
