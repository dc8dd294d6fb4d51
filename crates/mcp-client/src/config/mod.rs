//! Server configuration: address, protocol and limits, validated before anything is started. All
//! problems are reported, not only the first.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use secrecy::SecretString;

mod check;
mod expand;
mod fields;
mod fingerprint;
mod read;

pub use check::{ConfigProblem, ServerConfigError};
pub use expand::{VariableLookup, expand};
pub use read::{ConfiguredServer, read_servers};

/// The configuration of a server.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// The server's name: letters, digits, `-` and `_`, at most 32 characters.
    pub name: String,
    /// The transport, with its address.
    pub transport: TransportConfig,
    /// The protocol era to use.
    pub protocol: ProtocolPreference,
    /// The limits of the server.
    pub limits: ServerLimits,
}

/// The transport of a server, with its address.
#[derive(Debug, Clone)]
pub enum TransportConfig {
    /// A program that is started and communicates through its standard input and output.
    Stdio(StdioConfig),
    /// Streamable HTTP.
    Http(HttpConfig),
    /// HTTP with server-sent events, the transport of 2024-11-05.
    Sse(HttpConfig),
    /// A WebSocket.
    WebSocket(HttpConfig),
}

/// A server that is started as a program. Its arguments may contain secrets, so `Debug` omits them.
#[derive(Clone)]
pub struct StdioConfig {
    /// The program, looked up as a shell does.
    pub command: String,
    /// The program's arguments.
    pub args: Vec<String>,
    /// Environment variables for the program, beside those that every program needs.
    pub env: BTreeMap<String, SecretString>,
    /// The names of our own environment variables that are passed on.
    pub pass_env: Vec<String>,
    /// The working directory; by default that of this process.
    pub cwd: Option<PathBuf>,
}

/// A server on the network. Its URL may contain a secret, so `Debug` shows only the origin.
#[derive(Clone)]
pub struct HttpConfig {
    /// The server's URL.
    pub url: url::Url,
    /// Headers that are sent with every request.
    pub headers: BTreeMap<String, SecretString>,
    /// The OAuth login, if the server uses one.
    pub auth: Option<AuthConfig>,
}

/// OAuth settings.
#[derive(Debug, Clone, Default)]
pub struct AuthConfig {
    /// The client id, if the server does not register clients dynamically.
    pub client_id: Option<String>,
    /// The secret of the client id.
    pub client_secret: Option<SecretString>,
    /// The scopes to request; by default those that the server names.
    pub scopes: Vec<String>,
    /// The authorization server; by default the one that the server names. With an explicit issuer
    /// the client secret is sent nowhere else, so that even a dishonest server cannot obtain it.
    pub issuer: Option<String>,
}

impl fmt::Debug for StdioConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioConfig")
            .field("command", &self.command)
            .field("args", &format_args!("{} arguments", self.args.len()))
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

/// The protocol era to use with a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProtocolPreference {
    /// The newest revision that both sides support, negotiated when connecting.
    #[default]
    Auto,
    /// 2024-11-05 to 2025-11-25 only.
    Handshake,
    /// 2026-07-28 only.
    Stateless,
}

/// The limits of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerLimits {
    /// The time limit for connecting, including the handshake.
    pub connect_timeout: Duration,
    /// The time limit for an answer. A progress notification restarts it.
    pub response_timeout: Duration,
    /// The total time limit for an answer, regardless of progress.
    pub total_timeout: Duration,
    /// The maximum size of a message from the server.
    pub message_bytes: usize,
    /// The maximum number of concurrent calls. Twice as many may wait; further calls are rejected.
    pub max_concurrent: usize,
    /// The share of these that one principal may take of what the others leave, in percent.
    pub principal_share: usize,
    /// The maximum number of calls per minute. Further calls are rejected with the time to wait.
    pub per_minute: Option<u32>,
    /// The maximum number of tools, resources or prompts that are read from the server's lists.
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
            principal_share: 100,
            per_minute: None,
            max_items: 2_000,
        }
    }
}

impl ServerConfig {
    /// Creates the configuration of a program that is started with these arguments.
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

    /// Creates the configuration of a server with streamable HTTP at this URL.
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

    /// Creates a configuration with default limits and this transport.
    pub fn with_transport(name: String, transport: TransportConfig) -> Self {
        Self {
            name,
            transport,
            protocol: ProtocolPreference::default(),
            limits: ServerLimits::default(),
        }
    }

    /// Validates the configuration and reports all problems.
    pub fn check(&self) -> Result<(), ServerConfigError> {
        check::check_server(self)
    }
}
