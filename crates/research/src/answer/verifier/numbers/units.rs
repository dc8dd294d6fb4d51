//! Units as they are written, and the powers of ten between them.

/// A unit: its dimension, and its power of ten relative to the base unit of that dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MeasurementUnit {
    pub(crate) dimension: &'static str,
    pub(crate) exponent: i32,
}

pub(crate) const PERCENT: MeasurementUnit = MeasurementUnit {
    dimension: "percent",
    exponent: 0,
};

/// A factor, as in `twofold`.
pub(crate) const FOLD: MeasurementUnit = MeasurementUnit {
    dimension: "fold",
    exponent: 0,
};

const fn unit(of: &'static str, tens: i32) -> MeasurementUnit {
    MeasurementUnit {
        dimension: of,
        exponent: tens,
    }
}

/// Looks up a symbol, case-sensitively.
fn unit_by_symbol(text: &str) -> Option<MeasurementUnit> {
    Some(match text {
        "kg" => unit("gram", 3),
        "g" => unit("gram", 0),
        "mg" => unit("gram", -3),
        "µg" | "μg" | "ug" | "mcg" => unit("gram", -6),
        "ng" => unit("gram", -9),
        "pg" => unit("gram", -12),
        "km" => unit("metre", 3),
        "m" => unit("metre", 0),
        "cm" => unit("metre", -2),
        "mm" => unit("metre", -3),
        "µm" | "μm" => unit("metre", -6),
        "nm" => unit("metre", -9),
        "s" | "sec" => unit("second", 0),
        "ms" => unit("second", -3),
        "µs" | "μs" => unit("second", -6),
        "ns" => unit("second", -9),
        "L" | "l" => unit("litre", 0),
        "dL" | "dl" => unit("litre", -1),
        "mL" | "ml" => unit("litre", -3),
        "µL" | "μL" | "µl" | "μl" => unit("litre", -6),
        "Hz" => unit("hertz", 0),
        "kHz" => unit("hertz", 3),
        "MHz" => unit("hertz", 6),
        "GHz" => unit("hertz", 9),
        "W" => unit("watt", 0),
        "mW" => unit("watt", -3),
        "kW" => unit("watt", 3),
        "MW" => unit("watt", 6),
        "GW" => unit("watt", 9),
        "V" => unit("volt", 0),
        "mV" => unit("volt", -3),
        "kV" => unit("volt", 3),
        "eV" => unit("electronvolt", 0),
        "keV" => unit("electronvolt", 3),
        "MeV" => unit("electronvolt", 6),
        "GeV" => unit("electronvolt", 9),
        "TeV" => unit("electronvolt", 12),
        "Pa" => unit("pascal", 0),
        "kPa" => unit("pascal", 3),
        "MPa" => unit("pascal", 6),
        "GPa" => unit("pascal", 9),
        "mol" => unit("mole", 0),
        "mmol" => unit("mole", -3),
        "µmol" | "μmol" => unit("mole", -6),
        "mM" => unit("molar", -3),
        "µM" | "μM" => unit("molar", -6),
        "nM" => unit("molar", -9),
        "kB" | "KB" => unit("byte", 3),
        "MB" => unit("byte", 6),
        "GB" => unit("byte", 9),
        "TB" => unit("byte", 12),
        "bp" => unit("base pair", 0),
        "kb" => unit("base pair", 3),
        "Mb" => unit("base pair", 6),
        "Gb" => unit("base pair", 9),
        "h" | "hr" | "hrs" => unit("hour", 0),
        "min" | "mins" => unit("minute", 0),
        "ft" => unit("foot", 0),
        "mi" => unit("mile", 0),
        "lb" | "lbs" => unit("pound", 0),
        "oz" => unit("ounce", 0),
        "mPa" => unit("pascal", -3),
        "Mbit" => unit("bit", 6),
        "K" => unit("kelvin", 0),
        "T" => unit("tesla", 0),
        "dB" => unit("decibel", 0),
        "J" => unit("joule", 0),
        "kJ" => unit("joule", 3),
        "kcal" => unit("calorie", 3),
        "ppm" => unit("ppm", 0),
        "ppb" => unit("ppm", -3),
        "pp" => unit("percentage point", 0),
        "x" => FOLD,
        _ => return None,
    })
}

