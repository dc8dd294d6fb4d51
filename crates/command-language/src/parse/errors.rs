//! The texts of the syntax errors.

use deliberate_core::{did_you_mean, ellipsize};

use crate::{
    ast::{CommandModifier, ShellVerifyPreset},
    diagnostic::{Diagnostic, DiagnosticCode},
    lexer::bad_id_offset,
    limits::CommandLimits,
    span::Span,
};

/// Truncates a word from the input to the length that a message repeats.
fn shorten_word(word: &str) -> String {
    ellipsize(word, 40)
}

pub(super) fn empty_command(span: Span) -> Diagnostic {
    Diagnostic::new(
        DiagnosticCode::Empty,
        span,
        "the command is empty",
        "nothing here",
    )
    .with_expected(["`>>` and a prompt's id"])
    .with_help("write a prompt and its arguments: `>>prompt name:\"value\"`")
}

pub(super) fn split_text(span: Span) -> Diagnostic {
    Diagnostic::new(
        DiagnosticCode::SplitText,
        span,
        "the text around an annotation changes its meaning when it is joined",
        "this text follows an annotation of its own step",
    )
    .with_help("put arguments before the annotations, and quote text that contains operators")
}

pub(super) fn unclosed_quote(span: Span) -> Diagnostic {
    Diagnostic::new(
        DiagnosticCode::UnclosedQuote,
        span,
        "a quote is never closed",
        "opened here",
    )
    .with_help("close it, and write a quote inside it as `\\\"`")
}

pub(super) fn single_angle(span: Span, rest: &str) -> Diagnostic {
    let word: String = rest
        .chars()
        .skip_while(|each| each.is_whitespace())
        .take_while(|each| !each.is_whitespace())
        .take(40)
        .collect();
    Diagnostic::new(
        DiagnosticCode::SingleAngle,
        span,
        "a prompt is called with `>>`, not with a single `>`",
        "only one `>`",
    )
    .with_expected(["`>>`"])
    .with_help(format!("write `>>{word}`, or `{word}` alone"))
}

pub(super) fn unknown_modifier(span: Span, name: &str) -> Diagnostic {
    let names = CommandModifier::ALL.map(CommandModifier::name);
    let near = did_you_mean(name, names);
    let label = near.map_or_else(
        || "unknown modifier".to_owned(),
        |near| format!("did you mean `%{near}`?"),
    );
    let name = shorten_word(name);
    Diagnostic::new(
        DiagnosticCode::UnknownModifier,
        span,
        format!("there is no modifier `%{name}`"),
        label,
    )
    .with_expected(names.map(|name| format!("`%{name}`")))
}

pub(super) fn duplicate_annotation(what: &str, span: Span, first: Span) -> Diagnostic {
    Diagnostic::new(
        DiagnosticCode::SecondMark,
        span,
        format!("only one {what} is allowed here"),
        "the second",
    )
    .with_secondary_label(first, "the first")
    .with_help(format!(
        "keep only one; write the {what} of a later step before that step: `--> {}name >>prompt`",
        match what {
            "modifier" => "%",
            "framework" => "@",
            _ => "#",
        }
    ))
}

pub(super) fn missing_before(span: Span, operator: &str) -> Diagnostic {
    Diagnostic::new(
        DiagnosticCode::NothingBefore,
        span,
        format!("there is no step before `{operator}`"),
        "a step must come before this",
    )
    .with_expected(["a step such as `>>prompt`"])
    .with_help(format!("add a step before it, or remove `{operator}`"))
}

pub(super) fn missing_after(span: Span, operator: &str) -> Diagnostic {
    Diagnostic::new(
        DiagnosticCode::NothingAfter,
        span,
        format!("there is no step after `{operator}`"),
        "a step must come after this",
    )
    .with_expected(["a step such as `>>prompt`"])
    .with_help(format!("add the next step, or remove `{operator}`"))
}

pub(super) fn missing_prompt(span: Span) -> Diagnostic {
    Diagnostic::new(
        DiagnosticCode::NoPrompt,
        span,
        "the prompt's id is missing",
        "a prompt's id is required here",
    )
    .with_expected(["`>>` and a prompt's id"])
}

pub(super) fn bad_id(span: Span, word: &str) -> Diagnostic {
    let at = span.start + bad_id_offset(word);
    let wrong = word.get(bad_id_offset(word)..).unwrap_or_default();
    let wrong = wrong.chars().next().map_or(0, char::len_utf8);
    let word = shorten_word(word);
    let fault = Diagnostic::new(
        DiagnosticCode::BadId,
        Span::new(at, at + wrong),
        format!("`{word}` cannot be a prompt's id"),
        "not allowed here",
    )
    .with_expected(["letters, digits, `_`, `-`, and single `/` between parts"]);
    if word.contains("::") {
        fault.with_help("add a space before `::`")
    } else if word.contains(['"', '\'', ':', '=']) {
        fault
            .with_help("write the prompt's id first, then its arguments: `>>prompt name:\"value\"`")
    } else {
        fault
    }
}

pub(super) fn bad_repeat_count(span: Span, digits: &str, limits: &CommandLimits) -> Diagnostic {
    let most = limits.repetitions;
    let digits = shorten_word(digits);
    let fault = Diagnostic::new(
        DiagnosticCode::Repeat,
        span,
        format!("a step cannot be repeated {digits} times"),
        format!("must be between 1 and {most}"),
    )
    .with_expected([format!("`* 1` to `* {most}`")]);
    fault.with_help("if this is text, put it in quotes")
}

pub(super) fn duplicate_repeat(span: Span, first: Span) -> Diagnostic {
    Diagnostic::new(
        DiagnosticCode::SecondRepeat,
        span,
        "a step can have only one repeat count",
        "the second count",
    )
    .with_secondary_label(first, "the first")
    .with_help("keep only one; if this is text, put it in quotes")
}

pub(super) fn bad_gate_operand(span: Span, label: &str) -> Diagnostic {
    Diagnostic::new(
        DiagnosticCode::GateOperand,
        span,
        "`::` needs a gate's id or a quoted criterion",
        label,
    )
    .with_expected([
        "a gate's id",
        "a quoted criterion",
        "`name:\"criterion\"`",
        "`verify:\"command\"`",
    ])
    .with_help("write several as `:: \"one\", \"two\"`, or each after its own `::`")
}

pub(super) fn bad_verify_option(span: Span, written: &str) -> Diagnostic {
    let names: Vec<_> = ShellVerifyPreset::ALL
        .iter()
        .map(|preset| format!(":{}", preset.name()))
        .collect();
    let near = did_you_mean(written, names.iter().map(String::as_str));
    let label = near.map_or_else(
        || "invalid option".to_owned(),
        |near| format!("did you mean `{near}`?"),
    );
    let written = shorten_word(written);
    Diagnostic::new(
        DiagnosticCode::VerifyOption,
        span,
        format!("the option `{written}` of `verify` is invalid or given twice"),
        label,
    )
    .with_expected([
        "`:fast`",
        "`:full`",
        "`:extended`",
        "`max:N`",
        "`timeout:N`",
        "`loop:true`",
    ])
}

pub(super) fn bad_conditional(span: Span, label: &str) -> Diagnostic {
    Diagnostic::new(
        DiagnosticCode::Conditional,
        span,
        "a conditional needs a quoted condition, `:` and a step",
        label,
    )
    .with_expected(["`? \"condition\" : >>prompt`"])
    .with_help("with an else branch: `? \"condition\" : >>one : >>other`; put text in quotes")
}
