//! Checks whether a style file is safe to run. A style is a small program: its macros may call
//! themselves, or each other so often that they never finish. Knows only the XML.

use std::{borrow::Cow, collections::HashMap, fmt::Display};

use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};

use super::style::{CitationStyle, StyleError};

/// The deepest styles in use nest about twenty elements.
const MAX_DEPTH: usize = 60;
/// Elements that one citation may run through, with macros expanded; the largest styles in use
/// have about 4,000.
const MAX_STEPS: u64 = 12_000;
/// Depth of nested macro calls.
const MAX_CALL_DEPTH: usize = 60;

/// The elements that a style element runs through.
enum StyleNode {
    /// A call of this macro.
    Call(String),
    /// The element itself and all of these.
    All(Vec<Self>),
    /// One of these: the branches of a choice.
    OneOf(Vec<Self>),
}

/// An element whose end tag was not reached yet.
struct OpenElement {
    is_choice: bool,
    /// The macro's name, if it defines one.
    defines: Option<String>,
    runs: Vec<StyleNode>,
}

impl OpenElement {
    fn close(self) -> (Option<String>, StyleNode) {
        let run = if self.is_choice {
            StyleNode::OneOf(self.runs)
        } else {
            StyleNode::All(self.runs)
        };
        (self.defines, run)
    }
}

/// Rejects a style that is too large, is not XML, or would run too long.
pub(crate) fn check(xml: &str) -> Result<(), StyleError> {
    let most = CitationStyle::MAX_BYTES;
    if xml.len() as u64 > most {
        return Err(StyleError::TooLong { most });
    }
    let (main, macros) = parse(xml)?;
    let mut counter = StepCounter {
        macros: &macros,
        counted: HashMap::new(),
    };
    let steps = counter.steps(&main, 0)?;
    if steps > MAX_STEPS {
        return Err(StyleError::Unsafe(format!(
            "its macros take {steps} steps for one citation, over the limit of {MAX_STEPS}"
        )));
    }
    Ok(())
}

/// Returns the elements outside macros, and the macros.
fn parse(xml: &str) -> Result<(StyleNode, HashMap<String, StyleNode>), StyleError> {
    let mut reader = Reader::from_str(xml);
    let mut macros = HashMap::new();
    let mut main = Vec::new();
    let mut open: Vec<OpenElement> = Vec::new();
    loop {
        let event = reader.read_event().map_err(|err| unreadable(&err))?;
        let closed = match &event {
            Event::Start(tag) => {
                if open.len() >= MAX_DEPTH {
                    let what = format!("more than {MAX_DEPTH} elements are nested");
                    return Err(StyleError::Unsafe(what));
                }
                open.push(open_element(tag)?);
                None
            }
            Event::Empty(tag) => Some(open_element(tag)?),
            Event::End(_) => open.pop(),
            Event::DocType(_) => {
                let what = "it has a document type declaration, which no style needs";
                return Err(StyleError::Unsafe(what.to_owned()));
            }
            Event::Eof => return Ok((StyleNode::All(main), macros)),
            _ => None,
        };
        match closed.map(OpenElement::close) {
            Some((Some(name), run)) => {
                macros.insert(name, run);
            }
            Some((None, run)) => open
                .last_mut()
                .map_or(&mut main, |it| &mut it.runs)
                .push(run),
            None => {}
        }
    }
}

fn open_element(tag: &BytesStart<'_>) -> Result<OpenElement, StyleError> {
    let is_macro = tag.local_name().as_ref() == b"macro";
    let call = attribute(tag, "macro")?.map(StyleNode::Call);
    Ok(OpenElement {
        is_choice: tag.local_name().as_ref() == b"choose",
        defines: attribute(tag, "name")?.filter(|_| is_macro),
        runs: call.into_iter().collect(),
    })
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Result<Option<String>, StyleError> {
    let found = tag
        .try_get_attribute(name)
        .map_err(|err| unreadable(&err))?;
    let value = found.map(|it| it.unescape_value().map(Cow::into_owned));
    value.transpose().map_err(|err| unreadable(&err))
}

fn unreadable(err: &dyn Display) -> StyleError {
    StyleError::Unreadable(deliberate_core::truncate_chars(&err.to_string(), 200))
}

struct StepCounter<'a> {
    macros: &'a HashMap<String, StyleNode>,
    /// The counted macros; one that is being counted is `None`.
    counted: HashMap<&'a str, Option<u64>>,
}

impl<'a> StepCounter<'a> {
    /// The largest number of elements that a run can reach.
    fn steps(&mut self, run: &'a StyleNode, calls: usize) -> Result<u64, StyleError> {
        match run {
            StyleNode::Call(name) => self.macro_steps(name, calls),
            StyleNode::All(runs) => runs.iter().try_fold(1_u64, |sum, it| {
                Ok(sum.saturating_add(self.steps(it, calls)?))
            }),
            StyleNode::OneOf(runs) => runs
                .iter()
                .try_fold(1_u64, |most, it| Ok(most.max(self.steps(it, calls)?))),
        }
    }

    fn macro_steps(&mut self, name: &'a str, calls: usize) -> Result<u64, StyleError> {
        match self.counted.get(name) {
            Some(Some(steps)) => return Ok(*steps),
            Some(None) => {
                let what = format!("its macro {name:?} calls itself");
                return Err(StyleError::Unsafe(what));
            }
            None => {}
        }
        if calls > MAX_CALL_DEPTH {
            let what = format!("more than {MAX_CALL_DEPTH} macros call one another");
            return Err(StyleError::Unsafe(what));
        }
        // An undefined macro prints nothing.
        let Some(run) = self.macros.get(name) else {
            return Ok(0);
        };
        self.counted.insert(name, None);
        let steps = self.steps(run, calls + 1)?;
        self.counted.insert(name, Some(steps));
        Ok(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_style_there_is_is_safe() {
        for style in hayagriva::archive::ArchivedStyle::all() {
            let xml = style.get().to_xml().unwrap();
            assert_eq!(check(&xml), Ok(()), "{:?}", style.names());
        }
    }
}
