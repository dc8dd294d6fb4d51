//! Whether a style file is safe to run. A style is a small program: its macros may call
//! themselves, or each other so often that no machine gets to the end. Knows only its XML.

use std::{borrow::Cow, collections::HashMap, fmt::Display};

use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};

use crate::style::StyleError;

/// The largest styles in use have about 300 kB.
const LONGEST_STYLE: usize = 1_000_000;
/// The deepest styles in use nest about twenty elements.
const DEEPEST: usize = 60;
/// Elements that one citation may run through, macros written out; the largest styles in use
/// come to some 4,000.
const MOST_STEPS: u64 = 12_000;
/// Macros within macros.
const DEEPEST_CALLS: usize = 60;

/// What an element runs through.
enum Run {
    /// This macro.
    Call(String),
    /// All of these, and itself.
    All(Vec<Self>),
    /// One of these: the branches of a choice.
    OneOf(Vec<Self>),
}

/// An element that is open.
struct Open {
    is_choice: bool,
    /// The name, if it is a macro.
    defines: Option<String>,
    runs: Vec<Run>,
}

impl Open {
    fn closed(self) -> (Option<String>, Run) {
        let run = if self.is_choice {
            Run::OneOf(self.runs)
        } else {
            Run::All(self.runs)
        };
        (self.defines, run)
    }
}

/// Refuses what is too large, is no XML, or would run too long.
pub(crate) fn check(xml: &str) -> Result<(), StyleError> {
    if xml.len() > LONGEST_STYLE {
        return Err(StyleError::TooLong {
            bytes: xml.len(),
            most: LONGEST_STYLE,
        });
    }
    let (main, macros) = parse(xml)?;
    let mut counter = Counter {
        macros: &macros,
        known: HashMap::new(),
    };
    let steps = counter.steps(&main, 0)?;
    if steps > MOST_STEPS {
        return Err(StyleError::Unsafe(format!(
            "its macros come to {steps} steps for one citation, and {MOST_STEPS} are the most"
        )));
    }
    Ok(())
}

/// What the style runs through outside its macros, and its macros.
fn parse(xml: &str) -> Result<(Run, HashMap<String, Run>), StyleError> {
    let mut reader = Reader::from_str(xml);
    let mut macros = HashMap::new();
    let mut main = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    loop {
        let event = reader.read_event().map_err(|err| unreadable(&err))?;
        let closed = match &event {
            Event::Start(tag) => {
                if open.len() >= DEEPEST {
                    let what = format!("more than {DEEPEST} elements are nested");
                    return Err(StyleError::Unsafe(what));
                }
                open.push(opened(tag)?);
                None
            }
            Event::Empty(tag) => Some(opened(tag)?),
            Event::End(_) => open.pop(),
            Event::DocType(_) => {
                let what = "it has a document type declaration, which no style needs";
                return Err(StyleError::Unsafe(what.to_owned()));
            }
            Event::Eof => return Ok((Run::All(main), macros)),
            _ => None,
        };
        match closed.map(Open::closed) {
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

fn opened(tag: &BytesStart<'_>) -> Result<Open, StyleError> {
    let is_macro = tag.local_name().as_ref() == b"macro";
    let call = attribute(tag, "macro")?.map(Run::Call);
    Ok(Open {
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
    StyleError::Unreadable(deliberate_core::cut_to_chars(&err.to_string(), 200))
}

struct Counter<'a> {
    macros: &'a HashMap<String, Run>,
    /// The macros that are counted already; one that is being counted is there as `None`.
    known: HashMap<&'a str, Option<u64>>,
}

impl<'a> Counter<'a> {
    /// The most elements that are run through.
    fn steps(&mut self, run: &'a Run, calls: usize) -> Result<u64, StyleError> {
        match run {
            Run::Call(name) => self.called(name, calls),
            Run::All(runs) => runs.iter().try_fold(1_u64, |sum, it| {
                Ok(sum.saturating_add(self.steps(it, calls)?))
            }),
            Run::OneOf(runs) => runs
                .iter()
                .try_fold(1_u64, |most, it| Ok(most.max(self.steps(it, calls)?))),
        }
    }

    fn called(&mut self, name: &'a str, calls: usize) -> Result<u64, StyleError> {
        match self.known.get(name) {
            Some(Some(steps)) => return Ok(*steps),
            Some(None) => {
                let what = format!("its macro {name:?} calls itself");
                return Err(StyleError::Unsafe(what));
            }
            None => {}
        }
        if calls > DEEPEST_CALLS {
            let what = format!("more than {DEEPEST_CALLS} macros call one another");
            return Err(StyleError::Unsafe(what));
        }
        // A macro that is not there prints nothing.
        let Some(run) = self.macros.get(name) else {
            return Ok(0);
        };
        self.known.insert(name, None);
        let steps = self.steps(run, calls + 1)?;
        self.known.insert(name, Some(steps));
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
