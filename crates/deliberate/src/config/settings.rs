//! The settings as the program uses them: typed, checked and complete.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::value::Value;
use super::values::{Values, narrow};

/// Everything that can be set.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// One of [`super::table::PROVIDERS`].
    pub(crate) provider: String,
    /// Model to ask; `None` leaves it to the provider.
    pub(crate) model: Option<String>,
    /// Address of the chosen provider.
    pub(crate) base_url: Option<String>,
    /// Key for the chosen provider.
    pub(crate) api_key: Option<SecretString>,
    /// Sampling temperature.
    pub(crate) temperature: Option<f64>,
    /// Longest answer to ask for.
    pub(crate) max_tokens: Option<u32>,
    /// Whether to look for a model server on this machine.
    pub(crate) discover: bool,
    /// Langbase.
    pub(crate) langbase: Langbase,
    /// `OpenAI`.
    pub(crate) openai: Account,
    /// Anthropic.
    pub(crate) anthropic: Account,
    /// Langbase pipe by mode: `linear`, `tree`, …
    pub(crate) pipes: BTreeMap<&'static str, String>,
    /// How providers are asked.
    pub(crate) request: Request,
    /// Where sessions are kept.
    pub(crate) database: Database,
    /// What is logged.
    pub(crate) log: Log,
    /// What clients may ask for.
    pub(crate) limits: Limits,
    /// How long a call that waits for the client's answer is kept.
    pub(crate) suspend_ttl: Duration,
    /// What tokens cost.
    pub(crate) prices: Prices,
}

/// Access to Langbase.
#[derive(Debug, Clone)]
pub(crate) struct Langbase {
    /// Its key.
    pub(crate) api_key: Option<SecretString>,
    /// Its endpoint.
    pub(crate) base_url: String,
    /// Model of the pipes that are created on first use.
    pub(crate) model: String,
}

/// Access to a vendor with settings of its own.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    /// Its key.
    pub(crate) api_key: Option<SecretString>,
    /// Its endpoint, if not the usual one.
    pub(crate) base_url: Option<String>,
}

/// How providers are asked.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// `None` if nobody set it: local models are then given longer than remote ones.
    pub(crate) timeout: Option<Duration>,
    /// Retries after the first attempt.
    pub(crate) max_retries: u32,
    /// Pause before the first retry.
    pub(crate) retry_delay: Duration,
    /// Requests to one provider at once.
    pub(crate) concurrency: usize,
    /// Requests to one provider per second.
    pub(crate) per_second: Option<f64>,
}

/// Where sessions are kept.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    /// The database file.
    pub(crate) path: PathBuf,
    /// Readers at once.
    pub(crate) max_connections: u32,
    /// What survives a power cut.
    pub(crate) durability: Durability,
}

/// What survives a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Everything that was answered.
    Full,
    /// Perhaps not the last moments.
    Relaxed,
}

/// What is logged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Log {
    /// How much.
    pub(crate) level: LogLevel,
    /// In which form.
    pub(crate) format: LogFormat,
}

/// How much is logged; each level includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogLevel {
    /// What failed.
    Error,
    /// What may need attention.
    Warn,
    /// What happened.
    Info,
    /// How.
    Debug,
    /// Everything, including message contents.
    Trace,
}

/// In which form is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// Lines for people.
    Pretty,
    /// One JSON object per line.
    Json,
}

/// What clients may ask for.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    /// Longest message.
    pub(crate) line_bytes: usize,
    /// Longest text in one tool argument.
    pub(crate) content_chars: usize,
    /// How much of a session's past a model sees.
    pub(crate) context_tokens: usize,
    /// Tool calls at once.
    pub(crate) concurrent_calls: usize,
    /// One tool call in all.
    pub(crate) call_timeout: Duration,
    /// Running calls when the server stops.
    pub(crate) shutdown: Duration,
}

/// What a million tokens cost.
#[derive(Debug, Clone)]
pub(crate) struct Prices {
    /// Read by the model.
    pub(crate) input_per_mtok: Option<f64>,
    /// Written by the model.
    pub(crate) output_per_mtok: Option<f64>,
}

const SECONDS_PER_HOUR: u64 = 3600;

impl Settings {
    pub(super) fn from_values(values: &Values) -> Self {
        Self {
            provider: values.word("provider").to_owned(),
            model: values.text("model"),
            base_url: values.text("base_url"),
            api_key: values.secret("api_key"),
            temperature: values.number("temperature"),
            max_tokens: values.integer("max_tokens").map(narrow),
            discover: matches!(values.get("discover"), Some(Value::Switch(true))),
            langbase: Langbase {
                api_key: values.secret("langbase.api_key"),
                base_url: values.text("langbase.base_url").unwrap_or_default(),
                model: values.text("langbase.model").unwrap_or_default(),
            },
            openai: Account {
                api_key: values.secret("openai.api_key"),
                base_url: values.text("openai.base_url"),
            },
            anthropic: Account {
                api_key: values.secret("anthropic.api_key"),
                base_url: values.text("anthropic.base_url"),
            },
            pipes: values.section("pipes."),
            request: Request {
                timeout: values
                    .integer("request.timeout_ms")
                    .map(Duration::from_millis),
                max_retries: values.count("request.max_retries"),
                retry_delay: values.milliseconds("request.retry_delay_ms"),
                concurrency: values.count("request.concurrency"),
                per_second: values.number("request.per_second"),
            },
            database: Database {
                path: values.path("database.path"),
                max_connections: values.count("database.max_connections"),
                durability: match values.word("database.durability") {
                    "relaxed" => Durability::Relaxed,
                    _ => Durability::Full,
                },
            },
            log: Log {
                level: match values.word("log.level") {
                    "error" => LogLevel::Error,
                    "warn" => LogLevel::Warn,
                    "debug" => LogLevel::Debug,
                    "trace" => LogLevel::Trace,
                    _ => LogLevel::Info,
                },
                format: match values.word("log.format") {
                    "json" => LogFormat::Json,
                    _ => LogFormat::Pretty,
                },
            },
            limits: Limits {
                line_bytes: values.count("limits.line_bytes"),
                content_chars: values.count("limits.content_chars"),
                context_tokens: values.count("limits.context_tokens"),
                concurrent_calls: values.count("limits.concurrent_calls"),
                call_timeout: values.milliseconds("limits.call_timeout_ms"),
                shutdown: values.milliseconds("limits.shutdown_ms"),
            },
            suspend_ttl: Duration::from_secs(
                values.integer("suspend.ttl_hours").unwrap_or_default() * SECONDS_PER_HOUR,
            ),
            prices: Prices {
                input_per_mtok: values.number("prices.input_per_mtok"),
                output_per_mtok: values.number("prices.output_per_mtok"),
            },
        }
    }
}
