//! Reads servers from the common configuration formats: the `mcpServers` JSON of Claude Desktop and
//! Cursor, the `servers` of VS Code, and the `[servers.…]` tables of our own settings, which have
//! the same fields and some more.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use secrecy::SecretString;
use serde_json::{Map, Value};

use super::{
    AuthConfig, ConfigProblem, HttpConfig, ProtocolPreference, ServerConfig, ServerConfigError,
    ServerLimits, StdioConfig, TransportConfig,
    check::{self, parse_url},
    expand::{VariableLookup, expand},
    fields::EntryFields,
};

/// The maximum number of servers in one table.
const MAX_SERVERS: usize = 200;

/// A server as it was configured, with the fields that are for the gateway.
#[derive(Clone)]
pub struct ConfiguredServer {
    /// The configuration for the client.
    pub config: ServerConfig,
    /// Whether the server is disabled.
    pub disabled: bool,
    /// The fields that are not for the client but for the program that uses the server.
    pub extra_fields: Map<String, Value>,
}

/// Shows the names of the extra fields only, because their values may be secrets.
impl fmt::Debug for ConfiguredServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfiguredServer")
            .field("config", &self.config)
            .field("disabled", &self.disabled)
            .field("extra_fields", &self.extra_fields.keys())
            .finish()
    }
}

/// An extra field in whose texts variables are replaced: credentials for the users of the program.
const CREDENTIALS_FIELD: &str = "principals";

/// An entry with the fields of all supported formats.
struct RawServerEntry {
    kind: Option<String>,
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    pass_env: Vec<String>,
    cwd: Option<String>,
    url: Option<String>,
    headers: BTreeMap<String, String>,
    auth: Option<RawAuth>,
    protocol: Option<String>,
    disabled: bool,
    limits: ServerLimits,
    extra_fields: Map<String, Value>,
}

struct RawAuth {
    client_id: Option<String>,
    client_secret: Option<String>,
    scopes: Vec<String>,
    issuer: Option<String>,
}

impl RawServerEntry {
    fn read(mut fields: EntryFields<'_>) -> Self {
        Self {
            kind: fields.text(&["type", "transport"]),
            command: fields.text(&["command"]),
            args: fields.text_list("args"),
            env: fields.text_map("env"),
            pass_env: fields.text_list("pass_env"),
            cwd: fields.text(&["cwd"]),
            url: fields.text(&["url", "serverUrl", "httpUrl"]),
            headers: fields.text_map("headers"),
            auth: fields.nested("auth").map(RawAuth::read),
            protocol: fields.text(&["speaks"]),
            disabled: fields.flag("disabled") == Some(true)
                || fields.flag("enabled") == Some(false),
            limits: read_limits(&mut fields),
            extra_fields: fields.into_remaining(),
        }
    }
}

impl RawAuth {
    fn read(mut fields: EntryFields<'_>) -> Self {
        let auth = Self {
            client_id: fields.text(&["client_id"]),
            client_secret: fields.text(&["client_secret"]),
            scopes: fields.text_list("scopes"),
            issuer: fields.text(&["issuer"]),
        };
        fields.reject_remaining();
        auth
    }
}

fn read_limits(fields: &mut EntryFields<'_>) -> ServerLimits {
    let mut limits = ServerLimits::default();
    let set = |limit: &mut Duration, ms: Option<u64>| {
        if let Some(ms) = ms {
            *limit = Duration::from_millis(ms);
        }
    };
    set(&mut limits.connect_timeout, fields.number(&["connect_ms"]));
    set(&mut limits.response_timeout, fields.number(&["answer_ms"]));
    // Some programs write seconds here, others milliseconds; nobody means less than a second.
    let seconds_too = |time| if time < 1_000 { time * 1_000 } else { time };
    let timeout = fields.number(&["timeout"]).map(seconds_too);
    set(&mut limits.total_timeout, timeout);
    set(&mut limits.total_timeout, fields.number(&["longest_ms"]));
    let bytes = fields.number(&["message_bytes"]);
    limits.message_bytes = bytes.unwrap_or(limits.message_bytes);
    limits.max_concurrent = fields.number(&["at_once"]).unwrap_or(limits.max_concurrent);
    limits.per_minute = fields.number(&["per_minute"]).or(limits.per_minute);
    limits.max_items = fields.number(&["items"]).unwrap_or(limits.max_items);
    limits
}

