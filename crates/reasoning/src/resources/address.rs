//! The addresses of what was thought. Knows how they look, not what stands at them.
//!
//! An id is percent-encoded whole, as RFC 6570 level 1 has it, so it never holds a slash: what
//! comes after the next slash is ours, and `/markdown` can't be mistaken for the end of an id.

use deliberate_core::cut_to_chars;
use deliberate_toolkit::{Kind, Template, ToolError};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What every address begins with.
pub(super) const ROOT: &str = "deliberate://";

/// The address of the list of sessions.
pub(super) const SESSIONS: &str = "deliberate://sessions";

/// What stands after the id of something that is wanted as Markdown.
const MARKDOWN: &str = "markdown";

/// No id is longer.
const LONGEST_ID: usize = 512;

/// All but what RFC 3986 calls unreserved.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The kinds of thing that have an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Session,
    Graph,
    Branch,
    Thought,
}

/// What something is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Markdown,
}

/// An address, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) place: Place,
    /// Where the wanted part begins.
    pub(super) offset: u32,
}

/// Where an address points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Sessions,
    Thing { what: What, id: String, form: Form },
}

impl What {
    pub(super) const ALL: [Self; 4] = [Self::Session, Self::Graph, Self::Branch, Self::Thought];

    pub(super) const fn folder(self) -> &'static str {
        match self {
            Self::Session => "sessions",
            Self::Graph => "graphs",
            Self::Branch => "branches",
            Self::Thought => "thoughts",
        }
    }

    /// What it is called in a sentence, and by `reasoning_get`.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Graph => "graph",
            Self::Branch => "branch",
            Self::Thought => "thought",
        }
    }

    /// The variable in its templates.
    pub(super) const fn variable(self) -> &'static str {
        match self {
            Self::Session => "session_id",
            Self::Graph => "graph_id",
            Self::Branch => "branch_id",
            Self::Thought => "thought_id",
        }
    }

    pub(super) const fn kind(self) -> Kind {
        match self {
            Self::Session => Kind::Session,
            Self::Graph => Kind::Graph,
            Self::Branch => Kind::Branch,
            Self::Thought => Kind::Thought,
        }
    }

    /// What the addresses of all things of this kind begin with.
    pub(super) fn all(self) -> String {
        format!("{ROOT}{}/", self.folder())
    }

    /// Its address.
    pub(super) fn address(self, id: &str, form: Form) -> String {
        let id = utf8_percent_encode(id, ENCODED);
        match form {
            Form::Json => format!("{ROOT}{}/{id}", self.folder()),
            Form::Markdown => format!("{ROOT}{}/{id}/{MARKDOWN}", self.folder()),
        }
    }

    pub(super) fn template(self, form: Form) -> Template {
        let (name, variable) = (self.name(), self.variable());
        let contents = match self {
            Self::Session => "its thoughts, branches and graphs",
            Self::Graph => "its nodes and edges",
            Self::Branch => "the thoughts on it",
            Self::Thought => "what was given, what was concluded and how surely",
        };
        let (suffix, written, ending) = match form {
            Form::Json => ("", "JSON", ""),
            Form::Markdown => ("/markdown", "Markdown", "; /markdown stands after the id"),
        };
        let more = match self {
            Self::Thought => "",
            _ => " Long ones come in parts: the end of a part names the next, ?offset=N.",
        };
        let uri = format!("{ROOT}{}/{{{variable}}}{suffix}", self.folder());
        Template {
            uri,
            name: match form {
                Form::Json => name.to_owned(),
                Form::Markdown => format!("{name}_markdown"),
            },
            title: format!("A {name} as {written}"),
            description: format!("A {name} with {contents}, as {written}{ending}.{more}"),
            mime_type: Some(form.mime_type().to_owned()),
        }
    }
}

impl Form {
    pub(super) const ALL: [Self; 2] = [Self::Markdown, Self::Json];

    pub(super) const fn mime_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Markdown => "text/markdown",
        }
    }
}

impl Address {
    /// `None` if it is not one of ours.
    pub(super) fn parse(uri: &str) -> Option<Self> {
        let path = uri.strip_prefix(ROOT)?;
        let (path, offset) = match path.split_once('?') {
            Some((path, query)) => (path, query.strip_prefix("offset=")?.parse().ok()?),
            None => (path, 0),
        };
        let place = if path == What::Session.folder() {
            Place::Sessions
        } else {
            thing(path)?
        };
        Some(Self { place, offset })
    }
}

fn thing(path: &str) -> Option<Place> {
    let (folder, rest) = path.split_once('/')?;
    let what = What::ALL.into_iter().find(|it| it.folder() == folder)?;
    let (id, form) = match rest.split_once('/') {
        Some((id, MARKDOWN)) => (id, Form::Markdown),
        Some(_) => return None,
        None => (rest, Form::Json),
    };
    let id = percent_decode_str(id).decode_utf8().ok()?.into_owned();
    let fits = !id.is_empty() && id.len() <= LONGEST_ID && !id.contains('\0');
    fits.then_some(Place::Thing { what, id, form })
}

/// What someone is told who asks for an address that leads nowhere.
pub(super) fn nothing_at(uri: &str) -> ToolError {
    ToolError::NotFound {
        what: Kind::Resource,
        id: cut_to_chars(uri, 200),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_id_comes_back_from_its_address(id in "\\PC{1,40}", what in 0usize..4) {
            let what = *What::ALL.get(what).unwrap_or(&What::Session);
            for form in Form::ALL {
                let place = Place::Thing { what, id: id.clone(), form };
                let address = what.address(&id, form);
                prop_assert_eq!(Address::parse(&address), Some(Address { place, offset: 0 }));
            }
        }

        #[test]
        fn anything_can_be_parsed(uri in "(deliberate://)?\\PC{0,60}") {
            drop(Address::parse(&uri));
        }
    }

    #[test]
    fn an_id_that_looks_like_our_ending_is_an_id() {
        let address = What::Session.address("a/markdown", Form::Json);
        assert_eq!(address, "deliberate://sessions/a%2Fmarkdown");
        let Some(Address { place, .. }) = Address::parse(&address) else {
            panic!("{address}");
        };
        let id = "a/markdown".to_owned();
        let (what, form) = (What::Session, Form::Json);
        assert_eq!(place, Place::Thing { what, id, form });
    }
}
