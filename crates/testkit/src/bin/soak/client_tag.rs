//! A unique word for each client, by which it distinguishes its own data from that of others.

use anyhow::ensure;
use serde_json::Value;

const STEM: &str = "quagga";
const DIGITS: usize = 5;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientTag(String);

impl ClientTag {
    pub(crate) fn new(number: usize) -> Self {
        Self(format!("{STEM}{number:0DIGITS$}"))
    }

    pub(crate) fn word(&self) -> &str {
        &self.0
    }

    /// Checks that the answer quotes this client.
    pub(crate) fn check_present(&self, answer: &Value) -> anyhow::Result<()> {
        let text = answer.to_string();
        ensure!(text.contains(&self.0), "{} is not in {text}", self.0);
        Ok(())
    }

    /// Checks that the answer quotes no other client.
    pub(crate) fn check_alone(&self, answer: &Value) -> anyhow::Result<()> {
        let text = answer.to_string();
        for (at, _) in text.match_indices(STEM) {
            let word: String = text
                .chars()
                .skip(text.get(..at).map_or(0, |before| before.chars().count()))
                .take(STEM.len() + DIGITS)
                .collect();
            ensure!(word == self.0, "{word} is in an answer to {}", self.0);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tells_its_own_from_another() {
        let marker = ClientTag::new(7);
        let own = json!({ "text": "“quagga00007” and quagga00007" });
        assert!(marker.check_present(&own).is_ok() && marker.check_alone(&own).is_ok());
        let mixed = json!({ "text": "“quagga00007” and quagga00008" });
        assert!(marker.check_present(&mixed).is_ok() && marker.check_alone(&mixed).is_err());
        assert!(marker.check_present(&json!({})).is_err());
    }
}
