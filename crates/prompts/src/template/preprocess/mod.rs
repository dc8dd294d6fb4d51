//! Preprocesses a template for the template engine: includes become variables, a few constructs of
//! other template languages are translated, and guards are added where the engine has no limit.
//! Every offset in the result maps to the original, so errors point there. Knows nothing of values.

mod expression_depth;
pub(crate) mod factor_guard;
pub(crate) mod includes;
mod slice_rewrite;
pub(crate) mod syntax_compat;
pub(crate) mod tag_scanner;

use std::collections::BTreeSet;

use super::{
    error::TemplateFault,
    filter::{CAPTURE_FILTER, SIZE_GUARD_FILTER},
};
use includes::{IncludeTarget, parse_target};
use syntax_compat::{
    count_copies, first_word, normalize_expression, rewrite_pair_loop, sliced_names,
};
use tag_scanner::{QuoteMask, TemplateToken, TemplateTokenKind, tokenize};

/// The maximum bytes of a line in a template with tags. The engine cannot count further.
const MAX_LINE_BYTES: usize = 60_000;

/// The maximum number of `elif` in one template. The engine compiles each inside the one before.
const MAX_ELIFS: usize = 200;

/// A template in the syntax of the engine, with its includes and the map to the original.
#[derive(Debug)]
pub(super) struct PreprocessedTemplate {
    pub(super) source: String,
    pub(super) includes: Vec<TemplateInclude>,
    /// Whether the template captures text, in a macro or a block.
    pub(super) has_captures: bool,
    /// The largest number of operators in one tag that copy a value.
    pub(super) most_copies: usize,
    /// The names that slices are taken of and that the template does not assign.
    pub(super) sliced: BTreeSet<String>,
    /// The number of open tags that capture text.
    open_captures: usize,
    elif_count: usize,
    /// Offsets in the result with the offsets in the original they come from.
    origins: Vec<(usize, usize)>,
}

/// An include of a preprocessed template.
#[derive(Debug, Clone)]
pub(super) struct TemplateInclude {
    /// The variable that replaces the include.
    pub(super) variable: String,
    pub(super) target: IncludeTarget,
    /// The byte offset in the original.
    pub(super) offset: usize,
}

impl PreprocessedTemplate {
    /// Maps an offset in the result to the original.
    pub(super) fn original_offset(&self, place: usize) -> usize {
        let next = self.origins.partition_point(|(here, _)| *here <= place);
        let (here, there) = next
            .checked_sub(1)
            .and_then(|index| self.origins.get(index))
            .copied()
            .unwrap_or_default();
        let most = self.origins.get(next).map_or(usize::MAX, |it| it.1);
        (there + (place - here)).min(most)
    }

    fn add(&mut self, text: &str, from: usize) {
        self.origins.push((self.source.len(), from));
        self.source.push_str(text);
    }
}

/// Preprocesses a template, or returns its first error.
pub(super) fn preprocess(body: &str) -> Result<PreprocessedTemplate, TemplateFault> {
    let all = tokenize(body);
    if all
        .iter()
        .any(|piece| piece.kind != TemplateTokenKind::Text)
    {
        check_line_lengths(body)?;
    }
    let prefix = unused_prefix(body);
    let mut assigned = BTreeSet::new();
    let mut done = PreprocessedTemplate {
        source: String::with_capacity(body.len() + 64),
        includes: Vec::new(),
        has_captures: false,
        most_copies: 0,
        sliced: BTreeSet::new(),
        open_captures: 0,
        elif_count: 0,
        origins: Vec::new(),
    };
    let mut trims_next = false;
    for piece in all {
        match piece.kind {
            TemplateTokenKind::Text | TemplateTokenKind::Literal => {
                if done.open_captures > 0 {
                    add_capture_count(&mut done, piece, trims_next);
                }
                done.add(piece.text, piece.start);
            }
            TemplateTokenKind::Print => {
                add_print_tag(&mut done, piece, &prefix)?;
            }
            TemplateTokenKind::Block => {
                add_block_tag(&mut done, piece, &mut assigned)?;
            }
        }
        trims_next = piece.kind != TemplateTokenKind::Text && piece.trims_next();
    }
    done.sliced
        .retain(|name| name != "loop" && !assigned.contains(name));
    Ok(done)
}

/// Counts a text that is captured, each time that it is: the bound on printed text does not hold for
/// it. The tag that counts has the marks of its neighbors, so that they still eat the same blanks.
fn add_capture_count(done: &mut PreprocessedTemplate, piece: TemplateToken<'_>, trims_next: bool) {
    if piece.text.starts_with("{#") {
        return;
    }
    let before = if piece.text.starts_with("{%-") {
        "-"
    } else {
        ""
    };
    let after = if trims_next { "-" } else { "" };
    let bytes = piece.text.len();
    let guard = format!("{{{{{before} {bytes}|{CAPTURE_FILTER} {after}}}}}");
    done.add(&guard, piece.start);
}

