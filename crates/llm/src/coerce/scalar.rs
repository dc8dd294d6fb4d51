//! Coercion of numbers, enum strings, texts and booleans.

use serde_json::{Number, Value};

/// Finds the enum string that differs only in case or in the separators of its parts.
pub(super) fn coerce_enum(value: Value, words: &[&str]) -> Value {
    let Some(text) = value.as_str() else {
        return value;
    };
    let plain = |text: &str| text.trim().to_lowercase().replace([' ', '-'], "_");
    let wanted = plain(text);
    match words.iter().find(|word| plain(word) == wanted) {
        Some(word) if *word != text => Value::String((*word).to_owned()),
        _ => value,
    }
}

/// Parses a number and reports whether it was written as a percentage (`"85%"` is 0.85 of 1).
fn amount(value: &Value) -> Option<(f64, bool)> {
    let (amount, percent) = match value {
        Value::Number(number) => (number.as_f64()?, false),
        Value::String(text) => {
            let text = text.trim();
            let digits = text.strip_suffix('%').map(str::trim_end);
            (digits.unwrap_or(text).parse().ok()?, digits.is_some())
        }
        _ => return None,
    };
    amount.is_finite().then_some((amount, percent))
}

pub(super) fn coerce_number(value: Value, schema: &Value) -> Value {
    let Some((mut amount, percent)) = amount(&value) else {
        return value;
    };
    if percent && bound(schema, "maximum").is_some_and(|most| most <= 1.0) {
        amount /= 100.0;
    }
    let clamped = clamp(amount, schema);
    if value.is_number() && (clamped - amount).abs() < f64::EPSILON {
        return value;
    }
    Number::from_f64(clamped).map_or(value, Value::Number)
}

pub(super) fn coerce_integer(value: Value, schema: &Value) -> Value {
    let Some((mut amount, percent)) = amount(&value) else {
        return value;
    };
    let written_as_fraction = match &value {
        Value::Number(number) => number.is_f64(),
        Value::String(text) => text.contains('.'),
        _ => false,
    };
    let hundredths = bound(schema, "maximum").is_some_and(|most| (most - 100.0).abs() < 0.5)
        && bound(schema, "minimum").is_none_or(|least| least.abs() < 1.5);
    // The schema asks for 0 to 100 and the model answered with 0 to 1.
    if written_as_fraction && !percent && hundredths && amount > 0.0 && amount <= 1.0 {
        amount *= 100.0;
    }
    let clamped = clamp(amount.round(), schema);
    let unchanged = value.is_i64() || value.is_u64();
    if unchanged && (clamped - amount).abs() < f64::EPSILON {
        return value;
    }
    // A larger float is no exact integer any more; such values are left alone.
    if clamped.abs() > 9_007_199_254_740_992.0 {
        return value;
    }
    #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53")]
    let whole = clamped as i64;
    Value::Number(whole.into())
}

fn bound(schema: &Value, key: &str) -> Option<f64> {
    schema.get(key)?.as_f64()
}

fn clamp(amount: f64, schema: &Value) -> f64 {
    let amount = bound(schema, "minimum").map_or(amount, |least| amount.max(least));
    bound(schema, "maximum").map_or(amount, |most| amount.min(most))
}

pub(super) fn coerce_boolean(value: Value) -> Value {
    let Some(text) = value.as_str() else {
        return value;
    };
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" => Value::Bool(true),
        "false" | "no" => Value::Bool(false),
        _ => value,
    }
}

pub(super) fn coerce_string(value: Value, schema: &Value) -> Value {
    let mut text = match value {
        Value::String(text) => text,
        Value::Number(number) => number.to_string(),
        Value::Bool(yes) => yes.to_string(),
        other => return other,
    };
    // JSON Schema counts characters, not bytes.
    if let Some(most) = limit(schema, "maxLength")
        && let Some((end, _)) = text.char_indices().nth(most)
    {
        text.truncate(end);
    }
    Value::String(text)
}

fn limit(schema: &Value, key: &str) -> Option<usize> {
    usize::try_from(schema.get(key)?.as_u64()?).ok()
}
