//! Quantization of vectors: a byte per number and a scale, and the signs alone.

/// A quantized vector: of length 1 when each value is multiplied by the scale.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QuantizedVector {
    pub scale: f32,
    pub values: Vec<i8>,
}

/// Quantizes a vector; `None` if it has no direction (all zero, or NaN).
pub(crate) fn quantize(vector: &[f32]) -> Option<QuantizedVector> {
    let length = vector
        .iter()
        .map(|value| f64::from(*value) * f64::from(*value))
        .sum::<f64>()
        .sqrt();
    let largest = vector
        .iter()
        .fold(0.0_f32, |most, value| most.max(value.abs()));
    if !length.is_finite() || length <= f64::MIN_POSITIVE || largest <= 0.0 {
        return None;
    }
    let step = f64::from(largest) / 127.0;
    let values = vector
        .iter()
        .map(|value| round_to_i8(f64::from(*value) / step))
        .collect();
    // The scale includes both the step and the length, so that rows are normalized.
    Some(QuantizedVector {
        scale: to_f32(step / length),
        values,
    })
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "clamped to the range of a byte"
)]
fn round_to_i8(value: f64) -> i8 {
    value.round().clamp(-127.0, 127.0) as i8
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a scale needs 24 bits at the most"
)]
fn to_f32(value: f64) -> f32 {
    value as f32
}

/// One bit per value, set if it is negative, in words of 64.
pub(crate) fn signs(values: &[i8]) -> Vec<u64> {
    values
        .chunks(64)
        .map(|chunk| {
            chunk
                .iter()
                .enumerate()
                .fold(0, |word, (bit, value)| word | u64::from(*value < 0) << bit)
        })
        .collect()
}