fn check_line_lengths(body: &str) -> Result<(), TemplateFault> {
    let mut start = 0;
    for line in body.split('\n') {
        if line.len() > MAX_LINE_BYTES {
            let message = format!("the line has more than {MAX_LINE_BYTES} bytes");
            return Err(
                TemplateFault::at_byte(start, message).with_help("split it into several lines")
            );
        }
        start += line.len() + 1;
    }
    Ok(())
}

/// Returns a prefix for variable names that does not occur in the template.
fn unused_prefix(body: &str) -> String {
    const PREFIX: &str = "taken_in_";
    let used = body.match_indices(PREFIX).map(|(at, _)| {
        let before = body.get(..at).unwrap_or_default();
        before.len() - before.trim_end_matches('_').len() + 1
    });
    "_".repeat(used.max().unwrap_or_default()) + PREFIX
}

fn add_print_tag(
    done: &mut PreprocessedTemplate,
    piece: TemplateToken<'_>,
    prefix: &str,
) -> Result<(), TemplateFault> {
    let (open, inside, close) = piece.split_tag();
    match parse_target(inside) {
        None => {
            done.most_copies = done.most_copies.max(count_copies(inside));
            done.sliced.extend(sliced_names(inside));
            let inside = normalize_expression(inside, piece.start + open.len())?;
            done.add(open, piece.start);
            done.add(&inside, piece.start + open.len());
            done.add(close, piece.start + piece.text.len() - close.len());
        }
        Some(Err(help)) => {
            let shown: String = piece.text.chars().take(80).collect();
            let fault =
                TemplateFault::at_byte(piece.start, format!("`{shown}` is not a valid reference"));
            return Err(fault.with_help(help));
        }
        Some(Ok(target)) => {
            let variable = format!("{prefix}{}", done.includes.len());
            // The line breaks stay, so that the lines after the include have the same numbers.
            let breaks = "\n".repeat(inside.matches('\n').count());
            done.add(&format!("{open}{variable}{breaks}{close}"), piece.start);
            done.includes.push(TemplateInclude {
                variable,
                target,
                offset: piece.start,
            });
        }
    }
    Ok(())
}

fn add_block_tag(
    done: &mut PreprocessedTemplate,
    piece: TemplateToken<'_>,
    assigned: &mut BTreeSet<String>,
) -> Result<(), TemplateFault> {
    let (open, inside, close) = piece.split_tag();
    let start = piece.start + open.len();
    done.most_copies = done.most_copies.max(count_copies(inside));
    done.sliced.extend(sliced_names(inside));
    let mut inside = normalize_expression(inside, start)?;
    let word = piece.tag_name();
    if matches!(word, "elif" | "elseif") {
        done.elif_count += 1;
        if done.elif_count > MAX_ELIFS {
            let message = format!("the template has more than {MAX_ELIFS} `elif`");
            return Err(TemplateFault::at_byte(piece.start, message)
                .with_help("look the value up in an object, as in `{{ names[key] }}`"));
        }
    }
    match word {
        "elseif" => inside = inside.replacen("elseif", "elif  ", 1),
        "for" => inside = rewrite_pair_loop(inside),
        _ => {}
    }
    match word {
        "set" if QuoteMask::new(&inside).as_str().contains('=') => {}
        "set" | "macro" | "call" | "filter" | "block" => {
            let name = inside.trim_start().strip_prefix(word).unwrap_or_default();
            assigned.insert(first_word(name.trim_start()).to_owned());
            done.open_captures += 1;
            done.has_captures = true;
        }
        "endset" | "endmacro" | "endcall" | "endfilter" | "endblock" => {
            done.open_captures = done.open_captures.saturating_sub(1);
        }
        _ => {}
    }
    done.add(open, piece.start);
    done.add(&inside, start);
    let end = piece.start + piece.text.len();
    done.add(close, end - close.len());
    let eats = if close.starts_with('-') { "-" } else { "" };
    for name in assigned_names(word, &inside) {
        let guard = format!("{{% set {name} = {name}|{SIZE_GUARD_FILTER} {eats}%}}");
        done.add(&guard, end);
        assigned.insert(name);
    }
    Ok(())
}

