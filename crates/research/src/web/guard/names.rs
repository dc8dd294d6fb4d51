//! What names lead to, checked in the moment they are used: the addresses that pass are the ones
//! that are connected to, so a name can't change its meaning between the check and the use.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::refusal_of;

/// Tells which addresses a name has.
pub trait Names: Send + Sync {
    /// The addresses of a name.
    fn addresses(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The names that this machine knows.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemNames;

/// More addresses than this of one name are passed over.
const MOST_ADDRESSES: usize = 32;

impl Names for SystemNames {
    fn addresses(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
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
pub(crate) struct Refused(pub(crate) &'static str);

/// The way a client finds addresses.
pub(crate) struct Resolver {
    pub(crate) names: Arc<dyn Names>,
    /// Whether any address will do: only in the client that asks trusted origins alone.
    pub(crate) anywhere: bool,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let looking = self.names.addresses(name.as_str());
        let anywhere = self.anywhere;
        Box::pin(async move {
            let mut found = looking.await?;
            found.truncate(MOST_ADDRESSES);
            // A name with a public and a private address is a trick, not a choice.
            if let Some(reason) = found.iter().find_map(|it| refusal_of(*it))
                && !anywhere
            {
                return Err(Refused(reason).into());
            }
            let addresses: Addrs = Box::new(found.into_iter().map(|it| SocketAddr::new(it, 0)));
            Ok(addresses)
        })
    }
}
