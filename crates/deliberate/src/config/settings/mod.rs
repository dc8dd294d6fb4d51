//! The settings as the program uses them: typed, validated and complete.

pub(crate) mod prompts;
pub(crate) mod research;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use deliberate_llm::{PROVIDERS, Provider};
use secrecy::SecretString;

use crate::logging::LogFilter;

use super::{
    resolved::{ResolvedSettings, narrow},
    servers::GatewaySettings,
};
use prompts::{PromptSettings, ToolSets};
use research::ResearchSettings;

/// All settings.
#[derive(Debug, Clone)]
pub(crate) struct AppSettings {
    /// One of [`super::definitions::PROVIDER_CHOICES`].
    pub(crate) provider: String,
    /// Model name; `None` leaves it to the provider.
    pub(crate) model: Option<String>,
    /// Base URL of the selected provider.
    pub(crate) base_url: Option<String>,
    /// API key of the selected provider.
    pub(crate) api_key: Option<SecretString>,
    pub(crate) temperature: Option<f64>,
    /// Longest answer to request, in tokens.
    pub(crate) max_tokens: Option<u32>,
    /// Whether to search for a model server on this machine.
    pub(crate) discover: bool,
    /// Accounts by provider, for the providers that have settings of their own.
    pub(crate) accounts: BTreeMap<&'static str, ProviderAccount>,
    /// Langbase pipes by mode: `linear`, `tree`, …
    pub(crate) pipes: BTreeMap<&'static str, String>,
    pub(crate) request: ModelRequestSettings,
    pub(crate) database: DatabaseSettings,
    pub(crate) log: LogSettings,
    pub(crate) limits: LimitSettings,
    pub(crate) retention: RetentionSettings,
    /// How long a suspended call is kept.
    pub(crate) suspend_ttl: Duration,
    pub(crate) prices: PriceSettings,
    pub(crate) stdio: StdioMode,
    pub(crate) http: HttpServerSettings,
    pub(crate) oauth: OAuthSettings,
    pub(crate) resources: FileResourceSettings,
    pub(crate) tools: ToolSets,
    pub(crate) prompts: PromptSettings,
    pub(crate) research: ResearchSettings,
    pub(crate) gateway: GatewaySettings,
    pub(crate) telemetry: TelemetrySettings,
}

/// Whether MCP is served on standard input and output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StdioMode {
    /// If a client started the program.
    Auto,
    On,
    Off,
}

/// Settings of the HTTP server.
#[derive(Debug, Clone)]
pub(crate) struct HttpServerSettings {
    /// Address to listen on; `None` depends on how the program was started.
    pub(crate) listen: Option<SocketAddr>,
    /// URL by which clients reach the server.
    pub(crate) public_url: Option<String>,
    /// Host names that requests may be sent to.
    pub(crate) allowed_hosts: Vec<String>,
    /// Origins of web pages that may use the server.
    pub(crate) allowed_origins: Vec<String>,
    /// Token with access to everything.
    pub(crate) token: Option<SecretString>,
    /// File of named tokens.
    pub(crate) tokens_file: Option<PathBuf>,
    /// Whether the HTTP+SSE transport is served.
    pub(crate) sse: bool,
    /// Whether the Streamable HTTP transport keeps sessions.
    pub(crate) sessions: bool,
    pub(crate) max_sessions: usize,
    /// Time after which an idle session is closed.
    pub(crate) session_idle: Duration,
    pub(crate) connections: usize,
    /// Per client; zero is unlimited, `None` depends on whether the server is reachable from other
    /// machines.
    pub(crate) requests_per_minute: Option<u32>,
    /// Per client; `None` as above.
    pub(crate) concurrent_requests: Option<usize>,
}

/// Settings for access tokens of an authorization server.
#[derive(Debug, Clone)]
pub(crate) struct OAuthSettings {
    pub(crate) issuer: Option<String>,
    pub(crate) audience: Option<String>,
    pub(crate) jwks_url: Option<String>,
    /// Scope that gives access to everything.
    pub(crate) scope: Option<String>,
}

/// Settings of the files that clients may read.
#[derive(Debug, Clone)]
pub(crate) struct FileResourceSettings {
    pub(crate) roots: Vec<PathBuf>,
    /// Largest file.
    pub(crate) file_bytes: u64,
}

