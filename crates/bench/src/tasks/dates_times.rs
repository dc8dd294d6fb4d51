//! Dates and times: arrivals, durations, weekdays, days between dates.

use super::{PEOPLE, Question};
use crate::{ExpectedAnswer, SplitMix64, TaskLevel};

const WEEKDAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];
const MONTHS: [(&str, i64); 12] = [
    ("January", 31),
    ("February", 28),
    ("March", 31),
    ("April", 30),
    ("May", 31),
    ("June", 30),
    ("July", 31),
    ("August", 31),
    ("September", 30),
    ("October", 31),
    ("November", 30),
    ("December", 31),
];
const DAY_MINUTES: i64 = 24 * 60;

pub(super) fn question(level: TaskLevel, index: usize, random: &mut SplitMix64) -> Question {
    match index % 6 {
        0 => arrival(level, random),
        1 => weekday(level, random),
        2 => date_after(level, random),
        3 => minutes_between(level, random),
        4 => days_between(level, random),
        _ => flight(level, random),
    }
}

fn clock(minutes: i64) -> String {
    let minutes = minutes.rem_euclid(DAY_MINUTES);
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

fn time_question(text: &str, minutes: i64) -> Question {
    Question {
        prompt: format!(
            "{text} End with the final answer: the time as HH:MM on the 24-hour clock."
        ),
        expected: ExpectedAnswer::TimeOfDay(minutes.rem_euclid(DAY_MINUTES)),
    }
}

fn arrival(level: TaskLevel, random: &mut SplitMix64) -> Question {
    let name = random.choose(&PEOPLE);
    if level == TaskLevel::Easy {
        let start = 5 * random.range(6 * 12, 20 * 12);
        let (wait, ride) = (5 * random.range(1, 5), 5 * random.range(3, 11));
        let text = format!(
            "{name} comes to a station at {}, waits {wait} minutes for the train, and then rides {ride} minutes. At what \
             time does {name} arrive?",
            clock(start),
        );
        return time_question(&text, start + wait + ride);
    }
    let start = random.range(6 * 60, 20 * 60);
    let (first, wait, second) = (
        random.range(65, 200),
        random.range(12, 55),
        random.range(35, 170),
    );
    let text = format!(
        "{name} takes a train at {}. The ride takes {} hours and {} minutes. Then {name} waits {wait} minutes for a bus, \
         and the bus takes {second} minutes. At what time does {name} arrive?",
        clock(start),
        first / 60,
        first % 60,
    );
    time_question(&text, start + first + wait + second)
}

#[expect(
    clippy::indexing_slicing,
    reason = "a remainder of 7 is an index of 7 weekdays"
)]
fn weekday(level: TaskLevel, random: &mut SplitMix64) -> Question {
    let today = random.below(7);
    if level == TaskLevel::Easy {
        let days = random.range(2, 20);
        let later = (today + usize::try_from(days).unwrap_or_default()) % 7;
        let prompt = format!(
            "Today is {}. Which weekday is it in {days} days? End with the final answer: the weekday.",
            WEEKDAYS[today % 7],
        );
        return Question::choice(prompt, WEEKDAYS[later], &WEEKDAYS);
    }
    let days = random.range(17, 150);
    // Whole weeks would make today's weekday the answer.
    let back = random.range(9, 40);
    let back = back + i64::from((days - back) % 7 == 0);
    let position = (i64::try_from(today).unwrap_or_default() + days - back).rem_euclid(7);
    let right = WEEKDAYS[usize::try_from(position).unwrap_or_default() % 7];
    let prompt = format!(
        "Today is {}. A parcel was sent {back} days before the day that is {days} days from today. On which weekday was \
         it sent? End with the final answer: the weekday.",
        WEEKDAYS[today % 7],
    );
    Question::choice(prompt, right, &WEEKDAYS)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn month_days(year: i64, month: i64) -> i64 {
    let index = usize::try_from(month - 1).unwrap_or_default();
    let days = MONTHS.get(index).map_or(31, |(_, days)| *days);
    days + i64::from(month == 2 && is_leap(year))
}

fn month_name(month: i64) -> &'static str {
    let index = usize::try_from(month - 1).unwrap_or_default();
    MONTHS.get(index).map_or("December", |(name, _)| name)
}

