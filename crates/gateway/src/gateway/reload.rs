//! Builds the set of servers, and replaces it when the configuration changes. Servers that are
//! configured as before keep their connections, and calls that run at others end in their own
//! time.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock, atomic::AtomicBool},
    time::Duration,
};

use deliberate_mcp_client::config::ConfigProblem;
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    ClientPool, Gateway, ServerSet, Upstream, UpstreamActivity,
    server_validation::ValidatedServers, stored_definitions::DefinitionStore,
};
use crate::{GatewayServer, pins::PinStore};

/// The interval of checking whether the calls of a removed server have ended.
const REMOVAL_CHECK: Duration = Duration::from_millis(200);

/// The result of a reload: the names of the servers, and the problems of those that cannot be used.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReloadReport {
    pub added: Vec<String>,
    /// Reconnected with their new settings when they are next needed.
    pub changed: Vec<String>,
    pub removed: Vec<String>,
    /// Configured as before.
    pub kept: Vec<String>,
    pub problems: Vec<ConfigProblem>,
}

impl Gateway {
    /// Replaces the servers. `excluded` are servers that are known to be unusable, with the reasons.
    pub async fn reload(
        self: &Arc<Self>,
        servers: Vec<GatewayServer>,
        excluded: BTreeMap<String, String>,
    ) -> ReloadReport {
        let _alone = self.reload_lock.lock().await;
        let before = self.set();
        let (set, problems) = self.build_set(servers, excluded);
        let mut report = ReloadReport {
            problems,
            ..ReloadReport::default()
        };
        let mut new = Vec::new();
        for (name, upstream) in &set.servers {
            let list = match before.servers.get(name) {
                Some(old) if Arc::ptr_eq(old, upstream) => &mut report.kept,
                Some(_) => &mut report.changed,
                None => &mut report.added,
            };
            if !before
                .servers
                .get(name)
                .is_some_and(|old| Arc::ptr_eq(old, upstream))
            {
                new.push(upstream.clone());
            }
            list.push(name.clone());
        }
        for (name, old) in &before.servers {
            let stays = set.servers.get(name);
            if stays.is_none_or(|it| !Arc::ptr_eq(it, old)) {
                tokio::spawn(retire(old.clone()));
            }
            if stays.is_none() {
                report.removed.push(name.clone());
            }
        }
        let had_servers = self.has_servers();
        *self.set.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(set);
        for upstream in &new {
            self.load_stored(upstream).await;
        }
        self.publish();
        // The gateway's own tools are listed only while there are servers.
        if had_servers != self.has_servers() {
            self.notify_listeners();
        }
        if self.started_at.get().is_some() {
            for upstream in &new {
                self.start_refreshing(upstream);
            }
        }
        report
    }

    /// Builds the set of the usable servers, with the present ones where nothing changed.
    pub(super) fn build_set(
        &self,
        servers: Vec<GatewayServer>,
        mut excluded: BTreeMap<String, String>,
    ) -> (ServerSet, Vec<ConfigProblem>) {
        let before = self.set();
        let mut valid = ValidatedServers::validate(servers);
        for settings in std::mem::take(&mut valid.servers) {
            match settings.config.check() {
                Ok(()) => valid.servers.push(settings),
                Err(error) => valid.exclude(&settings.config.name, error.problems),
            }
        }
        valid.drop_missing_fallbacks();
        let mut upstreams = BTreeMap::new();
        for mut settings in std::mem::take(&mut valid.servers) {
            settings.config.limits.principal_share = self.principal_share;
            let name = settings.config.name.clone();
            let same = before.servers.get(&name);
            let same = same.filter(|it| it.settings.fingerprint() == settings.fingerprint());
            match same
                .cloned()
                .map_or_else(|| self.build_upstream(settings), Ok)
            {
                Ok(upstream) => {
                    upstreams.insert(name, upstream);
                }
                Err(error) => valid.exclude(&name, config_problems(&name, error)),
            }
        }
        excluded.extend(valid.excluded);
        let samplers = upstreams.values().filter(|it| it.settings.sampling);
        let set = ServerSet {
            sampling_servers: Arc::new(samplers.map(|it| it.name().to_owned()).collect()),
            servers: upstreams,
            excluded,
        };
        (set, valid.problems)
    }

    fn build_upstream(
        &self,
        settings: GatewayServer,
    ) -> Result<Arc<Upstream>, deliberate_mcp_client::ClientError> {
        let activity = Arc::new(UpstreamActivity::default());
        let name = settings.config.name.as_str();
        Ok(Arc::new(Upstream {
            clients: ClientPool::new(settings.clone(), self.clients.clone(), activity.clone())?,
            pins: PinStore::new(name, self.store.clone(), self.clock.clone()),
            definitions: DefinitionStore::new(name, self.store.clone(), self.clock.clone()),
            listed_once: watch::Sender::new(false),
            catalog: RwLock::default(),
            evaluation_lock: tokio::sync::Mutex::default(),
            activity,
            timed_out: AtomicBool::new(false),
            removed: CancellationToken::new(),
            settings,
        }))
    }
}

/// Closes the connections of a removed server when its running calls have ended, each of which has the
/// time that the server's settings give it. A call holds its server from the moment it finds the tool
/// until it ends, so also while it connects, validates or is between two pages.
async fn retire(upstream: Arc<Upstream>) {
    upstream.removed.cancel();
    let retired_at = Instant::now();
    while Arc::strong_count(&upstream) > 1 && retired_at.elapsed() < upstream.longest_call() {
        tokio::time::sleep(REMOVAL_CHECK).await;
    }
    upstream.clients.close().await;
}

fn config_problems(server: &str, error: deliberate_mcp_client::ClientError) -> Vec<ConfigProblem> {
    match error.kind {
        deliberate_mcp_client::ClientErrorKind::Config(error) => error.problems,
        _ => vec![ConfigProblem::new(
            format!("servers.{server}"),
            error.to_string(),
        )],
    }
}
