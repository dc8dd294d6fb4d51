//! The limit on open files. A service with many clients needs more than the usual 1,024.

/// The limit that the program asks for, if the system allows it.
#[cfg(unix)]
const WANTED: u64 = 65_536;

/// Files that the program needs besides connections: databases, indexes, upstream servers.
#[cfg(unix)]
const RESERVED: u64 = 128;

/// Connections that are accepted however low the limit is.
#[cfg(unix)]
const MIN_CONNECTIONS: u64 = 16;

/// Raises the soft limit on open files as far as the hard limit allows, and returns how many of the
/// wanted connections fit it. More of them would leave no file for the calls that they make.
#[cfg(unix)]
pub(super) fn fit_connections(connections: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(WANTED, |maximum| maximum.min(WANTED));
    if limit.current.is_some_and(|current| current < wanted) {
        let raised = Rlimit {
            current: Some(wanted),
            maximum: limit.maximum,
        };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            tracing::debug!(%error, "the limit on open files can't be raised");
        }
    }
    let Some(current) = getrlimit(Resource::Nofile).current else {
        return connections;
    };
    let fitting = current.saturating_sub(RESERVED).max(MIN_CONNECTIONS);
    let fitting = usize::try_from(fitting).unwrap_or(usize::MAX);
    if fitting < connections {
        tracing::warn!(
            "open files are limited to {current}, so {fitting} connections are accepted instead of \
             {connections} (http.connections); raise the limit (`ulimit -n`) for more"
        );
    }
    connections.min(fitting)
}

#[cfg(not(unix))]
pub(super) const fn fit_connections(connections: usize) -> usize {
    connections
}
