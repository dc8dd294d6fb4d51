//! A result with one number.

use std::sync::LazyLock;

use regex::Regex;

use super::{one_contains_other, pattern, telling_words};

/// The only number of a result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NumberAnswer {
    value: f64,
    counted: Counted,
    /// What else is said.
    words: Vec<String>,
}

/// What a number counts.
#[derive(Debug, Clone, PartialEq)]
enum Counted {
    /// A unit of known size.
    Unit(&'static Unit),
    /// What the word after the number says, such as `passenger`.
    Word(String),
    /// Nothing that is said.
    Unsaid,
}

/// A unit of a kind of quantity, and its size.
#[derive(Debug, PartialEq)]
struct Unit {
    quantity: &'static str,
    size: f64,
    names: &'static [&'static str],
}

const fn unit(quantity: &'static str, size: f64, names: &'static [&'static str]) -> Unit {
    Unit {
        quantity,
        size,
        names,
    }
}

/// The units that are converted. Others are words, which must not differ.
static UNITS: [Unit; 16] = [
    unit("time", 0.001, &["ms", "millisecond", "milliseconds"]),
    unit("time", 1.0, &["s", "sec", "secs", "second", "seconds"]),
    unit("time", 60.0, &["min", "mins", "minute", "minutes"]),
    unit("time", 3_600.0, &["h", "hr", "hrs", "hour", "hours"]),
    unit("time", 86_400.0, &["day", "days"]),
    unit("time", 604_800.0, &["week", "weeks"]),
    unit("length", 0.001, &["mm", "millimeter", "millimeters"]),
    unit("length", 0.01, &["cm", "centimeter", "centimeters"]),
    unit("length", 1.0, &["m", "meter", "meters", "metre", "metres"]),
    unit(
        "length",
        1_000.0,
        &["km", "kilometer", "kilometers", "kilometre", "kilometres"],
    ),
    unit("mass", 1.0, &["g", "gram", "grams"]),
    unit("mass", 1_000.0, &["kg", "kilogram", "kilograms"]),
    unit("dollars", 1.0, &["$", "dollar", "dollars", "usd"]),
    unit("dollars", 0.01, &["cent", "cents"]),
    unit("euros", 1.0, &["€", "euro", "euros", "eur"]),
    unit("share", 0.01, &["%", "percent"]),
];

static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?P<before>[$€]?)(?P<sign>-?)(?P<digits>\d{1,3}(?:[,' ]\d{3})+(?:\.\d+)?|\d+(?:[.,]\d+)?)(?:/(?P<divisor>\d+))?(?P<after>\s?(?:%|\$|€|[\p{L}/°]+))?",
    )
});

const NUMBER_WORDS: [&str; 13] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve",
];

impl NumberAnswer {
    /// Parses a text with exactly one number.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut numbers = NUMBER.captures_iter(text);
        let Some(number) = numbers.next() else {
            return number_word(text);
        };
        if numbers.next().is_some() {
            return None;
        }
        let whole = number.get(0)?;
        let digits = number.name("digits")?;
        let before = text.get(..whole.start()).unwrap_or_default();
        // `B2` is a name and `3x` a term, not the numbers 2 and 3.
        if before.ends_with(|letter: char| letter.is_alphanumeric() || "/.-".contains(letter)) {
            return None;
        }
        let named = |group: &str| number.name(group).map_or("", |it| it.as_str());
        let after = named("after");
        let unit = [named("before"), after.trim()]
            .into_iter()
            .find_map(find_unit);
        let touches = text.get(digits.end()..).unwrap_or_default();
        if touches.starts_with(char::is_alphabetic) && unit.is_none() {
            return None;
        }
        let mut value = parse_digits(digits.as_str())?;
        if let Some(divisor) = number.name("divisor") {
            value /= divisor
                .as_str()
                .parse::<f64>()
                .ok()
                .filter(|it| *it > 0.0)?;
        }
        if named("sign") == "-" {
            value = -value;
        }
        let end = text.get(whole.end()..).unwrap_or_default();
        let word = telling_words(after).into_iter().next();
        Some(Self {
            value,
            counted: match (unit, word) {
                (Some(unit), _) => Counted::Unit(unit),
                (None, Some(word)) => Counted::Word(word),
                (None, None) => Counted::Unsaid,
            },
            words: telling_words(&format!("{before} {end}")),
        })
    }

    /// Tells whether two numbers are the same. A number that does not say what it counts agrees with
    /// one that does, and a share with its percentage.
    pub(super) fn agrees(&self, other: &Self) -> bool {
        let same = |one: f64, other: f64| (one - other).abs() <= one.abs().max(1e-9) * 1e-9;
        let same_value = match (&self.counted, &other.counted) {
            (Counted::Unit(one), Counted::Unit(another)) => {
                one.quantity == another.quantity
                    && same(self.value * one.size, other.value * another.size)
            }
            (Counted::Word(one), Counted::Word(another)) => {
                one == another && same(self.value, other.value)
            }
            (Counted::Unit(unit), Counted::Unsaid) => {
                same(self.value, other.value) || unit.is_share_of(self.value, other.value)
            }
            (Counted::Unsaid, Counted::Unit(unit)) => {
                same(self.value, other.value) || unit.is_share_of(other.value, self.value)
            }
            (Counted::Unsaid, Counted::Unsaid | Counted::Word(_))
            | (Counted::Word(_), Counted::Unsaid) => same(self.value, other.value),
            (Counted::Unit(_), Counted::Word(_)) | (Counted::Word(_), Counted::Unit(_)) => false,
        };
        same_value && one_contains_other(&self.words, &other.words)
    }
}

impl Unit {
    /// Tells whether `value` in percent is this plain number.
    fn is_share_of(&self, value: f64, number: f64) -> bool {
        self.quantity == "share" && (value * self.size - number).abs() < 1e-9
    }
}

fn find_unit(name: &str) -> Option<&'static Unit> {
    UNITS.iter().find(|unit| unit.names.contains(&name))
}

/// Reads `three` and `three apples`.
fn number_word(text: &str) -> Option<NumberAnswer> {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    if words.len() > 3 {
        return None;
    }
    let first = words.first().copied()?;
    let value = NUMBER_WORDS.iter().position(|word| *word == first)?;
    words.remove(0);
    let counted = match words.first() {
        Some(word) => find_unit(word).map_or_else(
            || telling_words(word).into_iter().next().map(Counted::Word),
            |unit| Some(Counted::Unit(unit)),
        ),
        None => None,
    };
    let rest = words.get(1..).unwrap_or_default();
    Some(NumberAnswer {
        value: value as f64,
        counted: counted.unwrap_or(Counted::Unsaid),
        words: telling_words(&rest.join(" ")),
    })
}

/// Parses digits with separators of thousands, and a comma as the decimal mark elsewhere.
fn parse_digits(digits: &str) -> Option<f64> {
    let grouped = digits
        .split([',', '\'', ' '])
        .skip(1)
        .all(|group| group.split('.').next().is_some_and(|it| it.len() == 3));
    let plain: String = if grouped {
        digits
            .chars()
            .filter(|letter| letter.is_ascii_digit() || *letter == '.')
            .collect()
    } else {
        digits.replace(',', ".")
    };
    plain.parse().ok()
}
