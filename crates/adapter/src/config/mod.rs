//! What a server is and how it may be used, checked before anything is started: every mistake is
//! named, not only the first.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use secrecy::SecretString;

mod check;
mod expand;
mod fields;
mod read;

pub use check::{ConfigError, Mistake};
pub use expand::{Variables, expand};
pub use read::{Listed, read_servers};

/// A server that can be used.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Its name: letters, digits, `-` and `_`, at most 32.
    pub name: String,
    /// How it is reached.
    pub reach: Reach,
    /// Which era it is spoken to in.
    pub speaks: Speaks,
    /// What it may take.
    pub limits: ServerLimits,
}

/// How a server is reached.
#[derive(Debug, Clone)]
pub enum Reach {
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
pub enum Speaks {
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
    pub connect: Duration,
    /// How long to wait for an answer; news of progress begins it anew.
    pub answer: Duration,
    /// How long to wait for an answer in all, whatever progress is told.
    pub longest: Duration,
    /// The largest message it may send.
    pub message_bytes: usize,
    /// Calls that may run at once; twice as many may wait, more are refused.
    pub at_once: usize,
    /// Calls a minute; more are refused, with the time to wait.
    pub per_minute: Option<u32>,
    /// Tools, resources or prompts that are taken from its lists.
    pub items: usize,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            answer: Duration::from_mins(1),
            longest: Duration::from_mins(30),
            message_bytes: 16 * 1024 * 1024,
            at_once: 32,
            per_minute: None,
            items: 2_000,
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
        Self::of(
            name.into(),
            Reach::Stdio(StdioConfig {
                command: command.into(),
                args: args.into_iter().map(Into::into).collect(),
                env: BTreeMap::new(),
                pass_env: Vec::new(),
                cwd: None,
            }),
        )
    }

    /// A server that speaks streamable HTTP at this address.
    pub fn http(name: impl Into<String>, url: &str) -> Result<Self, ConfigError> {
        let name = name.into();
        let reach = check::address(&name, url).map(|url| {
            Reach::Http(HttpConfig {
                url,
                headers: BTreeMap::new(),
                auth: None,
            })
        })?;
        Ok(Self::of(name, reach))
    }

    /// The usual, reached that way.
    pub fn of(name: String, reach: Reach) -> Self {
        Self {
            name,
            reach,
            speaks: Speaks::default(),
            limits: ServerLimits::default(),
        }
    }

    /// Names every mistake.
    pub fn check(&self) -> Result<(), ConfigError> {
        check::server(self)
    }
}
