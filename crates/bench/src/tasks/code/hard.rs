//! Hard functions: unusual rules that have to be read closely.

use std::fmt::Write as _;

use super::{TestCase, cases, code_question, random_list, random_text};
use crate::{SplitMix64, tasks::Question};

pub(super) fn question(index: usize, random: &mut SplitMix64) -> Question {
    match index % 10 {
        0 => run_lengths(random),
        1 => move_vowels(random),
        2 => longest_run(random),
        3 => covered_length(random),
        4 => nth_largest(random),
        5 => digit_steps(random),
        6 => shift_text(random),
        7 => bracket_depth(random),
        8 => last_most_frequent(random),
        _ => zigzag(random),
    }
}

fn shorten_runs(text: &str, shortest: usize) -> String {
    let mut out = String::new();
    let characters: Vec<char> = text.chars().collect();
    for run in characters.chunk_by(|a, b| a == b) {
        match run {
            [first, ..] if run.len() >= shortest => {
                let _ = write!(out, "{}{first}", run.len());
            }
            _ => out.extend(run),
        }
    }
    out
}

fn run_lengths(random: &mut SplitMix64) -> Question {
    let shortest = random.range(2, 4);
    let least = usize::try_from(shortest).unwrap_or(2);
    let case = |text: String| {
        (
            format!("{text:?}"),
            format!("{:?}", shorten_runs(&text, least)),
        )
    };
    let mut hidden = cases(|| {
        let length = random.range(4, 14);
        case(random_text(random, &['a', 'a', 'b'], length))
    });
    hidden.push(case(String::new()));
    let description = format!(
        "shorten(text) that replaces every run of at least {shortest} equal characters by the length of the run followed by \
         the character. Shorter runs stay as they are. It returns the new text."
    );
    code_question(
        "shorten",
        &description,
        &case("aabbbbba".to_owned()),
        &hidden,
    )
}

fn rotate_vowels(text: &str, places: usize) -> String {
    let is_vowel = |c: &char| "aeiou".contains(*c);
    let mut vowels: Vec<char> = text.chars().filter(is_vowel).collect();
    if !vowels.is_empty() {
        let places = places % vowels.len();
        vowels.rotate_right(places);
    }
    let mut vowels = vowels.into_iter();
    text.chars()
        .map(|c| {
            if is_vowel(&c) {
                vowels.next().unwrap_or(c)
            } else {
                c
            }
        })
        .collect()
}

fn move_vowels(random: &mut SplitMix64) -> Question {
    let places = random.range(1, 2);
    let by = usize::try_from(places).unwrap_or(1);
    let case = |text: String| {
        (
            format!("{text:?}"),
            format!("{:?}", rotate_vowels(&text, by)),
        )
    };
    let mut hidden = cases(|| {
        let length = random.range(3, 12);
        case(random_text(
            random,
            &['a', 'e', 'i', 'o', 'k', 'r', 's', 't'],
            length,
        ))
    });
    hidden.push(case("str".to_owned()));
    let (word, positions) = if places == 1 {
        ("one", "position")
    } else {
        ("two", "positions")
    };
    let description = format!(
        "move_vowels(text) for lowercase words. All other characters stay where they are; the vowels (a, e, i, o, u) move to \
         the right by {word} vowel {positions}, and what moves past the end comes in again at the front."
    );
    code_question(
        "move_vowels",
        &description,
        &case("banemilo".to_owned()),
        &hidden,
    )
}

fn longest_run_above(numbers: &[i64], limit: i64) -> usize {
    let runs = numbers.split(|number| *number <= limit).map(<[i64]>::len);
    runs.max().unwrap_or_default()
}

fn longest_run(random: &mut SplitMix64) -> Question {
    let gap = random.percent(50);
    let value = |numbers: &[i64], limit: i64| {
        if gap {
            let runs = numbers.split(|number| *number <= limit);
            runs.map(|run| run.iter().sum::<i64>())
                .max()
                .unwrap_or_default()
        } else {
            i64::try_from(longest_run_above(numbers, limit)).unwrap_or_default()
        }
    };
    let case = |numbers: Vec<i64>, limit: i64| {
        (
            format!("{numbers:?}, {limit}"),
            value(&numbers, limit).to_string(),
        )
    };
    let mut hidden = cases(|| {
        let limit = random.range(2, 6);
        case(random_list(random, 3, 12, 1, 10), limit)
    });
    hidden.push(case(Vec::new(), 3));
    let example = case(vec![5, 6, 1, 7, 8, 9, 2], 4);
    if gap {
        let description = "best_run_sum(numbers, limit). A run is a sequence of neighboring elements that are all greater than \
             limit, as long as possible. It returns the largest sum of the elements of a run, and 0 if there is no run.";
        code_question("best_run_sum", description, &example, &hidden)
    } else {
        let description = "longest_run(numbers, limit). It returns the length of the longest sequence of neighboring elements \
             that are all greater than limit, and 0 if there is none.";
        code_question("longest_run", description, &example, &hidden)
    }
}