/// Returns the date that is this many days after another.
fn add_days((mut year, mut month, mut day): (i64, i64, i64), days: i64) -> (i64, i64, i64) {
    day += days;
    while day > month_days(year, month) {
        day -= month_days(year, month);
        month += 1;
        if month > 12 {
            (year, month) = (year + 1, 1);
        }
    }
    (year, month, day)
}

fn random_date(random: &mut SplitMix64, last_month: i64) -> (i64, i64, i64) {
    let year = random.range(2021, 2030);
    let month = random.range(1, last_month);
    (year, month, random.range(1, month_days(year, month)))
}

fn date_after(level: TaskLevel, random: &mut SplitMix64) -> Question {
    let (year, month, day) = random_date(random, 12);
    let days = match level {
        TaskLevel::Easy => random.range(5, 20),
        TaskLevel::Hard => random.range(25, 95),
    };
    let (end_year, end_month, end_day) = add_days((year, month, day), days);
    let prompt = format!(
        "A warranty begins on {} {day}, {year}, and ends exactly {days} days later. On which date does it end? End \
         with the final answer: the date as YYYY-MM-DD.",
        month_name(month),
    );
    let expected = ExpectedAnswer::Date {
        year: end_year,
        month: end_month,
        day: end_day,
    };
    Question { prompt, expected }
}

fn minutes_between(level: TaskLevel, random: &mut SplitMix64) -> Question {
    if level == TaskLevel::Easy {
        let start = 5 * random.range(7 * 12, 17 * 12);
        let length = 5 * random.range(5, 36);
        let text = format!(
            "A meeting starts at {} and ends at {}. How many minutes does it last?",
            clock(start),
            clock(start + length),
        );
        return Question::number(&text, length);
    }
    let start = random.range(17 * 60, 23 * 60 + 50);
    let length = random.range(7 * 60, 12 * 60);
    let breaks = random.range(2, 4);
    let each = random.range(12, 35);
    let text = format!(
        "A night shift starts at {} and ends at {} the next morning. It has {breaks} breaks of {each} minutes each. How \
         many minutes of the shift are not breaks?",
        clock(start),
        clock(start + length),
    );
    Question::number(&text, length - breaks * each)
}

fn days_between(level: TaskLevel, random: &mut SplitMix64) -> Question {
    let (year, month, day) = random_date(random, 8);
    let days = match level {
        TaskLevel::Easy => random.range(5, 28),
        TaskLevel::Hard => random.range(30, 120),
    };
    let (_, end_month, end_day) = add_days((year, month, day), days);
    let text = format!(
        "How many days after {} {day}, {year} is {} {end_day}, {year}?",
        month_name(month),
        month_name(end_month),
    );
    Question::number(&text, days)
}

