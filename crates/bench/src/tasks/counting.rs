//! Counting: letters, words, numbers with conditions, divisibility.

use super::Question;
use crate::{SplitMix64, TaskLevel};

const WORDS: [&str; 36] = [
    "river", "table", "garden", "window", "letter", "summer", "bottle", "mirror", "pepper",
    "rabbit", "silver", "tunnel", "button", "carrot", "dinner", "engine", "forest", "hammer",
    "island", "jacket", "kitten", "ladder", "market", "needle", "orange", "pencil", "rocket",
    "saddle", "ticket", "velvet", "wallet", "yellow", "basket", "candle", "doctor", "falcon",
];

pub(super) fn question(level: TaskLevel, index: usize, random: &mut SplitMix64) -> Question {
    match index % 5 {
        0 => letters(level, random),
        1 => divisible(level, random),
        2 => numbers_between(level, random),
        3 => words_with(level, random),
        _ if level == TaskLevel::Easy => numbers_from_to(random),
        _ => digits(random),
    }
}

fn letters(level: TaskLevel, random: &mut SplitMix64) -> Question {
    let count = match level {
        TaskLevel::Easy => 1,
        TaskLevel::Hard => 3,
    };
    let phrase = random.sample(&WORDS, count).join(" ");
    let letter = match level {
        // A letter of the word itself, so that the answer is not 0.
        TaskLevel::Easy => phrase
            .chars()
            .nth(random.below(phrase.len()))
            .unwrap_or('e'),
        TaskLevel::Hard => random.choose(&['e', 't', 'r', 'n', 'a']),
    };
    let right = phrase.chars().filter(|c| *c == letter).count();
    let text = format!("How many times does the letter \"{letter}\" occur in \"{phrase}\"?");
    Question::number(&text, as_number(right))
}

fn as_number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or_default()
}

/// Returns how many numbers up to `high` are divisible by `divisor`.
fn multiples(high: i64, divisor: i64) -> i64 {
    high / divisor
}

fn divisible(level: TaskLevel, random: &mut SplitMix64) -> Question {
    if level == TaskLevel::Easy {
        let (high, by) = (random.range(10, 30), random.range(2, 6));
        let text = format!(
            "How many whole numbers from 1 to {high} (both included) are divisible by {by}?"
        );
        return Question::number(&text, multiples(high, by));
    }
    let (low, width) = (random.range(1, 40), random.range(30, 70));
    let high = low + width;
    let (by, not_by) = random.choose(&[(3, 2), (4, 3), (3, 5), (5, 2), (6, 4), (4, 5), (7, 2)]);
    let both = least_common_multiple(by, not_by);
    let count = |divisor| multiples(high, divisor) - multiples(low - 1, divisor);
    let text = format!(
        "How many whole numbers from {low} to {high} (both included) are divisible by {by} but not by {not_by}?"
    );
    Question::number(&text, count(by) - count(both))
}

fn least_common_multiple(one: i64, other: i64) -> i64 {
    let (mut a, mut b) = (one, other);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    one / a * other
}

fn numbers_between(level: TaskLevel, random: &mut SplitMix64) -> Question {
    let length = match level {
        TaskLevel::Easy => 6,
        TaskLevel::Hard => 12,
    };
    let list: Vec<i64> = (0..length).map(|_| random.range(10, 99)).collect();
    let shown: Vec<String> = list.iter().map(ToString::to_string).collect();
    let shown = format!("Here is a list of numbers: {}.", shown.join(", "));
    let limit = random.range(35, 65);
    if level == TaskLevel::Easy {
        let right = list.iter().filter(|number| **number > limit).count();
        let text = format!("{shown} How many of them are greater than {limit}?");
        return Question::number(&text, as_number(right));
    }
    let (parity, remainder) = random.choose(&[("even", 0), ("odd", 1)]);
    let fits = list
        .iter()
        .filter(|number| **number > limit && *number % 2 == remainder);
    let right = as_number(fits.count());
    let text = format!("{shown} How many of them are {parity} and greater than {limit}?");
    Question::number(&text, right)
}