fn union_length(intervals: &[(i64, i64)]) -> i64 {
    let mut sorted = intervals.to_vec();
    sorted.sort_unstable();
    let (mut total, mut reached) = (0, i64::MIN);
    for (start, end) in sorted {
        total += (end - start.max(reached)).max(0);
        reached = reached.max(end);
    }
    total
}

fn covered_length(random: &mut SplitMix64) -> Question {
    let case = |intervals: Vec<(i64, i64)>| {
        (
            format!("{intervals:?}"),
            union_length(&intervals).to_string(),
        )
    };
    let mut hidden = cases(|| {
        let count = random.range(1, 6);
        let interval = |_| {
            let start = random.range(0, 20);
            (start, start + random.range(1, 8))
        };
        case((0..count).map(interval).collect())
    });
    hidden.push(case(Vec::new()));
    let description = "covered_length(intervals). The argument is a list of tuples (start, end) in any order; the intervals can \
         overlap or lie inside each other. It returns the total length that is covered by at least one interval.";
    code_question(
        "covered_length",
        description,
        &case(vec![(4, 9), (1, 5), (12, 14)]),
        &hidden,
    )
}

fn nth_distinct(numbers: &[i64], n: usize) -> Option<i64> {
    let mut distinct = numbers.to_vec();
    distinct.sort_unstable_by(|a, b| b.cmp(a));
    distinct.dedup();
    distinct.get(n.checked_sub(1)?).copied()
}

fn nth_largest(random: &mut SplitMix64) -> Question {
    let least = random.range(2, 3);
    let often = |numbers: &[i64]| -> Vec<i64> {
        let count = |number: &&i64| {
            let same = numbers.iter().filter(|other| other == number).count();
            i64::try_from(same).unwrap_or_default() >= least
        };
        numbers.iter().filter(count).copied().collect()
    };
    let python = |found: Option<i64>| found.map_or("None".to_owned(), |number| number.to_string());
    let case = |numbers: Vec<i64>, n: usize| {
        (
            format!("{numbers:?}, {n}"),
            python(nth_distinct(&often(&numbers), n)),
        )
    };
    let mut hidden = cases(|| {
        let n = 1 + random.below(3);
        case(random_list(random, 6, 14, 1, 6), n)
    });
    hidden.push(case(Vec::new(), 1));
    let description = format!(
        "nth_repeated(numbers, n). Take the different values that occur at least {least} times in the list numbers. It returns \
         the n-th largest of these values (n = 1 is the largest), and None if there are fewer than n."
    );
    code_question(
        "nth_repeated",
        &description,
        &case(vec![3, 9, 9, 3, 9, 3, 7, 1, 1, 1], 2),
        &hidden,
    )
}

fn steps_to_one_digit(mut number: i64, power: u32) -> i64 {
    let mut steps = 0;
    while number >= 10 {
        let mut sum = 0;
        while number > 0 {
            sum += (number % 10).pow(power);
            number /= 10;
        }
        (number, steps) = (sum, steps + 1);
        if steps == 20 {
            break;
        }
    }
    steps
}

fn digit_steps(random: &mut SplitMix64) -> Question {
    let power = if random.percent(50) { 1 } else { 2 };
    let case = |number: i64| {
        (
            number.to_string(),
            steps_to_one_digit(number, power).to_string(),
        )
    };
    let mut hidden = cases(|| {
        let high = random.choose(&[99, 9_999, 99_999_999]);
        case(random.range(10, high))
    });
    hidden.push(case(7));
    let what = if power == 1 {
        "sum of its digits"
    } else {
        "sum of the squares of its digits"
    };
    let description = format!(
        "digit_steps(number) for a positive whole number. While the number has more than one digit, it is replaced by the \
         {what}; each replacement is a step. It returns the number of steps, but stops after 20 steps and then returns 20."
    );
    code_question("digit_steps", &description, &case(4987), &hidden)
}

fn rotate_in(c: char, first: char, size: u32, by: i64) -> char {
    let offset = i64::from(u32::from(c) - u32::from(first));
    let moved = (offset + by).rem_euclid(i64::from(size));
    char::from_u32(u32::from(first) + u32::try_from(moved).unwrap_or_default()).unwrap_or(c)
}

fn shifted(text: &str, by: i64) -> String {
    text.chars()
        .map(|c| match c {
            'a'..='z' => rotate_in(c, 'a', 26, by),
            'A'..='Z' => rotate_in(c, 'A', 26, -by),
            '0'..='9' => rotate_in(c, '0', 10, by),
            _ => c,
        })
        .collect()
}

fn shift_text(random: &mut SplitMix64) -> Question {
    let case = |text: String, by: i64| {
        (
            format!("{text:?}, {by}"),
            format!("{:?}", shifted(&text, by)),
        )
    };
    let mut hidden = cases(|| {
        let length = random.range(3, 10);
        let by = random.range(1, 30);
        case(
            random_text(
                random,
                &['a', 'k', 'z', 'B', 'Y', '0', '7', '9', ' ', '-'],
                length,
            ),
            by,
        )
    });
    hidden.push(case(String::new(), 5));
    let description = "shift(text, by). Lowercase letters move forward in the alphabet by the given number of places, uppercase \
         letters move backward by as many, and digits move forward; each starts again at the other end of a–z, A–Z or 0–9. \
         Other characters stay. It returns the new text.";
    code_question(
        "shift",
        description,
        &case("abZ-D 89".to_owned(), 3),
        &hidden,
    )
}

