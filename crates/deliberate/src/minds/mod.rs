//! Who thinks, by the settings: the provider that is named; else the first that has a key or an
//! address; else a model server found on this machine; else the client's own model; else the
//! client, between calls.

mod tuned;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use deliberate_thinker::{
    Anthropic, AnthropicSettings, Found, HttpSettings, Langbase, LangbaseSettings, OpenAi,
    OpenAiSettings, Prices, Probe, ThinkError, Thinker, Vendor, find_local, find_vendor,
    is_on_this_machine, vendors,
};
use deliberate_toolkit::Minds;
use futures::future::BoxFuture;
use secrecy::SecretString;
use tokio::sync::Mutex;

use crate::config::{Loaded, Settings};
use tuned::Tuned;

/// Ports on this machine answer at once or not at all.
const PROBE_TIME: Duration = Duration::from_millis(400);

/// How long to believe what was found; a model server may be started or stopped at any time.
const BELIEVED: Duration = Duration::from_secs(30);

/// A local model writes slowly, and nobody pays for the wait; used unless a time is set.
const LOCAL_TIMEOUT: Duration = Duration::from_mins(5);

/// As documented, for providers on the network.
const REMOTE_TIMEOUT: Duration = Duration::from_secs(30);

/// Who the settings choose.
pub(crate) enum Choice {
    /// This provider.
    Provider(Mind),
    /// Whatever runs on this machine, else the client.
    Look,
    /// The client's own model.
    ClientsModel,
    /// The client, between calls.
    Client,
}

/// A provider, with words for people.
#[derive(Clone)]
pub(crate) struct Mind {
    pub(crate) thinker: Arc<dyn Thinker>,
    /// Such as `langbase at https://api.langbase.com`.
    pub(crate) description: String,
}

/// Chooses for each call.
pub(crate) struct Chooser {
    choice: Choice,
    settings: Settings,
    looked: Mutex<Option<Looked>>,
}

struct Looked {
    at: Instant,
    found: Option<Found>,
    mind: Option<Mind>,
}

impl Chooser {
    /// Chooses by the settings; wrong ones are told now rather than at the first thought.
    pub(crate) fn new(loaded: &Loaded) -> Result<Self, ThinkError> {
        Ok(Self {
            choice: choose(loaded)?,
            settings: loaded.settings.clone(),
            looked: Mutex::default(),
        })
    }

    /// The provider that thinks without any client's help, if there is one.
    pub(crate) async fn own(&self) -> Option<Mind> {
        match &self.choice {
            Choice::Provider(mind) => Some(mind.clone()),
            Choice::Look => self.look().await,
            Choice::ClientsModel | Choice::Client => None,
        }
    }

    async fn look(&self) -> Option<Mind> {
        let mut looked = self.looked.lock().await;
        if let Some(known) = looked.as_ref()
            && known.at.elapsed() < BELIEVED
        {
            return known.mind.clone();
        }
        let found = find_local(&Probe::usual(), PROBE_TIME).await;
        let mind = match (looked.take(), &found) {
            // The same as before keeps what it has learned of its limits.
            (Some(known), found) if known.found == *found => known.mind,
            (_, Some(found)) => self.found(found),
            (_, None) => None,
        };
        *looked = Some(Looked {
            at: Instant::now(),
            found,
            mind: mind.clone(),
        });
        mind
    }

    fn found(&self, found: &Found) -> Option<Mind> {
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
        openai(&self.settings, vendor, None, base_url, Some(model)).ok()
    }
}

impl Minds for Chooser {
    fn choose(&self, offered: Option<Arc<dyn Thinker>>) -> BoxFuture<'_, Option<Arc<dyn Thinker>>> {
        Box::pin(async move {
            match self.choice {
                Choice::Client => None,
                Choice::ClientsModel => offered,
                Choice::Provider(_) | Choice::Look => {
                    self.own().await.map(|mind| mind.thinker).or(offered)
                }
            }
        })
    }
}

fn choose(loaded: &Loaded) -> Result<Choice, ThinkError> {
    let settings = &loaded.settings;
    match settings.provider.as_str() {
        "auto" => automatic(loaded),
        "sampling" => Ok(Choice::ClientsModel),
        "client" => Ok(Choice::Client),
        "langbase" => langbase(settings).map(Choice::Provider),
        "anthropic" => anthropic(settings).map(Choice::Provider),
        name => {
            let vendor = find_vendor(name).ok_or_else(|| ThinkError::Misconfigured {
                provider: name.to_owned(),
                reason: "there is no such provider".to_owned(),
            })?;
            named_vendor(loaded, vendor).map(Choice::Provider)
        }
    }
}

