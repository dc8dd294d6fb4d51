//! Selects the provider by the settings. The candidates and their order are the table of providers
//! in `deliberate_llm`; this file only decides which entry is meant and with which settings.

use deliberate_llm::{
    HttpSettings, ModelError, PROVIDERS, Provider, ProviderModel, ProviderOptions, TokenPrices,
    find_provider,
};
use secrecy::SecretString;

use super::{ProviderChoice, SelectedProvider, overrides};
use crate::config::{AUTO, AppSettings, CLIENT, LoadedConfig, ProviderAccount, SAMPLING};

/// Provider of endpoints of which only the base URL is known.
const OPENAI_COMPATIBLE: &str = "openai";

pub(super) fn choose_provider(loaded: &LoadedConfig) -> Result<ProviderChoice, ModelError> {
    match loaded.settings.provider.as_str() {
        AUTO => auto_select(loaded),
        SAMPLING => Ok(ProviderChoice::ClientModel),
        CLIENT => Ok(ProviderChoice::Client),
        name => from_account(loaded, provider_named(name)?).map(ProviderChoice::Provider),
    }
}

/// Selects in this order: the base URL in the settings, the first configured provider of the
/// table, a local model server, the client's model.
fn auto_select(loaded: &LoadedConfig) -> Result<ProviderChoice, ModelError> {
    let settings = &loaded.settings;
    // The user's own base URL comes first, and no vendor's key is ever sent to it.
    if let Some(base_url) = &settings.base_url {
        let provider = provider_named(OPENAI_COMPATIBLE)?;
        let key = settings.api_key.clone();
        let model = settings.model.clone();
        return from_endpoint(settings, provider, key, Some(base_url.clone()), model)
            .map(ProviderChoice::Provider);
    }
    if settings.api_key.is_some() {
        return Err(ModelError::Misconfigured {
            provider: AUTO.to_owned(),
            reason: "api_key (DELIBERATE_API_KEY) is set, but not the provider it belongs to; set \
                     provider (DELIBERATE_PROVIDER) or base_url (DELIBERATE_BASE_URL) too"
                .to_owned(),
        });
    }
    let configured = PROVIDERS.iter().find(|provider| {
        let has_base_url = account(settings, provider).base_url.is_some();
        provider.is_configured(account_key(loaded, provider).is_some(), has_base_url)
    });
    if let Some(provider) = configured {
        return from_account(loaded, provider).map(ProviderChoice::Provider);
    }
    if settings.discover {
        Ok(ProviderChoice::DiscoverLocal)
    } else {
        // Without discovery only the client's model is left, if the client offers one.
        Ok(ProviderChoice::ClientModel)
    }
}

pub(super) fn provider_named(name: &str) -> Result<&'static Provider, ModelError> {
    find_provider(name).ok_or_else(|| ModelError::Misconfigured {
        provider: name.to_owned(),
        reason: "there is no such provider".to_owned(),
    })
}

/// Returns the provider's own settings, empty if it has none.
fn account(settings: &AppSettings, provider: &Provider) -> ProviderAccount {
    let account = settings.accounts.get(provider.name);
    account.cloned().unwrap_or_default()
}

/// Returns the key from the provider's own settings, or else from its environment variable.
fn account_key(loaded: &LoadedConfig, provider: &Provider) -> Option<SecretString> {
    let from_environment = || loaded.environment.secret(provider.key_env()?);
    account(&loaded.settings, provider)
        .api_key
        .or_else(from_environment)
}

/// Builds a provider with the settings `api_key`, `base_url` and `model`, or else with its own.
fn from_account(
    loaded: &LoadedConfig,
    provider: &'static Provider,
) -> Result<SelectedProvider, ModelError> {
    let settings = &loaded.settings;
    let account = account(settings, provider);
    let key = settings.api_key.clone();
    let key = key.or_else(|| account_key(loaded, provider));
    let base_url = settings.base_url.clone().or(account.base_url);
    let model = settings.model.clone().or(account.model);
    from_endpoint(settings, provider, key, base_url, model)
}

pub(super) fn from_endpoint(
    settings: &AppSettings,
    provider: &Provider,
    api_key: Option<SecretString>,
    base_url: Option<String>,
    model: Option<String>,
) -> Result<SelectedProvider, ModelError> {
    let pipes = settings.pipes.iter();
    let request = &settings.request;
    let timeout = || provider.default_timeout(base_url.as_deref());
    let http = HttpSettings {
        request_timeout: request.timeout.unwrap_or_else(timeout),
        max_retries: request.max_retries,
        retry_delay: request.retry_delay,
        concurrency: request.concurrency,
        requests_per_second: request.per_second,
    };
    let ProviderModel { model, base_url } = provider.build(ProviderOptions {
        api_key,
        base_url,
        model,
        pipes: pipes
            .map(|(mode, pipe)| ((*mode).to_owned(), pipe.clone()))
            .collect(),
        temperature: settings.temperature,
        max_tokens: settings.max_tokens,
        http,
        prices: prices(settings),
    })?;
    Ok(SelectedProvider {
        description: format!("{} at {base_url}", model.name()),
        model: overrides::apply(model, settings.temperature, settings.max_tokens),
    })
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

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;
    use crate::config::PROVIDER_CHOICES;

    #[test]
    fn every_vendor_can_be_chosen_and_every_choice_is_there() {
        let choices: BTreeSet<&str> = PROVIDER_CHOICES.iter().copied().collect();
        assert_eq!(choices.len(), PROVIDER_CHOICES.len());
        let providers = PROVIDERS.iter().map(|provider| provider.name);
        let known = [AUTO, SAMPLING, CLIENT].into_iter().chain(providers);
        assert_eq!(choices, known.collect());
    }

    #[test]
    fn the_page_about_models_names_every_provider() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models.md");
        let page = fs::read_to_string(page).unwrap();
        for provider in PROVIDERS {
            assert!(page.contains(provider.title()), "{}", provider.title());
            let variable = provider.key_env().unwrap_or_default();
            assert!(page.contains(variable), "{variable}");
        }
    }
}