/// Reads the servers of a table by name and reports the problems of all of them.
///
/// ```
/// use deliberate_mcp_client::config::read_servers;
/// use serde_json::json;
///
/// let file = json!({ "mcpServers": {
///     "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."] },
///     "web": { "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer ${KEY}" } },
/// } });
/// let servers = file["mcpServers"].as_object().unwrap();
/// let variables = |name: &str| (name == "KEY").then(|| "secret".to_owned());
/// let listed = read_servers(servers, &variables).unwrap();
/// assert_eq!(listed.len(), 2);
/// let error = read_servers(servers, &|_| None).unwrap_err();
/// assert!(error.to_string().contains("the variable KEY is not set"));
/// ```
pub fn read_servers(
    servers: &Map<String, Value>,
    variables: VariableLookup<'_>,
) -> Result<Vec<ConfiguredServer>, ServerConfigError> {
    let mut mistakes = Vec::new();
    let mut configured_servers = Vec::new();
    if servers.len() > MAX_SERVERS {
        let what = format!(
            "there are {} servers, more than {MAX_SERVERS}",
            servers.len()
        );
        return Err(vec![ConfigProblem::new("servers", what)].into());
    }
    for (name, value) in servers {
        let before = mistakes.len();
        let fields = EntryFields::from_value(format!("servers.{name}"), value, &mut mistakes);
        if let Some(entry) = fields.map(RawServerEntry::read) {
            let server = read_server(name, entry, variables, &mut mistakes);
            configured_servers.extend(server.filter(|_| mistakes.len() == before));
        }
    }
    if mistakes.is_empty() {
        Ok(configured_servers)
    } else {
        Err(mistakes.into())
    }
}

fn read_server(
    name: &str,
    mut entry: RawServerEntry,
    variables: VariableLookup<'_>,
    mistakes: &mut Vec<ConfigProblem>,
) -> Option<ConfiguredServer> {
    if let Some(credentials) = entry.extra_fields.get_mut(CREDENTIALS_FIELD) {
        let place = format!("servers.{name}.{CREDENTIALS_FIELD}");
        expand_texts(credentials, &place, variables, mistakes);
    }
    let reach = read_transport(name, &entry, variables, mistakes);
    let speaks = read_protocol(name, entry.protocol.as_deref(), mistakes);
    let Some(reach) = reach else {
        check::check_name(name, mistakes);
        return None;
    };
    let mut config = ServerConfig::with_transport(name.to_owned(), reach);
    config.protocol = speaks;
    config.limits = entry.limits;
    if let Err(error) = config.check() {
        mistakes.extend(error.problems);
    }
    Some(ConfiguredServer {
        config,
        disabled: entry.disabled,
        extra_fields: entry.extra_fields,
    })
}

/// Replaces the variables in all texts of a value.
fn expand_texts(
    value: &mut Value,
    place: &str,
    variables: VariableLookup<'_>,
    mistakes: &mut Vec<ConfigProblem>,
) {
    match value {
        Value::String(text) => *text = expand(text, place, variables, mistakes),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| expand_texts(item, place, variables, mistakes)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| expand_texts(field, place, variables, mistakes)),
        _ => {}
    }
}

