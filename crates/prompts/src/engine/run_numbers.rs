//! Numbers of new runs. Two calls of this process never get the same number; if another process has
//! taken it, the commit reports the conflict and the call runs again.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// The last number given out, by chain.
#[derive(Default)]
pub(crate) struct RunNumbers(Mutex<HashMap<String, i64>>);

impl RunNumbers {
    /// Returns the next number; `last` is the highest that the store knows.
    pub(crate) fn next(&self, base: &str, last: i64) -> i64 {
        let mut given = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = given.get(base).copied().unwrap_or(0).max(last) + 1;
        given.insert(base.to_owned(), number);
        number
    }
}
