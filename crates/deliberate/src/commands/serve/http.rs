//! Starts the HTTP server with the settings.

use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

use anyhow::{Context, bail};
use deliberate_gateway::{Gateway, UpstreamConnection};
use deliberate_server::http::{
    HttpOptions, HttpServer, HttpServerDeps, SessionOptions, StreamableHttpOptions,
    auth::{Access, ResourceServer, ResourceServerOptions, SharedTokens},
    guard::GuardOptions,
    health::{
        Health, HealthSource, ProviderHealth, ProviderState, ServerPhase, UpstreamHealth,
        UpstreamState,
    },
    listener::ListenerOptions,
    sse::SseOptions,
};

use super::{
    DeliberateServer,
    http_exposure::{
        connections_per_client, is_foreign, is_public, limit_options, plain_http_warning,
        sessions_per_client,
    },
    http_tokens::read_tokens,
};
use crate::{
    config::{self, AppSettings, LoadedConfig},
    providers::ProviderSelector,
};

/// Starts listening.
pub(super) async fn start(
    deliberate_server: &DeliberateServer,
    address: SocketAddr,
    loaded: &LoadedConfig,
) -> anyhow::Result<HttpServer> {
    let settings = &loaded.settings;
    check_settings(settings)?;
    let access = build_access(address, loaded, &deliberate_server.tokens)?;
    check_exposure(access.is_open(), &settings.http)?;
    if let Some(warning) = plain_http_warning(address, &settings.http) {
        tracing::warn!("{warning}");
    }
    let parts = HttpServerDeps {
        registry: deliberate_server.registry.clone(),
        metrics: deliberate_server.app.metrics.clone(),
        health: Arc::new(build_health(deliberate_server)),
        progress: deliberate_server.app.progress.clone(),
    };
    let handler = deliberate_server.handler.clone();
    let make = move || handler.for_connection();
    let http = HttpServer::bind(make, parts, access, http_options(address, settings)).await;
    http.map_err(Into::into)
}

/// Rejects a server without authentication that other machines reach through a proxy.
pub(super) fn check_exposure(
    is_open: bool,
    http: &config::HttpServerSettings,
) -> anyhow::Result<()> {
    if is_open && is_public(http.public_url.as_deref()) {
        bail!(
            "http.public_url makes the server reachable from other machines, so access must be \
             restricted; set http.token, http.tokens_file or oauth.issuer"
        );
    }
    let foreign = http.allowed_hosts.iter().find(|host| is_foreign(host));
    if let (true, Some(host)) = (is_open, foreign) {
        bail!(
            "http.allowed_hosts names {host:?}, so requests come through a proxy or from other \
             machines, and access must be restricted; set http.token, http.tokens_file or \
             oauth.issuer"
        );
    }
    Ok(())
}

pub(super) fn guard_options(address: SocketAddr, settings: &AppSettings) -> GuardOptions {
    let http = &settings.http;
    GuardOptions {
        bind: address.ip(),
        allowed_hosts: allowed_hosts(http),
        allowed_origins: http.allowed_origins.clone(),
        body_bytes: settings.limits.line_bytes,
        limits: limit_options(address, http),
        ..GuardOptions::default()
    }
}

fn http_options(address: SocketAddr, settings: &AppSettings) -> HttpOptions {
    let (http, body_bytes) = (&settings.http, settings.limits.line_bytes);
    HttpOptions {
        address,
        guard: guard_options(address, settings),
        listener: ListenerOptions {
            connections: http.connections,
            connections_per_client: connections_per_client(address, http),
            grace: settings.limits.shutdown + super::CANCEL_GRACE,
            ..ListenerOptions::default()
        },
        mcp: StreamableHttpOptions {
            body_bytes,
            sessions: http.sessions.then_some(SessionOptions {
                max_sessions: http.max_sessions,
                idle_timeout: http.session_idle,
            }),
        },
        sse: http.sse.then(|| SseOptions {
            sessions: http.max_sessions,
            sessions_per_owner: sessions_per_client(address, http),
            ..SseOptions::default()
        }),
    }
}