fn read_transport(
    name: &str,
    entry: &RawServerEntry,
    variables: VariableLookup<'_>,
    mistakes: &mut Vec<ConfigProblem>,
) -> Option<TransportConfig> {
    let place = |field: &str| format!("servers.{name}.{field}");
    let (command, url) = (entry.command.as_deref(), entry.url.as_deref());
    let kind = match (entry.kind.as_deref(), command, url) {
        (_, Some(_), Some(_)) => {
            mistakes.push(ConfigProblem::new(
                format!("servers.{name}"),
                "has both `command` and `url`; use one of them",
            ));
            return None;
        }
        (_, None, None) => {
            mistakes.push(ConfigProblem::new(
                format!("servers.{name}"),
                "needs `command` (a program to start) or `url` (a server to reach)",
            ));
            return None;
        }
        (Some(kind), ..) => kind,
        (None, Some(_), _) => "stdio",
        (None, None, Some(url)) if url.starts_with("ws:") || url.starts_with("wss:") => "websocket",
        (None, None, Some(_)) => "http",
    };
    match (kind, command, url) {
        ("stdio", Some(command), _) => Some(TransportConfig::Stdio(read_stdio(
            name, command, entry, variables, mistakes,
        ))),
        ("http" | "streamable-http" | "streamable_http" | "streamableHttp", _, Some(url)) => {
            read_http(name, url, entry, variables, mistakes).map(TransportConfig::Http)
        }
        ("sse", _, Some(url)) => {
            read_http(name, url, entry, variables, mistakes).map(TransportConfig::Sse)
        }
        ("websocket" | "ws", _, Some(url)) => {
            read_http(name, url, entry, variables, mistakes).map(TransportConfig::WebSocket)
        }
        ("stdio", None, _) => {
            mistakes.push(ConfigProblem::new(place("command"), "is missing"));
            None
        }
        (
            "http" | "streamable-http" | "streamable_http" | "streamableHttp" | "sse" | "websocket"
            | "ws",
            _,
            None,
        ) => {
            mistakes.push(ConfigProblem::new(place("url"), "is missing"));
            None
        }
        (other, ..) => {
            mistakes.push(ConfigProblem::new(
                place("type"),
                format!("{other:?} is unknown; use stdio, http, sse or websocket"),
            ));
            None
        }
    }
}

fn read_stdio(
    name: &str,
    command: &str,
    entry: &RawServerEntry,
    variables: VariableLookup<'_>,
    mistakes: &mut Vec<ConfigProblem>,
) -> StdioConfig {
    let place = |field: &str| format!("servers.{name}.{field}");
    let mut put = |text: &str, field: &str| expand(text, &place(field), variables, mistakes);
    let env = entry
        .env
        .iter()
        .map(|(name, value)| (name.clone(), SecretString::from(put(value, "env"))))
        .collect();
    StdioConfig {
        command: put(command, "command"),
        args: entry.args.iter().map(|arg| put(arg, "args")).collect(),
        env,
        pass_env: entry.pass_env.clone(),
        cwd: (entry.cwd.as_deref()).map(|folder| PathBuf::from(put(folder, "cwd"))),
    }
}

fn read_http(
    name: &str,
    url: &str,
    entry: &RawServerEntry,
    variables: VariableLookup<'_>,
    mistakes: &mut Vec<ConfigProblem>,
) -> Option<HttpConfig> {
    let place = |field: &str| format!("servers.{name}.{field}");
    let mut put = |text: &str, field: &str| expand(text, &place(field), variables, mistakes);
    let url = put(url, "url");
    let headers = entry
        .headers
        .iter()
        .map(|(name, value)| (name.clone(), SecretString::from(put(value, "headers"))))
        .collect();
    let auth = entry.auth.as_ref().map(|auth| AuthConfig {
        client_id: auth.client_id.as_deref().map(|id| put(id, "auth")),
        client_secret: (auth.client_secret.as_deref())
            .map(|secret| SecretString::from(put(secret, "auth"))),
        scopes: auth.scopes.clone(),
        issuer: auth.issuer.as_deref().map(|issuer| put(issuer, "auth")),
    });
    match parse_url(name, &url) {
        Ok(url) => Some(HttpConfig { url, headers, auth }),
        Err(error) => {
            mistakes.extend(error.problems);
            None
        }
    }
}

fn read_protocol(
    name: &str,
    said: Option<&str>,
    mistakes: &mut Vec<ConfigProblem>,
) -> ProtocolPreference {
    match said {
        None | Some("auto") => ProtocolPreference::Auto,
        Some("handshake" | "legacy") => ProtocolPreference::Handshake,
        Some("stateless" | "modern") => ProtocolPreference::Stateless,
        Some(other) => {
            mistakes.push(ConfigProblem::new(
                format!("servers.{name}.speaks"),
                format!("{other:?} is unknown; use auto, handshake or stateless"),
            ));
            ProtocolPreference::Auto
        }
    }
}
