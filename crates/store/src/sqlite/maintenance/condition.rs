//! The condition of the database file: damage that was found, and why commits fail.
//!
//! A damaged file must not be written to: each write may overwrite what could still be recovered.
//! A full or read-only disk may become writable again, so that failure is forgotten when a write
//! succeeds.

use std::sync::{Mutex, OnceLock, PoisonError};

use crate::StoreError;

#[derive(Debug, Default)]
pub(in crate::sqlite) struct DatabaseCondition {
    /// Stays until the store is opened anew.
    damage: OnceLock<StoreError>,
    write_failure: Mutex<Option<StoreError>>,
}

impl DatabaseCondition {
    /// Records damage that a read or a write found.
    pub(in crate::sqlite) fn record_error(&self, error: &StoreError) {
        if matches!(error, StoreError::Damaged { .. }) && self.damage.set(error.clone()).is_ok() {
            tracing::error!(%error, "nothing is written to the database any more");
        }
    }

    /// Records whether a write succeeded or why it failed.
    pub(in crate::sqlite) fn record_write(&self, error: Option<&StoreError>) {
        let mut failure = self
            .write_failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match error {
            None => {
                if failure.take().is_some() {
                    tracing::info!("the database can be written again");
                }
            }
            Some(error) if error.prevents_writes() => {
                self.record_error(error);
                if failure.replace(error.clone()).is_none() {
                    tracing::error!(%error, "the database can't be written");
                }
            }
            Some(_) => {}
        }
    }

    pub(in crate::sqlite) fn damage(&self) -> Option<&StoreError> {
        self.damage.get()
    }

    /// Returns the reason why commits fail.
    pub(in crate::sqlite) fn write_failure(&self) -> Option<StoreError> {
        let failure = self
            .write_failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.damage.get().or(failure.as_ref()).cloned()
    }
}
