//! What a server is and how it may be used, checked before anything is started: every mistake is
//! named, not only the first.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use secrecy::SecretString;

mod check;
mod expand;
mod fields;
mod read;

pub use check::{ConfigProblem, ServerConfigError};
pub use expand::{VariableLookup, expand};
pub use read::{ConfiguredServer, read_servers};

/// A server that can be used.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Its name: letters, digits, `-` and `_`, at most 32.
    pub name: String,
    /// How it is reached.
    pub transport: TransportConfig,
    /// Which era it is spoken to in.
    pub protocol: ProtocolPreference,
    /// What it may take.
    pub limits: ServerLimits,
}

/// How a server is reached.
#[derive(Debug, Clone)]
pub enum TransportConfig {
    /// A program that is started and spoken to through its standard input and output.
    Stdio(StdioConfig),
    /// Streamable HTTP.
    Http(HttpConfig),
    /// HTTP with server-sent events, the transport of 2024-11-05.
    Sse(HttpConfig),
    /// A WebSocket.
    WebSocket(HttpConfig),
}

/// A program that is a server. Its arguments may hold secrets, so `Debug` shows none of them.
#[derive(Clone)]
pub struct StdioConfig {
    /// The program, looked up like a shell would.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables it gets, beside those that every program needs.
    pub env: BTreeMap<String, SecretString>,
    /// Names of our own variables that it gets too.
    pub pass_env: Vec<String>,
    /// Where it runs; without it, where we do.
    pub cwd: Option<PathBuf>,
}

/// A server on the network. Its address may hold a secret, so `Debug` shows no more of it than where
/// it is.
#[derive(Clone)]
pub struct HttpConfig {
    /// Its address.
    pub url: url::Url,
    /// Headers that go with every request.
    pub headers: BTreeMap<String, SecretString>,
    /// How we log in, if headers are not the way.
    pub auth: Option<AuthConfig>,
}

/// How we log in with OAuth.
#[derive(Debug, Clone, Default)]
pub struct AuthConfig {
    /// Our client id, if the server does not hand them out.
    pub client_id: Option<String>,
    /// The secret that goes with it.
    pub client_secret: Option<SecretString>,
    /// What to ask for; without it, what the server says it needs.
    pub scopes: Vec<String>,
    /// Who gives the tokens; without it, whoever the server names. A secret that goes nowhere
    /// else is safe even from a server that lies.
    pub issuer: Option<String>,
}

impl fmt::Debug for StdioConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioConfig")
            .field("command", &self.command)
            .field("args", &format_args!("{} of them", self.args.len()))
            .field("env", &self.env)
            .field("pass_env", &self.pass_env)
            .field("cwd", &self.cwd)
            .finish()
    }
}

impl fmt::Debug for HttpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = self.url.origin().ascii_serialization();
        f.debug_struct("HttpConfig")
            .field("url", &format_args!("{origin}/…"))
            .field("headers", &self.headers)
            .field("auth", &self.auth)
            .finish()
    }
}

/// Which era a server is spoken to in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProtocolPreference {
    /// The newest both know, found out when connecting.
    #[default]
    Auto,
    /// 2024-11-05 to 2025-11-25 only.
    Handshake,
    /// 2026-07-28 only.
    Stateless,
}

/// What a server may take.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerLimits {
    /// How long to wait for a connection, the handshake included.
    pub connect_timeout: Duration,
    /// How long to wait for an answer; news of progress begins it anew.
    pub response_timeout: Duration,
    /// How long to wait for an answer in all, whatever progress is told.
    pub total_timeout: Duration,
    /// The largest message it may send.
    pub message_bytes: usize,
    /// Calls that may run at once; twice as many may wait, more are refused.
    pub max_concurrent: usize,
    /// Calls a minute; more are refused, with the time to wait.
    pub per_minute: Option<u32>,
    /// Tools, resources or prompts that are taken from its lists.
    pub max_items: usize,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(30),
            response_timeout: Duration::from_mins(1),
            total_timeout: Duration::from_mins(30),
            message_bytes: 16 * 1024 * 1024,
            max_concurrent: 32,
            per_minute: None,
            max_items: 2_000,
        }
    }
}

impl ServerConfig {
    /// A program that is started with these arguments.
    pub fn stdio<S: Into<String>>(
        name: impl Into<String>,
        command: impl Into<String>,
        args: impl IntoIterator<Item = S>,
    ) -> Self {
        Self::with_transport(
            name.into(),
            TransportConfig::Stdio(StdioConfig {
                command: command.into(),
                args: args.into_iter().map(Into::into).collect(),
                env: BTreeMap::new(),
                pass_env: Vec::new(),
                cwd: None,
            }),
        )
    }

    /// A server that speaks streamable HTTP at this address.
    pub fn http(name: impl Into<String>, url: &str) -> Result<Self, ServerConfigError> {
        let name = name.into();
        let reach = check::parse_url(&name, url).map(|url| {
            TransportConfig::Http(HttpConfig {
                url,
                headers: BTreeMap::new(),
                auth: None,
            })
        })?;
        Ok(Self::with_transport(name, reach))
    }

    /// The usual, reached that way.
    pub fn with_transport(name: String, transport: TransportConfig) -> Self {
        Self {
            name,
            transport,
            protocol: ProtocolPreference::default(),
            limits: ServerLimits::default(),
        }
    }

    /// Names every mistake.
    pub fn check(&self) -> Result<(), ServerConfigError> {
        check::check_server(self)
    }
}
