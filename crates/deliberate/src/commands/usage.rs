//! `deliberate usage`: what the calls of tools cost, from the invocation log.

use std::{io::Write, process::ExitCode};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use deliberate_core::{Clock as _, SessionId, SystemClock, Timestamp};
use deliberate_store::{
    Store, UsageFigures, UsageGroup, UsageQuery, UsageReport, UsageRow, UtcOffset,
};
use jiff::{SignedDuration, civil::Date, tz::TimeZone};
use serde_json::{Value, json};

use super::{
    CommandContext,
    sessions::resolve_id,
    table::{one_line, table},
};
use crate::wiring::build_store;

#[derive(Debug, Args)]
pub(crate) struct UsageArgs {
    /// Add up the calls of each day, session, tool or model
    #[arg(long, value_enum, default_value_t = UsageKey::Day)]
    by: UsageKey,
    /// Only calls since then: 7d, 12h, or a date such as 2026-11-17
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only calls of this session; the start of its id is enough
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Maximum number of rows; the total counts all
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The property by which calls are added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum UsageKey {
    Day,
    Session,
    Tool,
    Model,
}

impl UsageKey {
    const fn group(self) -> UsageGroup {
        match self {
            Self::Day => UsageGroup::Day,
            Self::Session => UsageGroup::Session,
            Self::Tool => UsageGroup::Tool,
            Self::Model => UsageGroup::Model,
        }
    }

    const fn heading(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Session => "session",
            Self::Tool => "tool",
            Self::Model => "model",
        }
    }

    /// Names the calls that have no session or asked no model.
    const fn missing(self) -> &'static str {
        match self {
            Self::Session => "(no session)",
            Self::Day | Self::Tool | Self::Model => "(no model)",
        }
    }
}

/// The years for which the changes of the time zone are known to a report.
const ZONE_YEARS: i64 = 10;

const MICROS_PER_YEAR: i64 = 366 * 24 * 3_600 * 1_000_000;

