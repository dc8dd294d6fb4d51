//! Conditions of chain steps: an expression over the run's variables, or a question in plain
//! words that a model has to answer. Distinguishes the two and evaluates expressions. Knows
//! nothing of chains.

use std::collections::{BTreeMap, BTreeSet};

use deliberate_core::did_you_mean;
use serde_json::Value;

use super::{
    TemplateValues,
    error::{TemplateFault, explain, undefined_name},
    filter::check_copies,
    preprocess::{
        syntax_compat::{count_copies, first_word, normalize_expression, sliced_names},
        tag_scanner::QuoteMask,
    },
    render::TemplateRenderer,
    value::{ValueSizeBudget, ValueTooLarge, from_json, to_json},
};

/// The maximum bytes of a condition.
const MAX_CONDITION_BYTES: usize = 10_000;

/// Operators that make a text look like an expression.
const OPERATORS: [&str; 12] = [
    "==", "!=", "<", ">", " in ", " and ", " or ", " not ", "|", ".", "[", "~",
];

/// The tests that expressions may use after `is`.
const TESTS: [&str; 34] = [
    "boolean",
    "defined",
    "divisibleby",
    "endingwith",
    "eq",
    "equalto",
    "even",
    "false",
    "float",
    "ge",
    "greaterthan",
    "gt",
    "in",
    "int",
    "integer",
    "iterable",
    "le",
    "lessthan",
    "lower",
    "lt",
    "mapping",
    "ne",
    "none",
    "not",
    "number",
    "odd",
    "sameas",
    "sequence",
    "startingwith",
    "string",
    "true",
    "undefined",
    "upper",
    "safe",
];

/// A condition of a chain step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParsedCondition {
    /// An expression, which can be evaluated.
    Expression(Expression),
    /// A question, which a model has to answer.
    Question(String),
}

/// A valid expression whose names are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    text: String,
}

impl Expression {
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// An expression that is invalid or cannot be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("condition `{expression}`: {message}{}", .help.as_ref().map(|help| format!("; {help}")).unwrap_or_default())]
pub struct ExpressionError {
    pub expression: String,
    pub message: String,
    /// The suggested fix.
    pub help: Option<String>,
}

impl TemplateRenderer {
    /// Distinguishes an expression from a question. A text that looks like an expression but
    /// contains an unknown name is an error, so that a misspelling does not become a question.
    pub fn parse_condition(
        &self,
        text: &str,
        known: &BTreeSet<String>,
    ) -> Result<ParsedCondition, ExpressionError> {
        let text = strip_braces(text);
        let question = || ParsedCondition::Question(text.to_owned());
        if text.len() > MAX_CONDITION_BYTES {
            let message = format!("the condition is longer than {MAX_CONDITION_BYTES} bytes");
            return Err(expression_error(
                text,
                message,
                Some("shorten it".to_owned()),
            ));
        }
        let mask = QuoteMask::new(text);
        let mask = format!(" {} ", mask.as_str());
        let looks_like_one = OPERATORS.iter().any(|operator| mask.contains(operator));
        let begins_with_known = known.contains(first_word(text));
        let names = match self.names_in(text) {
            Ok(names) => names,
            Err(fault)
                if has_foreign_operator(&mask)
                    || (begins_with_known && has_clear_operator(&mask)) =>
            {
                return Err(expression_error(text, fault.message, fault.help));
            }
            Err(_) => return Ok(question()),
        };
        if !tests_are_known(&mask) {
            return Ok(question());
        }
        match names.iter().find(|name| !known.contains(*name)) {
            None => Ok(ParsedCondition::Expression(Expression {
                text: text.to_owned(),
            })),
            Some(_) if !looks_like_one => Ok(question()),
            Some(name) => {
                let help = match did_you_mean(name, known.iter().map(String::as_str)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => {
                        "use a variable of the chain, or write the question as a whole sentence"
                            .to_owned()
                    }
                };
                let message = format!("there is no value named `{name}`");
                Err(expression_error(text, message, Some(help)))
            }
        }
    }

