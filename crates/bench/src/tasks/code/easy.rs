//! Easy functions: everyday ones, each in a few variants.

use super::{TestCase, cases, code_question, random_list, random_text};
use crate::{SplitMix64, tasks::Question};

const LETTERS: [char; 8] = ['a', 'b', 'E', 'o', 'T', 'r', '3', '7'];
const WORDS: [&str; 6] = ["sun", "Tree", "milk", "open", "Go", "level"];

pub(super) fn question(index: usize, random: &mut SplitMix64) -> Question {
    match index % 10 {
        0 => count_characters(random),
        1 => sum_some(random),
        2 => second(random),
        3 => reverse_words(random),
        4 => is_palindrome(random),
        5 => unique(random),
        6 => digit_sum(random),
        7 => most_common(random),
        8 => merge(random),
        _ => limit_values(random),
    }
}

/// Makes a question about a text: hidden tests with random texts and one with an empty text.
fn text_question(
    random: &mut SplitMix64,
    name: &str,
    description: &str,
    example: &str,
    value: impl Fn(&str) -> String,
) -> Question {
    let case = |text: &str| -> TestCase { (format!("{text:?}"), value(text)) };
    let mut hidden = cases(|| {
        let length = random.range(1, 9);
        case(&random_text(random, &LETTERS, length))
    });
    hidden.push(case(""));
    code_question(name, description, &case(example), &hidden)
}

/// Makes a question about a list of numbers, like [`text_question`].
fn list_question(
    random: &mut SplitMix64,
    name: &str,
    description: &str,
    example: &[i64],
    value: impl Fn(&[i64]) -> String,
) -> Question {
    let case = |numbers: &[i64]| -> TestCase { (format!("{numbers:?}"), value(numbers)) };
    let mut hidden = cases(|| case(&random_list(random, 1, 9, -9, 12)));
    hidden.push(case(&[]));
    code_question(name, description, &case(example), &hidden)
}

fn count_characters(random: &mut SplitMix64) -> Question {
    let (name, what, fits): (_, _, fn(char) -> bool) = random.choose(&[
        (
            "count_vowels",
            "vowels (a, e, i, o, u), in lower or upper case,",
            |c| "aeiouAEIOU".contains(c),
        ),
        ("count_digits", "digits", |c| c.is_ascii_digit()),
        ("count_uppercase", "uppercase letters", |c| {
            c.is_ascii_uppercase()
        }),
    ]);
    let description = format!("{name}(text) that returns how many {what} the text contains.");
    text_question(random, name, &description, "Tea for 2 at Eve's", |text| {
        text.chars().filter(|c| fits(*c)).count().to_string()
    })
}

fn sum_some(random: &mut SplitMix64) -> Question {
    let (what, fits): (_, fn(i64) -> bool) = random.choose(&[
        ("even", |number| number % 2 == 0),
        ("odd", |number| number % 2 != 0),
        ("positive", |number| number > 0),
        ("divisible by 3", |number| number % 3 == 0),
    ]);
    let description = format!(
        "sum_some(numbers) that returns the sum of the numbers in the list that are {what}."
    );
    let value = |numbers: &[i64]| {
        let fitting = numbers.iter().filter(|number| fits(**number));
        fitting.sum::<i64>().to_string()
    };
    list_question(random, "sum_some", &description, &[4, -3, 9, 6, 5], value)
}

fn second(random: &mut SplitMix64) -> Question {
    let largest = random.percent(50);
    let (name, what) = if largest {
        ("second_largest", "largest")
    } else {
        ("second_smallest", "smallest")
    };
    let description = format!(
        "{name}(numbers) that returns the second {what} of the different values in the list, and None if there are fewer than \
         two different values."
    );
    let value = |numbers: &[i64]| {
        let mut sorted = numbers.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        if largest {
            sorted.reverse();
        }
        let found = sorted.get(1);
        found.map_or("None".to_owned(), ToString::to_string)
    };
    list_question(random, name, &description, &[7, 3, 7, 5, 3, 1], value)
}

fn reverse_words(random: &mut SplitMix64) -> Question {
    let each = random.percent(50);
    let reversed = |word: &str| word.chars().rev().collect::<String>();
    let case = |words: &[&str]| -> TestCase {
        let value = if each {
            words.iter().map(|word| reversed(word)).collect()
        } else {
            words
                .iter()
                .rev()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>()
        };
        (
            format!("{:?}", words.join(" ")),
            format!("{:?}", value.join(" ")),
        )
    };
    let mut hidden = cases(|| {
        let count = 1 + random.below(5);
        case(&random.sample(&WORDS, count))
    });
    hidden.push(case(&[]));
    let what = if each {
        "with every word written backward; the words stay in their order"
    } else {
        "with its words in reverse order"
    };
    let description = format!(
        "reverse_words(text) that returns the text {what}. Words are separated by single spaces."
    );
    code_question(
        "reverse_words",
        &description,
        &case(&["read", "the", "Book"]),
        &hidden,
    )
}

