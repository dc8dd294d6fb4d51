//! The limit on open files. A service with many clients needs more than the usual 1,024.

/// The limit that the program asks for, if the system allows it.
const WANTED: u64 = 65_536;

/// Raises the soft limit on open files to the hard limit, and warns if the connections that are
/// allowed do not fit it.
#[cfg(unix)]
pub(super) fn raise_file_limit(connections: usize) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(WANTED, |maximum| maximum.min(WANTED));
    let current = limit.current.unwrap_or(u64::MAX);
    if current < wanted {
        let raised = Rlimit {
            current: Some(wanted),
            maximum: limit.maximum,
        };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            tracing::debug!(%error, "the limit on open files can't be raised");
        }
    }
    let current = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let connections = u64::try_from(connections).unwrap_or(u64::MAX);
    if connections.saturating_add(RESERVED) > current {
        tracing::warn!(
            limit = current,
            connections,
            "open files are limited to {current}, fewer than http.connections needs; raise the \
             limit (`ulimit -n`) or lower http.connections"
        );
    }
}

/// Files that the program needs besides connections: databases, indexes, upstream servers.
#[cfg(unix)]
const RESERVED: u64 = 128;

#[cfg(not(unix))]
pub(super) fn raise_file_limit(_connections: usize) {}
