//! Numbers from 0 to 1 that are validated once, where they enter.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

/// A confidence, quality or strength from 0 to 1. It is never NaN and never out of range.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Score(f64);

impl Score {
    /// The lowest score.
    pub const ZERO: Self = Self(0.0);
    /// The highest score.
    pub const ONE: Self = Self(1.0);
    /// The confidence of a thought whose model gave none, as the specification sets it.
    pub const DEFAULT_CONFIDENCE: Self = Self(0.8);

    /// Creates a score if `value` is between 0 and 1.
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// Creates a score by clamping `value` to the range; NaN becomes 0.
    pub fn clamped(value: f64) -> Self {
        if value.is_nan() {
            Self::ZERO
        } else {
            Self(value.clamp(0.0, 1.0))
        }
    }

    /// Interprets a score as models write it. Fractions stay, whole percentages (2 to 100) are
    /// divided by 100, values slightly over 1 become 1, anything else is clamped.
    pub fn from_model(value: f64) -> Self {
        if (2.0..=100.0).contains(&value) {
            // Rounding makes 85 become 0.85 and not 0.8500000000000001.
            Self((value * 100.0).round() / 10_000.0)
        } else {
            Self::clamped(value)
        }
    }

    /// Returns the score as a number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl<'de> Deserialize<'de> for Score {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        Self::new(value).ok_or_else(|| de::Error::custom("expected a number from 0 to 1"))
    }
}

impl JsonSchema for Score {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Score".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "number", "minimum": 0, "maximum": 1 })
    }
}

/// A score in a form that the model chose: a fraction or a percentage, as a number or as text.
/// Our own schemas ask for a [`Percent`], because models and grammars follow whole numbers best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelScore(pub Score);

impl ModelScore {
    /// Deserializes an optional field. A score that can't be parsed ("very") becomes `None`, so
    /// that the rest of the model's answer is not lost.
    pub fn lenient_option<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Self>, D::Error> {
        let written = serde_json::Value::deserialize(deserializer)?;
        Ok(serde_json::from_value(written).ok())
    }
}

impl<'de> Deserialize<'de> for ModelScore {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum ScoreValue {
            Number(f64),
            Text(String),
        }
        let value = match ScoreValue::deserialize(deserializer)? {
            ScoreValue::Number(value) => Some(value),
            ScoreValue::Text(text) => text.trim().trim_end_matches('%').trim().parse().ok(),
        };
        value
            .map(|value| Self(Score::from_model(value)))
            .ok_or_else(|| de::Error::custom("expected a whole number from 0 to 100"))
    }
}

/// A score that the schema asks for as a whole percentage, 0 to 100. 1 means 0.01.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percent(pub Score);

impl Percent {
    /// Deserializes an optional field, as [`ModelScore::lenient_option`] does.
    pub fn lenient_option<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Self>, D::Error> {
        let written = serde_json::Value::deserialize(deserializer)?;
        Ok(serde_json::from_value(written).ok())
    }
}

impl<'de> Deserialize<'de> for Percent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let percent = f64::deserialize(deserializer)?;
        Ok(Self(Score::clamped(percent / 100.0)))
    }
}

impl JsonSchema for Percent {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Percent".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "integer", "minimum": 0, "maximum": 100 })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn models_may_write_fractions_or_percentages() {
        assert_eq!(Score::from_model(0.85), Score(0.85));
        assert_eq!(Score::from_model(85.0), Score(0.85));
        assert_eq!(Score::from_model(76.8), Score(0.768));
        assert_eq!(Score::from_model(1.0), Score::ONE);
        assert_eq!(Score::from_model(1.2), Score::ONE);
        assert_eq!(Score::from_model(-3.0), Score::ZERO);
        assert_eq!(Score::from_model(1e308), Score::ONE);
        assert_eq!(Score::from_model(f64::NAN), Score::ZERO);
    }

    proptest! {
        #[test]
        fn whatever_a_model_writes_ends_in_range(value in any::<f64>()) {
            let score = Score::from_model(value).get();
            prop_assert!((0.0..=1.0).contains(&score));
        }
    }
}
