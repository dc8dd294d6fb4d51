//! The fields of one server: what each takes and what it is for. Mistakes are told without the
//! value that was found, since any of them may be a key.

use serde_json::{Map, Value};

/// One field.
pub(crate) struct ServerField {
    /// As written.
    pub(crate) name: &'static str,
    /// What it takes.
    pub(crate) field_type: FieldType,
    /// One line for people.
    pub(crate) help: &'static str,
}

/// What a field takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldType {
    /// A text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of texts.
    TextList,
    /// A text, or a list of them.
    TextOrList,
    /// Texts by name.
    TextMap,
    /// What OAuth needs.
    OAuth,
    /// Yes or no.
    Boolean,
    /// A whole number above zero.
    PositiveInteger,
}

const fn field(name: &'static str, takes: FieldType, help: &'static str) -> ServerField {
    ServerField {
        name,
        field_type: takes,
        help,
    }
}

use FieldType::{Boolean, Choice, OAuth, PositiveInteger, Text, TextList, TextMap, TextOrList};

/// Every field, in the order in which they are documented.
#[rustfmt::skip]
pub(crate) static FIELDS: &[ServerField] = &[
    field("command", Text, "Program to start; it is spoken to through its standard input and output"),
    field("args", TextList, "Its arguments"),
    field("env", TextMap, "Variables it gets, besides the few that every program needs"),
    field("pass_env", TextList, "Names of our own variables that it gets too"),
    field("cwd", Text, "Folder it runs in; a relative one starts at this file's"),
    field("url", Text, "Address of a server to reach, in place of `command`"),
    field("type", Choice(&["stdio", "http", "sse", "websocket"]),
        "How it is reached, where `command` or `url` alone does not say it: `sse` is the transport of 2024-11-05"),
    field("headers", TextMap, "Headers that go with every request"),
    field("auth", OAuth, "OAuth: `client_id`, `client_secret` and `scopes`, where the server does not hand them out; `issuer` is the only one who may give tokens"),
    field("speaks", Choice(&["auto", "handshake", "stateless"]),
        "Which era of the protocol; `auto` finds out"),
    field("disabled", Boolean, "Leave it out"),
    field("description", Text, "What it is for, as `gateway_search` tells it"),
    field("expose", TextOrList, "Its tools that clients get as their own, as `NAME__tool`: `all`, or a list of names in which `*` stands for anything; the others are found by `gateway_search`"),
    field("only", TextList, "Its tools that can be used at all; without it every one"),
    field("except", TextList, "Its tools that can't be used"),
    field("fallback", Text, "The server that is asked when this one fails, if it has a tool of the same name"),
    field("trust", Boolean, "Hold none of its tools back, whatever they say of themselves"),
    field("sampling", Boolean, "Let it ask the client's model"),
    field("connect_ms", PositiveInteger, "How long a connection may take, in milliseconds (30000)"),
    field("answer_ms", PositiveInteger, "How long an answer may take, in milliseconds; progress begins it anew (60000)"),
    field("longest_ms", PositiveInteger, "How long an answer may take in all, in milliseconds (1800000)"),
    field("message_bytes", PositiveInteger, "Largest message it may send (16777216)"),
    field("at_once", PositiveInteger, "Calls that may run at once; twice as many wait (32)"),
    field("per_minute", PositiveInteger, "Calls a minute; more are refused"),
    field("items", PositiveInteger, "Tools that are taken from its list (2000)"),
];

/// Names of other programs for some of them, which are understood everywhere.
static FIELD_ALIASES: &[ServerField] = &[
    field("enabled", Boolean, ""),
    field("transport", Text, ""),
    field("serverUrl", Text, ""),
    field("httpUrl", Text, ""),
];

/// What is wrong with a field.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InvalidField {
    /// Which.
    pub(crate) field: String,
    /// What is wrong with it.
    pub(crate) error: FieldError,
}

/// What can be wrong with a field.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FieldError {
    /// Nobody knows it; the known one most like it.
    Unknown(Option<&'static str>),
    /// It takes something else.
    WrongType(String),
}

/// All fields that are unknown or hold what they do not take.
pub(crate) fn find_invalid_fields(fields: &Map<String, Value>) -> Vec<InvalidField> {
    let wrong = fields.iter().filter_map(|(name, value)| {
        let what = match find_field(name) {
            None => FieldError::Unknown(nearest_field(name)),
            Some(field) if field.field_type.accepts(value) => return None,
            Some(field) => FieldError::WrongType(format!("takes {}", field.field_type.display())),
        };
        Some(InvalidField {
            field: name.clone(),
            error: what,
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
    /// For people.
    pub(crate) fn display(self) -> String {
        match self {
            Text => "a text".to_owned(),
            Choice(words) => format!("one of {}", words.join(", ")),
            TextList => "a list of texts".to_owned(),
            TextOrList => "a text or a list of texts".to_owned(),
            TextMap => "a table of texts".to_owned(),
            OAuth => "a table of `client_id`, `client_secret`, `scopes` and `issuer`".to_owned(),
            Boolean => "true or false".to_owned(),
            PositiveInteger => "a whole number above 0".to_owned(),
        }
    }

    fn accepts(self, value: &Value) -> bool {
        match self {
            // Which words are known is for whoever reads them: other programs have other ones.
            Text | Choice(_) => value.is_string(),
            TextList => is_text_list(value),
            TextOrList => value.is_string() || is_text_list(value),
            TextMap => value.as_object().is_some_and(|table| {
                let simple = |it: &Value| it.is_string() || it.is_number() || it.is_boolean();
                table.values().all(simple)
            }),
            OAuth => value.as_object().is_some_and(is_oauth_table),
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
