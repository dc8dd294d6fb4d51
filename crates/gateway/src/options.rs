//! Which servers there are, and what may be done with each.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use deliberate_adapter::config::{ConfigError, Listed, Mistake, ServerConfig};
use deliberate_core::{Clock, SystemClock};
use deliberate_store::Store;
use deliberate_toolkit::fits;
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
    pub left_out: BTreeMap<String, String>,
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
            left_out: BTreeMap::new(),
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
    pub expose: Expose,
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
pub enum Expose {
    /// None: they are found by searching.
    #[default]
    None,
    /// All.
    All,
    /// Those that a pattern names.
    Only(Vec<String>),
}

impl Expose {
    /// Whether any tool may be seen.
    pub fn any(&self) -> bool {
        *self != Self::None
    }

    pub(crate) fn lets_through(&self, tool: &str) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Only(patterns) => patterns.iter().any(|pattern| fits(pattern, tool)),
        }
    }
}

impl GatewayServer {
    /// The server with nothing said about it.
    pub fn of(config: ServerConfig) -> Self {
        Self {
            config,
            expose: Expose::None,
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
    pub fn from_listed(listed: Listed) -> Result<Self, ConfigError> {
        let mut server = Self::of(listed.config);
        let mut fields = Fields {
            server: server.config.name.clone(),
            more: listed.more,
            mistakes: Vec::new(),
        };
        server.expose = fields.expose();
        server.only = fields.patterns("only");
        server.except = fields.patterns("except");
        server.fallback = fields.text("fallback");
        server.trust = fields.flag("trust");
        server.sampling = fields.flag("sampling");
        server.description = fields.text("description");
        server.ignored = fields.more.keys().cloned().collect();
        if fields.mistakes.is_empty() {
            Ok(server)
        } else {
            Err(fields.mistakes.into())
        }
    }

    /// Whether the tool may be used at all.
    pub(crate) fn lets_through(&self, tool: &str) -> bool {
        let named = |patterns: &[String]| patterns.iter().any(|pattern| fits(pattern, tool));
        (self.only.is_empty() || named(&self.only)) && !named(&self.except)
    }
}

/// The fields that are left of a server, taken out one by one.
struct Fields {
    server: String,
    more: Map<String, Value>,
    mistakes: Vec<Mistake>,
}

impl Fields {
    fn wrong(&mut self, field: &str, rule: &str) {
        let place = format!("servers.{}.{field}", self.server);
        self.mistakes.push(Mistake::new(place, rule));
    }

    fn flag(&mut self, field: &str) -> bool {
        match self.more.shift_remove(field) {
            None | Some(Value::Null) => false,
            Some(Value::Bool(flag)) => flag,
            Some(_) => {
                self.wrong(field, "must be true or false");
                false
            }
        }
    }

    fn text(&mut self, field: &str) -> Option<String> {
        match self.more.shift_remove(field) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text),
            Some(_) => {
                self.wrong(field, "must be a text");
                None
            }
        }
    }

    fn patterns(&mut self, field: &str) -> Vec<String> {
        match self.more.shift_remove(field) {
            None | Some(Value::Null) => Vec::new(),
            Some(value) => self.listed(field, &value),
        }
    }

    fn listed(&mut self, field: &str, value: &Value) -> Vec<String> {
        let items = match value {
            Value::Array(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        let texts: Option<Vec<String>> = items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect();
        let Some(texts) = texts else {
            self.wrong(field, "must be a list of names of tools");
            return Vec::new();
        };
        let inside = |text: &String| text.strip_suffix('*').unwrap_or(text).contains('*');
        if texts.iter().any(inside) {
            self.wrong(field, "a `*` can stand only at the end of a name");
        }
        texts
    }

    fn expose(&mut self) -> Expose {
        match self.more.shift_remove("expose") {
            None | Some(Value::Null | Value::Bool(false)) => Expose::None,
            Some(Value::Bool(true)) => Expose::All,
            Some(Value::String(word)) if word == "none" => Expose::None,
            Some(Value::String(word)) if word == "all" => Expose::All,
            Some(value @ (Value::Array(_) | Value::String(_))) => {
                match self.listed("expose", &value) {
                    names if names.is_empty() => Expose::None,
                    names => Expose::Only(names),
                }
            }
            Some(_) => {
                self.wrong("expose", "must be true, false or a list of names of tools");
                Expose::None
            }
        }
    }
}
