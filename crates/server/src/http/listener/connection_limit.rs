//! Limits on open connections, in total and per address.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::watch;

/// Counts open connections. Clones share the count.
#[derive(Debug, Clone, Default)]
pub struct Connections(Arc<ConnectionCounts>);

#[derive(Debug, Default)]
struct ConnectionCounts {
    total: watch::Sender<usize>,
    by_address: Mutex<HashMap<IpAddr, usize>>,
}

/// The limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionLimitError {
    Total,
    PerAddress,
}

impl Connections {
    /// The number of open connections, including upgraded ones.
    pub fn active(&self) -> usize {
        *self.0.total.borrow()
    }

    pub(super) async fn wait_until_none(&self) {
        // The sender is in `self`, so this cannot fail.
        let _ = self.0.total.subscribe().wait_for(|count| *count == 0).await;
    }

    /// Takes a permit for a connection; dropping it returns it.
    pub(super) fn acquire_permit(
        &self,
        address: IpAddr,
        most: usize,
        most_of_one: usize,
    ) -> Result<ConnectionPermit, ConnectionLimitError> {
        if self.active() >= most {
            return Err(ConnectionLimitError::Total);
        }
        let address = rate_limit_network(address);
        let mut by_address = self.lock_by_address();
        let count = by_address.get(&address).copied().unwrap_or(0);
        if count >= most_of_one {
            return Err(ConnectionLimitError::PerAddress);
        }
        by_address.insert(address, count + 1);
        drop(by_address);
        self.0.total.send_modify(|count| *count += 1);
        Ok(ConnectionPermit {
            address,
            connections: self.clone(),
        })
    }

    fn lock_by_address(&self) -> std::sync::MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0
            .by_address
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A permit for one connection.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    address: IpAddr,
    connections: Connections,
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut by_address = self.connections.lock_by_address();
        if let Some(count) = by_address.get_mut(&self.address) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                by_address.remove(&self.address);
            }
        }
        drop(by_address);
        self.connections
            .0
            .total
            .send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// The address, or the network of an IPv6 address, because one household has very many of them.
fn rate_limit_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()
        }
        address @ IpAddr::V4(_) => address,
    }
}
