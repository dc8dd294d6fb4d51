//! The options of the gateway and of each upstream server.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
    time::Duration,
};

use deliberate_core::{Clock, SystemClock};
use deliberate_mcp_client::config::{
    ConfigProblem, ConfiguredServer, ServerConfig, ServerConfigError, TransportConfig,
};
use deliberate_store::Store;
use deliberate_toolkit::matches_pattern;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value};

use crate::pins::PinPolicy;

#[derive(Clone)]
pub struct GatewayOptions {
    pub servers: Vec<GatewayServer>,
    /// The store for pins.
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    /// How long a search waits for servers whose tools are not known yet.
    pub search_wait: Duration,
    /// Servers that are already excluded, with the reasons to report when one is asked for.
    pub excluded: BTreeMap<String, String>,
    /// Whether the program shows quarantined tools itself, so that they need not be logged.
    pub quiet: bool,
    /// The share of a shared connection that the calls of one principal may take of what the others
    /// leave, in percent.
    pub principal_share: usize,
}

impl GatewayOptions {
    /// Creates default options with these servers.
    pub fn new(servers: Vec<GatewayServer>, store: Arc<dyn Store>) -> Self {
        Self {
            servers,
            store,
            clock: Arc::new(SystemClock),
            search_wait: Duration::from_secs(2),
            excluded: BTreeMap::new(),
            quiet: false,
            principal_share: 50,
        }
    }
}

/// An upstream server and its options. A `*` at the end of a pattern matches any ending.
#[derive(Debug, Clone)]
pub struct GatewayServer {
    pub config: ServerConfig,
    /// The tools that clients see in their tool list.
    pub expose: Exposure,
    /// The patterns of tools to use; all if empty.
    pub only: Vec<String>,
    /// The patterns of tools to exclude.
    pub except: Vec<String>,
    /// The server to call if this one fails.
    pub fallback: Option<String>,
    /// Whether nothing is quarantined: changed definitions are pinned without approval.
    pub trust: bool,
    /// Whether tools that the server adds after its first use need approval.
    pub hold_new: bool,
    /// Whether the server may ask the client's model.
    pub sampling: bool,
    /// How long a client waits before its call continues in the background, in place of the usual
    /// time.
    pub background_after: Option<Duration>,
    /// Who shares a connection.
    pub session: SessionMode,
    /// The credentials of single principals, by name.
    pub principals: BTreeMap<String, PrincipalCredentials>,
    /// A description for searches.
    pub description: Option<String>,
    /// Configured fields that have no meaning here.
    pub ignored: Vec<String>,
}

/// Who shares a connection to a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SessionMode {
    /// All callers.
    #[default]
    Shared,
    /// The calls of one principal.
    PerClient,
}

/// The credentials with which the calls of one principal are made. They are added to the server's
/// own, and the principal has a connection of its own.
#[derive(Debug, Clone, Default)]
pub struct PrincipalCredentials {
    /// Headers, for a server on the network.
    pub headers: BTreeMap<String, SecretString>,
    /// Environment variables, for a program.
    pub env: BTreeMap<String, SecretString>,
}

/// The tools of a server that clients see in their tool list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Exposure {
    /// None: clients find them by searching.
    #[default]
    None,
    All,
    /// Those that match a pattern.
    Only(Vec<String>),
}

impl Exposure {
    pub fn exposes_any(&self) -> bool {
        *self != Self::None
    }

    pub(crate) fn allows(&self, tool: &str) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Only(patterns) => patterns
                .iter()
                .any(|pattern| matches_pattern(pattern, tool)),
        }
    }
}

impl GatewayServer {
    /// Creates a server with default options.
    pub fn new(config: ServerConfig) -> Self {
        Self {
            config,
            expose: Exposure::None,
            only: Vec::new(),
            except: Vec::new(),
            fallback: None,
            trust: false,
            hold_new: false,
            sampling: false,
            background_after: None,
            session: SessionMode::Shared,
            principals: BTreeMap::new(),
            description: None,
            ignored: Vec::new(),
        }
    }

