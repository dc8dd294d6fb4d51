//! The URIs of the engine's resources. Knows their syntax, not their content.
//!
//! An id is percent-encoded completely, so that it never contains a slash: the text after the next
//! slash is a suffix. Legacy URIs are also parsed with ids that are not encoded.

use deliberate_core::truncate_chars;
use deliberate_toolkit::{EntityKind, ToolError, UriTemplate};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The prefix of every URI.
const ROOT: &str = "deliberate://";

/// The prefix of legacy URIs.
const LEGACY_ROOT: &str = "resource://";

pub(super) const PROBLEMS_URI: &str = "deliberate://problems";

/// The suffix of the URI of a prompt's template.
const TEMPLATE_SUFFIX: &str = "template";

/// The maximum length of an id.
const MAX_ID_BYTES: usize = 512;

/// All characters except those that RFC 3986 calls unreserved.
const ENCODE_SET: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The kinds of items that have a URI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LibraryResourceKind {
    Prompt,
    Gate,
    Methodology,
    Style,
    Run,
}

/// The part of an item that a URI refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LibraryUriPart {
    Full,
    /// The text given to the model: a prompt's template, a gate's or methodology's guidance.
    Text,
}

/// The target of a URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LibraryUri {
    Problems,
    List(LibraryResourceKind),
    Item {
        kind: LibraryResourceKind,
        id: String,
        part: LibraryUriPart,
    },
}

impl LibraryResourceKind {
    pub(super) const ALL: [Self; 5] = [
        Self::Prompt,
        Self::Gate,
        Self::Methodology,
        Self::Style,
        Self::Run,
    ];

    pub(super) const fn folder(self) -> &'static str {
        match self {
            Self::Prompt => "prompts",
            Self::Gate => "gates",
            Self::Methodology => "methodologies",
            Self::Style => "styles",
            Self::Run => "runs",
        }
    }

    /// Returns the name used in sentences.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Gate => "gate",
            Self::Methodology => "methodology",
            Self::Style => "style",
            Self::Run => "run",
        }
    }

    /// Returns the legacy path prefixes of this kind, after the root.
    const fn legacy_prefixes(self) -> &'static [&'static str] {
        match self {
            Self::Prompt => &["prompt"],
            Self::Gate => &["gate"],
            Self::Methodology => &["methodology", "framework"],
            Self::Style => &["style"],
            Self::Run => &["session"],
        }
    }

    /// Returns the suffix of a legacy URI that refers to the text of an item.
    const fn legacy_text_suffix(self) -> Option<&'static str> {
        match self {
            Self::Prompt => Some("/template"),
            Self::Gate | Self::Style => Some("/guidance"),
            Self::Methodology => Some("/system-prompt"),
            Self::Run => None,
        }
    }

    pub(super) fn list_uri(self) -> String {
        format!("{ROOT}{}", self.folder())
    }

    pub(super) fn uri(self, id: &str) -> String {
        format!(
            "{}/{}",
            self.list_uri(),
            utf8_percent_encode(id, ENCODE_SET)
        )
    }

    pub(super) const fn mime_type(self) -> &'static str {
        match self {
            Self::Run => "application/json",
            _ => "text/markdown",
        }
    }

    /// Finds the kind that a URI template belongs to.
    pub(super) fn from_template(uri: &str) -> Option<Self> {
        let fits = |what: &Self| templates_for(*what).iter().any(|it| it.uri == uri);
        Self::ALL.into_iter().find(fits)
    }
}

pub(super) fn template_uri(id: &str) -> String {
    format!("{}/{TEMPLATE_SUFFIX}", LibraryResourceKind::Prompt.uri(id))
}

impl LibraryUri {
    /// Parses a URI; returns `None` if it is not a URI of the engine.
    pub(super) fn parse(uri: &str) -> Option<Self> {
        if uri == PROBLEMS_URI {
            return Some(Self::Problems);
        }
        match uri.strip_prefix(ROOT) {
            Some(path) => parse_current(path),
            None => parse_legacy(uri.strip_prefix(LEGACY_ROOT)?),
        }
    }
}

fn parse_current(path: &str) -> Option<LibraryUri> {
    let (folder, rest) = match path.split_once('/') {
        Some((folder, rest)) => (folder, Some(rest)),
        None => (path, None),
    };
    let kind = LibraryResourceKind::ALL
        .into_iter()
        .find(|it| it.folder() == folder)?;
    let Some(rest) = rest else {
        return Some(LibraryUri::List(kind));
    };
    match rest.split_once('/') {
        None => parse_item(kind, rest, LibraryUriPart::Full),
        Some((id, TEMPLATE_SUFFIX)) if kind == LibraryResourceKind::Prompt => {
            parse_item(kind, id, LibraryUriPart::Text)
        }
        Some(_) => None,
    }
}

fn parse_legacy(path: &str) -> Option<LibraryUri> {
    let (word, rest) = path.split_once('/').unwrap_or((path, ""));
    let kind = LibraryResourceKind::ALL
        .into_iter()
        .find(|it| it.legacy_prefixes().contains(&word))?;
    if rest.is_empty() {
        return Some(LibraryUri::List(kind));
    }
    let text = kind
        .legacy_text_suffix()
        .and_then(|ending| rest.strip_suffix(ending));
    match text.filter(|id| !id.is_empty()) {
        Some(id) => parse_item(kind, id, LibraryUriPart::Text),
        None => parse_item(kind, rest, LibraryUriPart::Full),
    }
}

