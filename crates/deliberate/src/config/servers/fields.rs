//! The fields of one server: what each takes and what it is for. Mistakes are told without the
//! value that was found, since any of them may be a key.

use serde_json::{Map, Value};

/// One field.
pub(crate) struct Field {
    /// As written.
    pub(crate) name: &'static str,
    /// What it takes.
    pub(crate) takes: Takes,
    /// One line for people.
    pub(crate) help: &'static str,
}

/// What a field takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// A text.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// A text, or a list of them.
    TextOrTexts,
    /// Texts by name.
    Named,
    /// What OAuth needs.
    Login,
    /// Yes or no.
    Switch,
    /// A whole number above zero.
    Count,
}

const fn field(name: &'static str, takes: Takes, help: &'static str) -> Field {
    Field { name, takes, help }
}

use Takes::{Count, Login, Named, Switch, Text, TextOrTexts, Texts, Word};

/// Every field, in the order in which they are documented.
#[rustfmt::skip]
pub(crate) static FIELDS: &[Field] = &[
    field("command", Text, "Program to start; it is spoken to through its standard input and output"),
    field("args", Texts, "Its arguments"),
    field("env", Named, "Variables it gets, besides the few that every program needs"),
    field("pass_env", Texts, "Names of our own variables that it gets too"),
    field("cwd", Text, "Folder it runs in; a relative one starts at this file's"),
    field("url", Text, "Address of a server to reach, in place of `command`"),
    field("type", Word(&["stdio", "http", "sse", "websocket"]),
        "How it is reached, where `command` or `url` alone does not say it: `sse` is the transport of 2024-11-05"),
    field("headers", Named, "Headers that go with every request"),
    field("auth", Login, "OAuth: `client_id`, `client_secret` and `scopes`, where the server does not hand them out; `issuer` is the only one who may give tokens"),
    field("speaks", Word(&["auto", "handshake", "stateless"]),
        "Which era of the protocol; `auto` finds out"),
    field("disabled", Switch, "Leave it out"),
    field("description", Text, "What it is for, as `gateway_search` tells it"),
    field("expose", TextOrTexts, "Its tools that clients get as their own, as `NAME__tool`: `all`, or a list of names in which `*` stands for anything; the others are found by `gateway_search`"),
    field("only", Texts, "Its tools that can be used at all; without it every one"),
    field("except", Texts, "Its tools that can't be used"),
    field("fallback", Text, "The server that is asked when this one fails, if it has a tool of the same name"),
    field("trust", Switch, "Hold none of its tools back, whatever they say of themselves"),
    field("sampling", Switch, "Let it ask the client's model"),
    field("connect_ms", Count, "How long a connection may take, in milliseconds (30000)"),
    field("answer_ms", Count, "How long an answer may take, in milliseconds; progress begins it anew (60000)"),
    field("longest_ms", Count, "How long an answer may take in all, in milliseconds (1800000)"),
    field("message_bytes", Count, "Largest message it may send (16777216)"),
    field("at_once", Count, "Calls that may run at once; twice as many wait (32)"),
    field("per_minute", Count, "Calls a minute; more are refused"),
    field("items", Count, "Tools that are taken from its list (2000)"),
];

/// Names of other programs for some of them, which are understood everywhere.
static OTHER_NAMES: &[Field] = &[
    field("enabled", Switch, ""),
    field("transport", Text, ""),
    field("serverUrl", Text, ""),
    field("httpUrl", Text, ""),
];

/// What is wrong with a field.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WrongField {
    /// Which.
    pub(crate) field: String,
    /// What is wrong with it.
    pub(crate) what: Wrong,
}

/// What can be wrong with a field.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// Nobody knows it; the known one most like it.
    Unknown(Option<&'static str>),
    /// It takes something else.
    Takes(String),
}

/// All fields that are unknown or hold what they do not take.
pub(crate) fn wrong_fields(fields: &Map<String, Value>) -> Vec<WrongField> {
    let wrong = fields.iter().filter_map(|(name, value)| {
        let what = match find(name) {
            None => Wrong::Unknown(likest(name)),
            Some(field) if field.takes.fits(value) => return None,
            Some(field) => Wrong::Takes(format!("takes {}", field.takes.shown())),
        };
        Some(WrongField {
            field: name.clone(),
            what,
        })
    });
    wrong.collect()
}

fn find(name: &str) -> Option<&'static Field> {
    let mut all = FIELDS.iter().chain(OTHER_NAMES);
    all.find(|field| field.name == name)
}

fn likest(name: &str) -> Option<&'static str> {
    let found = deliberate_core::nearest(name, FIELDS.iter().map(|field| field.name))?;
    FIELDS
        .iter()
        .map(|field| field.name)
        .find(|name| **name == found)
}

impl Takes {
    /// For people.
    pub(crate) fn shown(self) -> String {
        match self {
            Text => "a text".to_owned(),
            Word(words) => format!("one of {}", words.join(", ")),
            Texts => "a list of texts".to_owned(),
            TextOrTexts => "a text or a list of texts".to_owned(),
            Named => "a table of texts".to_owned(),
            Login => "a table of `client_id`, `client_secret`, `scopes` and `issuer`".to_owned(),
            Switch => "true or false".to_owned(),
            Count => "a whole number above 0".to_owned(),
        }
    }

    fn fits(self, value: &Value) -> bool {
        match self {
            // Which words are known is for whoever reads them: other programs have other ones.
            Text | Word(_) => value.is_string(),
            Texts => are_texts(value),
            TextOrTexts => value.is_string() || are_texts(value),
            Named => value.as_object().is_some_and(|table| {
                let simple = |it: &Value| it.is_string() || it.is_number() || it.is_boolean();
                table.values().all(simple)
            }),
            Login => value.as_object().is_some_and(is_login),
            Switch => value.is_boolean(),
            Count => value.as_u64().is_some_and(|number| number > 0),
        }
    }
}

fn are_texts(value: &Value) -> bool {
    let items = value.as_array();
    items.is_some_and(|items| items.iter().all(Value::is_string))
}

fn is_login(table: &Map<String, Value>) -> bool {
    table.iter().all(|(name, value)| match name.as_str() {
        "client_id" | "client_secret" | "issuer" => value.is_string(),
        "scopes" => are_texts(value),
        _ => false,
    })
}
