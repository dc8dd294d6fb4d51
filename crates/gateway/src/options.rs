//! The options of the gateway and of each upstream server.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use deliberate_core::{Clock, SystemClock};
use deliberate_mcp_client::config::{
    ConfigProblem, ConfiguredServer, ServerConfig, ServerConfigError,
};
use deliberate_store::Store;
use deliberate_toolkit::matches_pattern;
use serde_json::{Map, Value};

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
    /// Whether the server may ask the client's model.
    pub sampling: bool,
    /// A description for searches.
    pub description: Option<String>,
    /// Configured fields that have no meaning here.
    pub ignored: Vec<String>,
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
            sampling: false,
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
        server.sampling = fields.flag("sampling");
        server.description = fields.text("description");
        server.ignored = fields.remaining.keys().cloned().collect();
        if fields.problems.is_empty() {
            Ok(server)
        } else {
            Err(fields.problems.into())
        }
    }

    /// Returns true if the tool may be used at all.
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
