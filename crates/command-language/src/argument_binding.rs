//! A step's arguments to the names a prompt declares.
//!
//! Values stay values: nothing is coerced, checked or filled in here.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    argument_items,
    ast::{ArgumentItem, StepArgs},
    suggest::did_you_mean,
};
use crate::{
    diagnostic::{Diagnostic, DiagnosticCode},
    quote::{QUOTE_CHARS, QuoteFinder, unquote},
    span::{Span, Spanned},
};

/// Names that text without a name is likely meant for, the likeliest first.
const LIKELY_TEXT_ARGUMENTS: [&str; 13] = [
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
const DEFAULT_ARGUMENT: &str = "input";

/// More faults than this help nobody.
const MAX_DIAGNOSTICS: usize = 20;

/// How many names are compared with the declared ones: comparing takes time, and nobody misspells
/// more.
const MAX_COMPARISONS: usize = 100;

/// More pairs than this that may be text or not help nobody.
const MAX_DOUBTFUL: usize = 20;

/// An argument of a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeclaredArgument<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it must be given.
    pub required: bool,
    /// Whether text without a name is for it, whatever it is called.
    pub takes_unnamed_text: bool,
}

/// One argument that was given.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenArgument {
    /// Its name.
    pub name: String,
    /// What was given: text, or what JSON said.
    pub value: Value,
    /// Where the value stands.
    pub span: Span,
}

/// Arguments by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoundArguments {
    /// Those that are declared, in the order given.
    pub values: Vec<GivenArgument>,
    /// Those that are not declared, but that the template uses.
    pub extra: Vec<GivenArgument>,
    /// Those that nobody knows: in quotes or in JSON, or with a name much like a declared one.
    pub unknown: Vec<GivenArgument>,
    /// Pairs that nobody knows and that were taken for text, because no declared name is like
    /// theirs. They are in a value besides; the first few.
    pub doubtful: Vec<GivenArgument>,
    /// What is wrong: a name given twice, or text with no argument left for it.
    pub diagnostics: Vec<Diagnostic>,
}

/// Binds arguments to declared names; `used` tells whether the template names something.
pub fn bind(
    args: &StepArgs,
    declared: &[DeclaredArgument<'_>],
    used: &dyn Fn(&str) -> bool,
) -> BoundArguments {
    let mut binder = ArgumentBinder {
        declared,
        is_used: used,
        bound: BoundArguments::default(),
        first_spans: HashMap::new(),
        comparisons: 0,
    };
    match args {
        StepArgs::None => {}
        StepArgs::Json { raw, value } => {
            for (name, value) in value {
                binder.bind_value(name, value.clone(), raw.span, raw.span);
            }
        }
        StepArgs::Text { raw, items } => binder.bind_text(raw, items),
    }
    binder.bound
}

struct ArgumentBinder<'a> {
    declared: &'a [DeclaredArgument<'a>],
    is_used: &'a dyn Fn(&str) -> bool,
    bound: BoundArguments,
    /// Where each name was given first.
    first_spans: HashMap<String, Span>,
    /// How many names were compared with the declared ones.
    comparisons: usize,
}