/// Settings of the trace exporter.
#[derive(Debug, Clone)]
pub(crate) struct TelemetrySettings {
    /// URL of the collector; `None` disables traces.
    pub(crate) endpoint: Option<String>,
    /// Service name in traces.
    pub(crate) service: String,
    /// Bearer token for the collector.
    pub(crate) token: Option<SecretString>,
    pub(crate) sample: f64,
}

/// Settings of one provider, such as `openai.api_key`.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProviderAccount {
    pub(crate) api_key: Option<SecretString>,
    /// Base URL, if it is not the provider's usual one.
    pub(crate) base_url: Option<String>,
    /// Model that applies unless the setting `model` is set.
    pub(crate) model: Option<String>,
}

/// HTTP settings of model requests.
#[derive(Debug, Clone)]
pub(crate) struct ModelRequestSettings {
    /// `None` if not set: local models then get more time than remote ones.
    pub(crate) timeout: Option<Duration>,
    pub(crate) max_retries: u32,
    pub(crate) retry_delay: Duration,
    pub(crate) concurrency: usize,
    pub(crate) per_second: Option<f64>,
}

/// Settings of the database.
#[derive(Debug, Clone)]
pub(crate) struct DatabaseSettings {
    pub(crate) path: PathBuf,
    /// Maximum number of concurrent readers.
    pub(crate) max_connections: u32,
    pub(crate) durability: DatabaseDurability,
}

/// The durability of commits on a power failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DatabaseDurability {
    /// Nothing that was answered.
    Full,
    /// The last moments.
    Relaxed,
}

/// Settings of the log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogSettings {
    pub(crate) level: LogLevelSetting,
    pub(crate) format: LogFormat,
    /// Whether the content of requests and answers is logged.
    pub(crate) content: bool,
    /// Whether calls of upstream servers' tools are logged at every level.
    pub(crate) audit: bool,
}

impl LogSettings {
    pub(crate) fn filter(self) -> LogFilter {
        LogFilter {
            level: self.level,
            content: self.content.into(),
            audit: self.audit,
        }
    }
}

/// Log level; each includes the levels before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogLevelSetting {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// Format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// Lines for people.
    Pretty,
    /// One JSON object per line.
    Json,
}

/// Limits on what clients may send and use.
#[derive(Debug, Clone)]
pub(crate) struct LimitSettings {
    /// Longest message.
    pub(crate) line_bytes: usize,
    /// Longest text in one tool argument.
    pub(crate) content_chars: usize,
    /// How much of a session's history a model sees.
    pub(crate) context_tokens: usize,
    pub(crate) concurrent_calls: usize,
    /// Part of the permits that one token may take of what others leave, in percent.
    pub(crate) principal_share: usize,
    /// Total time of a call.
    pub(crate) call_timeout: Duration,
    /// Time after which a call becomes a background call.
    pub(crate) answer_within: Duration,
    pub(crate) answer_bytes: usize,
    /// Time that running calls get when the server stops.
    pub(crate) shutdown: Duration,
}

/// How long and how much of the invocation log is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RetentionSettings {
    /// `None` keeps records of any age.
    pub(crate) days: Option<u32>,
    /// `None` keeps any number of records.
    pub(crate) log_bytes: Option<u64>,
}

/// Prices of a million tokens.
#[derive(Debug, Clone)]
pub(crate) struct PriceSettings {
    pub(crate) input_per_mtok: Option<f64>,
    pub(crate) output_per_mtok: Option<f64>,
}

const SECONDS_PER_HOUR: u64 = 3600;