fn parse_item(
    resource_kind: LibraryResourceKind,
    id: &str,
    part: LibraryUriPart,
) -> Option<LibraryUri> {
    let id = percent_decode_str(id).decode_utf8().ok()?.into_owned();
    let fits = !id.is_empty() && id.len() <= MAX_ID_BYTES && !id.contains('\0');
    fits.then_some(LibraryUri::Item {
        kind: resource_kind,
        id,
        part,
    })
}

/// Returns the URI templates.
pub(super) fn templates() -> Vec<UriTemplate> {
    LibraryResourceKind::ALL
        .into_iter()
        .flat_map(templates_for)
        .collect()
}

fn templates_for(kind: LibraryResourceKind) -> Vec<UriTemplate> {
    let (name, contents) = (
        kind.name(),
        match kind {
            LibraryResourceKind::Prompt => "its description, arguments, steps, gates and template",
            LibraryResourceKind::Gate => "its guidance and criteria",
            LibraryResourceKind::Methodology => "its guidance, phases and gates",
            LibraryResourceKind::Style => "its guidance",
            LibraryResourceKind::Run => "its progress, steps and pending reviews",
        },
    );
    let written = if kind == LibraryResourceKind::Run {
        "JSON"
    } else {
        "Markdown"
    };
    let uri_template = UriTemplate {
        uri: format!("{}/{{id}}", kind.list_uri()),
        name: name.to_owned(),
        title: format!("A {name} as {written}"),
        description: format!("A {name}: {contents}."),
        mime_type: Some(kind.mime_type().to_owned()),
    };
    if kind != LibraryResourceKind::Prompt {
        return vec![uri_template];
    }
    let template = UriTemplate {
        uri: format!("{}/{{id}}/{TEMPLATE_SUFFIX}", kind.list_uri()),
        name: "prompt_template".to_owned(),
        title: "The template of a prompt".to_owned(),
        description: "The unrendered template of a prompt, with its variables.".to_owned(),
        mime_type: Some("text/plain".to_owned()),
    };
    vec![uri_template, template]
}

/// Creates the error for a URI that does not exist.
pub(super) fn not_found(uri: &str) -> ToolError {
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
        fn every_id_comes_back_from_its_address(id in "\\PC{1,40}", at in 0usize..5) {
            let what = LibraryResourceKind::ALL[at];
            let address = LibraryUri::parse(&what.uri(&id));
            prop_assert_eq!(address, Some(LibraryUri::Item { kind: what, id: id.clone(), part: LibraryUriPart::Full }));
            let what = LibraryResourceKind::Prompt;
            let text = LibraryUri::parse(&template_uri(&id));
            prop_assert_eq!(text, Some(LibraryUri::Item { kind: what, id, part: LibraryUriPart::Text }));
        }

        #[test]
        fn anything_can_be_parsed(uri in "(deliberate://|resource://)?\\PC{0,60}") {
            drop(LibraryUri::parse(&uri));
        }
    }

    /// The parsed URI of an item.
    fn expected_item(
        resource_kind: LibraryResourceKind,
        id: &str,
        part: LibraryUriPart,
    ) -> LibraryUri {
        let id = id.to_owned();
        LibraryUri::Item {
            kind: resource_kind,
            id,
            part,
        }
    }

    #[test]
    fn older_addresses_take_ids_as_they_are() {
        for (uri, expected) in [
            ("prompt/", LibraryUri::List(LibraryResourceKind::Prompt)),
            (
                "prompt/a/b",
                expected_item(LibraryResourceKind::Prompt, "a/b", LibraryUriPart::Full),
            ),
            (
                "prompt/a/b/template",
                expected_item(LibraryResourceKind::Prompt, "a/b", LibraryUriPart::Text),
            ),
            (
                "gate/g/guidance",
                expected_item(LibraryResourceKind::Gate, "g", LibraryUriPart::Text),
            ),
            (
                "framework/m/system-prompt",
                expected_item(LibraryResourceKind::Methodology, "m", LibraryUriPart::Text),
            ),
            (
                "session/chain-plan#4",
                expected_item(
                    LibraryResourceKind::Run,
                    "chain-plan#4",
                    LibraryUriPart::Full,
                ),
            ),
        ] {
            assert_eq!(
                LibraryUri::parse(&format!("resource://{uri}")),
                Some(expected)
            );
        }
        assert_eq!(LibraryUri::parse("resource://logs/"), None);
    }

    #[test]
    fn an_id_that_looks_like_our_ending_is_an_id() {
        let address = LibraryResourceKind::Prompt.uri("a/template");
        assert_eq!(address, "deliberate://prompts/a%2Ftemplate");
        let expected = expected_item(
            LibraryResourceKind::Prompt,
            "a/template",
            LibraryUriPart::Full,
        );
        assert_eq!(LibraryUri::parse(&address), Some(expected));
        assert_eq!(LibraryUri::parse("deliberate://sessions/a"), None);
        assert_eq!(LibraryUri::parse("deliberate://gates/a/b"), None);
    }
}
