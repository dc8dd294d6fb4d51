//! The real server with the fixtures that the official conformance suite requests by name. For
//! tests only: `conformance --port 0` prints `listening HOST:PORT` and serves until it is
//! terminated.
//!
//! [`fixture::FixtureHandler`] answers the suite's fixtures; the product's MCP handler, registry
//! and store answer everything else, so that these are what is tested.

mod client_requests;
mod content;
mod fixture;
mod list_changed;
mod multi_round;
mod notifications;
mod prompts;
mod resources;
mod schemas;
mod serve;
mod tasks;
mod tools;

use std::{net::SocketAddr, sync::Arc};

use clap::Parser;
use deliberate_core::{SystemClock, SystemIds};
use deliberate_server::{McpHandler, McpOptions, Subscriptions};
use deliberate_store::sqlite::{SqliteDurability, SqliteOptions, SqliteStore};
use deliberate_toolkit::{CallLimits, FixedModel, Registry, RegistryDeps};

/// Serves the fixtures of the official MCP conformance suite.
#[derive(Parser)]
struct ConformanceServerOptions {
    /// The port on the loopback interface; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = ConformanceServerOptions::parse();
    let folder = tempfile::tempdir()?;
    let subscriptions = Arc::new(Subscriptions::default());
    let registry = deliberate_reasoning::register(Registry::new(RegistryDeps {
        store: Arc::new(SqliteStore::new(SqliteOptions {
            path: folder.path().join("conformance.db"),
            readers: 2,
            durability: SqliteDurability::Relaxed,
        })),
        models: Arc::new(FixedModel(None)),
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        limits: CallLimits::default(),
    }));
    let registry = Arc::new(registry.with_listener(subscriptions.clone()));
    let mcp_handler = McpHandler::new(
        registry.clone(),
        McpOptions {
            http_sessions: true,
            ..McpOptions::default()
        },
    );
    let handler = fixture::FixtureHandler::wrap(mcp_handler.with_subscriptions(subscriptions))?;
    serve::serve(
        move || handler.clone(),
        registry,
        SocketAddr::from(([127, 0, 0, 1], options.port)),
    )
    .await
}
