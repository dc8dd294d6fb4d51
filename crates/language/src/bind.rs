//! A step's arguments to the names a prompt declares.
//!
//! Values stay values: nothing is coerced, checked or filled in here.

use std::collections::HashMap;

use serde_json::Value;

use crate::{
    diagnostic::{Code, Diagnostic},
    items,
    likeness::nearest,
    quote::{QUOTES, Quotes, unquote},
    span::{Span, Spanned},
    tree::{Args, Item},
};

/// Names that text without a name is likely meant for, the likeliest first.
const LIKELY: [&str; 13] = [
    "content",
    "text",
    "input",
    "data",
    "message",
    "query",
    "prompt",
    "description",
    "topic",
    "subject",
    "analysis",
    "code",
    "file",
];
/// What text is called where nothing is declared.
const UNDECLARED: &str = "input";

/// More faults than this help nobody.
const MOST_FAULTS: usize = 20;

/// How many names are compared with the declared ones: comparing takes time, and nobody misspells
/// more.
const MOST_COMPARED: usize = 100;

/// More pairs than this that may be text or not help nobody.
const MOST_DOUBTFUL: usize = 20;

/// An argument of a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Declared<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it must be given.
    pub required: bool,
    /// Whether text without a name is for it, whatever it is called.
    pub wants_rest: bool,
}

/// One argument that was given.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// Its name.
    pub name: String,
    /// What was given: text, or what JSON said.
    pub value: Value,
    /// Where the value stands.
    pub span: Span,
}

/// Arguments by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bound {
    /// Those that are declared, in the order given.
    pub values: Vec<Given>,
    /// Those that are not declared, but that the template uses.
    pub extra: Vec<Given>,
    /// Those that nobody knows: in quotes or in JSON, or with a name much like a declared one.
    pub unknown: Vec<Given>,
    /// Pairs that nobody knows and that were taken for text, because no declared name is like
    /// theirs. They are in a value besides; the first few.
    pub doubtful: Vec<Given>,
    /// What is wrong: a name given twice, or text with no argument left for it.
    pub diagnostics: Vec<Diagnostic>,
}

/// Binds arguments to declared names; `used` tells whether the template names something.
pub fn bind(args: &Args, declared: &[Declared<'_>], used: &dyn Fn(&str) -> bool) -> Bound {
    let mut binder = Binder {
        declared,
        used,
        bound: Bound::default(),
        seen: HashMap::new(),
        compared: 0,
    };
    match args {
        Args::None => {}
        Args::Json { raw, value } => {
            for (name, value) in value {
                binder.give(name, value.clone(), raw.span, raw.span);
            }
        }
        Args::Text { raw, items } => binder.text(raw, items),
    }
    binder.bound
}

struct Binder<'a> {
    declared: &'a [Declared<'a>],
    used: &'a dyn Fn(&str) -> bool,
    bound: Bound,
    /// Where each name was given first.
    seen: HashMap<String, Span>,
    /// How many names were compared with the declared ones.
    compared: usize,
}

