//! Parses the wait that a provider asks for in its headers.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::HeaderMap;

/// Longest wait that is accepted; a later header of the provider replaces it.
const MAX_WAIT: Duration = Duration::from_hours(1);

/// Names of a provider's rate-limit headers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RateHeaders {
    /// Header with the number of requests left.
    pub(crate) remaining: &'static str,
    /// Header with the time of the reset.
    pub(crate) reset: &'static str,
}

/// Parses `Retry-After`: seconds or a date.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    if let Some(wait) = header_text(headers, "retry-after-ms").and_then(|text| text.parse().ok()) {
        return Some(Duration::from_millis(wait).min(MAX_WAIT));
    }
    parse_wait(header_text(headers, "retry-after")?)
}

/// Returns the time until the reset if no requests are left.
pub(super) fn until_reset(headers: &HeaderMap, names: RateHeaders) -> Option<Duration> {
    let remaining: f64 = header_text(headers, names.remaining)?.parse().ok()?;
    if remaining >= 1.0 {
        return None;
    }
    parse_wait(header_text(headers, names.reset)?)
}

fn header_text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// Parses seconds, a timestamp in seconds or milliseconds since 1970, a date, or `6m0s`.
fn parse_wait(text: &str) -> Option<Duration> {
    let wait = if let Ok(number) = text.parse::<f64>() {
        // No provider asks for a wait of thirty years: a number that large is a timestamp.
        if number > 1e12 {
            duration_until(Timestamp::from_millisecond(whole_number(number)?).ok()?)
        } else if number > 1e9 {
            duration_until(Timestamp::from_second(whole_number(number)?).ok()?)
        } else {
            Duration::try_from_secs_f64(number).ok()?
        }
    } else if let Some(wait) = parse_units(text) {
        wait
    } else if let Ok(moment) = text.parse::<Timestamp>() {
        duration_until(moment)
    } else {
        duration_until(jiff::fmt::rfc2822::parse(text).ok()?.timestamp())
    };
    Some(wait.min(MAX_WAIT))
}

fn whole_number(number: f64) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "checked to be below 2^53")]
    (number < 9e15).then_some(number as i64)
}

fn duration_until(moment: Timestamp) -> Duration {
    Duration::try_from(moment.duration_since(Timestamp::now())).unwrap_or_default()
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
    use super::*;

    #[test]
    fn waits_are_read_in_all_their_forms() {
        let cases = [
            ("2", Some(2_000)),
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
            ("Wed, 21 Oct 2015 07:28:00 GMT", Some(0)),
            ("2015-10-21T07:28:00Z", Some(0)),
            ("1445412480", Some(0)),
            ("1445412480000", Some(0)),
        ];
        for (text, expected) in cases {
            assert_eq!(
                parse_wait(text),
                expected.map(Duration::from_millis),
                "{text}"
            );
        }
    }

    #[test]
    fn moments_to_come_are_counted_from_now() {
        let now = Timestamp::now().as_second();
        let date = jiff::fmt::rfc2822::to_string(
            &Timestamp::from_second(now + 600)
                .unwrap()
                .to_zoned(jiff::tz::TimeZone::UTC),
        )
        .unwrap();
        for text in [
            date,
            (now + 600).to_string(),
            ((now + 600) * 1000).to_string(),
        ] {
            let wait = parse_wait(&text).unwrap().as_secs();
            assert!((500..=600).contains(&wait), "{text}: {wait}");
        }
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
            until_reset(&headers("0"), names),
            Some(Duration::from_secs(3))
        );
        assert_eq!(until_reset(&headers("1"), names), None);
        assert_eq!(until_reset(&HeaderMap::new(), names), None);
    }
}
