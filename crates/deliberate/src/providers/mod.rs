//! Who thinks, by the settings: the provider that is named; else the first that has a key or an
//! address; else a model server found on this machine; else the client's own model; else the
//! client, between calls.

mod overrides;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use deliberate_llm::{
    Anthropic, AnthropicSettings, ChatModel, HttpSettings, Langbase, LangbaseSettings, LocalServer,
    ModelError, OpenAi, OpenAiSettings, ProbeTarget, TokenPrices, Vendor, find_local, find_vendor,
    is_local_url, vendors,
};
use deliberate_toolkit::ModelSelector;
use futures::future::BoxFuture;
use secrecy::SecretString;
use tokio::sync::Mutex;

use crate::config::{AppSettings, LoadedConfig};
use overrides::ModelWithOverrides;

/// Ports on this machine answer at once or not at all.
const PROBE_TIMEOUT: Duration = Duration::from_millis(400);

/// How long to believe what was found; a model server may be started or stopped at any time.
const DISCOVERY_TTL: Duration = Duration::from_secs(30);

/// A local model writes slowly, and nobody pays for the wait; used unless a time is set.
const LOCAL_TIMEOUT: Duration = Duration::from_mins(5);

/// As documented, for providers on the network.
const REMOTE_TIMEOUT: Duration = Duration::from_secs(30);

/// Who the settings choose.
pub(crate) enum ProviderChoice {
    /// This provider.
    Provider(SelectedProvider),
    /// Whatever runs on this machine, else the client.
    DiscoverLocal,
    /// The client's own model.
    ClientModel,
    /// The client, between calls.
    Client,
}

/// A provider, with words for people.
#[derive(Clone)]
pub(crate) struct SelectedProvider {
    pub(crate) model: Arc<dyn ChatModel>,
    /// Such as `langbase at https://api.langbase.com`.
    pub(crate) description: String,
}

/// Chooses for each call.
pub(crate) struct ProviderSelector {
    choice: ProviderChoice,
    settings: AppSettings,
    discovery: Mutex<Option<DiscoveryCache>>,
}

struct DiscoveryCache {
    checked_at: Instant,
    server: Option<LocalServer>,
    provider: Option<SelectedProvider>,
}

impl ProviderSelector {
    /// Chooses by the settings; wrong ones are told now rather than at the first thought.
    pub(crate) fn new(loaded: &LoadedConfig) -> Result<Self, ModelError> {
        Ok(Self {
            choice: choose_provider(loaded)?,
            settings: loaded.settings.clone(),
            discovery: Mutex::default(),
        })
    }

    /// The provider that thinks without any client's help, if there is one.
    pub(crate) async fn own_provider(&self) -> Option<SelectedProvider> {
        match &self.choice {
            ProviderChoice::Provider(mind) => Some(mind.clone()),
            ProviderChoice::DiscoverLocal => self.discover_local().await,
            ProviderChoice::ClientModel | ProviderChoice::Client => None,
        }
    }

    async fn discover_local(&self) -> Option<SelectedProvider> {
        let mut looked = self.discovery.lock().await;
        if let Some(known) = looked.as_ref()
            && known.checked_at.elapsed() < DISCOVERY_TTL
        {
            return known.provider.clone();
        }
        let found = find_local(&ProbeTarget::defaults(), PROBE_TIMEOUT).await;
        let mind = match (looked.take(), &found) {
            // The same as before keeps what it has learned of its limits.
            (Some(known), found) if known.server == *found => known.provider,
            (_, Some(found)) => self.build_discovered(found),
            (_, None) => None,
        };
        *looked = Some(DiscoveryCache {
            checked_at: Instant::now(),
            server: found,
            provider: mind.clone(),
        });
        mind
    }

    fn build_discovered(&self, found: &LocalServer) -> Option<SelectedProvider> {
        tracing::info!(
            provider = found.vendor,
            model = found.model,
            url = found.base_url,
            "found a model server on this machine"
        );
        let vendor = find_vendor(&found.vendor)?;
        let model = self.settings.model.clone();
        let model = model.unwrap_or_else(|| found.model.clone());
        let base_url = Some(found.base_url.clone());
        from_openai(&self.settings, vendor, None, base_url, Some(model)).ok()
    }
}

impl ModelSelector for ProviderSelector {
    fn choose(
        &self,
        offered: Option<Arc<dyn ChatModel>>,
    ) -> BoxFuture<'_, Option<Arc<dyn ChatModel>>> {
        Box::pin(async move {
            match self.choice {
                ProviderChoice::Client => None,
                ProviderChoice::ClientModel => offered,
                ProviderChoice::Provider(_) | ProviderChoice::DiscoverLocal => {
                    self.own_provider().await.map(|mind| mind.model).or(offered)
                }
            }
        })
    }
}

