//! HTTP as the settings want it.

use std::{net::SocketAddr, num::NonZeroU32, sync::Arc};

use anyhow::{Context, bail};
use deliberate_server::http::{
    Http, HttpOptions, HttpParts, McpOptions, SessionOptions,
    auth::{Access, OAuthOptions, ResourceServer, Tokens},
    guard::GuardOptions,
    health::{Health, HealthSource, Phase, ProviderHealth, ProviderState},
    limits::LimitOptions,
    listener::ListenerOptions,
    sse::SseOptions,
};

use super::House;
use crate::{
    config::{self, Settings},
    minds::Chooser,
};

/// Begins to listen.
pub(super) async fn start(
    house: &House,
    address: SocketAddr,
    settings: &Settings,
) -> anyhow::Result<Http> {
    check(settings)?;
    let access = access(address, settings)?;
    if access.is_open() && is_public(settings.http.public_url.as_deref()) {
        bail!(
            "http.public_url makes the server reachable beyond this machine, so it needs to know who \
             may come in; set http.token, http.tokens_file or oauth.issuer"
        );
    }
    let parts = HttpParts {
        registry: house.registry.clone(),
        metrics: house.wired.metrics.clone(),
        health: Arc::new(health(house)),
        progress: house.wired.progress.clone(),
    };
    let face = house.face.clone();
    let make = move || face.for_connection();
    let http = Http::bind(make, parts, access, options(address, settings)).await;
    http.map_err(Into::into)
}

/// Whether others are to reach this address, through another server if need be.
fn is_public(url: Option<&str>) -> bool {
    let url = url.and_then(|url| url::Url::parse(url).ok());
    url.is_some_and(|url| match url.host() {
        Some(url::Host::Domain(name)) => name != "localhost",
        Some(url::Host::Ipv4(address)) => !address.is_loopback(),
        Some(url::Host::Ipv6(address)) => !address.is_loopback(),
        None => true,
    })
}

fn options(address: SocketAddr, settings: &Settings) -> HttpOptions {
    let (http, body_bytes) = (&settings.http, settings.limits.line_bytes);
    HttpOptions {
        address,
        guard: GuardOptions {
            bind: address.ip(),
            allowed_hosts: allowed_hosts(http),
            allowed_origins: http.allowed_origins.clone(),
            body_bytes,
            limits: limits(address, http),
            ..GuardOptions::default()
        },
        listener: ListenerOptions {
            connections: http.connections,
            connections_per_client: connections_per_client(address, http),
            grace: settings.limits.shutdown + super::LAST_WORDS,
            ..ListenerOptions::default()
        },
        mcp: McpOptions {
            body_bytes,
            sessions: http.sessions.then_some(SessionOptions {
                most: http.max_sessions,
                idle: http.session_idle,
            }),
        },
        sse: http.sse.then(|| SseOptions {
            body_bytes,
            sessions: http.max_sessions,
            sessions_each: sessions_each(address, http),
            ..SseOptions::default()
        }),
    }
}

/// Settings that could never have an effect are mistakes.
fn check(settings: &Settings) -> anyhow::Result<()> {
    for origin in &settings.http.allowed_origins {
        let parsed = url::Url::parse(origin).ok();
        if parsed.is_none_or(|url| url.origin().ascii_serialization() != *origin) {
            bail!(
                "http.allowed_origins: {origin:?} is not an origin; write it as a browser does, such \
                 as https://app.example.org"
            );
        }
    }
    for host in &settings.http.allowed_hosts {
        let authority = host.parse::<http::uri::Authority>();
        if authority.is_err() || host.contains(['*', '@', '/']) {
            bail!(
                "http.allowed_hosts: {host:?} is not a host; write a name, with a port or without, \
                 such as think.example.org"
            );
        }
    }
    let oauth = &settings.oauth;
    let rest = [&oauth.audience, &oauth.jwks_url, &oauth.scope];
    if oauth.issuer.is_none() && rest.into_iter().any(Option::is_some) {
        bail!("oauth.issuer is not set, so the other settings of oauth let nobody in; set it too");
    }
    for root in &settings.resources.roots {
        if !root.is_dir() {
            tracing::warn!(root = %root.display(), "no folder of this name; no files are read there");
        }
    }
    Ok(())
}

/// The name of the public address is one we answer to.
fn allowed_hosts(http: &config::Http) -> Vec<String> {
    let public = http
        .public_url
        .as_deref()
        .and_then(|url| url::Url::parse(url).ok())
        .and_then(|url| url.host_str().map(str::to_owned));
    let mut hosts = http.allowed_hosts.clone();
    hosts.extend(public);
    hosts
}

fn limits(address: SocketAddr, http: &config::Http) -> LimitOptions {
    let usual = if address.ip().is_loopback() {
        LimitOptions::THIS_MACHINE
    } else {
        LimitOptions::BEYOND
    };
    let mut limits = usual;
    if let Some(per_minute) = http.requests_per_minute {
        limits.per_minute = NonZeroU32::new(per_minute);
        limits.burst = None;
    }
    if http.concurrent_requests.is_some() {
        limits.at_once = http.concurrent_requests;
    }
    limits
}

/// On this machine all come from one address; beyond it nobody may take every place.
fn sessions_each(address: SocketAddr, http: &config::Http) -> usize {
    if address.ip().is_loopback() {
        http.max_sessions
    } else {
        http.max_sessions.div_ceil(4)
    }
}

/// On this machine all come from one address.
fn connections_per_client(address: SocketAddr, http: &config::Http) -> usize {
    if address.ip().is_loopback() {
        http.connections
    } else {
        http.connections.div_ceil(2)
    }
}

fn access(address: SocketAddr, settings: &Settings) -> anyhow::Result<Access> {
    let mut access = Access::open();
    let http = &settings.http;
    let one = http.token.as_ref().map(Tokens::one).transpose();
    let one = one.context("http.token can't be used")?;
    let file = http.tokens_file.as_deref().map(Tokens::from_file);
    let file = file
        .transpose()
        .map_err(|error| anyhow::anyhow!("{error}"))?;
    let tokens = match (one, file) {
        (Some(one), Some(many)) => Some(one.and(many)?),
        (one, many) => one.or(many),
    };
    if let Some(tokens) = tokens {
        access = access.with_tokens(tokens);
    }
    if let Some(issuer) = settings.oauth.issuer.clone() {
        let base = http.public_url.clone();
        if base.is_none() && !address.ip().is_loopback() {
            bail!(
                "oauth needs http.public_url, the https address by which clients reach the server"
            );
        }
        let base = base.unwrap_or_else(|| format!("http://{address}"));
        let server = ResourceServer::new(OAuthOptions {
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

fn health(house: &House) -> Health {
    let (shutdown, states) = (house.shutdown.clone(), house.states.clone());
    let minds = house.wired.minds.clone();
    Health::new(HealthSource {
        registry: house.registry.clone(),
        phase: Box::new(move || {
            if shutdown.is_cancelled() {
                Phase::Draining
            } else {
                Phase::Serving
            }
        }),
        transports: Box::new(move || states.all()),
        provider: Box::new(move || {
            let minds = minds.clone();
            Box::pin(async move { provider(&minds).await })
        }),
    })
}

async fn provider(minds: &Chooser) -> ProviderHealth {
    match minds.own().await {
        Some(mind) => ProviderHealth {
            state: ProviderState::Configured,
            description: mind.description,
        },
        None => ProviderHealth {
            state: ProviderState::Client,
            description: "the client's own model".to_owned(),
        },
    }
}
