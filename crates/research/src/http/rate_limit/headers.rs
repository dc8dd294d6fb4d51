//! Parses the rate limit headers of responses.

use std::time::Duration;

use deliberate_core::Timestamp;
use reqwest::header::HeaderMap;

/// The longest wait that is accepted from a server.
pub(super) const MAX_WAIT: Duration = Duration::from_hours(1);
/// The longest interval that is accepted from a server.
const MAX_INTERVAL: Duration = Duration::from_mins(1);

/// The wait that `Retry-After` requests in seconds or as a date.
pub(in crate::http) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = header_text(headers, "retry-after")?;
    let wait = if let Ok(seconds) = text.parse::<f64>() {
        Duration::try_from_secs_f64(seconds).ok()?
    } else {
        let moment = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
        let micros = moment.as_microsecond().saturating_sub(now.as_micros());
        Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    };
    Some(wait.min(MAX_WAIT))
}

/// The interval between requests by `X-Rate-Limit-Limit` and `X-Rate-Limit-Interval`, as Crossref
/// sends them: `50` and `1s`.
pub(in crate::http) fn rate_limit_interval(headers: &HeaderMap) -> Option<Duration> {
    let limit: u32 = header_text(headers, "x-rate-limit-limit")?.parse().ok()?;
    let interval = header_text(headers, "x-rate-limit-interval")?;
    let seconds: u32 = interval
        .strip_suffix('s')
        .unwrap_or(interval)
        .parse()
        .ok()?;
    let interval = Duration::from_secs(seconds.into());
    interval.checked_div(limit).map(|it| it.min(MAX_INTERVAL))
}

fn header_text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn waits_are_read_in_both_forms() {
        let now = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
        let wait = |text| retry_after(&headers(&[("retry-after", text)]), now);
        let seconds = |it| Some(Duration::from_secs(it));
        assert_eq!(wait("7"), seconds(7));
        assert_eq!(wait(" 7 "), seconds(7));
        assert_eq!(wait("0"), seconds(0));
        assert_eq!(wait("Thu, 01 Jan 2026 00:02:00 GMT"), seconds(120));
        assert_eq!(wait("Wed, 31 Dec 2025 00:00:00 GMT"), seconds(0));
        assert_eq!(wait("Fri, 01 Jan 2100 00:00:00 GMT"), seconds(3600));
        assert_eq!(wait("99999999999"), seconds(3600));
        for nonsense in ["", "soon", "-1", "NaN", "inf", "1e400"] {
            assert_eq!(wait(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn a_rate_becomes_a_distance() {
        let rate = |limit, interval| {
            rate_limit_interval(&headers(&[
                ("x-rate-limit-limit", limit),
                ("x-rate-limit-interval", interval),
            ]))
        };
        assert_eq!(rate("50", "1s"), Some(Duration::from_millis(20)));
        assert_eq!(rate("1", "5"), Some(Duration::from_secs(5)));
        assert_eq!(rate("1", "86400s"), Some(MAX_INTERVAL));
        assert_eq!(rate("0", "1s"), None);
        assert_eq!(rate("x", "1s"), None);
    }
}
