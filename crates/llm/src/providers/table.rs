//! The table of providers that are reached over HTTP. Provider selection, the allowed values of the
//! `provider` setting, its documentation and `deliberate doctor` all follow from it.
//!
//! To add a vendor with an OpenAI-compatible endpoint, write `endpoints/<name>.toml` and add
//! `vendor!("<name>")`. To add a provider with a protocol of its own, write `providers/<name>.rs`
//! and add an entry with its `build` function.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
    time::Duration,
};

use deliberate_http_client::is_local_url;
use secrecy::SecretString;

use super::{anthropic, chat_json::TokenPrices, langbase, openai};
use crate::{ChatModel, ModelError, http::HttpSettings, vendors::Vendor};

/// Default time limit for one attempt at a model on this machine, which may write slowly.
const LOCAL_TIMEOUT: Duration = Duration::from_mins(5);

/// Default time limit for one attempt at a provider on the network.
const REMOTE_TIMEOUT: Duration = Duration::from_secs(30);

macro_rules! vendor {
    ($name:literal) => {
        Provider {
            name: $name,
            protocol: Protocol::OpenAi(include_str!(concat!("../../endpoints/", $name, ".toml"))),
        }
    };
}

/// All providers, in the order in which automatic selection tries them.
pub const PROVIDERS: &[Provider] = &[
    Provider {
        name: "langbase",
        protocol: Protocol::Own {
            title: "Langbase",
            key_env: "LANGBASE_API_KEY",
            build: langbase::build,
        },
    },
    Provider {
        name: "anthropic",
        protocol: Protocol::Own {
            title: "Anthropic",
            key_env: "ANTHROPIC_API_KEY",
            build: anthropic::build,
        },
    },
    vendor!("openai"),
    vendor!("openrouter"),
    vendor!("groq"),
    vendor!("together"),
    vendor!("mistral"),
    vendor!("deepseek"),
    vendor!("xai"),
    vendor!("gemini"),
    vendor!("ollama"),
    vendor!("lmstudio"),
    vendor!("llamacpp"),
    vendor!("vllm"),
];

/// One entry of the table of providers.
#[derive(Debug)]
pub struct Provider {
    /// Name in settings, logs and the invocation log.
    pub name: &'static str,
    protocol: Protocol,
}

/// The protocol that a provider speaks, with the data needed to build its model.
#[derive(Debug)]
enum Protocol {
    /// A protocol of its own. It always needs an API key.
    Own {
        title: &'static str,
        key_env: &'static str,
        build: BuildProvider,
    },
    /// Chat completions. Holds the text of the vendor's file in `endpoints/`.
    OpenAi(&'static str),
}

type BuildProvider = fn(SecretString, ProviderOptions) -> Result<ProviderModel, ModelError>;

/// Settings from which every provider can be built. Each provider ignores the fields that it has no
/// use for.
#[derive(Debug, Clone, Default)]
pub struct ProviderOptions {
    /// API key.
    pub api_key: Option<SecretString>,
    /// Base URL, if it is not the provider's usual one.
    pub base_url: Option<String>,
    /// Model, if it is not the provider's default.
    pub model: Option<String>,
    /// Langbase pipes by purpose.
    pub pipes: BTreeMap<String, String>,
    /// Temperature of the Langbase pipes that are created.
    pub temperature: Option<f64>,
    /// Token limit of the Langbase pipes that are created.
    pub max_tokens: Option<u32>,
    /// Timeouts, retries and rate limits.
    pub http: HttpSettings,
    /// Token prices, for providers that do not report a cost.
    pub prices: Option<TokenPrices>,
}

/// A provider's model together with the base URL at which it is reached.
#[derive(Clone)]
pub struct ProviderModel {
    /// The model.
    pub model: Arc<dyn ChatModel>,
    /// Base URL of the endpoint.
    pub base_url: String,
}

impl Provider {
    /// Returns the name for people, such as `LM Studio`.
    pub fn title(&self) -> &str {
        match &self.protocol {
            Protocol::Own { title, .. } => title,
            Protocol::OpenAi(_) => self.vendor().map_or(self.name, |vendor| &vendor.title),
        }
    }

    /// Returns the environment variable that usually holds the API key. Local servers have none.
    pub fn key_env(&self) -> Option<&str> {
        match &self.protocol {
            Protocol::Own { key_env, .. } => Some(key_env),
            Protocol::OpenAi(_) => self.vendor()?.key_env.as_deref(),
        }
    }

    /// Returns whether discovery looks for this provider on this machine.
    pub fn is_discovered(&self) -> bool {
        self.vendor().is_some_and(|vendor| vendor.discover)
    }