/// Looks up a word in lower case.
fn unit_by_word(text: &str) -> Option<MeasurementUnit> {
    Some(match text.strip_suffix('s').unwrap_or(text) {
        "kilogram" => unit("gram", 3),
        "gram" => unit("gram", 0),
        "milligram" => unit("gram", -3),
        "microgram" => unit("gram", -6),
        "nanogram" => unit("gram", -9),
        "kilometre" | "kilometer" => unit("metre", 3),
        "metre" | "meter" => unit("metre", 0),
        "centimetre" | "centimeter" => unit("metre", -2),
        "millimetre" | "millimeter" => unit("metre", -3),
        "micrometre" | "micrometer" | "micron" => unit("metre", -6),
        "nanometre" | "nanometer" => unit("metre", -9),
        "second" => unit("second", 0),
        "millisecond" => unit("second", -3),
        "microsecond" => unit("second", -6),
        "nanosecond" => unit("second", -9),
        "minute" => unit("minute", 0),
        "hour" => unit("hour", 0),
        "day" => unit("day", 0),
        "week" => unit("week", 0),
        "month" => unit("month", 0),
        "year" => unit("year", 0),
        "decade" => unit("decade", 0),
        "litre" | "liter" => unit("litre", 0),
        "millilitre" | "milliliter" => unit("litre", -3),
        "kelvin" => unit("kelvin", 0),
        "percent" | "%" => PERCENT,
        "fold" | "time" => FOLD,
        "megawatt" => unit("watt", 6),
        "gigawatt" => unit("watt", 9),
        "kilowatt" => unit("watt", 3),
        "watt" => unit("watt", 0),
        "volt" => unit("volt", 0),
        "tesla" => unit("tesla", 0),
        "hectare" | "ha" => unit("hectare", 0),
        "dollar" | "usd" => unit("dollar", 0),
        "euro" | "eur" => unit("euro", 0),
        "pound" | "gbp" => unit("pound", 0),
        _ => return None,
    })
}

/// The currency of a sign.
pub(crate) fn currency(sign: &str) -> Option<MeasurementUnit> {
    Some(match sign {
        "$" => unit("dollar", 0),
        "€" => unit("euro", 0),
        "£" => unit("pound", 0),
        _ => return None,
    })
}

/// Parses a unit as it is written.
pub(crate) fn parse_unit(written: &str) -> Option<MeasurementUnit> {
    unit_by_symbol(written).or_else(|| unit_by_word(&written.to_lowercase()))
}

/// The power of ten of a word such as `million`, or of a letter attached to digits such as `k`.
pub(crate) fn magnitude(written: &str, glued: bool) -> Option<i32> {
    if glued {
        let tens = match written {
            "k" | "K" => 3,
            "M" => 6,
            "B" | "G" | "bn" => 9,
            _ => return None,
        };
        return Some(tens);
    }
    Some(match written.to_lowercase().as_str() {
        "hundred" | "hundreds" => 2,
        "thousand" | "thousands" => 3,
        "million" | "millions" => 6,
        "billion" | "billions" | "bn" => 9,
        "trillion" | "trillions" => 12,
        _ => return None,
    })
}

/// Length of a unit of time, and whether it is in seconds or in months: the two convert only
/// among themselves.
fn duration(unit: MeasurementUnit) -> Option<(bool, f64)> {
    Some(match unit.dimension {
        "second" => (true, 1.0),
        "minute" => (true, 60.0),
        "hour" => (true, 3_600.0),
        "day" => (true, 86_400.0),
        "week" => (true, 604_800.0),
        "month" => (false, 1.0),
        "year" => (false, 12.0),
        "decade" => (false, 120.0),
        _ => return None,
    })
}

pub(crate) fn is_time(unit: MeasurementUnit) -> bool {
    duration(unit).is_some()
}

/// The factor that converts a number of `unit` to `other`, if both are units of time.
pub(crate) fn conversion_factor(unit: MeasurementUnit, other: MeasurementUnit) -> Option<f64> {
    let (exact, one) = duration(unit)?;
    let (also, another) = duration(other)?;
    (exact == also && unit.dimension != other.dimension).then(|| one / another)
}

/// Whether letters directly after digits are a unit or a magnitude rather than part of a code.
pub(crate) fn is_unit_suffix(letters: &str) -> bool {
    unit_by_symbol(letters).is_some() && letters != "s" || magnitude(letters, true).is_some()
}