fn is_palindrome(random: &mut SplitMix64) -> Question {
    let only_letters = random.percent(50);
    let case = |text: &str| -> TestCase {
        let characters: Vec<char> = text
            .to_lowercase()
            .chars()
            .filter(|c| !only_letters || c.is_ascii_lowercase())
            .collect();
        let same = characters.iter().eq(characters.iter().rev());
        let value = if same { "True" } else { "False" };
        (format!("{text:?}"), value.to_owned())
    };
    let mut hidden = cases(|| {
        let length = random.range(2, 4);
        case(&random_text(random, &['a', 'A', 'b', ' '], length))
    });
    hidden.extend(
        [
            "",
            "Anna",
            "ab, ba!",
            "abc",
            "No lemon, no melon",
            "Level",
            "a b",
        ]
        .map(case),
    );
    let rule = if only_letters {
        "Upper and lower case and all characters that are not letters don't matter."
    } else {
        "Upper and lower case don't matter, but spaces and all other characters do."
    };
    let description = format!(
        "is_palindrome(text) that returns whether the text reads the same forward and backward. {rule}"
    );
    code_question(
        "is_palindrome",
        &description,
        &case("Never odd or even"),
        &hidden,
    )
}

fn unique(random: &mut SplitMix64) -> Question {
    let last = random.percent(50);
    let which = if last { "last" } else { "first" };
    let description = format!(
        "unique(numbers) that returns the list without duplicates. Of equal numbers only the {which} one stays, and the order of \
         those that stay does not change."
    );
    let value = |numbers: &[i64]| {
        let mut left: Vec<i64> = Vec::new();
        for number in numbers {
            if last {
                left.retain(|other| other != number);
            }
            if !left.contains(number) {
                left.push(*number);
            }
        }
        format!("{left:?}")
    };
    list_question(random, "unique", &description, &[3, 1, 3, 2, 1, 5], value)
}

fn digit_sum(random: &mut SplitMix64) -> Question {
    let (what, fits): (_, fn(u32) -> bool) = random.choose(&[
        ("digits", |_| true),
        ("even digits", |digit| digit % 2 == 0),
        ("odd digits", |digit| digit % 2 == 1),
    ]);
    let case = |number: i64| -> TestCase {
        let text = number.to_string();
        let digits = text.chars().filter_map(|c| c.to_digit(10));
        let sum: u32 = digits.filter(|digit| fits(*digit)).sum();
        (text, sum.to_string())
    };
    let mut hidden = cases(|| {
        let high = random.choose(&[99, 9_999, 999_999]);
        case(random.range(-high, high))
    });
    hidden.push(case(0));
    let description = format!(
        "digit_sum(number) that returns the sum of the {what} of a whole number, which can be negative; the sign does not matter."
    );
    code_question("digit_sum", &description, &case(-4705), &hidden)
}

fn most_common(random: &mut SplitMix64) -> Question {
    let by_alphabet = random.percent(50);
    let rule = if by_alphabet {
        "the one of them that is first in the alphabet"
    } else {
        "the one of them that comes first in the text"
    };
    let case = |text: &str| -> TestCase {
        let count = |c: char| text.chars().filter(|other| *other == c).count();
        let most = text.chars().map(count).max().unwrap_or_default();
        let mut top = text.chars().filter(|c| count(*c) == most);
        let found = if by_alphabet { top.min() } else { top.next() };
        let value = found.map_or("None".to_owned(), |c| format!("\"{c}\""));
        (format!("{text:?}"), value)
    };
    let mut hidden = cases(|| {
        let length = random.range(2, 8);
        case(&random_text(random, &['d', 'a', 'c', 'b'], length))
    });
    hidden.push(case(""));
    let description = format!(
        "most_common(text) that returns the character that occurs most often in a lowercase text; if several occur equally often, \
         {rule}; and None if the text is empty."
    );
    code_question("most_common", &description, &case("cabbage"), &hidden)
}

