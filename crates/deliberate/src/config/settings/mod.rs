//! The settings as the program uses them: typed, checked and complete.

pub(crate) mod prompts;
pub(crate) mod research;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::{
    resolved::{ResolvedSettings, narrow},
    servers::GatewaySettings,
};
use prompts::{PromptSettings, ToolSets};
use research::ResearchSettings;

/// Everything that can be set.
#[derive(Debug, Clone)]
pub(crate) struct AppSettings {
    /// One of [`super::print_table::PROVIDERS`].
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
    pub(crate) langbase: LangbaseAccount,
    /// `OpenAI`.
    pub(crate) openai: VendorAccount,
    /// Anthropic.
    pub(crate) anthropic: VendorAccount,
    /// Langbase pipe by mode: `linear`, `tree`, …
    pub(crate) pipes: BTreeMap<&'static str, String>,
    /// How providers are asked.
    pub(crate) request: ModelRequestSettings,
    /// Where sessions are kept.
    pub(crate) database: DatabaseSettings,
    /// What is logged.
    pub(crate) log: LogSettings,
    /// What clients may ask for.
    pub(crate) limits: LimitSettings,
    /// How long a call that waits for the client's answer is kept.
    pub(crate) suspend_ttl: Duration,
    /// What tokens cost.
    pub(crate) prices: PriceSettings,
    /// Standard input and output.
    pub(crate) stdio: StdioMode,
    /// HTTP.
    pub(crate) http: HttpServerSettings,
    /// Access tokens of an authorization server.
    pub(crate) oauth: OAuthSettings,
    /// Files that clients may read.
    pub(crate) resources: FileResourceSettings,
    /// Which tools there are.
    pub(crate) tools: ToolSets,
    /// The prompt engine.
    pub(crate) prompts: PromptSettings,
    /// Research.
    pub(crate) research: ResearchSettings,
    /// Other servers.
    pub(crate) gateway: GatewaySettings,
    /// Traces.
    pub(crate) telemetry: TelemetrySettings,
}

/// Whether standard input and output are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StdioMode {
    /// If a client started the program.
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// How HTTP is served.
#[derive(Debug, Clone)]
pub(crate) struct HttpServerSettings {
    /// Where; `None` leaves it to how the program was started.
    pub(crate) listen: Option<SocketAddr>,
    /// How clients reach it.
    pub(crate) public_url: Option<String>,
    /// Names it may be called by.
    pub(crate) allowed_hosts: Vec<String>,
    /// Pages that may use it.
    pub(crate) allowed_origins: Vec<String>,
    /// Lets a client use everything.
    pub(crate) token: Option<SecretString>,
    /// Named tokens.
    pub(crate) tokens_file: Option<PathBuf>,
    /// The old transport.
    pub(crate) sse: bool,
    /// Sessions of the streamable transport.
    pub(crate) sessions: bool,
    /// Sessions at once.
    pub(crate) max_sessions: usize,
    /// How long an idle one is kept.
    pub(crate) session_idle: Duration,
    /// Connections at once.
    pub(crate) connections: usize,
    /// Of one client; zero is any number, `None` leaves it to who can reach us.
    pub(crate) requests_per_minute: Option<u32>,
    /// Of one client; likewise.
    pub(crate) concurrent_requests: Option<usize>,
}

/// Access tokens of an authorization server.
#[derive(Debug, Clone)]
pub(crate) struct OAuthSettings {
    /// Who issues them.
    pub(crate) issuer: Option<String>,
    /// For whom they must be.
    pub(crate) audience: Option<String>,
    /// Where the issuer's keys are.
    pub(crate) jwks_url: Option<String>,
    /// What they must allow.
    pub(crate) scope: Option<String>,
}

/// Files that clients may read.
#[derive(Debug, Clone)]
pub(crate) struct FileResourceSettings {
    /// The folders they are in.
    pub(crate) roots: Vec<PathBuf>,
    /// How large they may be.
    pub(crate) file_bytes: u64,
}

/// Where traces go.
#[derive(Debug, Clone)]
pub(crate) struct TelemetrySettings {
    /// The collector; `None` sends nothing.
    pub(crate) endpoint: Option<String>,
    /// What we are called there.
    pub(crate) service: String,
    /// What the collector wants to see.
    pub(crate) token: Option<SecretString>,
    /// Share of calls that are traced.
    pub(crate) sample: f64,
}

/// Access to Langbase.
#[derive(Debug, Clone)]
pub(crate) struct LangbaseAccount {
    /// Its key.
    pub(crate) api_key: Option<SecretString>,
    /// Its endpoint.
    pub(crate) base_url: String,
    /// Model of the pipes that are created on first use.
    pub(crate) model: String,
}

/// Access to a vendor with settings of its own.
#[derive(Debug, Clone)]
pub(crate) struct VendorAccount {
    /// Its key.
    pub(crate) api_key: Option<SecretString>,
    /// Its endpoint, if not the usual one.
    pub(crate) base_url: Option<String>,
}

/// How providers are asked.
#[derive(Debug, Clone)]
pub(crate) struct ModelRequestSettings {
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
pub(crate) struct DatabaseSettings {
    /// The database file.
    pub(crate) path: PathBuf,
    /// Readers at once.
    pub(crate) max_connections: u32,
    /// What survives a power cut.
    pub(crate) durability: DatabaseDurability,
}

/// What survives a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DatabaseDurability {
    /// Everything that was answered.
    Full,
    /// Perhaps not the last moments.
    Relaxed,
}

/// What is logged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogSettings {
    /// How much.
    pub(crate) level: LogLevelSetting,
    /// In which form.
    pub(crate) format: LogFormat,
    /// Whether contents are logged too.
    pub(crate) content: bool,
}

/// How much is logged; each level includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogLevelSetting {
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
pub(crate) struct LimitSettings {
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
    /// How long a client waits for one.
    pub(crate) answer_within: Duration,
    /// Longest answer.
    pub(crate) answer_bytes: usize,
    /// Running calls when the server stops.
    pub(crate) shutdown: Duration,
}

/// What a million tokens cost.
#[derive(Debug, Clone)]
pub(crate) struct PriceSettings {
    /// Read by the model.
    pub(crate) input_per_mtok: Option<f64>,
    /// Written by the model.
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
            langbase: LangbaseAccount {
                api_key: values.secret("langbase.api_key"),
                base_url: values.text("langbase.base_url").unwrap_or_default(),
                model: values.text("langbase.model").unwrap_or_default(),
            },
            openai: VendorAccount {
                api_key: values.secret("openai.api_key"),
                base_url: values.text("openai.base_url"),
            },
            anthropic: VendorAccount {
                api_key: values.secret("anthropic.api_key"),
                base_url: values.text("anthropic.base_url"),
            },
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
            },
            limits: LimitSettings {
                line_bytes: values.count("limits.line_bytes"),
                content_chars: values.count("limits.content_chars"),
                context_tokens: values.count("limits.context_tokens"),
                concurrent_calls: values.count("limits.concurrent_calls"),
                call_timeout: values.milliseconds("limits.call_timeout_ms"),
                answer_within: values.milliseconds("limits.answer_within_ms"),
                answer_bytes: values.count("limits.answer_bytes"),
                shutdown: values.milliseconds("limits.shutdown_ms"),
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