impl ArgumentBinder<'_> {
    fn is_known(&self, name: &str) -> bool {
        self.is_declared(name) || (self.is_used)(name)
    }

    fn is_declared(&self, name: &str) -> bool {
        self.declared.iter().any(|argument| argument.name == name)
    }

    /// Whether a pair without quotes that nobody knows is meant as an argument all the same: its
    /// name is a slip of a declared one.
    fn is_misspelling(&mut self, name: &str, value: &Spanned<String>) -> bool {
        if !could_be_argument(name, &value.value) || self.comparisons >= MAX_COMPARISONS {
            return false;
        }
        self.comparisons += 1;
        did_you_mean(name, self.declared.iter().map(|argument| argument.name)).is_some()
    }

    fn add_doubtful(&mut self, name: &str, value: &Spanned<String>, place: Span) {
        if could_be_argument(name, &value.value) && self.bound.doubtful.len() < MAX_DOUBTFUL {
            self.bound.doubtful.push(GivenArgument {
                name: name.to_owned(),
                value: Value::from(value.value.as_str()),
                span: place,
            });
        }
    }

    fn bind_text(&mut self, raw: &Spanned<String>, placed: &[ArgumentItem]) {
        let named = placed.iter().any(|item| match item {
            ArgumentItem::Pair { name, quoted, .. } => *quoted || self.is_known(&name.value),
            ArgumentItem::Word(_) => false,
        });
        if named {
            self.bind_pairs(&raw.value, placed);
        } else {
            self.bind_unnamed_text(unquote_if_quoted(&raw.value), raw.span);
        }
    }

    /// Pairs bind by name. One that nobody knows, nobody quoted and that is no slip is text like
    /// the words around it, so that `note: see foo:bar` loses nothing.
    fn bind_pairs(&mut self, raw: &str, placed: &[ArgumentItem]) {
        let mut loose: Vec<Spanned<(usize, usize)>> = Vec::new();
        let mut bare: Option<BareValue> = None;
        let mut apart = true;
        for (item, place) in argument_items::split_items(raw).into_iter().zip(placed) {
            let (span, shown) = (item_span(&item), item_span(place));
            match (item, place) {
                (
                    ArgumentItem::Pair {
                        name,
                        value,
                        quoted,
                    },
                    ArgumentItem::Pair {
                        name: at,
                        value: to,
                        ..
                    },
                ) if quoted
                    || self.is_known(&name.value)
                    || self.is_misspelling(&name.value, &value) =>
                {
                    self.finish_bare_value(raw, bare.take());
                    apart = true;
                    if quoted {
                        let value = Value::String(value.value);
                        self.bind_value(&name.value, value, to.span, at.span);
                    } else {
                        bare = Some(BareValue {
                            name: name.value,
                            name_span: at.span,
                            raw_span: value.span,
                            source_span: to.span,
                        });
                    }
                }
                (item, place) => {
                    if let (
                        ArgumentItem::Pair { name, value, .. },
                        ArgumentItem::Pair { value: to, .. },
                    ) = (&item, place)
                    {
                        self.add_doubtful(&name.value, value, to.span);
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
        self.finish_bare_value(raw, bare);
        self.bind_loose_text(raw, &loose);
    }

    fn finish_bare_value(&mut self, raw: &str, bare: Option<BareValue>) {
        if let Some(bare) = bare {
            let value = Value::from(bare.raw_span.slice(raw));
            self.bind_value(&bare.name, value, bare.source_span, bare.name_span);
        }
    }

    /// Text beside the pairs goes where text without a name goes.
    fn bind_loose_text(&mut self, raw: &str, loose: &[Spanned<(usize, usize)>]) {
        let (Some(first), Some(last)) = (loose.first(), loose.last()) else {
            return;
        };
        let pieces: Vec<_> = loose
            .iter()
            .filter_map(|piece| raw.get(piece.value.0..piece.value.1))
            .collect();
        self.bind_unnamed_text(
            unquote_if_quoted(&pieces.join(" ")),
            first.span.join(last.span),
        );
    }

    fn bind_unnamed_text(&mut self, text: String, span: Span) {
        let target = self.unnamed_text_target();
        let value = Value::String(text);
        match target {
            Some(name) => self.bind_value(&name, value, span, span),
            None if self.declared.is_empty() && (self.is_used)(DEFAULT_ARGUMENT) => {
                self.bound.extra.push(GivenArgument {
                    name: DEFAULT_ARGUMENT.to_owned(),
                    value,
                    span,
                });
            }
            None if self.declared.is_empty() => {
                let fault = Diagnostic::new(
                    DiagnosticCode::LeftoverText,
                    span,
                    "this prompt takes no arguments",
                    "belongs to no argument",
                );
                self.add_diagnostic(
                    fault.with_help("leave this out, or declare an argument in the prompt"),
                );
            }
            None => {
                let fault = Diagnostic::new(
                    DiagnosticCode::LeftoverText,
                    span,
                    "no argument is left for this text",
                    "belongs to no argument",
                );
                self.add_diagnostic(fault.with_help("quote the whole value: `name:\"value\"`"));
            }
        }
    }

    /// The argument that text without a name is for, of those not given by name.
    fn unnamed_text_target(&self) -> Option<String> {
        let given = |name: &str| self.bound.values.iter().any(|given| given.name == name);
        let free: Vec<_> = self
            .declared
            .iter()
            .filter(|argument| !given(argument.name))
            .collect();
        let likely = || {
            LIKELY_TEXT_ARGUMENTS.iter().find_map(|part| {
                free.iter()
                    .find(|argument| argument.name.to_lowercase().contains(part))
            })
        };
        free.iter()
            .find(|argument| argument.takes_unnamed_text)
            .or_else(likely)
            .or_else(|| free.iter().find(|argument| argument.required))
            .or_else(|| free.first())
            .map(|argument| argument.name.to_owned())
    }

    fn bind_value(&mut self, name: &str, value: Value, span: Span, name_span: Span) {
        if let Some(first) = self.first_spans.get(name) {
            let fault = Diagnostic::new(
                DiagnosticCode::DuplicateName,
                name_span,
                format!("`{name}` is given twice"),
                "given again here",
            )
            .with_secondary_label(*first, "given first here")
            .with_help("leave one");
            self.add_diagnostic(fault);
            return;
        }
        self.first_spans.insert(name.to_owned(), name_span);
        let list = if self.is_declared(name) {
            &mut self.bound.values
        } else if (self.is_used)(name) {
            &mut self.bound.extra
        } else {
            &mut self.bound.unknown
        };
        list.push(GivenArgument {
            name: name.to_owned(),
            value,
            span,
        });
    }

    fn add_diagnostic(&mut self, fault: Diagnostic) {
        if self.bound.diagnostics.len() < MAX_DIAGNOSTICS {
            self.bound.diagnostics.push(fault);
        }
    }
}

/// A pair whose bare value goes on up to the next pair that counts.
struct BareValue {
    name: String,
    name_span: Span,
    /// In the raw text.
    raw_span: Span,
    /// In the source.
    source_span: Span,
}

impl BareValue {
    fn extend(&mut self, text: Span, place: Span) {
        if self.raw_span.start == self.raw_span.end {
            self.raw_span = text;
            self.source_span = place;
        }
        self.raw_span.end = text.end;
        self.source_span.end = place.end;
    }
}

/// Whether a pair without quotes looks like an argument: `12:30` and `C:\…` do not.
fn could_be_argument(name: &str, value: &str) -> bool {
    name.starts_with(|it: char| it.is_alphabetic() || it == '_') && !value.starts_with('\\')
}

/// From the first byte of an item to its last.
fn item_span(item: &ArgumentItem) -> Span {
    match item {
        ArgumentItem::Pair { name, value, .. } => name.span.join(value.span),
        ArgumentItem::Word(word) => word.span,
    }
}

/// Text as a value: as it is or, if it is exactly one quoted string, what that holds.
fn unquote_if_quoted(text: &str) -> String {
    let text = text.trim();
    if text.starts_with(QUOTE_CHARS) && QuoteFinder::new(text).quote_end(0) == Some(text.len()) {
        unquote(text)
    } else {
        text.to_owned()
    }
}