    /// Evaluates an expression.
    pub fn evaluate(
        &self,
        expression: &str,
        values: &TemplateValues,
    ) -> Result<Value, ExpressionError> {
        let found = self.evaluate_raw(expression, values)?;
        let mut budget = ValueSizeBudget(self.limits.rendered_bytes);
        to_json(&found, &mut budget).map_err(|ValueTooLarge| {
            let help = "select less".to_owned();
            expression_error(expression, "the value is too large".to_owned(), Some(help))
        })
    }

    /// Evaluates an expression as true unless it is false, zero, empty or absent.
    pub fn evaluate_bool(
        &self,
        expression: &Expression,
        values: &TemplateValues,
    ) -> Result<bool, ExpressionError> {
        self.evaluate_raw(&expression.text, values)
            .map(|found| found.is_true())
    }

    fn evaluate_raw(
        &self,
        expression: &str,
        values: &TemplateValues,
    ) -> Result<minijinja::Value, ExpressionError> {
        let fault = |fault: TemplateFault| expression_error(expression, fault.message, fault.help);
        let source = normalize_expression(expression, 0).map_err(fault)?;
        let say = |error: &minijinja::Error| {
            let (message, help) = explain(error);
            match undefined_name(error) {
                Some(name) => {
                    let near = did_you_mean(&name, values.keys().map(String::as_str));
                    let message = format!("there is no value named `{name}`");
                    let help = near.map(|near| format!("did you mean `{near}`?"));
                    expression_error(expression, message, help)
                }
                None => expression_error(expression, message, help),
            }
        };
        let compiled = self
            .base
            .compile_expression_owned(source)
            .map_err(|error| say(&error))?;
        let scope: BTreeMap<String, minijinja::Value> = compiled
            .undeclared_variables(false)
            .into_iter()
            .chain(sliced_names(expression))
            .filter_map(|name| {
                let value = from_json(values.get(&name)?);
                Some((name, value))
            })
            .collect();
        let copies = count_copies(expression);
        check_copies(copies, scope.values(), self.limits.rendered_bytes)
            .and_then(|()| compiled.eval(scope))
            .map_err(|error| say(&error))
    }

    /// Returns the names that an expression uses.
    fn names_in(&self, expression: &str) -> Result<BTreeSet<String>, TemplateFault> {
        let source = normalize_expression(expression, 0)?;
        let compiled = self.base.compile_expression_owned(source);
        let compiled = compiled.map_err(|error| TemplateFault::at_byte(0, explain(&error).0))?;
        let mut names: BTreeSet<String> =
            compiled.undeclared_variables(false).into_iter().collect();
        names.extend(sliced_names(expression));
        for (global, _) in self.base.globals() {
            names.remove(global);
        }
        Ok(names)
    }
}

/// Removes enclosing braces: `{{ x }}` becomes `x`.
fn strip_braces(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix("{{")
        .and_then(|text| text.strip_suffix("}}"))
        .map_or(text, str::trim)
}

/// Returns whether a text contains operators of other languages, which no sentence contains.
fn has_foreign_operator(mask: &str) -> bool {
    ["===", "!==", "&&", "||"]
        .iter()
        .any(|operator| mask.contains(operator))
}

/// Returns whether a text contains operators that sentences hardly ever contain.
fn has_clear_operator(mask: &str) -> bool {
    ["==", "!=", "<=", ">=", " | "]
        .iter()
        .any(|operator| mask.contains(operator))
}

/// Returns whether a test follows each `is`; "the answer is good" is a sentence.
fn tests_are_known(mask: &str) -> bool {
    mask.match_indices(" is ").all(|(at, is)| {
        let rest = mask.get(at + is.len()..).unwrap_or_default().trim_start();
        let rest = rest.strip_prefix("not ").unwrap_or(rest);
        TESTS.contains(&first_word(rest.trim_start()))
    })
}

fn expression_error(expression: &str, message: String, help: Option<String>) -> ExpressionError {
    ExpressionError {
        expression: expression.chars().take(200).collect(),
        message,
        help,
    }
}
