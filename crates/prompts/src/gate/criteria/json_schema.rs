//! Finds JSON in an answer and validates it against a schema. Both are untrusted input, so the work
//! of a validation is bounded before it is done.

use deliberate_json_schema::JsonSchemaValidator;
use serde_json::Value;

/// The most bytes of an answer that a schema with patterns is used on: the time grows with the size
/// of a pattern times that of the answer.
const MAX_ANSWER_BYTES_FOR_PATTERNS: usize = 64 << 10;

/// The most JSON values that are examined in one answer.
const MAX_CANDIDATES: usize = 20;

/// The most positions at which a JSON value may seem to begin.
const MAX_START_POSITIONS: usize = 200;

/// The most problems that are reported.
const MAX_PROBLEMS: usize = 3;

/// The result of validating the JSON of an answer.
pub(crate) enum SchemaMatch {
    /// One JSON value is valid.
    Valid,
    /// No JSON value is valid; contains the problem of the most likely one.
    Invalid(String),
    /// The schema cannot be used.
    BadSchema(String),
}

/// Validates the JSON in an answer against a schema.
pub(crate) fn match_schema(schema: &Value, answer: &str) -> SchemaMatch {
    if answer.len() > MAX_ANSWER_BYTES_FOR_PATTERNS && has_patterns(schema) {
        let most = MAX_ANSWER_BYTES_FOR_PATTERNS / 1024;
        let why = format!("a schema with patterns is used on at most {most} KiB");
        return SchemaMatch::BadSchema(why);
    }
    let validator = match build_validator(schema) {
        Ok(validator) => validator,
        Err(why) => return SchemaMatch::BadSchema(why),
    };
    let pieces = json_candidates(answer);
    if pieces.iter().any(|piece| validator.accepts(piece)) {
        return SchemaMatch::Valid;
    }
    // A lone `[1]` in prose is JSON too, but an object is more likely to be the one that is meant.
    let meant = pieces.iter().find(|it| it.is_object()).or(pieces.first());
    SchemaMatch::Invalid(match meant {
        Some(piece) => validation_errors(&validator, piece).join("; "),
        None => "there is no JSON in the answer".to_owned(),
    })
}

/// Returns up to three problems of a value; none if it is valid.
pub(crate) fn schema_problems(schema: &Value, value: &Value) -> Result<Vec<String>, String> {
    Ok(validation_errors(&build_validator(schema)?, value))
}

fn has_patterns(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields
            .iter()
            .any(|(key, value)| key.starts_with("pattern") || has_patterns(value)),
        Value::Array(items) => items.iter().any(has_patterns),
        _ => false,
    }
}

fn build_validator(schema: &Value) -> Result<JsonSchemaValidator, String> {
    JsonSchemaValidator::new(schema).map_err(|error| error.to_string())
}

fn validation_errors(validator: &JsonSchemaValidator, value: &Value) -> Vec<String> {
    let violations = validator.check(value);
    let problems = violations.iter().take(MAX_PROBLEMS).map(|violation| {
        let path = violation.path.as_str();
        let place = if path.is_empty() { "the top" } else { path };
        format!("at {place}: it {}", violation.rule)
    });
    problems.collect()
}

/// Returns the JSON values in an answer: the whole answer, else its fenced blocks, else the values
/// within its prose.
fn json_candidates(answer: &str) -> Vec<Value> {
    if let Ok(whole) = serde_json::from_str::<Value>(answer.trim()) {
        return vec![whole];
    }
    let fenced: Vec<Value> = fenced_blocks(answer)
        .filter_map(|block| serde_json::from_str(block.trim()).ok())
        .take(MAX_CANDIDATES)
        .collect();
    if fenced.is_empty() {
        json_in_prose(answer)
    } else {
        fenced
    }
}

/// Returns the contents of the fenced blocks.
fn fenced_blocks(answer: &str) -> impl Iterator<Item = &str> {
    answer
        .split("```")
        .skip(1)
        .step_by(2)
        .map(|block| match block.split_once('\n') {
            Some((_language, inside)) => inside,
            None => block,
        })
}

fn json_in_prose(answer: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut rest = answer;
    for _ in 0..MAX_START_POSITIONS {
        let Some(from) = rest.find(['{', '[']).and_then(|at| rest.get(at..)) else {
            break;
        };
        let mut read = serde_json::Deserializer::from_str(from).into_iter::<Value>();
        let step = if let Some(Ok(value)) = read.next() {
            found.push(value);
            read.byte_offset().max(1)
        } else {
            1
        };
        if found.len() >= MAX_CANDIDATES {
            break;
        }
        rest = from.get(step..).unwrap_or_default();
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_found_whole_fenced_and_in_prose() {
        let object = json!({ "a": [1, { "b": "}" }] });
        let text = object.to_string();
        for answer in [
            format!(" {text}\n"),
            format!("Here:\n```json\n{text}\n```\nDone {{not json}}."),
            format!("See [1] and {{x}}: {text} and so on"),
        ] {
            assert!(json_candidates(&answer).contains(&object), "{answer}");
        }
        assert!(json_candidates("no json { here [").is_empty());
        assert!(json_candidates(&"[".repeat(100_000)).is_empty());
    }

    #[test]
    fn a_schema_that_reaches_out_or_backtracks_is_not_used() {
        let out = json!({ "$ref": "https://example.com/schema.json" });
        assert!(matches!(
            match_schema(&out, "{}"),
            SchemaMatch::BadSchema(_)
        ));
        let pattern = json!({ "type": "string", "pattern": "^(a+)+$" });
        let long = format!("\"{}!\"", "a".repeat(10_000));
        assert!(matches!(
            match_schema(&pattern, &long),
            SchemaMatch::Invalid(_)
        ));
    }
}
