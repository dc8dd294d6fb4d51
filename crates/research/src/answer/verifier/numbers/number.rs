//! Numbers with their exact value, unit, bound, and role. Values are decimal digits, never floats,
//! so that no two numbers are equal by rounding.

use super::units::MeasurementUnit;

/// A number in a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Number {
    pub(crate) value: Decimal,
    pub(crate) unit: Option<MeasurementUnit>,
    /// Power of ten of the unit, which is already part of the value.
    pub(crate) unit_exponent: i32,
    pub(crate) bound: NumberBound,
    pub(crate) range_end: RangeEnd,
    /// Whether it is marked as a share of one: `a proportion of 0.45`.
    pub(crate) is_share: bool,
    pub(crate) role: NumberRole,
    /// Whether it refers to all of a set: `all 20 rats`.
    pub(crate) is_of_all: bool,
    /// Whether it has no unit but a following word that says what is counted.
    pub(crate) is_count: bool,
    /// Index of its first token.
    pub(crate) from: usize,
    /// Index after its last token.
    pub(crate) to: usize,
}

/// How a number bounds a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberBound {
    Exact,
    Approximate,
    Below,
    Above,
    /// `within 5 days`: used for a value as well as for a bound.
    Within,
}

/// Role of a number, determined by the words before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberRole {
    Unspecified,
    /// The amount of a change: `rose by 5`.
    Change,
    /// The start or end of a change: `rose from 3 to 8`.
    Endpoint,
    /// The spread of values: `27 ± 4`.
    Spread,
    /// A whole of which others are a part: `3 of the 20 rats`.
    Total,
}

/// Position of a number in a range or a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RangeEnd {
    /// Not part of a range or pair.
    Single,
    /// One of two numbers that belong together: `fell from 5 to 3`, `3 and 5`.
    Change,
    /// The lower end of a range.
    Low,
    /// The upper end of a range.
    High,
}

/// An exact decimal: digits without leading and trailing zeros, times a power of ten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decimal {
    pub(crate) negative: bool,
    digits: String,
    exponent: i32,
}

impl Decimal {
    /// Parses a decimal such as `-12.5e3`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (plain, power) = text.split_once('e').unwrap_or((text, "0"));
        let (whole, part) = plain.split_once('.').unwrap_or((plain, ""));
        let all = [whole, part].concat();
        if all.is_empty() || !all.chars().all(|it| it.is_ascii_digit()) {
            return None;
        }
        let tens = power.parse::<i32>().ok()?;
        let tens = tens.checked_sub(i32::try_from(part.len()).ok()?)?;
        let digits = all.trim_start_matches('0');
        let short = digits.trim_end_matches('0');
        let dropped = i32::try_from(digits.len() - short.len()).ok()?;
        if short.is_empty() {
            return Some(Self {
                negative: false,
                digits: "0".to_owned(),
                exponent: 0,
            });
        }
        Some(Self {
            negative,
            digits: short.to_owned(),
            exponent: tens.checked_add(dropped)?,
        })
    }

    /// Changes the sign.
    pub(crate) fn negated(mut self) -> Self {
        self.negative = self.digits != "0";
        self
    }

    pub(crate) fn from_integer(number: u64) -> Self {
        Self::parse(&number.to_string()).unwrap_or(Self {
            negative: false,
            digits: "0".to_owned(),
            exponent: 0,
        })
    }

    pub(crate) fn scale_by_power_of_ten(mut self, tens: i32) -> Self {
        if self.digits != "0" {
            self.exponent = self.exponent.saturating_add(tens);
        }
        self
    }

    /// Approximate value.
    pub(crate) fn to_f64(&self) -> f64 {
        let sign = if self.negative { "-" } else { "" };
        format!("{sign}{}e{}", self.digits, self.exponent)
            .parse()
            .unwrap_or(0.0)
    }

    /// Whether it has no digits after the decimal point.
    pub(crate) fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    /// Absolute value.
    pub(crate) fn abs(&self) -> Self {
        Self {
            negative: false,
            ..self.clone()
        }
    }
}