fn depth(text: &str, pairs: &[(char, char)]) -> i64 {
    let mut open = Vec::new();
    let mut deepest = 0;
    for c in text.chars() {
        if let Some((_, close)) = pairs.iter().find(|(left, _)| *left == c) {
            open.push(*close);
            deepest = deepest.max(open.len());
        } else if pairs.iter().any(|(_, right)| *right == c) && open.pop() != Some(c) {
            return -1;
        }
    }
    if open.is_empty() {
        i64::try_from(deepest).unwrap_or_default()
    } else {
        -1
    }
}

fn bracket_depth(random: &mut SplitMix64) -> Question {
    let pairs = [('(', ')'), ('[', ']')];
    let case = |text: String| (format!("{text:?}"), depth(&text, &pairs).to_string());
    let mut hidden: Vec<TestCase> = [
        "(a[b])",
        "([)]",
        "((x))[[[]]]",
        ")(",
        "[(",
        "",
        "no",
        "[()()]",
    ]
    .map(|text| case(text.to_owned()))
    .to_vec();
    hidden.extend(cases(|| {
        let length = random.range(2, 6);
        case(random_text(random, &['(', ')', '[', ']', 'x'], length))
    }));
    let description = "depth(text). The text contains round and square brackets and other characters, which don't matter. If every \
         bracket is closed by one of its own kind in the right order, it returns how deeply the brackets are nested (0 \
         without brackets), else -1.";
    code_question(
        "depth",
        description,
        &case("a(b[c](d))".to_owned()),
        &hidden,
    )
}

fn most_frequent(words: &[&str], last: bool) -> Option<String> {
    let count = |word: &str| words.iter().filter(|other| **other == word).count();
    let most = words.iter().map(|word| count(word)).max()?;
    let mut found = words.iter().filter(|word| count(word) == most);
    let word = if last { found.next_back() } else { found.min() };
    word.map(|word| (*word).to_owned())
}

fn last_most_frequent(random: &mut SplitMix64) -> Question {
    let last = random.percent(50);
    let python =
        |found: Option<String>| found.map_or("None".to_owned(), |word| format!("{word:?}"));
    let case = |words: Vec<&str>| {
        let lowercase: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
        let lowercase: Vec<&str> = lowercase.iter().map(String::as_str).collect();
        (
            format!("{:?}", words.join(" ")),
            python(most_frequent(&lowercase, last)),
        )
    };
    let mut hidden = cases(|| {
        let count = random.range(3, 9);
        case(
            (0..count)
                .map(|_| random.choose(&["red", "Red", "blue", "green", "Blue", "sky"]))
                .collect(),
        )
    });
    hidden.push(case(Vec::new()));
    let rule = if last {
        "whose last occurrence comes last in the text"
    } else {
        "that is first in the alphabet"
    };
    let description = format!(
        "top_word(text). Words are separated by spaces, and upper and lower case don't matter. It returns the most frequent word \
         in lowercase; if several are equally frequent, the one of them {rule}; and None if the text has no words."
    );
    code_question(
        "top_word",
        &description,
        &case(vec!["tea", "Milk", "milk", "Tea", "ice"]),
        &hidden,
    )
}

fn zigzag_value(rows: &[Vec<i64>]) -> Vec<i64> {
    let reversed = |(index, row): (usize, &Vec<i64>)| {
        let mut row = row.clone();
        if index % 2 == 1 {
            row.reverse();
        }
        row
    };
    rows.iter().enumerate().flat_map(reversed).collect()
}

fn zigzag(random: &mut SplitMix64) -> Question {
    let drop_repeats = random.percent(60);
    let case = |rows: Vec<Vec<i64>>| {
        let mut all = zigzag_value(&rows);
        if drop_repeats {
            all.dedup();
        }
        (format!("{rows:?}"), format!("{all:?}"))
    };
    let mut hidden = cases(|| {
        let count = random.range(1, 5);
        case(
            (0..count)
                .map(|_| random_list(random, 0, 4, 1, 3))
                .collect(),
        )
    });
    hidden.push(case(Vec::new()));
    let rule = if drop_repeats {
        " An element that is equal to the one just before it in the result is left out."
    } else {
        ""
    };
    let description = format!(
        "zigzag(rows). The argument is a list of lists. It returns one list with the elements of all rows: the first row from left \
         to right, the second from right to left, the third from left to right, and so on. Rows can have different lengths.{rule}"
    );
    code_question(
        "zigzag",
        &description,
        &case(vec![vec![1, 2], vec![4, 2], vec![4, 5]]),
        &hidden,
    )
}