    /// Returns whether a key or a base URL of its own is enough to use this provider.
    pub fn is_configured(&self, has_key: bool, has_base_url: bool) -> bool {
        let key_is_optional = matches!(self.protocol, Protocol::OpenAi(_));
        has_key || (key_is_optional && has_base_url)
    }

    /// Returns the time limit for one attempt that applies unless one is set.
    pub fn default_timeout(&self, base_url: Option<&str>) -> Duration {
        let is_local = self.vendor().is_some_and(|vendor| {
            vendor.local || is_local_url(base_url.unwrap_or(&vendor.base_url))
        });
        if is_local {
            LOCAL_TIMEOUT
        } else {
            REMOTE_TIMEOUT
        }
    }

    /// Builds the provider's model. Checks the options; sends nothing.
    pub fn build(&self, options: ProviderOptions) -> Result<ProviderModel, ModelError> {
        match (&self.protocol, self.vendor()) {
            (Protocol::Own { key_env, build, .. }, _) => {
                let key = options.api_key.clone();
                build(key.ok_or_else(|| self.missing_key(key_env))?, options)
            }
            (Protocol::OpenAi(_), Some(vendor)) => {
                // An endpoint of the user's own may need no key; the vendor's own needs one.
                match &vendor.key_env {
                    Some(key_env) if options.api_key.is_none() && options.base_url.is_none() => {
                        Err(self.missing_key(key_env))
                    }
                    _ => openai::build(vendor, options),
                }
            }
            (Protocol::OpenAi(_), None) => Err(ModelError::Misconfigured {
                provider: self.name.to_owned(),
                reason: "its endpoint file cannot be read".to_owned(),
            }),
        }
    }

    /// Returns the vendor's data, if the provider has an OpenAI-compatible endpoint.
    fn vendor(&self) -> Option<&'static Vendor> {
        find_vendor(self.name)
    }

    fn missing_key(&self, variable: &str) -> ModelError {
        ModelError::Misconfigured {
            provider: self.name.to_owned(),
            reason: format!("it needs an API key; set {variable}"),
        }
    }
}

/// Finds a provider by name, ignoring case.
pub fn find_provider(name: &str) -> Option<&'static Provider> {
    PROVIDERS
        .iter()
        .find(|provider| provider.name.eq_ignore_ascii_case(name))
}

/// Returns the vendors with an OpenAI-compatible endpoint, in the order of the table.
pub(crate) fn vendors() -> &'static [Vendor] {
    // A file that cannot be parsed is left out; a test checks that there is none.
    static VENDORS: LazyLock<Vec<Vendor>> = LazyLock::new(|| {
        let parsed = PROVIDERS.iter().filter_map(|provider| {
            let Protocol::OpenAi(file) = provider.protocol else {
                return None;
            };
            Vendor::parse(provider.name, file).ok()
        });
        parsed.collect()
    });
    &VENDORS
}

/// Finds a vendor with an OpenAI-compatible endpoint by name, ignoring case.
pub fn find_vendor(name: &str) -> Option<&'static Vendor> {
    vendors()
        .iter()
        .find(|vendor| vendor.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    fn files() -> Vec<(&'static str, &'static str)> {
        let files = PROVIDERS.iter().filter_map(|it| match it.protocol {
            Protocol::OpenAi(file) => Some((it.name, file)),
            Protocol::Own { .. } => None,
        });
        files.collect()
    }

    #[test]
    fn every_file_is_read_and_makes_sense() {
        for (name, file) in files() {
            Vendor::parse(name, file).unwrap_or_else(|error| panic!("{file}\n{error}"));
        }
        let names: BTreeSet<_> = PROVIDERS.iter().map(|it| it.name).collect();
        assert_eq!(names.len(), PROVIDERS.len());
        for vendor in vendors() {
            assert!(crate::http::base_url(&vendor.name, &vendor.base_url).is_ok());
            assert_eq!(
                vendor.local,
                vendor.base_url.starts_with("http://127.0.0.1")
            );
            assert_eq!(vendor.local, vendor.key_env.is_none());
            assert_eq!(vendor.local, vendor.default_model.is_none());
            assert!(vendor.local || !vendor.discover);
        }
        assert_eq!(find_vendor("Ollama").map(|vendor| vendor.local), Some(true));
        assert_eq!(find_vendor("nobody"), None);
    }

    #[test]
    fn no_file_is_forgotten() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("endpoints");
        assert_eq!(fs::read_dir(folder).unwrap().count(), files().len());
    }

    #[test]
    fn every_remote_provider_asks_for_its_key() {
        for provider in PROVIDERS {
            let Some(variable) = provider.key_env() else {
                continue;
            };
            let built = provider.build(ProviderOptions::default());
            let error = built.err().expect(provider.name).to_string();
            assert!(error.contains(variable), "{error}");
        }
    }
}
