//! Validated values by key, with a getter for each type.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::parse::SettingValue;

/// The resolved values. The table guarantees that every setting with a default is present and of
/// its kind; the tests over all keys check that the getters match.
#[derive(Default)]
pub(crate) struct ResolvedSettings(pub(super) BTreeMap<&'static str, SettingValue>);

impl ResolvedSettings {
    pub(super) fn get(&self, key: &str) -> Option<&SettingValue> {
        self.0.get(key)
    }

    pub(super) fn text(&self, key: &str) -> Option<String> {
        match self.get(key)? {
            SettingValue::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    pub(super) fn secret(&self, key: &str) -> Option<SecretString> {
        match self.get(key)? {
            SettingValue::Secret(secret) => Some(secret.clone()),
            _ => None,
        }
    }

    pub(super) fn choice(&self, key: &str) -> &'static str {
        match self.get(key) {
            Some(SettingValue::Choice(word)) => word,
            _ => "",
        }
    }

    pub(super) fn integer(&self, key: &str) -> Option<u64> {
        match self.get(key)? {
            SettingValue::Integer(number) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn count<T: TryFrom<u64> + Default>(&self, key: &str) -> T {
        self.integer(key).map(narrow).unwrap_or_default()
    }

    pub(super) fn milliseconds(&self, key: &str) -> Duration {
        Duration::from_millis(self.integer(key).unwrap_or_default())
    }

    pub(super) fn number(&self, key: &str) -> Option<f64> {
        match self.get(key)? {
            SettingValue::Number(number) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn path(&self, key: &str) -> PathBuf {
        match self.get(key) {
            Some(SettingValue::Path(path)) => path.clone(),
            _ => PathBuf::new(),
        }
    }

    pub(super) fn optional_path(&self, key: &str) -> Option<PathBuf> {
        match self.get(key)? {
            SettingValue::Path(path) => Some(path.clone()),
            _ => None,
        }
    }

    pub(super) fn texts(&self, key: &str) -> Vec<String> {
        match self.get(key) {
            Some(SettingValue::Texts(texts)) => texts.clone(),
            _ => Vec::new(),
        }
    }

    pub(super) fn choices(&self, key: &str) -> Vec<&'static str> {
        match self.get(key) {
            Some(SettingValue::Choices(words)) => words.clone(),
            _ => Vec::new(),
        }
    }

    pub(super) fn paths(&self, key: &str) -> Vec<PathBuf> {
        match self.get(key) {
            Some(SettingValue::Paths(paths)) => paths.clone(),
            _ => Vec::new(),
        }
    }

    pub(super) fn socket_addr(&self, key: &str) -> Option<SocketAddr> {
        match self.get(key)? {
            SettingValue::Address(address) => Some(*address),
            _ => None,
        }
    }

    pub(super) fn switch(&self, key: &str) -> bool {
        matches!(self.get(key), Some(SettingValue::Switch(true)))
    }

    pub(super) fn section(&self, prefix: &str) -> BTreeMap<&'static str, String> {
        let inside = self.0.iter().filter_map(|(key, value)| match value {
            SettingValue::Text(text) => Some((key.strip_prefix(prefix)?, text.clone())),
            _ => None,
        });
        inside.collect()
    }
}

/// Converts a number to a smaller type. The limits in the table fit every type used here.
pub(super) fn narrow<T: TryFrom<u64> + Default>(number: u64) -> T {
    T::try_from(number).unwrap_or_default()
}