/// Rejects settings that could never have an effect.
pub(super) fn check_settings(settings: &AppSettings) -> anyhow::Result<()> {
    for origin in &settings.http.allowed_origins {
        let parsed = url::Url::parse(origin).ok();
        if parsed.is_none_or(|url| url.origin().ascii_serialization() != *origin) {
            bail!(
                "http.allowed_origins: {origin:?} is not an origin; write it as browsers do, such \
                 as https://app.example.org"
            );
        }
    }
    for host in &settings.http.allowed_hosts {
        let authority = host.parse::<http::uri::Authority>();
        if authority.is_err() || host.contains(['*', '@', '/']) {
            bail!(
                "http.allowed_hosts: {host:?} is not a host; write a name with or without a port, \
                 such as think.example.org"
            );
        }
    }
    let oauth = &settings.oauth;
    let rest = [&oauth.audience, &oauth.jwks_url, &oauth.scope];
    if oauth.issuer.is_none() && rest.into_iter().any(Option::is_some) {
        bail!("the other oauth settings have no effect without oauth.issuer; set it");
    }
    for root in &settings.resources.roots {
        if !root.is_dir() {
            tracing::warn!(root = %root.display(), "this folder does not exist; no files are served from it");
        }
    }
    Ok(())
}

/// The host of the public URL is always allowed.
fn allowed_hosts(http: &config::HttpServerSettings) -> Vec<String> {
    let public = http
        .public_url
        .as_deref()
        .and_then(|url| url::Url::parse(url).ok())
        .and_then(|url| url.host_str().map(str::to_owned));
    let mut hosts = http.allowed_hosts.clone();
    hosts.extend(public);
    hosts
}

fn build_access(
    address: SocketAddr,
    loaded: &LoadedConfig,
    shared: &OnceLock<SharedTokens>,
) -> anyhow::Result<Access> {
    let mut access = Access::open();
    let settings = &loaded.settings;
    let http = &settings.http;
    if let Some(tokens) = read_tokens(loaded).context("the tokens cannot be used")? {
        access = access.with_tokens(shared.get_or_init(|| tokens.into()).clone());
    }
    if let Some(issuer) = settings.oauth.issuer.clone() {
        let base = http.public_url.clone();
        if base.is_none() && !address.ip().is_loopback() {
            bail!("oauth needs http.public_url, the https URL by which clients reach the server");
        }
        let base = base.unwrap_or_else(|| format!("http://{address}"));
        let server = ResourceServer::new(ResourceServerOptions {
            issuer,
            resource: format!("{}/mcp", base.trim_end_matches('/')),
            audience: settings.oauth.audience.clone(),
            jwks_url: settings.oauth.jwks_url.clone(),
            required_scope: settings.oauth.scope.clone(),
        })?;
        access = access.with_oauth(server);
    }
    Ok(access)
}

fn build_health(server: &DeliberateServer) -> Health {
    let (shutdown, states) = (server.shutdown.clone(), server.transport_states.clone());
    let selector = server.app.providers.clone();
    let gateway = server.app.gateway.clone();
    Health::new(HealthSource {
        registry: server.registry.clone(),
        phase: Box::new(move || {
            if shutdown.is_cancelled() {
                ServerPhase::Draining
            } else {
                ServerPhase::Serving
            }
        }),
        transports: Box::new(move || states.list()),
        servers: Box::new(move || gateway.as_deref().map(upstream_health).unwrap_or_default()),
        provider: Box::new(move || {
            let selector = selector.clone();
            Box::pin(async move { provider_health(&selector).await })
        }),
    })
}

fn upstream_health(gateway: &Gateway) -> Vec<UpstreamHealth> {
    let servers = gateway.server_statuses().into_iter();
    servers
        .map(|server| UpstreamHealth {
            name: server.server,
            state: match server.connection {
                UpstreamConnection::Idle => UpstreamState::Idle,
                UpstreamConnection::Connecting => UpstreamState::Connecting,
                UpstreamConnection::Connected => UpstreamState::Connected,
                UpstreamConnection::Failed => UpstreamState::Failed,
                UpstreamConnection::Excluded => UpstreamState::Excluded,
            },
            reason: server.reason,
            last_success: server.last_success,
            tools: server.tools,
            quarantined: server.quarantined,
        })
        .collect()
}

async fn provider_health(selector: &ProviderSelector) -> ProviderHealth {
    match selector.own_provider().await {
        Some(provider) => {
            let limited = provider.model.rate_limited_for();
            ProviderHealth {
                state: limited.map_or(ProviderState::Configured, |_| ProviderState::Limited),
                description: provider.description,
                retry_after_seconds: limited.map(|left| left.as_secs().max(1)),
            }
        }
        None => ProviderHealth {
            state: ProviderState::Client,
            description: "the client's own model".to_owned(),
            retry_after_seconds: None,
        },
    }
}