    /// Creates a server from its configured entry. Fields of other programs are collected in
    /// `ignored`.
    pub fn from_configured(listed: ConfiguredServer) -> Result<Self, ServerConfigError> {
        let mut server = Self::new(listed.config);
        let mut fields = ServerFields {
            server: server.config.name.clone(),
            remaining: listed.extra_fields,
            problems: Vec::new(),
        };
        server.expose = fields.expose();
        server.only = fields.patterns("only");
        server.except = fields.patterns("except");
        server.fallback = fields.text("fallback");
        server.trust = fields.flag("trust");
        server.hold_new = fields.flag("hold_new");
        server.sampling = fields.flag("sampling");
        server.background_after = fields.milliseconds("background_ms");
        server.session = fields.session();
        server.principals = fields.principals();
        server.description = fields.text("description");
        server.ignored = fields.remaining.keys().cloned().collect();
        if fields.problems.is_empty() {
            Ok(server)
        } else {
            Err(fields.problems.into())
        }
    }

    /// Returns a number that differs for different settings. It is only for this process.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.config.fingerprint().hash(&mut hasher);
        // Secrets are not shown in this form.
        format!("{self:?}").hash(&mut hasher);
        for (name, own) in &self.principals {
            for (field, value) in own.headers.iter().chain(&own.env) {
                (name, field, value.expose_secret()).hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// Returns the configuration with which the calls of a principal are made.
    pub(crate) fn config_for(&self, principal: &str) -> ServerConfig {
        let mut config = self.config.clone();
        if let Some(own) = self.principals.get(principal) {
            match &mut config.transport {
                TransportConfig::Stdio(program) => program.env.extend(own.env.clone()),
                TransportConfig::Http(http)
                | TransportConfig::Sse(http)
                | TransportConfig::WebSocket(http) => {
                    // Names of headers have no case.
                    let replaced = |name: &String| {
                        let mut names = own.headers.keys();
                        names.any(|other| other.eq_ignore_ascii_case(name))
                    };
                    http.headers.retain(|name, _| !replaced(name));
                    http.headers.extend(own.headers.clone());
                }
            }
        }
        config
    }

    pub(crate) fn pin_policy(&self) -> PinPolicy {
        PinPolicy {
            trust: self.trust,
            hold_new: self.hold_new,
        }
    }

    /// Returns true if the tool, or the method that is called like one, may be used at all.
    pub(crate) fn allows(&self, tool: &str) -> bool {
        let named = |patterns: &[String]| {
            patterns
                .iter()
                .any(|pattern| matches_pattern(pattern, tool))
        };
        (self.only.is_empty() || named(&self.only)) && !named(&self.except)
    }
}

/// The remaining fields of an entry, removed as they are read.
struct ServerFields {
    server: String,
    remaining: Map<String, Value>,
    problems: Vec<ConfigProblem>,
}

impl ServerFields {
    fn report_problem(&mut self, field: &str, rule: &str) {
        let place = format!("servers.{}.{field}", self.server);
        self.problems.push(ConfigProblem::new(place, rule));
    }

    fn flag(&mut self, field: &str) -> bool {
        match self.remaining.shift_remove(field) {
            None | Some(Value::Null) => false,
            Some(Value::Bool(flag)) => flag,
            Some(_) => {
                self.report_problem(field, "must be true or false");
                false
            }
        }
    }

    fn session(&mut self) -> SessionMode {
        match self.text("session").as_deref() {
            None | Some("shared") => SessionMode::Shared,
            Some("per-client") => SessionMode::PerClient,
            Some(_) => {
                self.report_problem("session", "must be \"shared\" or \"per-client\"");
                SessionMode::Shared
            }
        }
    }

    fn principals(&mut self) -> BTreeMap<String, PrincipalCredentials> {
        let table = match self.remaining.shift_remove("principals") {
            None | Some(Value::Null) => return BTreeMap::new(),
            Some(Value::Object(table)) => table,
            Some(_) => Map::from_iter([(String::new(), Value::Null)]),
        };
        let read = |own: &Value| {
            let own = own.as_object()?;
            if own.keys().any(|field| field != "headers" && field != "env") {
                return None;
            }
            let secrets = |field: &str| match own.get(field) {
                None => Some(BTreeMap::new()),
                Some(values) => values
                    .as_object()?
                    .iter()
                    .map(|(name, value)| Some((name.clone(), value.as_str()?.into())))
                    .collect(),
            };
            Some(PrincipalCredentials {
                headers: secrets("headers")?,
                env: secrets("env")?,
            })
        };
        let mut principals = BTreeMap::new();
        for (name, own) in &table {
            match read(own) {
                Some(own) => {
                    principals.insert(name.clone(), own);
                }
                None => self.report_problem(
                    "principals",
                    "must be a table of principals, each with `headers` or `env`, tables of strings",
                ),
            }
        }
        principals
    }

    fn milliseconds(&mut self, field: &str) -> Option<Duration> {
        match self.remaining.shift_remove(field) {
            None | Some(Value::Null) => None,
            Some(value) => {
                let time = value.as_u64().filter(|time| *time > 0);
                if time.is_none() {
                    self.report_problem(field, "must be a whole number, 1 or more");
                }
                time.map(Duration::from_millis)
            }
        }
    }

    fn text(&mut self, field: &str) -> Option<String> {
        match self.remaining.shift_remove(field) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text),
            Some(_) => {
                self.report_problem(field, "must be a string");
                None
            }
        }
    }