fn choose_provider(loaded: &LoadedConfig) -> Result<ProviderChoice, ModelError> {
    let settings = &loaded.settings;
    match settings.provider.as_str() {
        "auto" => auto_select(loaded),
        "sampling" => Ok(ProviderChoice::ClientModel),
        "client" => Ok(ProviderChoice::Client),
        "langbase" => from_langbase(settings).map(ProviderChoice::Provider),
        "anthropic" => from_anthropic(settings).map(ProviderChoice::Provider),
        name => {
            let vendor = find_vendor(name).ok_or_else(|| ModelError::Misconfigured {
                provider: name.to_owned(),
                reason: "there is no such provider".to_owned(),
            })?;
            from_vendor(loaded, vendor).map(ProviderChoice::Provider)
        }
    }
}

fn auto_select(loaded: &LoadedConfig) -> Result<ProviderChoice, ModelError> {
    let settings = &loaded.settings;
    // An address of one's own comes first, and no vendor's key is ever sent to it.
    if settings.base_url.is_some() {
        return from_base_url(settings).map(ProviderChoice::Provider);
    }
    if settings.api_key.is_some() {
        return Err(ModelError::Misconfigured {
            provider: "auto".to_owned(),
            reason: "api_key (DELIBERATE_API_KEY) is set, but not whose key it is; set provider \
                     (DELIBERATE_PROVIDER) or base_url (DELIBERATE_BASE_URL) too"
                .to_owned(),
        });
    }
    if settings.langbase.api_key.is_some() {
        return from_langbase(settings).map(ProviderChoice::Provider);
    }
    if settings.anthropic.api_key.is_some() {
        return from_anthropic(settings).map(ProviderChoice::Provider);
    }
    if let (Some(_), Some(vendor)) = (&settings.openai.base_url, find_vendor("openai")) {
        return from_vendor(loaded, vendor).map(ProviderChoice::Provider);
    }
    let keyed = vendors()
        .iter()
        .find(|vendor| vendor_key(loaded, vendor).is_some());
    if let Some(vendor) = keyed {
        return from_vendor(loaded, vendor).map(ProviderChoice::Provider);
    }
    if settings.discover {
        Ok(ProviderChoice::DiscoverLocal)
    } else {
        // Without looking, what is left is the client's own model, if it offers one.
        Ok(ProviderChoice::ClientModel)
    }
}

/// A server of the `OpenAI` kind at an address that nobody named a vendor for.
fn from_base_url(settings: &AppSettings) -> Result<SelectedProvider, ModelError> {
    let vendor = find_vendor("openai").ok_or_else(|| ModelError::Misconfigured {
        provider: "auto".to_owned(),
        reason: "the OpenAI wire is not there".to_owned(),
    })?;
    let (key, base_url) = (settings.api_key.clone(), settings.base_url.clone());
    from_openai(settings, vendor, key, base_url, settings.model.clone())
}

fn from_langbase(settings: &AppSettings) -> Result<SelectedProvider, ModelError> {
    let own = settings.langbase.api_key.clone();
    let key = settings.api_key.clone().or(own);
    let key = key.ok_or_else(|| missing_key_error("langbase", "LANGBASE_API_KEY"))?;
    let base_url = settings
        .base_url
        .clone()
        .unwrap_or_else(|| settings.langbase.base_url.clone());
    let pipes = settings.pipes.iter();
    let langbase = Langbase::new(LangbaseSettings {
        base_url: base_url.clone(),
        pipes: pipes
            .map(|(mode, pipe)| ((*mode).to_owned(), pipe.clone()))
            .collect(),
        model: settings
            .model
            .clone()
            .unwrap_or_else(|| settings.langbase.model.clone()),
        temperature: temperature(settings),
        max_tokens: settings.max_tokens,
        http: http_settings(settings, REMOTE_TIMEOUT),
        prices: prices(settings),
        ..LangbaseSettings::new(key)
    })?;
    Ok(describe_provider(settings, Arc::new(langbase), &base_url))
}