fn words_with(level: TaskLevel, random: &mut SplitMix64) -> Question {
    let (count, contain) = match level {
        TaskLevel::Easy => (5, true),
        TaskLevel::Hard => (10, false),
    };
    let words = random.sample(&WORDS, count);
    let letter = random.choose(&['e', 't', 'r', 'n', 'l']);
    let fits = words.iter().filter(|word| word.contains(letter) == contain);
    let text = format!(
        "Here is a list of words: {}. How many of these words {} the letter \"{letter}\"?",
        words.join(", "),
        if contain { "contain" } else { "do not contain" },
    );
    let right = fits.count();
    Question::number(&text, as_number(right))
}

fn numbers_from_to(random: &mut SplitMix64) -> Question {
    let low = random.range(4, 30);
    let high = low + random.range(5, 30);
    let text = format!("How many whole numbers are there from {low} to {high}, both included?");
    Question::number(&text, high - low + 1)
}

fn digits(random: &mut SplitMix64) -> Question {
    let (low, width) = (random.range(10, 90), random.range(40, 90));
    let high = low + width;
    let digit = random.range(1, 9);
    let has = |number: &i64| number.to_string().contains(&digit.to_string());
    let right = (low..=high).filter(has).count();
    let text = format!(
        "How many whole numbers from {low} to {high} (both included) contain the digit {digit}?"
    );
    Question::number(&text, as_number(right))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::tests::seeds;

    fn numbers(text: &str) -> Vec<i64> {
        text.split(|c: char| !c.is_ascii_digit())
            .filter_map(|part| part.parse().ok())
            .collect()
    }

    fn assert_right(question: &Question, right: i64) {
        assert_eq!(
            question.expected.canonical(),
            right.to_string(),
            "{}",
            question.prompt
        );
    }

    #[test]
    fn letters_and_words_are_counted_by_splitting() {
        for (seed, level) in seeds(100) {
            let question = letters(level, &mut SplitMix64::new(seed));
            let parts: Vec<&str> = question.prompt.split('"').collect();
            assert_right(&question, as_number(parts[3].split(parts[1]).count() - 1));

            let question = words_with(level, &mut SplitMix64::new(seed));
            let list = question
                .prompt
                .split_once(": ")
                .unwrap()
                .1
                .split_once(". How")
                .unwrap()
                .0;
            let letter = question.prompt.split('"').nth(1).unwrap();
            let wanted = question.prompt.contains("words contain");
            let fits = list
                .split(", ")
                .filter(|word| (word.split(letter).count() > 1) == wanted);
            assert_right(&question, as_number(fits.count()));
        }
    }

    #[test]
    fn divisible_numbers_are_counted_one_by_one() {
        for (seed, level) in seeds(200) {
            let question = divisible(level, &mut SplitMix64::new(seed));
            let [low, high, by, ref not_by @ ..] = numbers(&question.prompt)[..] else {
                panic!("{}", question.prompt)
            };
            let fits = (low..=high).filter(|number| {
                number % by == 0 && not_by.iter().all(|not_by| number % not_by != 0)
            });
            assert_right(&question, as_number(fits.count()));
        }
    }

    #[test]
    fn numbers_from_one_to_another_are_counted_one_by_one() {
        for seed in 0..100 {
            let question = numbers_from_to(&mut SplitMix64::new(seed));
            let [low, high] = numbers(&question.prompt)[..] else {
                panic!("{}", question.prompt)
            };
            assert_right(&question, as_number((low..=high).count()));
        }
    }

    #[test]
    fn numbers_with_a_digit_are_found_by_arithmetic() {
        for seed in 0..200 {
            let question = digits(&mut SplitMix64::new(seed));
            let [low, high, digit, ..] = numbers(&question.prompt)[..] else {
                panic!("{}", question.prompt)
            };
            let fits = (low..=high).filter(|number| {
                number % 10 == digit || number / 10 % 10 == digit || number / 100 == digit
            });
            assert_right(&question, as_number(fits.count()));
        }
    }

    #[test]
    fn listed_numbers_are_read_back() {
        for (seed, level) in seeds(100) {
            let question = numbers_between(level, &mut SplitMix64::new(seed));
            let counts = numbers(&question.prompt);
            let (limit, list) = counts.split_last().unwrap();
            let remainders = match level {
                TaskLevel::Easy => 0..=1,
                TaskLevel::Hard if question.prompt.contains(" odd ") => 1..=1,
                TaskLevel::Hard => 0..=0,
            };
            let fits = list
                .iter()
                .filter(|number| *number > limit && remainders.contains(&(**number & 1)));
            assert_right(&question, as_number(fits.count()));
        }
    }
}
