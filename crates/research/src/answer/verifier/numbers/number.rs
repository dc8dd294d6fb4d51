//! Numbers as they are meant: their exact value, their unit, and whether they are bounds or
//! rough. Values are decimal digits, never floats, so that no two numbers are equal by accident.

use super::units::MeasurementUnit;

/// A number of a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Number {
    pub(crate) value: Decimal,
    pub(crate) unit: Option<MeasurementUnit>,
    /// How many tens the unit is worth; they are in the value already.
    pub(crate) unit_exponent: i32,
    pub(crate) bound: NumberBound,
    pub(crate) range_end: RangeEnd,
    /// Marked as a share of one: `a proportion of 0.45`.
    pub(crate) is_share: bool,
    pub(crate) role: NumberRole,
    /// Whether it is said of all of them: `all 20 rats`.
    pub(crate) is_of_all: bool,
    /// Whether it has no unit, but a word behind it that says what is counted.
    pub(crate) is_count: bool,
    /// Its first token.
    pub(crate) from: usize,
    /// After its last token.
    pub(crate) to: usize,
}

/// How a number bounds what it is said of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberBound {
    Exact,
    Approximate,
    Below,
    Above,
    /// `within 5 days`: said loosely of a value as well as of a bound.
    Within,
}

/// What the words before a number make of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberRole {
    /// Nothing.
    Unspecified,
    /// How far something went: `rose by 5`.
    Change,
    /// Where it came from or went to: `rose from 3 to 8`.
    Endpoint,
    /// How far values are spread: `27 ± 4`.
    Spread,
    /// What others are a part of: `3 of the 20 rats`.
    Total,
}

/// What a number is to the one beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RangeEnd {
    /// Nothing.
    Single,
    /// Both belong together: `fell from 5 to 3`, `3 and 5`.
    Change,
    /// The lower end of a range.
    Low,
    /// The upper end of one.
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
    /// `-12.5e3` and the like.
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

    /// The same below zero.
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

    /// About what it is.
    pub(crate) fn to_f64(&self) -> f64 {
        let sign = if self.negative { "-" } else { "" };
        format!("{sign}{}e{}", self.digits, self.exponent)
            .parse()
            .unwrap_or(0.0)
    }

    /// Whether it has a part behind the point.
    pub(crate) fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    /// Without its sign.
    pub(crate) fn abs(&self) -> Self {
        Self {
            negative: false,
            ..self.clone()
        }
    }
}
