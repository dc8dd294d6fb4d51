//! Which servers there are, and what may be done with each.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use deliberate_adapter::config::{
    ConfigProblem, ConfiguredServer, ServerConfig, ServerConfigError,
};
use deliberate_core::{Clock, SystemClock};
use deliberate_store::Store;
use deliberate_toolkit::matches_pattern;
use serde_json::{Map, Value};

/// What a gateway is made of.
#[derive(Clone)]
pub struct GatewayOptions {
    /// The servers.
    pub servers: Vec<GatewayServer>,
    /// Where pins are kept.
    pub store: Arc<dyn Store>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// How long a search waits for servers whose tools are not known yet.
    pub search_wait: Duration,
    /// Servers that are left out already, and why, for who asks for one of them.
    pub excluded: BTreeMap<String, String>,
    /// That whoever uses it shows what is kept back, so that it need not be logged.
    pub quiet: bool,
}

impl GatewayOptions {
    /// The usual, with these servers.
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

/// A server, and what may be done with it. A `*` at the end of a pattern stands
/// for any ending.
#[derive(Debug, Clone)]
pub struct GatewayServer {
    /// The server.
    pub config: ServerConfig,
    /// Which of its tools clients see beside ours.
    pub expose: Exposure,
    /// Only these tools are used; all if there are none.
    pub only: Vec<String>,
    /// These are not.
    pub except: Vec<String>,
    /// The server that is called when this one can't be.
    pub fallback: Option<String>,
    /// Nothing of it is kept back: changed definitions are pinned silently.
    pub trust: bool,
    /// It may ask the client's model.
    pub sampling: bool,
    /// What it is for, for who searches.
    pub description: Option<String>,
    /// Fields that were written down and mean nothing here.
    pub ignored: Vec<String>,
}

/// Which tools clients see beside ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Exposure {
    /// None: they are found by searching.
    #[default]
    None,
    /// All.
    All,
    /// Those that a pattern names.
    Only(Vec<String>),
}

impl Exposure {
    /// Whether any tool may be seen.
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
    /// The server with nothing said about it.
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

    /// The server as it was written down. Fields of other programs are ignored, by name.
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

    /// Whether the tool may be used at all.
    pub(crate) fn allows(&self, tool: &str) -> bool {
        let named = |patterns: &[String]| {
            patterns
                .iter()
                .any(|pattern| matches_pattern(pattern, tool))
        };
        (self.only.is_empty() || named(&self.only)) && !named(&self.except)
    }
}

/// The fields that are left of a server, taken out one by one.
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
                self.report_problem(field, "must be a text");
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
            self.report_problem(field, "must be a list of names of tools");
            return Vec::new();
        };
        let inside = |text: &String| text.strip_suffix('*').unwrap_or(text).contains('*');
        if texts.iter().any(inside) {
            self.report_problem(field, "a `*` can stand only at the end of a name");
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
                self.report_problem("expose", "must be true, false or a list of names of tools");
                Exposure::None
            }
        }
    }
}
