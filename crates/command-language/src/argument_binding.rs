//! Binds the arguments of a step to the argument names that a prompt declares.
//!
//! Values are passed on unchanged: this module does not coerce, validate or add defaults.

use std::collections::HashMap;

use deliberate_core::did_you_mean;
use serde_json::Value;

use super::{
    argument_items,
    ast::{ArgumentItem, StepArgs},
};
use crate::{
    diagnostic::{Diagnostic, DiagnosticCode},
    quote::{QUOTE_CHARS, QuoteFinder, unquote},
    span::{Span, Spanned},
};

/// Parts of argument names that unnamed text is likely meant for, the likeliest first.
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
/// The argument name for unnamed text when the prompt declares no arguments.
const DEFAULT_ARGUMENT: &str = "input";

/// The maximum number of diagnostics per step: more would not help the user.
const MAX_DIAGNOSTICS: usize = 20;

/// The maximum number of unknown names compared with the declared ones. Each comparison takes
/// time, and nobody misspells more names than this.
const MAX_COMPARISONS: usize = 100;

/// The maximum number of doubtful pairs reported per step: more would not help the user.
const MAX_DOUBTFUL: usize = 20;

/// An argument that a prompt declares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeclaredArgument<'a> {
    pub name: &'a str,
    pub required: bool,
    /// Whether unnamed text is bound to this argument, whatever its name.
    pub takes_unnamed_text: bool,
}

/// An argument that the command gives to a step.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenArgument {
    pub name: String,
    /// A string, or any value that the JSON arguments contain.
    pub value: Value,
    /// The location of the value in the source.
    pub span: Span,
}

/// The arguments of a step, sorted by whether the prompt declares or uses their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoundArguments {
    /// Declared arguments, in the order given.
    pub values: Vec<GivenArgument>,
    /// Arguments that are not declared but that the template uses.
    pub extra: Vec<GivenArgument>,
    /// Unknown arguments that are quoted, in JSON, or close in spelling to a declared name.
    pub unknown: Vec<GivenArgument>,
    /// The first few unknown pairs that were treated as text because no declared name is similar.
    /// Their text is also part of a value.
    pub doubtful: Vec<GivenArgument>,
    /// Errors: a name given twice, or text that no argument can take.
    pub diagnostics: Vec<Diagnostic>,
}

/// Binds arguments to declared names; `used` returns whether the template uses a name.
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
    /// The location where each name was given first.
    first_spans: HashMap<String, Span>,
    /// The number of names compared with the declared ones so far.
    comparisons: usize,
}

impl ArgumentBinder<'_> {
    fn is_known(&self, name: &str) -> bool {
        self.is_declared(name) || (self.is_used)(name)
    }

    fn is_declared(&self, name: &str) -> bool {
        self.declared.iter().any(|argument| argument.name == name)
    }

    /// Returns whether an unquoted pair with an unknown name is meant as an argument because its
    /// name is a misspelling of a declared one.
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

    /// Binds pairs by name. An unquoted pair whose name is unknown and no misspelling is text like
    /// the words around it, so that `note: see foo:bar` loses nothing.
    fn bind_pairs(&mut self, raw: &str, placed: &[ArgumentItem]) {
        let mut loose: Vec<Spanned<(usize, usize)>> = Vec::new();
        let mut bare: Option<BareValue> = None;
        let mut apart = true;
        for (item, argument_item) in argument_items::split_items(raw).into_iter().zip(placed) {
            let (span, shown) = (item_span(&item), item_span(argument_item));
            match (item, argument_item) {
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
                (item, argument_item) => {
                    if let (
                        ArgumentItem::Pair { name, value, .. },
                        ArgumentItem::Pair { value: to, .. },
                    ) = (&item, argument_item)
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

    /// Joins the text between the pairs and binds it as unnamed text.
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
                    "unexpected text",
                );
                self.add_diagnostic(
                    fault.with_help("remove this text, or declare an argument in the prompt"),
                );
            }
            None => {
                let fault = Diagnostic::new(
                    DiagnosticCode::LeftoverText,
                    span,
                    "every argument already has a value, so this text cannot be bound",
                    "unexpected text",
                );
                self.add_diagnostic(fault.with_help("quote the whole value: `name:\"value\"`"));
            }
        }
    }

    /// Chooses the argument for unnamed text from the declared arguments not given by name.
    fn unnamed_text_target(&self) -> Option<String> {
        let given = |name: &str| {
            self.bound
                .values
                .iter()
                .any(|given_argument| given_argument.name == name)
        };
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
            .with_help("keep only one");
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

/// A pair whose unquoted value continues up to the next pair that is bound by name.
struct BareValue {
    name: String,
    name_span: Span,
    /// The location of the value in the raw argument text.
    raw_span: Span,
    /// The location of the value in the source.
    source_span: Span,
}

impl BareValue {
    fn extend(&mut self, text: Span, span: Span) {
        if self.raw_span.start == self.raw_span.end {
            self.raw_span = text;
            self.source_span = span;
        }
        self.raw_span.end = text.end;
        self.source_span.end = span.end;
    }
}

/// Returns whether an unquoted pair looks like an argument: `12:30` and `C:\…` do not.
fn could_be_argument(name: &str, value: &str) -> bool {
    name.starts_with(|it: char| it.is_alphabetic() || it == '_') && !value.starts_with('\\')
}

/// Returns the span from the first byte of an item to its last.
fn item_span(item: &ArgumentItem) -> Span {
    match item {
        ArgumentItem::Pair { name, value, .. } => name.span.join(value.span),
        ArgumentItem::Word(word) => word.span,
    }
}

/// Returns the content of the text if it is exactly one quoted string, else the text unchanged.
fn unquote_if_quoted(text: &str) -> String {
    let text = text.trim();
    if text.starts_with(QUOTE_CHARS) && QuoteFinder::new(text).quote_end(0) == Some(text.len()) {
        unquote(text)
    } else {
        text.to_owned()
    }
}