fn merge(random: &mut SplitMix64) -> Question {
    let once = random.percent(50);
    let case = |mut one: Vec<i64>, mut other: Vec<i64>| -> TestCase {
        one.sort_unstable();
        other.sort_unstable();
        let arguments = format!("{one:?}, {other:?}");
        one.extend(other);
        one.sort_unstable();
        if once {
            one.dedup();
        }
        (arguments, format!("{one:?}"))
    };
    let mut hidden = cases(|| {
        let one = random_list(random, 0, 5, 1, 9);
        case(one, random_list(random, 0, 5, 1, 9))
    });
    hidden.push(case(Vec::new(), Vec::new()));
    let rule = if once {
        "A number that occurs several times, in one list or in both, is in the result only once."
    } else {
        "A number that occurs several times is in the result as often."
    };
    let description = format!(
        "merge(a, b) that takes two lists sorted in ascending order and returns one sorted list with the numbers of both. {rule}"
    );
    code_question(
        "merge",
        &description,
        &case(vec![1, 4, 4, 8], vec![2, 4, 9]),
        &hidden,
    )
}

fn limit_values(random: &mut SplitMix64) -> Question {
    let drop = random.percent(50);
    let case = |numbers: &[i64], low: i64, high: i64| -> TestCase {
        let value: Vec<i64> = if drop {
            let inside = numbers
                .iter()
                .filter(|number| (low..=high).contains(number));
            inside.copied().collect()
        } else {
            numbers
                .iter()
                .map(|number| *number.clamp(&low, &high))
                .collect()
        };
        (format!("{numbers:?}, {low}, {high}"), format!("{value:?}"))
    };
    let mut hidden = cases(|| {
        let low = random.range(-5, 3);
        let high = low + random.range(0, 6);
        case(&random_list(random, 1, 8, -9, 12), low, high)
    });
    hidden.push(case(&[], 0, 1));
    let rule = if drop {
        "without the numbers that are less than low or greater than high"
    } else {
        "in which numbers less than low are replaced by low and numbers greater than high by high"
    };
    let description = format!("limit(numbers, low, high) that returns a list {rule}.");
    code_question(
        "limit",
        &description,
        &case(&[5, -2, 9, 3, 12], 3, 9),
        &hidden,
    )
}

#[cfg(test)]
pub(super) mod tests {
    /// Solutions in Python, written from the prompts.
    pub(crate) fn solution(prompt: &str) -> String {
        let says = |words: &str, yes: &str, no: &str| {
            let chosen = if prompt.contains(words) { yes } else { no };
            chosen.to_owned()
        };
        let name = prompt
            .strip_prefix("Write a Python function ")
            .unwrap()
            .split('(')
            .next()
            .unwrap();
        let body = match name {
            "count_vowels" => "(text):\n  return len([c for c in text.lower() if c in 'aeiou'])".to_owned(),
            "count_digits" => "(text):\n  return len([c for c in text if c in '0123456789'])".to_owned(),
            "count_uppercase" => "(text):\n  return len([c for c in text if c != c.lower()])".to_owned(),
            "sum_some" => {
                let test = if prompt.contains("positive") {
                    "n > 0".to_owned()
                } else if prompt.contains("divisible") {
                    "n in range(-30, 31, 3)".to_owned()
                } else {
                    says("are even", "not n & 1", "n & 1")
                };
                format!("(numbers):\n  return sum(n for n in numbers if {test})")
            }
            "second_largest" => "(numbers):\n  rest = [n for n in numbers if n != max(numbers)]\n  return max(rest, default=None)".to_owned(),
            "second_smallest" => "(numbers):\n  rest = [n for n in numbers if n != min(numbers)]\n  return min(rest, default=None)".to_owned(),
            "reverse_words" => says(
                "every word",
                "(text):\n  return ' '.join(text[::-1].split(' ')[::-1])",
                "(text):\n  return ' '.join(reversed(text.split(' ')))",
            ),
            "is_palindrome" => says(
                "not letters",
                "(text):\n  s = [c for c in text.lower() if c.isalpha()]\n  return s == s[::-1]",
                "(text):\n  s = text.lower()\n  return all(a == b for a, b in zip(s, reversed(s)))",
            ),
            "unique" => says(
                "only the last",
                "(numbers):\n  return [n for i, n in enumerate(numbers) if n not in numbers[i + 1:]]",
                "(numbers):\n  return list(dict.fromkeys(numbers))",
            ),
            "digit_sum" => {
                let digits = if prompt.contains("even digits") {
                    "2468".to_owned()
                } else {
                    says("odd digits", "13579", "123456789")
                };
                format!("(number):\n  return sum(str(number).count(d) * int(d) for d in '{digits}')")
            }
            "most_common" => format!(
                "(text):\n  return max({}, key=text.count, default=None)",
                says("alphabet", "sorted(text)", "text")
            ),
            "merge" => format!("(a, b):\n  return sorted({})", says("only once", "{*a, *b}", "a + b")),
            _ => says(
                "without the numbers",
                "(numbers, low, high):\n  return [n for n in numbers if low <= n <= high]",
                "(numbers, low, high):\n  return [min(max(n, low), high) for n in numbers]",
            ),
        };
        format!("def {name}{body}")
    }
}
