//! The fields of one server: allowed types and help. Errors do not contain the value found, since
//! any value may be a key.

use serde_json::{Map, Value};

pub(crate) struct ServerField {
    pub(crate) name: &'static str,
    pub(crate) field_type: FieldType,
    /// One line for people.
    pub(crate) help: &'static str,
}

/// Type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldType {
    Text,
    Choice(&'static [&'static str]),
    TextList,
    TextOrList,
    /// Texts by name.
    TextMap,
    /// OAuth settings.
    OAuth,
    /// Headers and environment variables by principal.
    Credentials,
    Boolean,
    PositiveInteger,
}

const fn field(name: &'static str, takes: FieldType, help: &'static str) -> ServerField {
    ServerField {
        name,
        field_type: takes,
        help,
    }
}

use FieldType::{
    Boolean, Choice, Credentials, OAuth, PositiveInteger, Text, TextList, TextMap, TextOrList,
};

/// All fields, in the order of the documentation.
#[rustfmt::skip]
pub(crate) static FIELDS: &[ServerField] = &[
    field("command", Text, "Program to start; it is connected through standard input and output"),
    field("args", TextList, "Arguments of the program"),
    field("env", TextMap, "Environment variables for the program, in addition to the few that every program needs"),
    field("pass_env", TextList, "Names of this server's own variables that are passed to the program"),
    field("cwd", Text, "Working directory; a relative path starts at this file's directory"),
    field("url", Text, "URL of a server, instead of `command`"),
    field("type", Choice(&["stdio", "http", "sse", "websocket"]),
        "Transport, if `command` or `url` alone does not determine it: `sse` is the transport of 2024-11-05"),
    field("headers", TextMap, "Headers sent with every request"),
    field("auth", OAuth, "OAuth: `client_id`, `client_secret` and `scopes`, if the server does not provide them; `issuer` is the only authorization server that may issue tokens"),
    field("speaks", Choice(&["auto", "handshake", "stateless"]),
        "Era of the protocol; `auto` detects it"),
    field("session", Choice(&["shared", "per-client"]),
        "Who shares a connection: all callers, or the calls of one token or user"),
    field("principals", Credentials, "Credentials of single tokens or users, by name: `headers` or `env`, in addition to the server's own; each has a connection of its own"),
    field("disabled", Boolean, "Do not use this server"),
    field("description", Text, "What the server is for, as shown by `gateway_search`"),
    field("expose", TextOrList, "Tools that are offered to clients directly, as `NAME__tool`: `all`, or a list of names in which `*` matches anything; `gateway_search` finds the others"),
    field("only", TextList, "Tools that may be used; default: all"),
    field("except", TextList, "Tools that may not be used"),
    field("fallback", Text, "Server to call if this one fails, if it has a tool of the same name"),
    field("trust", Boolean, "Quarantine none of its tools, whatever their definitions say"),
    field("hold_new", Boolean, "Quarantine tools that the server adds after its first use, until they are approved"),
    field("sampling", Boolean, "Allow sampling: the server may ask the client's model"),
    field("connect_ms", PositiveInteger, "Time limit for connecting, in milliseconds (30000)"),
    field("answer_ms", PositiveInteger, "Time limit for an answer, in milliseconds; progress restarts it (60000)"),
    field("longest_ms", PositiveInteger, "Total time limit for an answer, in milliseconds (1800000)"),
    field("background_ms", PositiveInteger, "Time after which a call continues in the background, in milliseconds; progress restarts it for clients that ask for progress (45000)"),
    field("message_bytes", PositiveInteger, "Largest message from the server, in bytes (16777216)"),
    field("at_once", PositiveInteger, "Maximum concurrent calls; twice as many may wait (32)"),
    field("per_minute", PositiveInteger, "Maximum calls per minute; further ones are rejected"),
    field("items", PositiveInteger, "Maximum number of tools taken from its list (2000)"),
];

/// Names that other programs use for some of the fields, accepted everywhere.
static FIELD_ALIASES: &[ServerField] = &[
    field("enabled", Boolean, ""),
    field("transport", Text, ""),
    field("serverUrl", Text, ""),
    field("httpUrl", Text, ""),
];

/// An error in a field.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InvalidField {
    pub(crate) field: String,
    pub(crate) error: FieldError,
}

/// What is wrong with a field.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FieldError {
    /// Unknown; with the most similar known field.
    Unknown(Option<&'static str>),
    /// Wrong type; with a description of the allowed one.
    WrongType(String),
}

/// Returns all fields that are unknown or of the wrong type.
pub(crate) fn find_invalid_fields(fields: &Map<String, Value>) -> Vec<InvalidField> {
    let wrong = fields.iter().filter_map(|(name, value)| {
        let field_error = match find_field(name) {
            None => FieldError::Unknown(nearest_field(name)),
            Some(field) if field.field_type.accepts(value) => return None,
            Some(field) => FieldError::WrongType(format!("must be {}", field.field_type.display())),
        };
        Some(InvalidField {
            field: name.clone(),
            error: field_error,
        })
    });
    wrong.collect()
}

fn find_field(name: &str) -> Option<&'static ServerField> {
    let mut all = FIELDS.iter().chain(FIELD_ALIASES);
    all.find(|field| field.name == name)
}

fn nearest_field(name: &str) -> Option<&'static str> {
    let found = deliberate_core::did_you_mean(name, FIELDS.iter().map(|field| field.name))?;
    FIELDS
        .iter()
        .map(|field| field.name)
        .find(|name| **name == found)
}

impl FieldType {
    /// Returns the type as displayed to people.
    pub(crate) fn display(self) -> String {
        match self {
            Text => "a string".to_owned(),
            Choice(words) => format!("one of {}", words.join(", ")),
            TextList => "a list of strings".to_owned(),
            TextOrList => "a string or a list of strings".to_owned(),
            TextMap => "a table of strings".to_owned(),
            OAuth => "a table of `client_id`, `client_secret`, `scopes` and `issuer`".to_owned(),
            Credentials => "a table of `headers` and `env` by principal".to_owned(),
            Boolean => "true or false".to_owned(),
            PositiveInteger => "a whole number above 0".to_owned(),
        }
    }

    fn accepts(self, value: &Value) -> bool {
        match self {
            // The allowed words are checked later: other programs use different ones.
            Text | Choice(_) => value.is_string(),
            TextList => is_text_list(value),
            TextOrList => value.is_string() || is_text_list(value),
            TextMap => value.as_object().is_some_and(|table| {
                let simple = |it: &Value| it.is_string() || it.is_number() || it.is_boolean();
                table.values().all(simple)
            }),
            OAuth => value.as_object().is_some_and(is_oauth_table),
            Credentials => value
                .as_object()
                .is_some_and(|table| table.values().all(Value::is_object)),
            Boolean => value.is_boolean(),
            PositiveInteger => value.as_u64().is_some_and(|number| number > 0),
        }
    }
}

fn is_text_list(value: &Value) -> bool {
    let items = value.as_array();
    items.is_some_and(|items| items.iter().all(Value::is_string))
}

fn is_oauth_table(table: &Map<String, Value>) -> bool {
    table.iter().all(|(name, value)| match name.as_str() {
        "client_id" | "client_secret" | "issuer" => value.is_string(),
        "scopes" => is_text_list(value),
        _ => false,
    })
}
