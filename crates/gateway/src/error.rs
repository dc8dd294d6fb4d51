//! What can go wrong at the gateway: with the other server, or before it is asked.

use deliberate_adapter::{ErrorKind, transport::TransportError};
use deliberate_core::cut_to_chars;
use deliberate_store::StoreError;
use deliberate_toolkit::{Issue, ToolError};
use serde_json::{Value, json};

use crate::far::far;

/// Why there is nothing to give.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The other server, or the way to it.
    #[error(transparent)]
    Server(Box<deliberate_adapter::Error>),
    /// There is no such server.
    #[error("there is no server named {name:?}")]
    UnknownServer {
        /// What was asked for.
        name: String,
        /// One that is named alike.
        nearest: Option<String>,
        /// Those that there are.
        all: Vec<String>,
    },
    /// The server is written down, but can't be used.
    #[error("server {server:?} is left out: {why}")]
    LeftOut {
        /// The server.
        server: String,
        /// Why.
        why: String,
    },
    /// There is no such tool.
    #[error("there is no tool named {name:?}")]
    UnknownTool {
        /// What was asked for.
        name: String,
        /// Some that are named alike.
        near: Vec<String>,
    },
    /// The tool is kept back.
    #[error("the tool {tool:?} of server {server:?} is kept back: {why}")]
    KeptBack {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// Why, in a few words.
        why: String,
    },
    /// A definition is not the one that was shown.
    #[error("the definition of {tool:?} of server {server:?} changed again after it was looked at")]
    ChangedAgain {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
    /// What is sent again does not belong to a call that waits.
    #[error("no such call waits for input: it was answered, it expired, or it is another's")]
    NotWaiting,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<deliberate_adapter::Error> for Error {
    fn from(error: deliberate_adapter::Error) -> Self {
        Self::Server(Box::new(error))
    }
}

impl Error {
    pub(crate) fn unknown_tool(name: &str, near: Vec<String>) -> Self {
        Self::UnknownTool {
            name: cut_to_chars(name, 80),
            near,
        }
    }

    /// A short stable word for it.
    pub fn code(&self) -> &str {
        match self {
            Self::Server(error) => error.code(),
            Self::UnknownServer { .. } => "UnknownServer",
            Self::LeftOut { .. } => "LeftOut",
            Self::UnknownTool { .. } => "UnknownTool",
            Self::KeptBack { .. } => "Quarantined",
            Self::ChangedAgain { .. } => "ChangedAgain",
            Self::NotWaiting => "NotWaiting",
            Self::Store(error) => error.code(),
        }
    }

    /// What to do next, where there is something.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Server(error) => return hint_of(error),
            Self::UnknownServer { nearest, all, .. } => {
                let meant = nearest
                    .as_ref()
                    .map_or_else(String::new, |name| format!("Did you mean {name}? "));
                format!("{meant}{}", listed(all))
            }
            Self::LeftOut { server, .. } => {
                format!("Whoever runs this server can mend it: `deliberate servers test {server}`.")
            }
            Self::UnknownTool { near, .. } if near.is_empty() => {
                "gateway_search finds tools by words.".to_owned()
            }
            Self::UnknownTool { near, .. } => format!("Did you mean {}?", near.join(" or ")),
            Self::KeptBack { server, tool, .. } => format!(
                "Whoever runs this server can look at it (`deliberate servers tools {server}`) \
                 and let it through (`deliberate servers approve {server} {}`).",
                for_the_shell(server, tool)
            ),
            Self::ChangedAgain { server, .. } => {
                format!("Look at it again (`deliberate servers tools {server}`), then approve it.")
            }
            Self::NotWaiting => "Make the call again from its start.".to_owned(),
            Self::Store(error) => return error.hint(),
        })
    }

    /// The error as data, for programs.
    pub fn to_json(&self) -> Value {
        if let Self::Server(error) = self {
            let mut error_json = error.to_json();
            if let (Some(fields), Some(hint)) = (error_json.as_object_mut(), hint_of(error)) {
                fields.insert("hint".to_owned(), hint.into());
            }
            return error_json;
        }
        let mut error = json!({ "code": self.code(), "message": self.to_string() });
        if let (Some(fields), Some(hint)) = (error.as_object_mut(), self.hint()) {
            fields.insert("hint".to_owned(), hint.into());
        }
        error
    }
}

/// What to do about a server that failed. Here there is a command to log in with.
pub(crate) fn hint_of(error: &deliberate_adapter::Error) -> Option<String> {
    match &error.kind {
        ErrorKind::Transport(TransportError::Unauthorized { .. }) => Some(format!(
            "Log in with `deliberate servers login {}`, or check the key in its `headers`.",
            error.server
        )),
        _ => error.hint(),
    }
}

/// Which servers there are.
fn listed(all: &[String]) -> String {
    const MOST: usize = 20;
    if all.is_empty() {
        return "There are none.".to_owned();
    }
    let names: Vec<&str> = all.iter().take(MOST).map(String::as_str).collect();
    let more = if all.len() > MOST { ", …" } else { "" };
    format!("The servers are: {}{more}.", names.join(", "))
}

/// The name of a tool as it can be put into a command: its own, if it holds nothing that a shell
/// would understand.
fn for_the_shell(server: &str, tool: &str) -> String {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    if !tool.starts_with('-') && tool.chars().all(fine) {
        return tool.to_owned();
    }
    deliberate_adapter::adapter::joined(server, tool)
}

impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        match error {
            Error::Store(error) => Self::Store(error),
            Error::Server(error) => match &error.kind {
                ErrorKind::Cancelled => Self::Cancelled,
                ErrorKind::Invalid(faults) => {
                    let issue = |fault: &deliberate_adapter::schema::Fault| {
                        let place = format!("arguments{}", fault.path.replace('/', "."));
                        Issue::new(place, format!("{}, got {}", fault.rule, fault.value))
                    };
                    Self::Invalid(faults.iter().map(issue).collect())
                }
                _ => Self::Far(Box::new(far(&error))),
            },
            error => Self::Told {
                code: error.code().to_owned(),
                message: error.to_string(),
                hint: error.hint(),
            },
        }
    }
}
