//! Resolves host names and checks their addresses at the time of use. The client connects to
//! exactly the checked addresses, so a name can't change between the check and the connection.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::blocked_reason;

/// Resolves host names.
pub trait HostResolver: Send + Sync {
    /// The addresses of a host name.
    fn lookup(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the operating system.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemHostResolver;

/// The most addresses of one name that are used.
const MAX_ADDRESSES: usize = 32;

impl HostResolver for SystemHostResolver {
    fn lookup(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let name = name.to_owned();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(found.map(|it| it.ip()).collect())
        })
    }
}

/// The error for a host name with a blocked address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BlockedAddress(pub(crate) &'static str);

/// The resolver that the `reqwest` clients use.
pub(crate) struct GuardedResolver {
    pub(crate) resolver: Arc<dyn HostResolver>,
    /// Whether every address is accepted; only for the client of the trusted origins.
    pub(crate) allow_private: bool,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let looking = self.resolver.lookup(name.as_str());
        let anywhere = self.allow_private;
        Box::pin(async move {
            let mut found = looking.await?;
            found.truncate(MAX_ADDRESSES);
            // A name with a public and a private address indicates an attack, so it is blocked as a
            // whole.
            if let Some(reason) = found.iter().find_map(|it| blocked_reason(*it))
                && !anywhere
            {
                return Err(BlockedAddress(reason).into());
            }
            let addresses: Addrs = Box::new(found.into_iter().map(|it| SocketAddr::new(it, 0)));
            Ok(addresses)
        })
    }
}