pub(crate) async fn run(
    args: &UsageArgs,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    let (now, zone) = (SystemClock.now(), TimeZone::system());
    let since = args.since.as_deref();
    let since = since
        .map(|text| parse_since(text, now, &zone))
        .transpose()?;
    let store = build_store(&shell.loaded.settings);
    let session = match &args.session {
        Some(id) => Some(existing_session(id, store.as_ref()).await?),
        None => None,
    };
    let query = UsageQuery {
        since,
        session,
        utc_offsets: utc_offsets(&zone, now),
        limit: args.limit,
        ..UsageQuery::new(args.by.group())
    };
    let report = store.usage(&query).await?;
    if args.json {
        let all = report_json(&report, args.by);
        writeln!(shell.output, "{}", serde_json::to_string_pretty(&all)?)?;
    } else if report.total.calls == 0 {
        writeln!(shell.output, "No calls were recorded{}.", selection(args))?;
    } else {
        let titles = session_titles(&report, args.by, store.as_ref()).await?;
        print_table(&report, args.by, &titles, shell.output)?;
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

/// Reads the usage of one session, by model.
pub(super) async fn session_usage(
    id: &SessionId,
    store: &dyn Store,
) -> anyhow::Result<UsageReport> {
    let query = UsageQuery {
        session: Some(id.clone()),
        ..UsageQuery::new(UsageGroup::Model)
    };
    Ok(store.usage(&query).await?)
}

/// Returns the usage of one session as a sentence.
pub(super) fn session_summary(report: &UsageReport) -> String {
    let models = report.rows.iter().filter_map(|row| row.key.as_deref());
    let models: Vec<String> = models.map(|model| one_line(model, 60)).collect();
    let models = if models.is_empty() {
        "no model".to_owned()
    } else {
        models.join(", ")
    };
    let total = &report.total;
    format!(
        "Usage: {} calls, {} model requests ({models}), {} tokens sent, {} received, cost {}, \
         time {}",
        total.calls,
        total.model_calls,
        total.prompt_tokens,
        total.completion_tokens,
        cost_text(total),
        time_text(total.total_ms)
    )
}

/// Returns the usage of one session as JSON.
pub(super) fn session_json(report: &UsageReport) -> Value {
    report_json(report, UsageKey::Model)
}

async fn existing_session(id: &str, store: &dyn Store) -> anyhow::Result<SessionId> {
    let found = resolve_id(id, store).await?;
    if store.session(&found).await?.is_none() {
        bail!("there is no session {id:?}; `deliberate sessions` lists them");
    }
    Ok(found)
}

fn selection(args: &UsageArgs) -> String {
    let since = args.since.as_ref();
    let since = since.map_or_else(String::new, |since| format!(" since {since}"));
    let session = args.session.as_ref();
    session.map_or_else(|| since.clone(), |id| format!("{since} in session {id}"))
}

/// Parses a time that is a duration before now, a date in the user's time zone or an exact time.
fn parse_since(text: &str, now: Timestamp, zone: &TimeZone) -> anyhow::Result<Timestamp> {
    let text = text.trim();
    let days = text
        .strip_suffix('d')
        .and_then(|days| days.parse::<i64>().ok());
    let ago = match days {
        Some(days) => days
            .checked_mul(24)
            .and_then(SignedDuration::try_from_hours),
        None => text.parse::<SignedDuration>().ok(),
    };
    if let Some(ago) = ago.filter(|ago| !ago.is_negative()) {
        let micros = i64::try_from(ago.as_micros()).unwrap_or(i64::MAX);
        return Ok(now.plus_micros(micros.saturating_neg()));
    }
    if let Ok(date) = text.parse::<Date>()
        && !text.contains(['T', ' '])
    {
        let start = date.to_zoned(zone.clone())?.timestamp();
        return Ok(Timestamp::from_micros(start.as_microsecond()));
    }
    Timestamp::parse(text).with_context(|| {
        format!("--since {text:?} is no time; write 7d, 12h or a date such as 2026-11-17")
    })
}

/// Returns the offsets of a time zone in the years before now.
fn utc_offsets(zone: &TimeZone, now: Timestamp) -> Vec<UtcOffset> {
    let begin = now.plus_micros(-ZONE_YEARS * MICROS_PER_YEAR);
    let Ok(start) = jiff::Timestamp::from_microsecond(begin.as_micros()) else {
        return Vec::new();
    };
    let first = UtcOffset {
        since: begin,
        seconds: zone.to_offset(start).seconds(),
    };
    let changes = zone.following(start).map(|change| UtcOffset {
        since: Timestamp::from_micros(change.timestamp().as_microsecond()),
        seconds: change.offset().seconds(),
    });
    let changes = changes.take_while(|change| change.since <= now);
    std::iter::once(first).chain(changes).collect()
}

/// Returns the titles of the sessions of a report, in its order; empty for other reports.
async fn session_titles(
    report: &UsageReport,
    by: UsageKey,
    store: &dyn Store,
) -> anyhow::Result<Vec<String>> {
    let mut titles = Vec::new();
    if by != UsageKey::Session {
        return Ok(titles);
    }
    for row in &report.rows {
        let session = match &row.key {
            Some(id) => store.session(&SessionId::from(id.as_str())).await?,
            None => None,
        };
        let title = session.and_then(|session| session.title);
        titles.push(one_line(&title.unwrap_or_default(), 40));
    }
    Ok(titles)
}

fn print_table(
    report: &UsageReport,
    by: UsageKey,
    titles: &[String],
    output: &mut dyn Write,
) -> anyhow::Result<()> {
    let mut headings = vec![
        by.heading(),
        "calls",
        "failed",
        "requests",
        "tokens in",
        "tokens out",
        "cost",
        "time",
    ];
    if by == UsageKey::Session {
        headings.push("about");
    }
    let mut rows = table(&headings);
    let mut titles = titles.iter();
    for UsageRow { key, figures } in &report.rows {
        let key = key.as_deref().unwrap_or(by.missing());
        let mut cells = cells(&one_line(key, 60), figures);
        cells.extend(titles.next().cloned());
        rows.add_row(cells);
    }
    rows.add_row(cells("total", &report.total));
    writeln!(output, "{rows}")?;
    let shown = u64::try_from(report.rows.len()).unwrap_or(u64::MAX);
    let left_out = report.group_count.saturating_sub(shown);
    if left_out > 0 {
        writeln!(output, "{left_out} more; raise --limit to see them.")?;
    }
    Ok(())
}

fn cells(key: &str, figures: &UsageFigures) -> Vec<String> {
    vec![
        key.to_owned(),
        figures.calls.to_string(),
        figures.failed.to_string(),
        figures.model_calls.to_string(),
        figures.prompt_tokens.to_string(),
        figures.completion_tokens.to_string(),
        cost_text(figures),
        time_text(figures.total_ms),
    ]
}

/// Returns the cost, as far as it is known.
fn cost_text(figures: &UsageFigures) -> String {
    let known = figures.cost_usd.map(|cost| format!("${cost:.4}"));
    match (known, figures.unpriced_calls) {
        (Some(known), 0) => known,
        (Some(known), _) => format!("{known} + unknown"),
        (None, 0) => "–".to_owned(),
        (None, _) => "unknown".to_owned(),
    }
}

fn time_text(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0..60 => format!("{seconds}.{} s", ms % 1_000 / 100),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
    }
}

fn report_json(report: &UsageReport, by: UsageKey) -> Value {
    let rows = report.rows.iter().map(|row| {
        let mut figures = figures_json(&row.figures);
        if let Some(fields) = figures.as_object_mut() {
            fields.shift_insert(0, by.heading().to_owned(), json!(row.key));
        }
        figures
    });
    json!({
        "by": by.heading(),
        "rows": rows.collect::<Vec<_>>(),
        "row_count": report.group_count,
        "total": figures_json(&report.total),
    })
}

fn figures_json(figures: &UsageFigures) -> Value {
    json!({
        "calls": figures.calls,
        "failed": figures.failed,
        "model_requests": figures.model_calls,
        "prompt_tokens": figures.prompt_tokens,
        "completion_tokens": figures.completion_tokens,
        "cost_usd": figures.cost_usd,
        "unpriced_calls": figures.unpriced_calls,
        "ms": figures.total_ms,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: &str) -> Timestamp {
        Timestamp::parse(time).unwrap()
    }

    #[test]
    fn a_time_is_a_duration_a_date_or_an_exact_time() {
        let now = at("2026-11-17T12:00:00Z");
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let since = |text: &str| parse_since(text, now, &zone).map_err(|error| error.to_string());
        assert_eq!(since("7d"), Ok(at("2026-11-10T12:00:00Z")));
        assert_eq!(since("12h"), Ok(at("2026-11-17T00:00:00Z")));
        assert_eq!(since("2026-11-17"), Ok(at("2026-11-16T22:00:00Z")));
        assert_eq!(
            since("2026-11-17T01:00:00Z"),
            Ok(at("2026-11-17T01:00:00Z"))
        );
        for text in ["yesterday", "-3d", "", "99999999999999999999d"] {
            assert!(since(text).unwrap_err().contains("7d"), "{text}");
        }
    }

    #[test]
    fn the_offsets_are_those_of_the_time_zone() {
        let now = at("2026-11-17T12:00:00Z");
        let fixed = utc_offsets(&TimeZone::fixed(jiff::tz::offset(-5)), now);
        assert_eq!(fixed.len(), 1);
        assert_eq!(fixed[0].seconds, -5 * 3_600);
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let offsets = utc_offsets(&berlin, now);
        let last = offsets.last().unwrap();
        assert_eq!(
            (last.since, last.seconds),
            (at("2026-10-25T01:00:00Z"), 3_600)
        );
        assert!(offsets.windows(2).all(|pair| pair[0].since < pair[1].since));
    }

    #[test]
    fn money_is_told_only_where_it_is_known() {
        let cost = |cost_usd, unpriced_calls| {
            cost_text(&UsageFigures {
                cost_usd,
                unpriced_calls,
                ..UsageFigures::default()
            })
        };
        assert_eq!(cost(None, 0), "–");
        assert_eq!(cost(None, 2), "unknown");
        assert_eq!(cost(Some(0.0), 0), "$0.0000");
        assert_eq!(cost(Some(1.25), 1), "$1.2500 + unknown");
    }

    #[test]
    fn a_time_is_told_in_its_two_largest_units() {
        let texts = [950, 61_000, 7_320_000].map(time_text);
        assert_eq!(texts, ["0.9 s", "1 min 1 s", "2 h 2 min"]);
    }
}