impl Binder<'_> {
    fn knows(&self, name: &str) -> bool {
        self.is_declared(name) || (self.used)(name)
    }

    fn is_declared(&self, name: &str) -> bool {
        self.declared.iter().any(|argument| argument.name == name)
    }

    /// Whether a pair without quotes that nobody knows is meant as an argument all the same: its
    /// name is a slip of a declared one.
    fn is_slip(&mut self, name: &str, value: &Spanned<String>) -> bool {
        if !could_be_argument(name, &value.value) || self.compared >= MOST_COMPARED {
            return false;
        }
        self.compared += 1;
        nearest(name, self.declared.iter().map(|argument| argument.name)).is_some()
    }

    fn doubt(&mut self, name: &str, value: &Spanned<String>, place: Span) {
        if could_be_argument(name, &value.value) && self.bound.doubtful.len() < MOST_DOUBTFUL {
            self.bound.doubtful.push(Given {
                name: name.to_owned(),
                value: Value::from(value.value.as_str()),
                span: place,
            });
        }
    }

    fn text(&mut self, raw: &Spanned<String>, placed: &[Item]) {
        let named = placed.iter().any(|item| match item {
            Item::Pair { name, quoted, .. } => *quoted || self.knows(&name.value),
            Item::Word(_) => false,
        });
        if named {
            self.pairs(&raw.value, placed);
        } else {
            self.plain(plain(&raw.value), raw.span);
        }
    }

    /// Pairs bind by name. One that nobody knows, nobody quoted and that is no slip is text like
    /// the words around it, so that `note: see foo:bar` loses nothing.
    fn pairs(&mut self, raw: &str, placed: &[Item]) {
        let mut loose: Vec<Spanned<(usize, usize)>> = Vec::new();
        let mut bare: Option<Bare> = None;
        let mut apart = true;
        for (item, place) in items::cut(raw).into_iter().zip(placed) {
            let (span, shown) = (extent(&item), extent(place));
            match (item, place) {
                (
                    Item::Pair {
                        name,
                        value,
                        quoted,
                    },
                    Item::Pair {
                        name: at,
                        value: to,
                        ..
                    },
                ) if quoted || self.knows(&name.value) || self.is_slip(&name.value, &value) => {
                    self.close(raw, bare.take());
                    apart = true;
                    if quoted {
                        let value = Value::String(value.value);
                        self.give(&name.value, value, to.span, at.span);
                    } else {
                        bare = Some(Bare {
                            name: name.value,
                            name_span: at.span,
                            text: value.span,
                            place: to.span,
                        });
                    }
                }
                (item, place) => {
                    if let (Item::Pair { name, value, .. }, Item::Pair { value: to, .. }) =
                        (&item, place)
                    {
                        self.doubt(&name.value, value, to.span);
                    }
                    if let Some(bare) = &mut bare {
                        bare.extend(span, shown);
                    } else if let Some(last) = loose.last_mut().filter(|_| !apart) {
                        last.value.1 = span.end;
                        last.span.end = shown.end;
                    } else {
                        loose.push(Spanned::new((span.start, span.end), shown));
                        apart = false;
                    }
                }
            }
        }
        self.close(raw, bare);
        self.loose(raw, &loose);
    }

    fn close(&mut self, raw: &str, bare: Option<Bare>) {
        if let Some(bare) = bare {
            let value = Value::from(bare.text.of(raw));
            self.give(&bare.name, value, bare.place, bare.name_span);
        }
    }

    /// Text beside the pairs goes where text without a name goes.
    fn loose(&mut self, raw: &str, loose: &[Spanned<(usize, usize)>]) {
        let (Some(first), Some(last)) = (loose.first(), loose.last()) else {
            return;
        };
        let pieces: Vec<_> = loose
            .iter()
            .filter_map(|piece| raw.get(piece.value.0..piece.value.1))
            .collect();
        self.plain(plain(&pieces.join(" ")), first.span.to(last.span));
    }

    fn plain(&mut self, text: String, span: Span) {
        let target = self.target();
        let value = Value::String(text);
        match target {
            Some(name) => self.give(&name, value, span, span),
            None if self.declared.is_empty() && (self.used)(UNDECLARED) => {
                self.bound.extra.push(Given {
                    name: UNDECLARED.to_owned(),
                    value,
                    span,
                });
            }
            None if self.declared.is_empty() => {
                let fault = Diagnostic::new(
                    Code::LeftoverText,
                    span,
                    "this prompt takes no arguments",
                    "belongs to no argument",
                );
                self.fault(fault.helping("leave this out, or declare an argument in the prompt"));
            }
            None => {
                let fault = Diagnostic::new(
                    Code::LeftoverText,
                    span,
                    "no argument is left for this text",
                    "belongs to no argument",
                );
                self.fault(fault.helping("quote the whole value: `name:\"value\"`"));
            }
        }
    }

    /// The argument that text without a name is for, of those not given by name.
    fn target(&self) -> Option<String> {
        let given = |name: &str| self.bound.values.iter().any(|given| given.name == name);
        let free: Vec<_> = self
            .declared
            .iter()
            .filter(|argument| !given(argument.name))
            .collect();
        let likely = || {
            LIKELY.iter().find_map(|part| {
                free.iter()
                    .find(|argument| argument.name.to_lowercase().contains(part))
            })
        };
        free.iter()
            .find(|argument| argument.wants_rest)
            .or_else(likely)
            .or_else(|| free.iter().find(|argument| argument.required))
            .or_else(|| free.first())
            .map(|argument| argument.name.to_owned())
    }

    fn give(&mut self, name: &str, value: Value, span: Span, name_span: Span) {
        if let Some(first) = self.seen.get(name) {
            let fault = Diagnostic::new(
                Code::DuplicateName,
                name_span,
                format!("`{name}` is given twice"),
                "given again here",
            )
            .beside(*first, "given first here")
            .helping("leave one");
            self.fault(fault);
            return;
        }
        self.seen.insert(name.to_owned(), name_span);
        let list = if self.is_declared(name) {
            &mut self.bound.values
        } else if (self.used)(name) {
            &mut self.bound.extra
        } else {
            &mut self.bound.unknown
        };
        list.push(Given {
            name: name.to_owned(),
            value,
            span,
        });
    }

    fn fault(&mut self, fault: Diagnostic) {
        if self.bound.diagnostics.len() < MOST_FAULTS {
            self.bound.diagnostics.push(fault);
        }
    }
}

/// A pair whose bare value goes on up to the next pair that counts.
struct Bare {
    name: String,
    name_span: Span,
    /// In the raw text.
    text: Span,
    /// In the source.
    place: Span,
}

impl Bare {
    fn extend(&mut self, text: Span, place: Span) {
        if self.text.start == self.text.end {
            self.text = text;
            self.place = place;
        }
        self.text.end = text.end;
        self.place.end = place.end;
    }
}

/// Whether a pair without quotes looks like an argument: `12:30` and `C:\…` do not.
fn could_be_argument(name: &str, value: &str) -> bool {
    name.starts_with(|it: char| it.is_alphabetic() || it == '_') && !value.starts_with('\\')
}

/// From the first byte of an item to its last.
fn extent(item: &Item) -> Span {
    match item {
        Item::Pair { name, value, .. } => name.span.to(value.span),
        Item::Word(word) => word.span,
    }
}

/// Text as a value: as it is or, if it is exactly one quoted string, what that holds.
fn plain(text: &str) -> String {
    let text = text.trim();
    if text.starts_with(QUOTES) && Quotes::new(text).end(0) == Some(text.len()) {
        unquote(text)
    } else {
        text.to_owned()
    }
}
