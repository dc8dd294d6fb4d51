//! The claims of a verified token: subject and scopes.

use std::sync::Arc;

use deliberate_toolkit::ToolScope;
use serde::Deserialize;

use super::tokens_file::is_valid_pattern;

/// The longest accepted subject, as in `OpenID` Connect.
const MAX_SUBJECT_LEN: usize = 255;

/// The largest number of scopes examined per token.
const MAX_SCOPES: usize = 256;

/// The prefix of scopes that name tools.
const TOOL_SCOPE_PREFIX: &str = "tool:";

/// The claims that are used here; the others were checked with the signature.
#[derive(Debug, Deserialize)]
pub(super) struct Claims {
    #[serde(default)]
    sub: String,
    /// Scopes separated by spaces (RFC 9068).
    #[serde(default)]
    scope: Option<ScopeList>,
    /// The form of the scope claim that some issuers use.
    #[serde(default)]
    scp: Option<ScopeList>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ScopeList {
    Line(String),
    List(Vec<String>),
}

impl ScopeList {
    fn iter(&self) -> impl Iterator<Item = &str> {
        let (line, list) = match self {
            Self::Line(line) => (line.as_str(), &[][..]),
            Self::List(list) => ("", list.as_slice()),
        };
        line.split_ascii_whitespace()
            .chain(list.iter().map(String::as_str))
    }
}

impl Claims {
    /// The unique name of the principal: subjects are unique within their issuer.
    pub(super) fn principal_name(&self, issuer: &str) -> Option<String> {
        let sound = (1..=MAX_SUBJECT_LEN).contains(&self.sub.len())
            && !self.sub.chars().any(char::is_control);
        sound.then(|| format!("{}@{issuer}", self.sub))
    }

    /// The tools that the token allows; `None` if it allows none.
    pub(super) fn tool_scope(&self, required: Option<&str>) -> Option<ToolScope> {
        if required.is_some_and(|required| self.scopes().any(|scope| scope == required)) {
            return Some(ToolScope::All);
        }
        let named: Vec<&str> = self
            .scopes()
            .filter_map(|scope| scope.strip_prefix(TOOL_SCOPE_PREFIX))
            .collect();
        if named.is_empty() {
            return required.is_none().then_some(ToolScope::All);
        }
        let patterns: Arc<[String]> = named
            .into_iter()
            .filter(|pattern| is_valid_pattern(pattern))
            .map(str::to_owned)
            .collect();
        (!patterns.is_empty()).then_some(ToolScope::Only(patterns))
    }

    fn scopes(&self) -> impl Iterator<Item = &str> {
        [&self.scope, &self.scp]
            .into_iter()
            .flatten()
            .flat_map(ScopeList::iter)
            .take(MAX_SCOPES)
    }
}
