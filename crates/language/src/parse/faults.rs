//! The words of each fault of the grammar.

use crate::{
    diagnostic::{Code, Diagnostic},
    likeness::nearest,
    limits::Limits,
    scan::bad_id_offset,
    span::Span,
    tree::{Modifier, Preset},
};

/// As much of a hostile word as a message repeats.
fn shown(word: &str) -> String {
    let mut shown: String = word.chars().take(40).collect();
    if shown.len() < word.len() {
        shown.push('…');
    }
    shown
}

pub(super) fn empty(span: Span) -> Diagnostic {
    Diagnostic::new(Code::Empty, span, "the command is empty", "nothing here")
        .expecting(["`>>` and a prompt's id"])
        .helping("write a prompt and its arguments: `>>prompt name:\"value\"`")
}

pub(super) fn split_text(span: Span) -> Diagnostic {
    Diagnostic::new(
        Code::SplitText,
        span,
        "the text around a mark reads otherwise when it is put together",
        "this text stands behind a mark of its own step",
    )
    .helping("put arguments before the marks, and quote text that holds operators")
}

pub(super) fn unclosed_quote(span: Span) -> Diagnostic {
    Diagnostic::new(
        Code::UnclosedQuote,
        span,
        "a quote is opened and never closed",
        "opened here",
    )
    .helping("close it, and write a quote inside it as `\\\"`")
}

pub(super) fn single_angle(span: Span, rest: &str) -> Diagnostic {
    let word: String = rest
        .chars()
        .skip_while(|each| each.is_whitespace())
        .take_while(|each| !each.is_whitespace())
        .take(40)
        .collect();
    Diagnostic::new(
        Code::SingleAngle,
        span,
        "a prompt is called with `>>`, not with a single `>`",
        "one `>` only",
    )
    .expecting(["`>>`"])
    .helping(format!("write `>>{word}`, or `{word}` alone"))
}

pub(super) fn unknown_modifier(span: Span, name: &str) -> Diagnostic {
    let names = Modifier::ALL.map(Modifier::name);
    let near = nearest(name, names);
    let label = near.map_or_else(
        || "no such modifier".to_owned(),
        |near| format!("did you mean `%{near}`?"),
    );
    let name = shown(name);
    Diagnostic::new(
        Code::UnknownModifier,
        span,
        format!("there is no modifier `%{name}`"),
        label,
    )
    .expecting(names.map(|name| format!("`%{name}`")))
}

pub(super) fn second_mark(what: &str, span: Span, first: Span) -> Diagnostic {
    Diagnostic::new(
        Code::SecondMark,
        span,
        format!("only one {what} may stand here"),
        "the second",
    )
    .beside(first, "the first")
    .helping(format!(
        "leave one; a {what} of its own goes before a later step: `--> {}name >>prompt`",
        match what {
            "modifier" => "%",
            "framework" => "@",
            _ => "#",
        }
    ))
}

pub(super) fn nothing_before(span: Span, operator: &str) -> Diagnostic {
    Diagnostic::new(
        Code::NothingBefore,
        span,
        format!("nothing stands before `{operator}`"),
        "no step comes before this",
    )
    .expecting(["a step, as `>>prompt`"])
    .helping(format!("put a step before it, or leave out `{operator}`"))
}

pub(super) fn nothing_after(span: Span, operator: &str) -> Diagnostic {
    Diagnostic::new(
        Code::NothingAfter,
        span,
        format!("nothing stands after `{operator}`"),
        "no step comes after this",
    )
    .expecting(["a step, as `>>prompt`"])
    .helping(format!("add the next step, or leave out `{operator}`"))
}

pub(super) fn no_prompt(span: Span) -> Diagnostic {
    Diagnostic::new(
        Code::NoPrompt,
        span,
        "no prompt is named",
        "a prompt's id belongs here",
    )
    .expecting(["`>>` and a prompt's id"])
}

pub(super) fn bad_id(span: Span, word: &str) -> Diagnostic {
    let at = span.start + bad_id_offset(word);
    let wrong = word.get(bad_id_offset(word)..).unwrap_or_default();
    let wrong = wrong.chars().next().map_or(0, char::len_utf8);
    let word = shown(word);
    let fault = Diagnostic::new(
        Code::BadId,
        Span::new(at, at + wrong),
        format!("`{word}` cannot be a prompt's id"),
        "not allowed here",
    )
    .expecting(["letters, digits, `_`, `-`, and single `/` between parts"]);
    if word.contains("::") {
        fault.helping("put a blank before `::`")
    } else if word.contains(['"', '\'', ':', '=']) {
        fault.helping("name the prompt first, then its arguments: `>>prompt name:\"value\"`")
    } else {
        fault
    }
}

pub(super) fn repeat(span: Span, digits: &str, limits: &Limits) -> Diagnostic {
    let most = limits.repetitions;
    let digits = shown(digits);
    let fault = Diagnostic::new(
        Code::Repeat,
        span,
        format!("a step cannot be repeated {digits} times"),
        format!("between 1 and {most}"),
    )
    .expecting([format!("`* 1` to `* {most}`")]);
    fault.helping("if the text is meant, put it in quotes")
}

pub(super) fn second_repeat(span: Span, first: Span) -> Diagnostic {
    Diagnostic::new(
        Code::SecondRepeat,
        span,
        "a step is repeated once, not twice",
        "the second count",
    )
    .beside(first, "the first")
    .helping("leave one; if the text is meant, put it in quotes")
}

pub(super) fn gate_operand(span: Span, label: &str) -> Diagnostic {
    Diagnostic::new(
        Code::GateOperand,
        span,
        "`::` needs a gate's id or a quoted criterion",
        label,
    )
    .expecting([
        "a gate's id",
        "a quoted criterion",
        "`name:\"criterion\"`",
        "`verify:\"command\"`",
    ])
    .helping("several are written `:: \"one\", \"two\"`, or each with `::` of its own")
}

pub(super) fn verify_option(span: Span, written: &str) -> Diagnostic {
    let names: Vec<_> = Preset::ALL
        .iter()
        .map(|preset| format!(":{}", preset.name()))
        .collect();
    let near = nearest(written, names.iter().map(String::as_str));
    let label = near.map_or_else(
        || "not an option".to_owned(),
        |near| format!("did you mean `{near}`?"),
    );
    let written = shown(written);
    Diagnostic::new(
        Code::VerifyOption,
        span,
        format!("`verify` has no option `{written}`, or it is said twice"),
        label,
    )
    .expecting([
        "`:fast`",
        "`:full`",
        "`:extended`",
        "`max:N`",
        "`timeout:N`",
        "`loop:true`",
    ])
}

pub(super) fn conditional(span: Span, label: &str) -> Diagnostic {
    Diagnostic::new(
        Code::Conditional,
        span,
        "a conditional needs a quoted condition, `:` and a step",
        label,
    )
    .expecting(["`? \"condition\" : >>prompt`"])
    .helping("with another branch: `? \"condition\" : >>one : >>other`; text goes in quotes")
}
