//! The addresses of what the engine has. Knows how they look, not what stands at them.
//!
//! An id is percent-encoded whole, so that it never holds a slash: what comes after the next slash
//! is ours. Addresses of the older form are read with their ids as they are, too.

use deliberate_core::cut_to_chars;
use deliberate_toolkit::{Kind, Template, ToolError};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What every address begins with.
const ROOT: &str = "deliberate://";

/// What the older ones begin with.
const OLDER: &str = "resource://";

/// The address of the list of problems.
pub(super) const PROBLEMS: &str = "deliberate://problems";

/// What stands after the id of a prompt whose template is wanted.
const TEMPLATE: &str = "template";

/// No id is longer.
const LONGEST_ID: usize = 512;

/// All but what RFC 3986 calls unreserved.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The kinds of thing that have an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    Prompt,
    Gate,
    Methodology,
    Style,
    Run,
}

/// Which part of something is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Whole,
    /// What the model is told: a prompt's template, a gate's or methodology's guidance.
    Text,
}

/// Where an address leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    Problems,
    All(What),
    One { what: What, id: String, part: Part },
}

impl What {
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

    /// What it is called in a sentence.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Gate => "gate",
            Self::Methodology => "methodology",
            Self::Style => "style",
            Self::Run => "run",
        }
    }

    /// What the older addresses of this kind begin with, after their root.
    const fn older(self) -> &'static [&'static str] {
        match self {
            Self::Prompt => &["prompt"],
            Self::Gate => &["gate"],
            Self::Methodology => &["methodology", "framework"],
            Self::Style => &["style"],
            Self::Run => &["session"],
        }
    }

    /// What stands after an id in an older address when its text is wanted.
    const fn older_text(self) -> Option<&'static str> {
        match self {
            Self::Prompt => Some("/template"),
            Self::Gate | Self::Style => Some("/guidance"),
            Self::Methodology => Some("/system-prompt"),
            Self::Run => None,
        }
    }

    /// The address of the list.
    pub(super) fn all(self) -> String {
        format!("{ROOT}{}", self.folder())
    }

    /// Its address.
    pub(super) fn address(self, id: &str) -> String {
        format!("{}/{}", self.all(), utf8_percent_encode(id, ENCODED))
    }

    pub(super) const fn mime_type(self) -> &'static str {
        match self {
            Self::Run => "application/json",
            _ => "text/markdown",
        }
    }

    /// The kind whose template that is.
    pub(super) fn of_template(uri: &str) -> Option<Self> {
        let fits = |what: &Self| templates_of(*what).iter().any(|it| it.uri == uri);
        Self::ALL.into_iter().find(fits)
    }
}

/// The address of a prompt's template.
pub(super) fn template_address(id: &str) -> String {
    format!("{}/{TEMPLATE}", What::Prompt.address(id))
}

impl Address {
    /// `None` if it is not one of ours.
    pub(super) fn parse(uri: &str) -> Option<Self> {
        if uri == PROBLEMS {
            return Some(Self::Problems);
        }
        match uri.strip_prefix(ROOT) {
            Some(path) => present(path),
            None => older(uri.strip_prefix(OLDER)?),
        }
    }
}

fn present(path: &str) -> Option<Address> {
    let (folder, rest) = match path.split_once('/') {
        Some((folder, rest)) => (folder, Some(rest)),
        None => (path, None),
    };
    let what = What::ALL.into_iter().find(|it| it.folder() == folder)?;
    let Some(rest) = rest else {
        return Some(Address::All(what));
    };
    match rest.split_once('/') {
        None => one(what, rest, Part::Whole),
        Some((id, TEMPLATE)) if what == What::Prompt => one(what, id, Part::Text),
        Some(_) => None,
    }
}

