//! Computes when saved work runs again.

use deliberate_core::Timestamp;
use jiff::{ToSpan as _, Zoned, civil::Time, tz::TimeZone};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The frequency of a schedule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum ScheduleFrequency {
    #[default]
    #[expect(
        missing_docs,
        reason = "a comment would be part of the schema that clients see"
    )]
    Daily,
    /// On certain days of the week.
    Weekly,
    /// On the first of every month.
    Monthly,
    /// Only on request.
    OnDemand,
    /// Every given number of hours.
    #[schemars(skip)]
    Hourly(u32),
}

/// A schedule of runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// How often it runs.
    pub frequency: ScheduleFrequency,
    /// The time of day, `03:00`.
    pub time: String,
    /// The days of a weekly schedule, 1 is Monday. An empty list means Monday.
    pub days_of_week: Vec<u8>,
}

impl Schedule {
    /// Parses a time of day.
    pub fn parse_time_of_day(text: &str) -> Option<Time> {
        let (hour, minute) = text.trim().split_once(':')?;
        let part = |text: &str| match text.len() {
            1 | 2 => text.parse::<i8>().ok(),
            _ => None,
        };
        Time::new(part(hour)?, part(minute)?, 0, 0).ok()
    }

    /// The first run after `now` in the local time of this machine; `None` for a schedule on
    /// demand.
    pub fn next_run(&self, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let moment = jiff::Timestamp::from_microsecond(now.as_micros()).ok()?;
        if let ScheduleFrequency::Hourly(hours) = self.frequency {
            let span = i64::from(hours.clamp(1, 24 * 366)) * 3_600_000_000;
            return Some(Timestamp::from_micros(now.as_micros().saturating_add(span)));
        }
        let now = moment.to_zoned(zone.clone());
        let time = Self::parse_time_of_day(&self.time)?;
        // A month has at most 31 days, so a run is due within the next two months.
        let days = (0..=62_i64).filter_map(|ahead| now.date().checked_add(ahead.days()).ok());
        let candidates = days
            .filter(|date| self.matches_day(date.weekday().to_monday_one_offset(), date.day()))
            .filter_map(|date| date.to_datetime(time).to_zoned(zone.clone()).ok());
        let next: Option<Zoned> = candidates.into_iter().find(|it| *it > now);
        next.map(|it| Timestamp::from_micros(it.timestamp().as_microsecond()))
    }

    fn matches_day(&self, weekday: i8, day: i8) -> bool {
        match self.frequency {
            ScheduleFrequency::Daily => true,
            ScheduleFrequency::Weekly if self.days_of_week.is_empty() => weekday == 1,
            ScheduleFrequency::Weekly => self
                .days_of_week
                .iter()
                .any(|it| i8::try_from(*it) == Ok(weekday)),
            ScheduleFrequency::Monthly => day == 1,
            ScheduleFrequency::OnDemand | ScheduleFrequency::Hourly(_) => false,
        }
    }

    /// Describes the schedule in words.
    pub fn describe(&self) -> String {
        let time = &self.time;
        match self.frequency {
            ScheduleFrequency::Daily => format!("daily at {time}"),
            ScheduleFrequency::Weekly => {
                let days = self
                    .days_of_week
                    .iter()
                    .filter_map(|it| DAY_NAMES.get(usize::from(*it)));
                let days: Vec<&str> = days.copied().collect();
                let days = if days.is_empty() {
                    vec!["Monday"]
                } else {
                    days
                };
                format!("every {} at {time}", days.join(", "))
            }
            ScheduleFrequency::Monthly => format!("on the first of every month at {time}"),
            ScheduleFrequency::OnDemand => "when asked".to_owned(),
            ScheduleFrequency::Hourly(hours) => format!("every {hours} hours"),
        }
    }
}

const DAY_NAMES: &[&str] = &[
    "",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn next_run_text(
        frequency: ScheduleFrequency,
        days: &[u8],
        now: &str,
        zone: &TimeZone,
    ) -> String {
        let schedule = Schedule {
            frequency,
            time: "03:00".to_owned(),
            days_of_week: days.to_vec(),
        };
        let now = Timestamp::parse(now).expect("a time");
        schedule
            .next_run(now, zone)
            .map(|it| it.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn the_next_time_is_after_now() {
        let utc = &TimeZone::UTC;
        let daily = |now| next_run_text(ScheduleFrequency::Daily, &[], now, utc);
        assert!(daily("2026-11-16T02:59:59Z").starts_with("2026-11-16T03:00:00"));
        assert!(daily("2026-11-16T03:00:00Z").starts_with("2026-11-17T03:00:00"));
        // 16 November 2026 is a Monday.
        let weekly = |days: &[u8]| {
            next_run_text(ScheduleFrequency::Weekly, days, "2026-11-16T12:00:00Z", utc)
        };
        assert!(weekly(&[3, 7]).starts_with("2026-11-18T03"));
        assert!(weekly(&[1]).starts_with("2026-11-23T03"));
        assert!(weekly(&[]).starts_with("2026-11-23T03"));
        let monthly = next_run_text(ScheduleFrequency::Monthly, &[], "2026-01-01T03:00:00Z", utc);
        assert!(monthly.starts_with("2026-02-01T03"));
        assert_eq!(
            next_run_text(
                ScheduleFrequency::OnDemand,
                &[],
                "2026-01-01T03:00:00Z",
                utc
            ),
            ""
        );
        assert!(
            next_run_text(
                ScheduleFrequency::Hourly(24),
                &[],
                "2026-01-01T03:00:00Z",
                utc
            )
            .starts_with("2026-01-02T03")
        );
    }

    #[test]
    fn an_hour_that_is_not_there_or_there_twice_is_one_time() {
        // Daylight saving time begins at 2:30 on 29 March and ends at 4:00 on 25 October, so 3:00
        // is missing on the first day and occurs twice on the second.
        let zone = TimeZone::posix("XXX-2YYY,M3.5.0/2:30,M10.5.0/4").unwrap();
        let daily = |now| next_run_text(ScheduleFrequency::Daily, &[], now, &zone);
        for (now, at) in [
            ("2026-03-28T00:00:00Z", "2026-03-28T01:00:00"),
            // 3:00 is skipped, and the run is at 4:00.
            ("2026-03-28T02:00:00Z", "2026-03-29T01:00:00"),
            ("2026-03-29T01:00:00Z", "2026-03-30T00:00:00"),
            // The first of the two occurrences.
            ("2026-10-24T12:00:00Z", "2026-10-25T00:00:00"),
            ("2026-10-25T00:00:00Z", "2026-10-26T01:00:00"),
        ] {
            let found = daily(now);
            assert!(found.starts_with(at), "{now}: {found}");
        }
    }

    #[test]
    fn a_time_of_day_is_read_strictly() {
        assert!(Schedule::parse_time_of_day("3:00").is_some());
        for text in ["", "25:00", "03", "03:60", "3:0:0", "-1:00", "003:00"] {
            assert_eq!(Schedule::parse_time_of_day(text), None, "{text}");
        }
    }
}