fn automatic(loaded: &Loaded) -> Result<Choice, ThinkError> {
    let settings = &loaded.settings;
    // An address of one's own comes first, and no vendor's key is ever sent to it.
    if settings.base_url.is_some() {
        return own_address(settings).map(Choice::Provider);
    }
    if settings.api_key.is_some() {
        return Err(ThinkError::Misconfigured {
            provider: "auto".to_owned(),
            reason: "api_key (DELIBERATE_API_KEY) is set, but not whose key it is; set provider \
                     (DELIBERATE_PROVIDER) or base_url (DELIBERATE_BASE_URL) too"
                .to_owned(),
        });
    }
    if settings.langbase.api_key.is_some() {
        return langbase(settings).map(Choice::Provider);
    }
    if settings.anthropic.api_key.is_some() {
        return anthropic(settings).map(Choice::Provider);
    }
    if let (Some(_), Some(vendor)) = (&settings.openai.base_url, find_vendor("openai")) {
        return named_vendor(loaded, vendor).map(Choice::Provider);
    }
    let keyed = vendors()
        .iter()
        .find(|vendor| vendor_key(loaded, vendor).is_some());
    if let Some(vendor) = keyed {
        return named_vendor(loaded, vendor).map(Choice::Provider);
    }
    if settings.discover {
        Ok(Choice::Look)
    } else {
        // Without looking, what is left is the client's own model, if it offers one.
        Ok(Choice::ClientsModel)
    }
}

/// A server of the `OpenAI` kind at an address that nobody named a vendor for.
fn own_address(settings: &Settings) -> Result<Mind, ThinkError> {
    let vendor = find_vendor("openai").ok_or_else(|| ThinkError::Misconfigured {
        provider: "auto".to_owned(),
        reason: "the OpenAI wire is not there".to_owned(),
    })?;
    let (key, base_url) = (settings.api_key.clone(), settings.base_url.clone());
    openai(settings, vendor, key, base_url, settings.model.clone())
}

fn langbase(settings: &Settings) -> Result<Mind, ThinkError> {
    let own = settings.langbase.api_key.clone();
    let key = settings.api_key.clone().or(own);
    let key = key.ok_or_else(|| no_key("langbase", "LANGBASE_API_KEY"))?;
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
        http: http(settings, REMOTE_TIMEOUT),
        prices: prices(settings),
        ..LangbaseSettings::new(key)
    })?;
    Ok(mind(settings, Arc::new(langbase), &base_url))
}

fn anthropic(settings: &Settings) -> Result<Mind, ThinkError> {
    let own = settings.anthropic.api_key.clone();
    let key = settings.api_key.clone().or(own);
    let key = key.ok_or_else(|| no_key("anthropic", "ANTHROPIC_API_KEY"))?;
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
    wanted.http = http(settings, REMOTE_TIMEOUT);
    wanted.prices = prices(settings);
    let base_url = wanted.base_url.clone();
    Ok(mind(settings, Arc::new(Anthropic::new(wanted)?), &base_url))
}

fn vendor_key(loaded: &Loaded, vendor: &Vendor) -> Option<SecretString> {
    let own = if vendor.name == "openai" {
        loaded.settings.openai.api_key.clone()
    } else {
        None
    };
    own.or_else(|| loaded.environment.secret(vendor.key_env.as_deref()?))
}

fn named_vendor(loaded: &Loaded, vendor: &Vendor) -> Result<Mind, ThinkError> {
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
        return Err(no_key(&vendor.name, variable));
    }
    let model = settings.model.clone();
    openai(settings, vendor, key, base_url, model)
}

fn openai(
    settings: &Settings,
    vendor: &Vendor,
    key: Option<SecretString>,
    base_url: Option<String>,
    model: Option<String>,
) -> Result<Mind, ThinkError> {
    let mut wanted = OpenAiSettings::of(vendor, key);
    if let Some(base_url) = base_url {
        // The vendor's own default model means nothing at another address.
        wanted.model = None;
        wanted.base_url = base_url;
    }
    if model.is_some() {
        wanted.model = model;
    }
    let local = vendor.local || is_on_this_machine(&wanted.base_url);
    wanted.http = http(settings, if local { LOCAL_TIMEOUT } else { REMOTE_TIMEOUT });
    wanted.prices = prices(settings);
    let base_url = wanted.base_url.clone();
    Ok(mind(settings, Arc::new(OpenAi::new(wanted)?), &base_url))
}

fn mind(settings: &Settings, thinker: Arc<dyn Thinker>, base_url: &str) -> Mind {
    let description = format!("{} at {base_url}", thinker.name());
    let (temperature, max_tokens) = (temperature(settings), settings.max_tokens);
    let thinker = if temperature.is_some() || max_tokens.is_some() {
        Arc::new(Tuned {
            thinker,
            temperature,
            max_tokens,
        })
    } else {
        thinker
    };
    Mind {
        thinker,
        description,
    }
}

fn no_key(provider: &str, variable: &str) -> ThinkError {
    ThinkError::Misconfigured {
        provider: provider.to_owned(),
        reason: format!("it needs a key; set {variable}"),
    }
}

fn http(settings: &Settings, timeout: Duration) -> HttpSettings {
    let request = &settings.request;
    HttpSettings {
        request_timeout: request.timeout.unwrap_or(timeout),
        max_retries: request.max_retries,
        retry_delay: request.retry_delay,
        concurrency: request.concurrency,
        requests_per_second: request.per_second,
    }
}

fn prices(settings: &Settings) -> Option<Prices> {
    let prices = &settings.prices;
    match (prices.input_per_mtok, prices.output_per_mtok) {
        (None, None) => None,
        (input, output) => Some(Prices {
            input_per_mtok: input.unwrap_or(0.0),
            output_per_mtok: output.unwrap_or(0.0),
        }),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a temperature needs no more digits"
)]
fn temperature(settings: &Settings) -> Option<f32> {
    settings.temperature.map(|temperature| temperature as f32)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use deliberate_thinker::vendors;

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