fn older(path: &str) -> Option<Address> {
    let (word, rest) = path.split_once('/').unwrap_or((path, ""));
    let what = What::ALL
        .into_iter()
        .find(|it| it.older().contains(&word))?;
    if rest.is_empty() {
        return Some(Address::All(what));
    }
    let text = what
        .older_text()
        .and_then(|ending| rest.strip_suffix(ending));
    match text.filter(|id| !id.is_empty()) {
        Some(id) => one(what, id, Part::Text),
        None => one(what, rest, Part::Whole),
    }
}

fn one(what: What, id: &str, part: Part) -> Option<Address> {
    let id = percent_decode_str(id).decode_utf8().ok()?.into_owned();
    let fits = !id.is_empty() && id.len() <= LONGEST_ID && !id.contains('\0');
    fits.then_some(Address::One { what, id, part })
}

/// The forms of the addresses.
pub(super) fn templates() -> Vec<Template> {
    What::ALL.into_iter().flat_map(templates_of).collect()
}

fn templates_of(what: What) -> Vec<Template> {
    let (name, contents) = (
        what.name(),
        match what {
            What::Prompt => "what it is for, its arguments, steps, gates and template",
            What::Gate => "its guidance and criteria",
            What::Methodology => "its guidance, phases and gates",
            What::Style => "its guidance",
            What::Run => "how far it has come, its steps and what waits for review",
        },
    );
    let written = if what == What::Run {
        "JSON"
    } else {
        "Markdown"
    };
    let whole = Template {
        uri: format!("{}/{{id}}", what.all()),
        name: name.to_owned(),
        title: format!("A {name} as {written}"),
        description: format!("A {name}: {contents}."),
        mime_type: Some(what.mime_type().to_owned()),
    };
    if what != What::Prompt {
        return vec![whole];
    }
    let template = Template {
        uri: format!("{}/{{id}}/{TEMPLATE}", what.all()),
        name: "prompt_template".to_owned(),
        title: "The template of a prompt".to_owned(),
        description: "The template of a prompt as it is written, with its variables.".to_owned(),
        mime_type: Some("text/plain".to_owned()),
    };
    vec![whole, template]
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
        fn every_id_comes_back_from_its_address(id in "\\PC{1,40}", at in 0usize..5) {
            let what = What::ALL[at];
            let address = Address::parse(&what.address(&id));
            prop_assert_eq!(address, Some(Address::One { what, id: id.clone(), part: Part::Whole }));
            let what = What::Prompt;
            let text = Address::parse(&template_address(&id));
            prop_assert_eq!(text, Some(Address::One { what, id, part: Part::Text }));
        }

        #[test]
        fn anything_can_be_parsed(uri in "(deliberate://|resource://)?\\PC{0,60}") {
            drop(Address::parse(&uri));
        }
    }

    /// What that very thing is parsed to.
    fn one(what: What, id: &str, part: Part) -> Address {
        let id = id.to_owned();
        Address::One { what, id, part }
    }

    #[test]
    fn older_addresses_take_ids_as_they_are() {
        for (uri, expected) in [
            ("prompt/", Address::All(What::Prompt)),
            ("prompt/a/b", one(What::Prompt, "a/b", Part::Whole)),
            ("prompt/a/b/template", one(What::Prompt, "a/b", Part::Text)),
            ("gate/g/guidance", one(What::Gate, "g", Part::Text)),
            (
                "framework/m/system-prompt",
                one(What::Methodology, "m", Part::Text),
            ),
            (
                "session/chain-plan#4",
                one(What::Run, "chain-plan#4", Part::Whole),
            ),
        ] {
            assert_eq!(Address::parse(&format!("resource://{uri}")), Some(expected));
        }
        assert_eq!(Address::parse("resource://logs/"), None);
    }

    #[test]
    fn an_id_that_looks_like_our_ending_is_an_id() {
        let address = What::Prompt.address("a/template");
        assert_eq!(address, "deliberate://prompts/a%2Ftemplate");
        let expected = one(What::Prompt, "a/template", Part::Whole);
        assert_eq!(Address::parse(&address), Some(expected));
        assert_eq!(Address::parse("deliberate://sessions/a"), None);
        assert_eq!(Address::parse("deliberate://gates/a/b"), None);
    }
}
