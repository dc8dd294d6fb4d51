//! What names lead to, checked in the moment they are used: the addresses that pass are the ones
//! that are connected to, so a name can't change its meaning between the check and the use.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::blocked_reason;

/// Tells which addresses a name has.
pub trait HostResolver: Send + Sync {
    /// The addresses of a name.
    fn lookup(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The names that this machine knows.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemHostResolver;

/// More addresses than this of one name are passed over.
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

/// A name leads to where nothing may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BlockedAddress(pub(crate) &'static str);

/// The way a client finds addresses.
pub(crate) struct GuardedResolver {
    pub(crate) resolver: Arc<dyn HostResolver>,
    /// Whether any address will do: only in the client that asks trusted origins alone.
    pub(crate) allow_private: bool,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let looking = self.resolver.lookup(name.as_str());
        let anywhere = self.allow_private;
        Box::pin(async move {
            let mut found = looking.await?;
            found.truncate(MAX_ADDRESSES);
            // A name with a public and a private address is a trick, not a choice.
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
