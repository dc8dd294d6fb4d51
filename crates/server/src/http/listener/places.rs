//! Room for connections: how many there are, and how many of whom.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::watch;

/// Counts open connections. Clones count the same ones.
#[derive(Debug, Clone, Default)]
pub struct Connections(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    all: watch::Sender<usize>,
    by_address: Mutex<HashMap<IpAddr, usize>>,
}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// There are too many connections.
    Everyone,
    /// There are too many from this address.
    Address,
}

impl Connections {
    /// How many are open, upgraded ones among them.
    pub fn active(&self) -> usize {
        *self.0.all.borrow()
    }

    /// Waits until none is open.
    pub(super) async fn none_left(&self) {
        // An error would mean that nobody counts any more.
        let _ = self.0.all.subscribe().wait_for(|count| *count == 0).await;
    }

    /// Takes a place, which is free again when dropped.
    pub(super) fn place(
        &self,
        address: IpAddr,
        most: usize,
        most_of_one: usize,
    ) -> Result<Place, Refused> {
        if self.active() >= most {
            return Err(Refused::Everyone);
        }
        let address = network(address);
        let mut by_address = self.by_address();
        let count = by_address.get(&address).copied().unwrap_or(0);
        if count >= most_of_one {
            return Err(Refused::Address);
        }
        by_address.insert(address, count + 1);
        drop(by_address);
        self.0.all.send_modify(|count| *count += 1);
        Ok(Place {
            address,
            connections: self.clone(),
        })
    }

    fn by_address(&self) -> std::sync::MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0
            .by_address
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place for one connection.
#[derive(Debug)]
pub(super) struct Place {
    address: IpAddr,
    connections: Connections,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut by_address = self.connections.by_address();
        if let Some(count) = by_address.get_mut(&self.address) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                by_address.remove(&self.address);
            }
        }
        drop(by_address);
        self.connections
            .0
            .all
            .send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// An address, or the network of an IPv6 address: one household has very many of those.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()
        }
        address @ IpAddr::V4(_) => address,
    }
}