/// Returns the variables that a tag assigns. The engine limits instructions but not the size of
/// values, so a guard checks each variable before it can grow further.
fn assigned_names(word: &str, inside: &str) -> Vec<String> {
    let mask = QuoteMask::new(inside);
    let rest = mask.as_str().trim_start();
    let rest = rest.strip_prefix(word).unwrap_or_default();
    let names = match word {
        "set" => rest
            .split_once('=')
            .map_or("", |(names, _)| names)
            .to_owned(),
        "for" => rest
            .split_once(" in ")
            .map_or("", |(names, _)| names)
            .to_owned(),
        "with" => assignment_targets(rest),
        "macro" | "call" => {
            let (_, inner) = rest.split_once('(').unwrap_or_default();
            // A call without parameters starts with the macro's name, and the macro has its own
            // guards.
            if word == "call" && !rest.trim_start().starts_with('(') {
                return Vec::new();
            }
            assignment_targets(until_unbracketed(inner, ')'))
        }
        _ => return Vec::new(),
    };
    names
        .split([',', '(', ')'])
        .map(str::trim)
        .filter(|name| !name.is_empty() && first_word(name) == *name)
        .map(str::to_owned)
        .collect()
}

/// Returns the text before the first `end` that is not in brackets.
fn until_unbracketed(text: &str, end: char) -> &str {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        if depth == 0 && letter == end {
            return text.get(..at).unwrap_or_default();
        }
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    text
}

/// Returns the assigned names: `a = 1, b` becomes `a,b`.
fn assignment_targets(text: &str) -> String {
    let mut names = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let part = until_unbracketed(rest, ',');
        names.push(part.split('=').next().unwrap_or_default().trim().to_owned());
        rest = rest.get(part.len() + 1..).unwrap_or_default();
    }
    names.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_in_becomes_a_variable_and_lines_stay() {
        let done = preprocess("a {{- ref:x\n -}} b {{script:y.z}}").unwrap();
        assert_eq!(done.source, "a {{-taken_in_0\n-}} b {{taken_in_1}}");
        assert_eq!(done.includes.len(), 2);
        assert_eq!(done.original_offset(done.source.find(" b ").unwrap()), 16);
        let template = preprocess("taken_in_ {{ref:x}}").unwrap();
        assert_eq!(template.source, "taken_in_ {{_taken_in_0}}");
    }

    #[test]
    fn habits_of_other_languages_are_met() {
        let source = |body| preprocess(body).unwrap().source;
        assert_eq!(source("{% elseif x %}"), "{% elif   x %}");
        assert_eq!(
            source("{{ a.length }}{{ '.length' }}{{ loop.length }}"),
            "{{ a|length }}{{ '.length' }}{{ loop.length }}"
        );
        assert!(source("{% for k, v in o %}").starts_with("{% for k, v in (o )|pairs%}"));
    }

    #[test]
    fn captured_texts_are_counted_and_blanks_stay_as_they_are() {
        use crate::{EngineLimits, model::TemplateSource, template::TemplateRenderer};
        let render = |body: String| {
            let source = TemplateSource {
                body,
                ..TemplateSource::default()
            };
            let fence = deliberate_core::PromptFence::new(0, &[]);
            let renderer = TemplateRenderer::new(&EngineLimits::default());
            renderer.render(&source, "", &std::collections::BTreeMap::new(), &fence)
        };
        for (body, rendered) in [
            ("{% set a %} x {% endset %}[{{ a }}]", "[ x ]"),
            ("{% set a -%} x {%- endset %}[{{ a }}]", "[x]"),
            ("{% set a %} x {#- y -#} z {% endset %}[{{ a }}]", "[ xz ]"),
            (
                "{% set a %} x {%- raw -%} {{ y }} {%- endraw -%} z {% endset %}[{{ a }}]",
                "[ x{{ y }}z ]",
            ),
        ] {
            assert_eq!(render(body.to_owned()).unwrap(), rendered, "{body}");
        }
        let line = "y".repeat(50_000) + "\n";
        let body = |times: usize| {
            let calls = vec!["m()"; times].join(",");
            let text = line.repeat(10);
            format!("{{% macro m() %}}{text}{{% endmacro %}}{{{{ [{calls}]|length }}}}")
        };
        assert_eq!(render(body(50)).unwrap(), "50");
        assert!(render(body(900)).is_err());
    }

    #[test]
    fn every_variable_is_held() {
        let source = preprocess(
            "{% set a = 1 -%}{% macro m(b, c=f(1, 2)) %}{% with d = 1, e = 2 %}{% call(g) m(1) %}{% set h %}",
        )
        .unwrap()
        .source;
        for name in ["a", "b", "c", "d", "e", "g"] {
            let guard = format!("{{% set {name} = {name}|_held ");
            assert_eq!(source.matches(&guard).count(), 1, "{name} in {source}");
        }
        assert!(source.contains("a|_held -%}"));
        assert!(!source.contains("set h = h"));
    }
}
