//! Reads the wait that a server asks for in its headers. A header may ask for anything, so the
//! caller names the longest wait that it accepts.

use std::time::Duration;

use deliberate_core::Timestamp;
use reqwest::header::HeaderMap;

/// Names of a service's rate-limit headers.
#[derive(Debug, Clone, Copy)]
pub struct RateHeaders {
    /// Header with the number of requests left.
    pub remaining: &'static str,
    /// Header with the time of the reset.
    pub reset: &'static str,
}

/// Reads `Retry-After-Ms`, or else `Retry-After`: seconds, a date, or another form that servers
/// use.
pub fn retry_after(headers: &HeaderMap, now: Timestamp, longest: Duration) -> Option<Duration> {
    let exact = header_text(headers, "retry-after-ms").and_then(|text| text.parse().ok());
    let wait = match exact {
        Some(millis) => Duration::from_millis(millis),
        None => parse_wait(header_text(headers, "retry-after")?, now)?,
    };
    Some(wait.min(longest))
}

/// Returns the time until the reset if no requests are left.
pub fn until_reset(
    headers: &HeaderMap,
    names: RateHeaders,
    now: Timestamp,
    longest: Duration,
) -> Option<Duration> {
    let remaining: f64 = header_text(headers, names.remaining)?.parse().ok()?;
    if remaining >= 1.0 {
        return None;
    }
    let wait = parse_wait(header_text(headers, names.reset)?, now)?;
    Some(wait.min(longest))
}

fn header_text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// Parses seconds, a timestamp in seconds or milliseconds since 1970, a date, or `6m0s`. A moment
/// in the past is no wait.
fn parse_wait(text: &str, now: Timestamp) -> Option<Duration> {
    if let Ok(number) = text.parse::<f64>() {
        // Nobody asks for a wait of thirty years: a number that large is a timestamp.
        let micros = if number > 1e12 {
            number * 1e3
        } else if number > 1e9 {
            number * 1e6
        } else {
            return Duration::try_from_secs_f64(number).ok();
        };
        let moment = Timestamp::from_micros(whole_number(micros)?);
        return Some(duration_until(moment, now));
    }
    if let Some(wait) = parse_units(text) {
        return Some(wait);
    }
    let moment = match text.parse::<jiff::Timestamp>() {
        Ok(moment) => moment,
        Err(_) => jiff::fmt::rfc2822::parse(text).ok()?.timestamp(),
    };
    let moment = Timestamp::from_micros(moment.as_microsecond());
    Some(duration_until(moment, now))
}

fn whole_number(number: f64) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "checked to be below 2^63")]
    (number < 9e18).then_some(number as i64)
}

/// Returns the time from `now` to a moment; zero if the moment is over.
fn duration_until(moment: Timestamp, now: Timestamp) -> Duration {
    let micros = moment.as_micros().saturating_sub(now.as_micros());
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

/// Parses `1h2m3.5s` and `20ms`.
fn parse_units(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, behind) = rest.split_at_checked(digits)?;
        let letters = behind
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(behind.len());
        let (unit, behind) = behind.split_at_checked(letters)?;
        let seconds = match unit {
            "d" => 86_400.0,
            "h" => 3_600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            _ => return None,
        };
        let number: f64 = number.parse().ok()?;
        total = total.saturating_add(Duration::try_from_secs_f64(number * seconds).ok()?);
        rest = behind;
    }
    (!text.is_empty()).then_some(total)
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, RETRY_AFTER};

    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    fn now() -> Timestamp {
        Timestamp::parse("2026-01-01T00:00:00Z").unwrap()
    }

    fn wait(text: &str) -> Option<Duration> {
        let headers = HeaderMap::from_iter([(RETRY_AFTER, text.parse().unwrap())]);
        retry_after(&headers, now(), HOUR)
    }

    #[test]
    fn waits_are_read_in_all_their_forms() {
        let cases = [
            ("2", Some(2_000)),
            (" 7 ", Some(7_000)),
            ("0", Some(0)),
            ("0.25", Some(250)),
            ("1s", Some(1_000)),
            ("6m0s", Some(360_000)),
            ("20ms", Some(20)),
            ("1m30.5s", Some(90_500)),
            ("99999", Some(3_600_000)),
            ("soon", None),
            ("", None),
            ("-1", None),
            ("1x", None),
            ("NaN", None),
            ("inf", None),
            ("1e400", None),
        ];
        for (text, expected) in cases {
            assert_eq!(wait(text), expected.map(Duration::from_millis), "{text}");
        }
        let headers = HeaderMap::from_iter([
            (RETRY_AFTER, "7".parse().unwrap()),
            (
                HeaderName::from_static("retry-after-ms"),
                "20".parse().unwrap(),
            ),
        ]);
        assert_eq!(
            retry_after(&headers, now(), HOUR),
            Some(Duration::from_millis(20))
        );
    }

    #[test]
    fn moments_to_come_are_counted_from_now() {
        for (text, seconds) in [
            ("Thu, 01 Jan 2026 00:02:00 GMT", 120),
            ("Wed, 31 Dec 2025 00:00:00 GMT", 0),
            ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
            ("2026-01-01T00:10:00Z", 600),
            ("1767226200", 600),
            ("1767226200000", 600),
        ] {
            assert_eq!(wait(text), Some(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(wait("99999999999"), Some(HOUR));
        assert_eq!(wait("Fri, 01 Jan 2100 00:00:00 GMT"), Some(HOUR));
    }

    #[test]
    fn only_an_empty_allowance_is_waited_for() {
        let names = RateHeaders {
            remaining: "left",
            reset: "reset",
        };
        let headers = |left: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("left", left.parse().unwrap());
            headers.insert("reset", "3s".parse().unwrap());
            headers
        };
        assert_eq!(
            until_reset(&headers("0"), names, now(), HOUR),
            Some(Duration::from_secs(3))
        );
        assert_eq!(until_reset(&headers("1"), names, now(), HOUR), None);
        assert_eq!(until_reset(&HeaderMap::new(), names, now(), HOUR), None);
    }
}