    fn patterns(&mut self, field: &str) -> Vec<String> {
        match self.remaining.shift_remove(field) {
            None | Some(Value::Null) => Vec::new(),
            Some(value) => self.parse_pattern_list(field, &value),
        }
    }

    fn parse_pattern_list(&mut self, field: &str, value: &Value) -> Vec<String> {
        let items = match value {
            Value::Array(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        let texts: Option<Vec<String>> = items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect();
        let Some(texts) = texts else {
            self.report_problem(field, "must be a list of tool names");
            return Vec::new();
        };
        let inside = |text: &String| text.strip_suffix('*').unwrap_or(text).contains('*');
        if texts.iter().any(inside) {
            self.report_problem(field, "a `*` is only allowed at the end of a name");
        }
        texts
    }

    fn expose(&mut self) -> Exposure {
        match self.remaining.shift_remove("expose") {
            None | Some(Value::Null | Value::Bool(false)) => Exposure::None,
            Some(Value::Bool(true)) => Exposure::All,
            Some(Value::String(word)) if word == "none" => Exposure::None,
            Some(Value::String(word)) if word == "all" => Exposure::All,
            Some(value @ (Value::Array(_) | Value::String(_))) => {
                match self.parse_pattern_list("expose", &value) {
                    names if names.is_empty() => Exposure::None,
                    names => Exposure::Only(names),
                }
            }
            Some(_) => {
                self.report_problem("expose", "must be true, false or a list of tool names");
                Exposure::None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_credentials_of_a_principal_take_the_place_of_the_servers_own() {
        let mut config = ServerConfig::http("far", "https://example.org/mcp").unwrap();
        let TransportConfig::Http(http) = &mut config.transport else {
            panic!("it is HTTP");
        };
        http.headers
            .insert("Authorization".to_owned(), "all".into());
        http.headers.insert("X-Team".to_owned(), "blue".into());
        let mut server = GatewayServer::new(config);
        let own = PrincipalCredentials {
            headers: BTreeMap::from([("authorization".to_owned(), "ann".into())]),
            ..PrincipalCredentials::default()
        };
        server.principals.insert("ann".to_owned(), own);
        let headers = |principal: &str| {
            let TransportConfig::Http(http) = server.config_for(principal).transport else {
                panic!("it is HTTP");
            };
            let shown = |(name, value): (&String, &SecretString)| {
                format!("{name}: {}", value.expose_secret())
            };
            http.headers.iter().map(shown).collect::<Vec<_>>()
        };
        assert_eq!(headers("ann"), ["X-Team: blue", "authorization: ann"]);
        assert_eq!(headers("ben"), ["Authorization: all", "X-Team: blue"]);
    }
}
