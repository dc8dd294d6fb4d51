//! Which of the servers that are written down can be used together. One that can't never takes the
//! others away.

use std::collections::{BTreeMap, BTreeSet};

use deliberate_adapter::config::ConfigProblem;

use crate::GatewayServer;

/// The servers that can be used, and what is wrong with the others.
#[derive(Default)]
pub(super) struct ValidatedServers {
    pub(super) servers: Vec<GatewayServer>,
    /// Everything that is wrong.
    pub(super) problems: Vec<ConfigProblem>,
    /// Why servers are left out, by their names.
    pub(super) excluded: BTreeMap<String, String>,
}

impl ValidatedServers {
    /// Of servers that can't be told apart the first is used.
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

    /// A server may name one that is not there; it then has to do without.
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

/// Why two servers of these names can't be told apart, if they can't.
fn name_conflict(before: &str, name: &str) -> Option<String> {
    if before == name {
        return Some("there are two servers of this name".to_owned());
    }
    // `a___c` would be a tool of `a` and one of `a_`.
    let (one, other) = (format!("{before}__"), format!("{name}__"));
    (one.starts_with(&other) || other.starts_with(&one)).then(|| {
        format!(
            "tools of {name:?} can't be told apart from those of server {before:?}; use another \
             name"
        )
    })
}
