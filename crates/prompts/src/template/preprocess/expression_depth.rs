//! Bounds how deep the tree of an expression is. The engine bounds nested brackets, but not chains of
//! operators, and it walks both recursively, so that a long chain would overflow the stack. Knows
//! nothing of values.

use crate::template::error::TemplateFault;

/// The maximum number of operators and brackets on one path through an expression.
const MAX_EXPRESSION_DEPTH: usize = 200;

/// Words that are operators.
const WORD_OPERATORS: [&str; 7] = ["and", "or", "not", "in", "is", "if", "else"];

/// What is known of the tree inside one pair of brackets.
#[derive(Default)]
struct BracketLevel {
    /// The depth of the part that is being read.
    current: usize,
    /// The depth of the deepest part before the last comma.
    deepest: usize,
}

impl BracketLevel {
    fn depth(&self) -> usize {
        self.current.max(self.deepest)
    }
}

/// Fails if an expression is too deep. The mask is the expression, which starts at byte `start` of
/// the template, without its quoted texts.
pub(super) fn check_depth(mask: &str, start: usize) -> Result<(), TemplateFault> {
    let mut levels = vec![BracketLevel::default()];
    let mut word_start = None;
    for (at, letter) in mask.char_indices() {
        let is_word = letter.is_alphanumeric() || letter == '_';
        if is_word {
            word_start.get_or_insert(at);
            continue;
        }
        let word = word_start.take().and_then(|from: usize| mask.get(from..at));
        let Some(level) = levels.last_mut() else {
            return Ok(());
        };
        level.current += usize::from(word.is_some_and(|it| WORD_OPERATORS.contains(&it)));
        match letter {
            '(' | '[' | '{' => levels.push(BracketLevel::default()),
            ')' | ']' | '}' => close_bracket(&mut levels),
            ',' | ':' => {
                level.deepest = level.depth();
                level.current = 0;
            }
            '+' | '-' | '~' | '*' | '/' | '%' | '<' | '>' | '=' | '!' | '.' | '|' => {
                level.current += 1;
            }
            _ => {}
        }
        let depth = levels.last().map_or(0, |level| level.current);
        if depth > MAX_EXPRESSION_DEPTH || levels.len() > MAX_EXPRESSION_DEPTH {
            let message = format!(
                "an expression has more than {MAX_EXPRESSION_DEPTH} operators or brackets in one part"
            );
            return Err(TemplateFault::at_byte(start + at, message)
                .with_help("assign parts of it to variables first"));
        }
    }
    Ok(())
}

/// Adds the tree inside the brackets to the part that they stand in.
fn close_bracket(levels: &mut Vec<BracketLevel>) {
    if levels.len() < 2 {
        return;
    }
    let inner = levels.pop().map_or(0, |level| level.depth());
    if let Some(outer) = levels.last_mut() {
        outer.current += inner + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        EngineLimits,
        model::TemplateSource,
        template::{TemplateRenderer, preprocess::tag_scanner::QuoteMask},
    };

    fn is_taken(expression: &str) -> bool {
        check_depth(QuoteMask::new(expression).as_str(), 0).is_ok()
    }

    #[test]
    fn chains_are_bounded_and_lists_are_not() {
        for chain in [
            "-".repeat(9_900) + "1",
            "not ".repeat(2_000) + "x",
            vec!["1"; 4_900].join("+"),
            vec!["x"; 4_900].join("~"),
            vec!["x"; 4_900].join(" and "),
            "x".to_owned() + &".a".repeat(4_000),
            "x".to_owned() + &"|trim".repeat(4_000),
            "x".to_owned() + &"[0]".repeat(4_000),
            "(".repeat(100) + "1" + &"+1)".repeat(150),
            "(".repeat(4_000) + "1",
        ] {
            assert!(!is_taken(&chain), "{chain}");
        }
        for expression in [
            vec!["-1.5"; 4_000].join(", "),
            format!("[{}]", vec!["{'a': x.b|upper}"; 1_000].join(", ")),
            "'+ - not'|replace('+', '-') ~ 'x'".to_owned(),
            vec!["x"; 150].join(" + "),
        ] {
            assert!(is_taken(&expression), "{expression}");
        }
    }

    #[test]
    fn what_is_as_deep_as_allowed_overflows_no_stack() {
        let renderer = TemplateRenderer::new(&EngineLimits::default());
        let values = std::collections::BTreeMap::new();
        for chain in [
            "-".repeat(200) + "1",
            "not ".repeat(199) + "1",
            vec!["1"; 200].join("+"),
            vec!["'x'"; 200].join("~"),
            vec!["1"; 200].join(" and "),
            "'x'".to_owned() + &"|trim".repeat(199),
            "1".to_owned() + &" if 1 else 1".repeat(70),
            "(".repeat(100) + "1" + &")".repeat(100),
        ] {
            drop(renderer.evaluate(&chain, &values));
            let source = TemplateSource {
                body: format!("{{{{ {chain} }}}}"),
                ..TemplateSource::default()
            };
            drop(renderer.compile_check(&source, ""));
        }
        let source = |times: usize| TemplateSource {
            body: format!("{{% if a %}}{}{{% endif %}}", "{% elif a %}".repeat(times)),
            ..TemplateSource::default()
        };
        assert!(renderer.compile_check(&source(150), "").is_none());
        assert!(renderer.compile_check(&source(5_000), "").is_some());
    }
}
