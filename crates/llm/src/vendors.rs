//! Vendors whose endpoints speak the `OpenAI` chat format, as data.
//!
//! A new one is a file in `endpoints/` and a line here.

use std::sync::LazyLock;

use serde::Deserialize;

const FILES: &[&str] = &[
    include_str!("../endpoints/openai.toml"),
    include_str!("../endpoints/openrouter.toml"),
    include_str!("../endpoints/groq.toml"),
    include_str!("../endpoints/together.toml"),
    include_str!("../endpoints/mistral.toml"),
    include_str!("../endpoints/deepseek.toml"),
    include_str!("../endpoints/xai.toml"),
    include_str!("../endpoints/gemini.toml"),
    include_str!("../endpoints/ollama.toml"),
    include_str!("../endpoints/lmstudio.toml"),
    include_str!("../endpoints/llamacpp.toml"),
    include_str!("../endpoints/vllm.toml"),
];

/// A vendor of the `OpenAI` kind.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vendor {
    /// The name in settings, logs and records.
    pub name: String,
    /// The name for people.
    pub title: String,
    /// The usual base URL, up to and without `/chat/completions`.
    pub base_url: String,
    /// The environment variable that usually holds the key; local ones need none.
    pub key_env: Option<String>,
    /// The model to ask if none is set; local ones are asked what they have.
    pub default_model: Option<String>,
    /// How it is told to write JSON.
    pub json: JsonMode,
    /// Whether it runs on this machine.
    pub local: bool,
    /// Under which name it takes the limit of tokens.
    #[serde(default)]
    pub max_tokens: TokenLimit,
}

/// How an endpoint is told to write JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JsonMode {
    /// By the schema of the answer.
    #[default]
    Schema,
    /// As some object.
    Object,
    /// Only in words.
    None,
}

/// The name of the field for the limit of tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenLimit {
    /// `max_tokens`, as nearly all have it.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, as `OpenAI` has it now.
    MaxCompletionTokens,
}

/// All vendors known by name.
pub fn vendors() -> &'static [Vendor] {
    // A file that can't be read would be left out; a test sees to it that there is none.
    static VENDORS: LazyLock<Vec<Vendor>> = LazyLock::new(|| {
        FILES
            .iter()
            .filter_map(|file| toml::from_str(file).ok())
            .collect()
    });
    &VENDORS
}

/// The vendor of that name.
pub fn find_vendor(name: &str) -> Option<&'static Vendor> {
    vendors()
        .iter()
        .find(|vendor| vendor.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    #[test]
    fn every_file_is_read_and_makes_sense() {
        for file in FILES {
            toml::from_str::<Vendor>(file).unwrap_or_else(|error| panic!("{file}\n{error}"));
        }
        let names: BTreeSet<_> = vendors().iter().map(|vendor| &vendor.name).collect();
        assert_eq!(names.len(), FILES.len());
        for vendor in vendors() {
            assert!(crate::http::base_url(&vendor.name, &vendor.base_url).is_ok());
            assert_eq!(
                vendor.local,
                vendor.base_url.starts_with("http://127.0.0.1")
            );
            assert_eq!(vendor.local, vendor.key_env.is_none());
            assert_eq!(vendor.local, vendor.default_model.is_none());
        }
        assert_eq!(find_vendor("Ollama").map(|vendor| vendor.local), Some(true));
        assert_eq!(find_vendor("nobody"), None);
    }

    #[test]
    fn no_file_is_forgotten() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("endpoints");
        assert_eq!(fs::read_dir(folder).unwrap().count(), FILES.len());
    }
}
