//! Timestamps in whole microseconds, so that every database stores them alike.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A point in time, in microseconds since 1970. It is serialized as ISO 8601.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Creates a timestamp from microseconds since 1970.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Returns the microseconds since 1970.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Adds `micros`, saturating at the limits of the type.
    pub const fn plus_micros(self, micros: i64) -> Self {
        Self(self.0.saturating_add(micros))
    }

    /// Parses ISO 8601 (`2026-11-15T22:09:23Z`, with or without zone) and the
    /// `YYYY-MM-DD HH:MM:SS` that `SQLite` writes; without a zone it is UTC.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(moment) = text.parse::<jiff::Timestamp>() {
            return Some(Self(moment.as_microsecond()));
        }
        let civil: jiff::civil::DateTime = text.parse().ok()?;
        let moment = civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
        Some(Self(moment.as_microsecond()))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(moment) => write!(f, "{moment}"),
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom("expected an ISO 8601 time"))
    }
}

impl JsonSchema for Timestamp {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "date-time" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes_and_what_sqlite_writes() {
        let moment = Timestamp::from_micros(1_700_000_000_123_456);
        assert_eq!(Timestamp::parse(&moment.to_string()), Some(moment));
        assert_eq!(
            Timestamp::parse("2025-12-16 10:00:00"),
            Timestamp::parse("2025-12-16T10:00:00+00:00")
        );
        assert_eq!(Timestamp::parse("yesterday"), None);
    }
}