fn flight(level: TaskLevel, random: &mut SplitMix64) -> Question {
    if level == TaskLevel::Easy {
        let start = 30 * random.range(12, 28);
        let (hours, offset) = (random.range(2, 6), random.choose(&[-3, -2, -1, 1, 2, 3]));
        let unit = if i64::abs(offset) == 1 {
            "hour"
        } else {
            "hours"
        };
        let direction = if offset < 0 { "behind" } else { "ahead of" };
        let text = format!(
            "A plane leaves Northville at {} local time and flies {hours} hours to Southport. The clocks of Southport are \
             {} {unit} {direction} those of Northville. What is the local time in Southport when the plane lands?",
            clock(start),
            i64::abs(offset),
        );
        return time_question(&text, start + 60 * (hours + offset));
    }
    let start = random.range(5 * 60, 22 * 60);
    let length = random.range(4 * 60, 11 * 60);
    let offset = random.choose(&[-8, -7, -6, -5, -3, -2, 2, 3, 4, 5, 6, 8]);
    let direction = if offset < 0 { "behind" } else { "ahead of" };
    let text = format!(
        "A plane leaves Northville at {} local time and flies {} hours and {} minutes to Southport. The clocks of \
         Southport are {} hours {direction} those of Northville. What is the local time in Southport when the plane \
         lands?",
        clock(start),
        length / 60,
        length % 60,
        i64::abs(offset),
    );
    time_question(&text, start + length + 60 * offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::tests::seeds;

    fn right(question: &Question) -> String {
        question.expected.canonical()
    }

    fn numbers(text: &str) -> Vec<i64> {
        text.split(|c: char| !c.is_ascii_digit())
            .filter_map(|part| part.parse().ok())
            .collect()
    }

    /// Advances a clock minute by minute.
    fn tick(hour: i64, minute: i64, minutes: i64) -> String {
        let (mut hour, mut minute) = (hour, minute);
        for _ in 0..minutes {
            minute += 1;
            if minute == 60 {
                (minute, hour) = (0, hour + 1);
            }
            if hour == 24 {
                hour = 0;
            }
        }
        format!("{hour:02}:{minute:02}")
    }

    /// Returns the day number of a date by a formula, unlike the generator, which counts months.
    fn julian_day(year: i64, month: i64, day: i64) -> i64 {
        let a = (14 - month) / 12;
        let (y, m) = (year + 4800 - a, month + 12 * a - 3);
        day + (153 * m + 2) / 5 + 365 * y + y / 4 - y / 100 + y / 400 - 32045
    }

    fn month_number(name: &str) -> i64 {
        let found = MONTHS.iter().position(|(month, _)| *month == name).unwrap();
        i64::try_from(found).unwrap() + 1
    }

    #[test]
    fn arrivals_are_counted_minute_by_minute() {
        for (seed, level) in seeds(200) {
            let question = arrival(level, &mut SplitMix64::new(seed));
            let total = match numbers(&question.prompt)[2..] {
                [wait, ride, 24] => wait + ride,
                [hours, minutes, wait, bus, 24] => hours * 60 + minutes + wait + bus,
                _ => panic!("{}", question.prompt),
            };
            let [hour, minute, ..] = numbers(&question.prompt)[..] else {
                panic!("{}", question.prompt)
            };
            assert_eq!(tick(hour, minute, total), right(&question));
        }
    }

    #[test]
    fn landings_follow_the_other_clock() {
        for (seed, level) in seeds(200) {
            let question = flight(level, &mut SplitMix64::new(seed));
            let [hour, minute, hours, ref minutes @ .., offset, 24] = numbers(&question.prompt)[..]
            else {
                panic!("{}", question.prompt)
            };
            let offset = if question.prompt.contains("behind") {
                24 - offset
            } else {
                offset
            };
            let total = hours * 60 + minutes.iter().sum::<i64>() + offset * 60;
            assert_eq!(tick(hour, minute, total), right(&question));
        }
    }

    #[test]
    fn weekdays_are_counted_day_by_day() {
        for (seed, level) in seeds(200) {
            let question = weekday(level, &mut SplitMix64::new(seed));
            let counts = numbers(&question.prompt);
            let word = question
                .prompt
                .strip_prefix("Today is ")
                .unwrap()
                .split('.')
                .next()
                .unwrap();
            let mut position = WEEKDAYS.iter().position(|day| *day == word).unwrap();
            let (back, days) = match counts[..] {
                [days] => (0, days),
                _ => (counts[0], counts[1]),
            };
            (0..days).for_each(|_| position = (position + 1) % 7);
            (0..back).for_each(|_| position = (position + 6) % 7);
            assert_eq!(WEEKDAYS[position].to_lowercase(), right(&question));
        }
    }

    #[test]
    fn dates_agree_with_julian_days() {
        for (seed, level) in seeds(300) {
            let question = date_after(level, &mut SplitMix64::new(seed));
            let counts = numbers(&question.prompt);
            let month = month_number(question.prompt.split(' ').nth(4).unwrap());
            let end = numbers(&right(&question));
            assert_eq!(
                julian_day(end[0], end[1], end[2]) - julian_day(counts[1], month, counts[0]),
                counts[2]
            );
            let question = days_between(level, &mut SplitMix64::new(seed));
            let counts = numbers(&question.prompt);
            let words: Vec<&str> = question.prompt.split(' ').collect();
            let (first, second) = (month_number(words[4]), month_number(words[8]));
            assert_eq!(
                julian_day(counts[3], second, counts[2]) - julian_day(counts[1], first, counts[0]),
                right(&question).parse::<i64>().unwrap()
            );
        }
    }

    #[test]
    fn shifts_end_when_the_clock_says() {
        for (seed, level) in seeds(200) {
            let question = minutes_between(level, &mut SplitMix64::new(seed));
            let [h1, m1, h2, m2, ref breaks @ ..] = numbers(&question.prompt)[..] else {
                panic!("{}", question.prompt)
            };
            let pause = match breaks[..] {
                [breaks, each] => breaks * each,
                _ => 0,
            };
            let length = (1..=DAY_MINUTES)
                .find(|length| tick(h1, m1, *length) == format!("{h2:02}:{m2:02}"))
                .unwrap();
            assert_eq!((length - pause).to_string(), right(&question));
        }
    }
}
