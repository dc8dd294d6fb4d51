//! Selects the configured servers that can be used together. An unusable server never affects the
//! others.

use std::collections::{BTreeMap, BTreeSet};

use deliberate_mcp_client::config::ConfigProblem;

use crate::GatewayServer;

/// The usable servers, and the problems of the others.
#[derive(Default)]
pub(super) struct ValidatedServers {
    pub(super) servers: Vec<GatewayServer>,
    pub(super) problems: Vec<ConfigProblem>,
    /// The reasons why servers are excluded, by name.
    pub(super) excluded: BTreeMap<String, String>,
}

impl ValidatedServers {
    /// Validates the servers; of servers with conflicting names the first is used.
    pub(super) fn validate(servers: Vec<GatewayServer>) -> Self {
        let mut sifted = Self::default();
        for server in servers {
            let name = &server.config.name;
            let mut before = sifted.servers.iter().map(|it| it.config.name.as_str());
            match before.find_map(|before| name_conflict(before, name)) {
                Some(what) => {
                    let mistake = ConfigProblem::new(format!("servers.{name}"), what);
                    sifted.exclude(name, vec![mistake]);
                }
                None => sifted.servers.push(server),
            }
        }
        sifted
    }

    pub(super) fn exclude(&mut self, server: &str, mistakes: Vec<ConfigProblem>) {
        let all: Vec<&str> = mistakes.iter().map(|it| it.message.as_str()).collect();
        let why = self.excluded.entry(server.to_owned());
        why.or_insert_with(|| all.join("; "));
        self.problems.extend(mistakes);
    }

    /// Removes fallbacks that do not exist.
    pub(super) fn drop_missing_fallbacks(&mut self) {
        let names: BTreeSet<String> = self
            .servers
            .iter()
            .map(|it| it.config.name.clone())
            .collect();
        for server in &mut self.servers {
            let name = &server.config.name;
            let what = match server.fallback.as_deref() {
                Some(other) if other == name => "must be another server".to_owned(),
                Some(other) if !names.contains(other) => {
                    format!("there is no server named {other:?}")
                }
                _ => continue,
            };
            let place = format!("servers.{name}.fallback");
            server.fallback = None;
            self.problems.push(ConfigProblem::new(place, what));
        }
    }
}

/// Returns the reason why two server names conflict, if they do.
fn name_conflict(before: &str, name: &str) -> Option<String> {
    if before == name {
        return Some("two servers have this name".to_owned());
    }
    // `a___c` would be a tool of `a` and one of `a_`.
    let (one, other) = (format!("{before}__"), format!("{name}__"));
    (one.starts_with(&other) || other.starts_with(&one)).then(|| {
        format!(
            "tools of {name:?} could not be distinguished from those of server {before:?}; use another \
             name"
        )
    })
}
