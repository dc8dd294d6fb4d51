//! JSON in an answer, and whether it fits a schema. A schema is others' work too: its patterns
//! never backtrack, and it can refer to nothing outside itself.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

/// The most bytes a pattern of a schema may be read into, and the most bytes of an answer that a
/// schema with patterns is used on: time grows with the one times the other.
const MAX_PATTERN_BYTES: usize = 256 << 10;
const MAX_ANSWER_BYTES_FOR_PATTERNS: usize = 64 << 10;

/// The most pieces of JSON that are looked at in one answer.
const MAX_CANDIDATES: usize = 20;

/// The most places at which a piece may seem to begin.
const MAX_START_POSITIONS: usize = 200;

/// The most problems that are told.
const MAX_PROBLEMS: usize = 3;

/// What was found.
pub(crate) enum SchemaMatch {
    /// A piece fits.
    Valid,
    /// None does; why the first one doesn't.
    Invalid(String),
    /// The schema can't be used.
    BadSchema(String),
}

/// Whether the answer holds JSON that fits.
pub(crate) fn match_schema(schema: &Value, answer: &str) -> SchemaMatch {
    if answer.len() > MAX_ANSWER_BYTES_FOR_PATTERNS && has_patterns(schema) {
        let most = MAX_ANSWER_BYTES_FOR_PATTERNS / 1024;
        let why = format!("a schema with patterns is not used on more than {most} KiB");
        return SchemaMatch::BadSchema(why);
    }
    let validator = match build_validator(schema) {
        Ok(validator) => validator,
        Err(why) => return SchemaMatch::BadSchema(why),
    };
    let pieces = json_candidates(answer);
    if pieces.iter().any(|piece| validator.is_valid(piece)) {
        return SchemaMatch::Valid;
    }
    // A lone `[1]` in prose is JSON too; what people mean is the object.
    let meant = pieces.iter().find(|it| it.is_object()).or(pieces.first());
    SchemaMatch::Invalid(match meant {
        Some(piece) => validation_errors(&validator, piece).join("; "),
        None => "there is no JSON in the answer".to_owned(),
    })
}

/// What is wrong with a value, up to three sentences; none if it fits.
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

fn build_validator(schema: &Value) -> Result<Validator, String> {
    jsonschema::options()
        .with_pattern_options(
            PatternOptions::regex()
                .size_limit(MAX_PATTERN_BYTES)
                .dfa_size_limit(MAX_PATTERN_BYTES),
        )
        .build(schema)
        .map_err(|error| format!("the schema can't be used: {}", truncate(&error.to_string())))
}

fn validation_errors(validator: &Validator, value: &Value) -> Vec<String> {
    validator
        .iter_errors(value)
        .take(MAX_PROBLEMS)
        .map(|error| {
            let path = error.instance_path().as_str();
            let place = if path.is_empty() { "the top" } else { path };
            format!(
                "at {place}: {}",
                truncate(&error.masked_with("it").to_string())
            )
        })
        .collect()
}

fn truncate(text: &str) -> String {
    text.chars().take(200).collect()
}

/// The JSON in an answer: all of it, else its fenced blocks, else what stands in its prose.
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

/// The insides of the fenced blocks.
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
