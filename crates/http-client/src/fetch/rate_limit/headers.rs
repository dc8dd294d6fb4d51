//! Parses the rate limit headers of responses.

use std::time::Duration;

use reqwest::header::HeaderMap;

/// The longest wait that is accepted from a server.
pub(in crate::fetch) const MAX_WAIT: Duration = Duration::from_hours(1);
/// The longest interval that is accepted from a server.
const MAX_INTERVAL: Duration = Duration::from_mins(1);

/// The interval between requests by `X-Rate-Limit-Limit` and `X-Rate-Limit-Interval`, as Crossref
/// sends them: `50` and `1s`.
pub(in crate::fetch) fn rate_limit_interval(headers: &HeaderMap) -> Option<Duration> {
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
