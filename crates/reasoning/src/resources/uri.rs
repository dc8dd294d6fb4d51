//! Builds and parses the resource URIs. It knows their syntax, not the content of the resources.
//!
//! An id is percent-encoded completely, as in RFC 6570 level 1, so it never contains a slash: the
//! next slash ends the id, and `/markdown` cannot be part of it.

use deliberate_core::truncate_chars;
use deliberate_toolkit::{EntityKind, ToolError, UriTemplate};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

pub(super) const URI_PREFIX: &str = "deliberate://";

/// The URI of the list of sessions.
pub(super) const SESSIONS_URI: &str = "deliberate://sessions";

/// The last segment of a URI for the Markdown format.
const MARKDOWN_SUFFIX: &str = "markdown";

const MAX_ID_LEN: usize = 512;

/// All characters except the unreserved ones of RFC 3986.
const ENCODE_SET: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The kinds of entity that have a URI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReasoningResourceKind {
    Session,
    Graph,
    Branch,
    Thought,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReasoningResourceFormat {
    Json,
    Markdown,
}

/// A parsed URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReasoningUri {
    pub(super) target: ReasoningUriTarget,
    /// The offset of the requested page.
    pub(super) offset: u32,
}

/// The list of sessions or one entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReasoningUriTarget {
    Sessions,
    Entity {
        kind: ReasoningResourceKind,
        id: String,
        format: ReasoningResourceFormat,
    },
}

impl ReasoningResourceKind {
    pub(super) const ALL: [Self; 4] = [Self::Session, Self::Graph, Self::Branch, Self::Thought];

    pub(super) const fn folder(self) -> &'static str {
        match self {
            Self::Session => "sessions",
            Self::Graph => "graphs",
            Self::Branch => "branches",
            Self::Thought => "thoughts",
        }
    }

    /// The name of the kind in texts and in the answer of `reasoning_get`.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Graph => "graph",
            Self::Branch => "branch",
            Self::Thought => "thought",
        }
    }

    /// The variable in its URI templates.
    pub(super) const fn variable(self) -> &'static str {
        match self {
            Self::Session => "session_id",
            Self::Graph => "graph_id",
            Self::Branch => "branch_id",
            Self::Thought => "thought_id",
        }
    }

    pub(super) const fn entity_kind(self) -> EntityKind {
        match self {
            Self::Session => crate::lookup::SESSION,
            Self::Graph => crate::lookup::GRAPH,
            Self::Branch => crate::lookup::BRANCH,
            Self::Thought => crate::lookup::THOUGHT,
        }
    }

    /// The common prefix of the URIs of this kind.
    pub(super) fn uri_prefix(self) -> String {
        format!("{URI_PREFIX}{}/", self.folder())
    }

    pub(super) fn uri(self, id: &str, form: ReasoningResourceFormat) -> String {
        let id = utf8_percent_encode(id, ENCODE_SET);
        match form {
            ReasoningResourceFormat::Json => format!("{URI_PREFIX}{}/{id}", self.folder()),
            ReasoningResourceFormat::Markdown => {
                format!("{URI_PREFIX}{}/{id}/{MARKDOWN_SUFFIX}", self.folder())
            }
        }
    }

    pub(super) fn template(self, form: ReasoningResourceFormat) -> UriTemplate {
        let (name, variable) = (self.name(), self.variable());
        let contents = match self {
            Self::Session => "its thoughts, branches and graphs",
            Self::Graph => "its nodes and edges",
            Self::Branch => "the thoughts on it",
            Self::Thought => "its input, its text and its confidence",
        };
        let (suffix, written, ending) = match form {
            ReasoningResourceFormat::Json => ("", "JSON", ""),
            ReasoningResourceFormat::Markdown => {
                ("/markdown", "Markdown", "; append /markdown to the id")
            }
        };
        let more = match self {
            Self::Thought => "",
            _ => " Long ones are split into pages; each page names the next, ?offset=N.",
        };
        let uri = format!("{URI_PREFIX}{}/{{{variable}}}{suffix}", self.folder());
        UriTemplate {
            uri,
            name: match form {
                ReasoningResourceFormat::Json => name.to_owned(),
                ReasoningResourceFormat::Markdown => format!("{name}_markdown"),
            },
            title: format!("A {name} as {written}"),
            description: format!("A {name} with {contents}, as {written}{ending}.{more}"),
            mime_type: Some(form.mime_type().to_owned()),
        }
    }
}

impl ReasoningResourceFormat {
    pub(super) const ALL: [Self; 2] = [Self::Markdown, Self::Json];

    pub(super) const fn mime_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Markdown => "text/markdown",
        }
    }
}

impl ReasoningUri {
    /// Parses a URI. `None` if it is not one of ours.
    pub(super) fn parse(uri: &str) -> Option<Self> {
        let path = uri.strip_prefix(URI_PREFIX)?;
        let (path, offset) = match path.split_once('?') {
            Some((path, query)) => (path, query.strip_prefix("offset=")?.parse().ok()?),
            None => (path, 0),
        };
        let place = if path == ReasoningResourceKind::Session.folder() {
            ReasoningUriTarget::Sessions
        } else {
            parse_entity(path)?
        };
        Some(Self {
            target: place,
            offset,
        })
    }
}

fn parse_entity(path: &str) -> Option<ReasoningUriTarget> {
    let (folder, rest) = path.split_once('/')?;
    let what = ReasoningResourceKind::ALL
        .into_iter()
        .find(|it| it.folder() == folder)?;
    let (id, form) = match rest.split_once('/') {
        Some((id, MARKDOWN_SUFFIX)) => (id, ReasoningResourceFormat::Markdown),
        Some(_) => return None,
        None => (rest, ReasoningResourceFormat::Json),
    };
    let id = percent_decode_str(id).decode_utf8().ok()?.into_owned();
    let fits = !id.is_empty() && id.len() <= MAX_ID_LEN && !id.contains('\0');
    fits.then_some(ReasoningUriTarget::Entity {
        kind: what,
        id,
        format: form,
    })
}

/// The error for a URI without a resource.
pub(super) fn resource_not_found(uri: &str) -> ToolError {
    ToolError::NotFound {
        what: EntityKind::RESOURCE,
        id: truncate_chars(uri, 200),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_id_comes_back_from_its_address(id in "\\PC{1,40}", what in 0usize..4) {
            let what = *ReasoningResourceKind::ALL.get(what).unwrap_or(&ReasoningResourceKind::Session);
            for form in ReasoningResourceFormat::ALL {
                let place = ReasoningUriTarget::Entity { kind: what, id: id.clone(), format: form };
                let address = what.uri(&id, form);
                prop_assert_eq!(ReasoningUri::parse(&address), Some(ReasoningUri { target: place, offset: 0 }));
            }
        }

        #[test]
        fn anything_can_be_parsed(uri in "(deliberate://)?\\PC{0,60}") {
            drop(ReasoningUri::parse(&uri));
        }
    }

    #[test]
    fn an_id_that_looks_like_our_ending_is_an_id() {
        let address =
            ReasoningResourceKind::Session.uri("a/markdown", ReasoningResourceFormat::Json);
        assert_eq!(address, "deliberate://sessions/a%2Fmarkdown");
        let Some(ReasoningUri { target: place, .. }) = ReasoningUri::parse(&address) else {
            panic!("{address}");
        };
        let id = "a/markdown".to_owned();
        let (what, form) = (
            ReasoningResourceKind::Session,
            ReasoningResourceFormat::Json,
        );
        assert_eq!(
            place,
            ReasoningUriTarget::Entity {
                kind: what,
                id,
                format: form
            }
        );
    }
}