fn from_anthropic(settings: &AppSettings) -> Result<SelectedProvider, ModelError> {
    let own = settings.anthropic.api_key.clone();
    let key = settings.api_key.clone().or(own);
    let key = key.ok_or_else(|| missing_key_error("anthropic", "ANTHROPIC_API_KEY"))?;
    let mut wanted = AnthropicSettings::new(key);
    let base_url = settings
        .base_url
        .clone()
        .or_else(|| settings.anthropic.base_url.clone());
    if let Some(base_url) = base_url {
        wanted.base_url = base_url;
    }
    if let Some(model) = settings.model.clone() {
        wanted.model = model;
    }
    wanted.http = http_settings(settings, REMOTE_TIMEOUT);
    wanted.prices = prices(settings);
    let base_url = wanted.base_url.clone();
    Ok(describe_provider(
        settings,
        Arc::new(Anthropic::new(wanted)?),
        &base_url,
    ))
}

fn vendor_key(loaded: &LoadedConfig, vendor: &Vendor) -> Option<SecretString> {
    let own = if vendor.name == "openai" {
        loaded.settings.openai.api_key.clone()
    } else {
        None
    };
    own.or_else(|| loaded.environment.secret(vendor.key_env.as_deref()?))
}

fn from_vendor(loaded: &LoadedConfig, vendor: &Vendor) -> Result<SelectedProvider, ModelError> {
    let settings = &loaded.settings;
    let key = settings
        .api_key
        .clone()
        .or_else(|| vendor_key(loaded, vendor));
    let own_url = (vendor.name == "openai")
        .then(|| settings.openai.base_url.clone())
        .flatten();
    let base_url = settings.base_url.clone().or(own_url);
    // An address of one's own may need no key; the vendor's needs one.
    if let (None, None, Some(variable)) = (&key, &base_url, &vendor.key_env) {
        return Err(missing_key_error(&vendor.name, variable));
    }
    let model = settings.model.clone();
    from_openai(settings, vendor, key, base_url, model)
}

fn from_openai(
    settings: &AppSettings,
    vendor: &Vendor,
    key: Option<SecretString>,
    base_url: Option<String>,
    model: Option<String>,
) -> Result<SelectedProvider, ModelError> {
    let mut wanted = OpenAiSettings::for_vendor(vendor, key);
    if let Some(base_url) = base_url {
        // The vendor's own default model means nothing at another address.
        wanted.model = None;
        wanted.base_url = base_url;
    }
    if model.is_some() {
        wanted.model = model;
    }
    let local = vendor.local || is_local_url(&wanted.base_url);
    wanted.http = http_settings(settings, if local { LOCAL_TIMEOUT } else { REMOTE_TIMEOUT });
    wanted.prices = prices(settings);
    let base_url = wanted.base_url.clone();
    Ok(describe_provider(
        settings,
        Arc::new(OpenAi::new(wanted)?),
        &base_url,
    ))
}

fn describe_provider(
    settings: &AppSettings,
    thinker: Arc<dyn ChatModel>,
    base_url: &str,
) -> SelectedProvider {
    let description = format!("{} at {base_url}", thinker.name());
    let (temperature, max_tokens) = (temperature(settings), settings.max_tokens);
    let thinker = if temperature.is_some() || max_tokens.is_some() {
        Arc::new(ModelWithOverrides {
            model: thinker,
            temperature,
            max_tokens,
        })
    } else {
        thinker
    };
    SelectedProvider {
        model: thinker,
        description,
    }
}

fn missing_key_error(provider: &str, variable: &str) -> ModelError {
    ModelError::Misconfigured {
        provider: provider.to_owned(),
        reason: format!("it needs a key; set {variable}"),
    }
}

fn http_settings(settings: &AppSettings, timeout: Duration) -> HttpSettings {
    let request = &settings.request;
    HttpSettings {
        request_timeout: request.timeout.unwrap_or(timeout),
        max_retries: request.max_retries,
        retry_delay: request.retry_delay,
        concurrency: request.concurrency,
        requests_per_second: request.per_second,
    }
}

fn prices(settings: &AppSettings) -> Option<TokenPrices> {
    let prices = &settings.prices;
    match (prices.input_per_mtok, prices.output_per_mtok) {
        (None, None) => None,
        (input, output) => Some(TokenPrices {
            input_per_mtok: input.unwrap_or(0.0),
            output_per_mtok: output.unwrap_or(0.0),
        }),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a temperature needs no more digits"
)]
fn temperature(settings: &AppSettings) -> Option<f32> {
    settings.temperature.map(|temperature| temperature as f32)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use deliberate_llm::vendors;

    use crate::config::PROVIDERS;

    #[test]
    fn every_vendor_can_be_chosen_and_every_choice_is_there() {
        let own = ["auto", "langbase", "anthropic", "sampling", "client"];
        let choices: BTreeSet<&str> = PROVIDERS.iter().copied().collect();
        let known = own
            .into_iter()
            .chain(vendors().iter().map(|vendor| vendor.name.as_str()));
        assert_eq!(choices, known.collect());
    }
}
