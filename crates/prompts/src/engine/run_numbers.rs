//! Numbers for new runs. Two calls of this process never try the same one; should another process
//! have taken it, the commit says so and the call is run again.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// The last number given, by chain.
#[derive(Default)]
pub(crate) struct RunNumbers(Mutex<HashMap<String, i64>>);

impl RunNumbers {
    /// The next one; `last` is the highest that the store knows.
    pub(crate) fn next(&self, base: &str, last: i64) -> i64 {
        let mut given = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = given.get(base).copied().unwrap_or(0).max(last) + 1;
        given.insert(base.to_owned(), number);
        number
    }
}