impl AppSettings {
    pub(super) fn from_values(values: &ResolvedSettings) -> Self {
        Self {
            provider: values.choice("provider").to_owned(),
            model: values.text("model"),
            base_url: values.text("base_url"),
            api_key: values.secret("api_key"),
            temperature: values.number("temperature"),
            max_tokens: values.integer("max_tokens").map(narrow),
            discover: values.switch("discover"),
            accounts: PROVIDERS
                .iter()
                .map(|provider| {
                    (
                        provider.name,
                        ProviderAccount::from_values(values, provider),
                    )
                })
                .filter(|(_, account)| account.is_set())
                .collect(),
            pipes: values.section("pipes."),
            request: ModelRequestSettings {
                timeout: values
                    .integer("request.timeout_ms")
                    .map(Duration::from_millis),
                max_retries: values.count("request.max_retries"),
                retry_delay: values.milliseconds("request.retry_delay_ms"),
                concurrency: values.count("request.concurrency"),
                per_second: values.number("request.per_second"),
            },
            database: DatabaseSettings {
                path: values.path("database.path"),
                max_connections: values.count("database.max_connections"),
                durability: match values.choice("database.durability") {
                    "relaxed" => DatabaseDurability::Relaxed,
                    _ => DatabaseDurability::Full,
                },
            },
            log: LogSettings {
                level: match values.choice("log.level") {
                    "error" => LogLevelSetting::Error,
                    "warn" => LogLevelSetting::Warn,
                    "debug" => LogLevelSetting::Debug,
                    "trace" => LogLevelSetting::Trace,
                    _ => LogLevelSetting::Info,
                },
                format: match values.choice("log.format") {
                    "json" => LogFormat::Json,
                    _ => LogFormat::Pretty,
                },
                content: values.switch("log.content"),
                audit: values.switch("log.audit"),
            },
            limits: LimitSettings {
                line_bytes: values.count("limits.line_bytes"),
                content_chars: values.count("limits.content_chars"),
                context_tokens: values.count("limits.context_tokens"),
                concurrent_calls: values.count("limits.concurrent_calls"),
                principal_share: values.count("limits.principal_share"),
                call_timeout: values.milliseconds("limits.call_timeout_ms"),
                answer_within: values.milliseconds("limits.answer_within_ms"),
                answer_bytes: values.count("limits.answer_bytes"),
                shutdown: values.milliseconds("limits.shutdown_ms"),
            },
            retention: RetentionSettings {
                days: Some(values.count("retention.days")).filter(|days| *days > 0),
                log_bytes: Some(values.count("retention.log_bytes")).filter(|bytes| *bytes > 0),
            },
            suspend_ttl: Duration::from_secs(
                values.integer("suspend.ttl_hours").unwrap_or_default() * SECONDS_PER_HOUR,
            ),
            prices: PriceSettings {
                input_per_mtok: values.number("prices.input_per_mtok"),
                output_per_mtok: values.number("prices.output_per_mtok"),
            },
            stdio: match values.choice("serve.stdio") {
                "on" => StdioMode::On,
                "off" => StdioMode::Off,
                _ => StdioMode::Auto,
            },
            http: HttpServerSettings::from_values(values),
            oauth: OAuthSettings {
                issuer: values.text("oauth.issuer"),
                audience: values.text("oauth.audience"),
                jwks_url: values.text("oauth.jwks_url"),
                scope: values.text("oauth.scope"),
            },
            resources: FileResourceSettings {
                roots: values.paths("resources.roots"),
                file_bytes: values.count("resources.file_bytes"),
            },
            tools: ToolSets::from_values(values),
            prompts: PromptSettings::from_values(values),
            research: ResearchSettings::from_values(values),
            gateway: GatewaySettings::from_values(values),
            telemetry: TelemetrySettings {
                endpoint: values.text("telemetry.endpoint"),
                service: values.text("telemetry.service").unwrap_or_default(),
                token: values.secret("telemetry.token"),
                sample: values.number("telemetry.sample").unwrap_or(1.0),
            },
        }
    }
}

impl ProviderAccount {
    fn from_values(values: &ResolvedSettings, provider: &Provider) -> Self {
        let key = |field: &str| format!("{}.{field}", provider.name);
        Self {
            api_key: values.secret(&key("api_key")),
            base_url: values.text(&key("base_url")),
            model: values.text(&key("model")),
        }
    }

    const fn is_set(&self) -> bool {
        self.api_key.is_some() || self.base_url.is_some() || self.model.is_some()
    }
}

impl HttpServerSettings {
    fn from_values(values: &ResolvedSettings) -> Self {
        Self {
            listen: values.socket_addr("http.listen"),
            public_url: values.text("http.public_url"),
            allowed_hosts: values.texts("http.allowed_hosts"),
            allowed_origins: values.texts("http.allowed_origins"),
            token: values.secret("http.token"),
            tokens_file: values.optional_path("http.tokens_file"),
            sse: values.switch("http.sse"),
            sessions: values.switch("http.sessions"),
            max_sessions: values.count("http.max_sessions"),
            session_idle: values.milliseconds("http.session_idle_ms"),
            connections: values.count("http.connections"),
            requests_per_minute: values.integer("http.requests_per_minute").map(narrow),
            concurrent_requests: values.integer("http.concurrent_requests").map(narrow),
        }
    }
}
