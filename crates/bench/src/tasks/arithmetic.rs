//! Arithmetic: short word problems and chains of operations.

use std::fmt::Write as _;

use super::{PEOPLE, Question};
use crate::{SplitMix64, TaskLevel};

pub(super) fn question(level: TaskLevel, index: usize, random: &mut SplitMix64) -> Question {
    match index % 5 {
        0 => chain(level, random),
        1 => change(level, random),
        2 => bus(level, random),
        3 => discount(level, random),
        _ => stock(level, random),
    }
}

/// One step of a chain.
#[derive(Debug, Clone, Copy)]
enum Operation {
    Add(i64),
    Subtract(i64),
    Multiply(i64),
    Halve,
}

fn apply(value: i64, operation: Operation) -> i64 {
    match operation {
        Operation::Add(number) => value + number,
        Operation::Subtract(number) => value - number,
        Operation::Multiply(number) => value * number,
        Operation::Halve => value / 2,
    }
}

fn random_chain(level: TaskLevel, random: &mut SplitMix64) -> (i64, Vec<Operation>) {
    let (length, starts, terms, multiplied_below, factors) = match level {
        TaskLevel::Easy => (3, (5, 20), (5, 30), 30, (2, 5)),
        TaskLevel::Hard => (6, (12, 49), (15, 96), 150, (3, 9)),
    };
    let start = random.range(starts.0, starts.1);
    let mut value = start;
    let mut operations = Vec::new();
    while operations.len() < length {
        let operation = match random.below(4) {
            0 => Operation::Add(random.range(terms.0, terms.1)),
            1 if value > 20 => Operation::Subtract(random.range(11, value - 1)),
            2 if value < multiplied_below => {
                Operation::Multiply(random.range(factors.0, factors.1))
            }
            3 if value % 2 == 0 => Operation::Halve,
            _ => continue,
        };
        value = apply(value, operation);
        operations.push(operation);
    }
    (start, operations)
}

fn chain(level: TaskLevel, random: &mut SplitMix64) -> Question {
    let (start, operations) = random_chain(level, random);
    let right = operations.iter().copied().fold(start, apply);
    let steps: Vec<String> = operations
        .iter()
        .map(|operation| match operation {
            Operation::Add(number) => format!("add {number}"),
            Operation::Subtract(number) => format!("subtract {number}"),
            Operation::Multiply(number) => format!("multiply by {number}"),
            Operation::Halve => "divide by 2".to_owned(),
        })
        .collect();
    let text = format!(
        "Start with {start}. Then, one after the other: {}. What is the result?",
        steps.join(", ")
    );
    Question::number(&text, right)
}

fn change(level: TaskLevel, random: &mut SplitMix64) -> Question {
    let name = random.choose(&PEOPLE);
    let (pens, pen) = (random.range(4, 9), random.range(3, 8));
    let (books, book) = (random.range(3, 7), random.range(12, 29));
    let returned = match level {
        TaskLevel::Easy => 0,
        TaskLevel::Hard => random.range(1, books - 1),
    };
    let paid = pens * pen + books * book;
    let note = (paid / 50 + random.range(1, 3)) * 50;
    let purchase = format!(
        "{name} buys {pens} pens at {pen} dollars each and {books} books at {book} dollars each, and pays with {note} \
         dollars."
    );
    let text = match level {
        TaskLevel::Easy => format!("{purchase} How many dollars does {name} get back?"),
        TaskLevel::Hard => format!(
            "{purchase} The next day {name} returns {returned} of the books and gets back what they cost. Of the {note} \
             dollars, how many does {name} have in the end?"
        ),
    };
    Question::number(&text, note - paid + returned * book)
}

fn bus(level: TaskLevel, random: &mut SplitMix64) -> Question {
    let start = random.range(18, 35);
    let mut on_board = start;
    let mut text = format!("A bus leaves the depot with {start} passengers.");
    let (stops, last) = match level {
        TaskLevel::Easy => (2, "second"),
        TaskLevel::Hard => (4, "fourth"),
    };
    for stop in ["first", "second", "third", "fourth"]
        .into_iter()
        .take(stops)
    {
        let (off, on) = (random.range(3, on_board.min(14)), random.range(2, 16));
        if level == TaskLevel::Hard && random.percent(30) && on_board % 2 == 0 {
            let _ = write!(
                text,
                " At the {stop} stop half of the passengers get off and {on} get on."
            );
            on_board = on_board / 2 + on;
        } else {
            let _ = write!(text, " At the {stop} stop {off} get off and {on} get on.");
            on_board = on_board - off + on;
        }
    }
    let _ = write!(
        text,
        " How many passengers are on the bus after the {last} stop?"
    );
    Question::number(&text, on_board)
}

fn discount(level: TaskLevel, random: &mut SplitMix64) -> Question {
    let price = random.range(3, 9) * 20;
    let percent = random.choose(&[5, 10, 15, 20, 25, 30]);
    let pieces = random.range(3, 8);
    let shipping = random.range(7, 19);
    let offer = format!(
        "A chair costs {price} dollars. A shop gives {percent} percent off the price of each chair."
    );
    let (voucher, text) = match level {
        TaskLevel::Easy => {
            let text = format!(
                "{offer} A school orders {pieces} chairs and pays {shipping} dollars for shipping. How many dollars does \
                 the school pay?"
            );
            (0, text)
        }
        TaskLevel::Hard => {
            let voucher = random.range(11, 30);
            let text = format!(
                "{offer} A school orders {pieces} chairs, uses one voucher that takes {voucher} dollars off the whole \
                 order, and pays {shipping} dollars for shipping. How many dollars does the school pay?"
            );
            (voucher, text)
        }
    };
    Question::number(
        &text,
        pieces * price * (100 - percent) / 100 - voucher + shipping,
    )
}

fn stock(level: TaskLevel, random: &mut SplitMix64) -> Question {
    let (boxes, each) = (random.range(6, 14), random.choose(&[12, 18, 24, 36]));
    if level == TaskLevel::Easy {
        let carton = random.range(5, 10);
        let text = format!(
            "A shop gets {boxes} boxes with {each} eggs each. The eggs are packed into cartons of {carton}, and only full \
             cartons are sold. How many eggs are left over?"
        );
        return Question::number(&text, boxes * each % carton);
    }
    let broken = random.range(2, 5);
    let damaged = random.range(2, boxes - 2);
    let bag = random.range(4, 7);
    let whole = boxes * each - damaged * broken;
    let text = format!(
        "A shop gets {boxes} boxes with {each} eggs each. In {damaged} of the boxes {broken} eggs are broken, in the \
         others none. The eggs that are not broken are packed into cartons of {bag}, and only full cartons are sold. \
         How many eggs are left over?"
    );
    Question::number(&text, whole % bag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExpectedAnswer, tasks::tests::seeds};

    fn numbers(text: &str) -> Vec<i64> {
        text.split(|c: char| !c.is_ascii_digit())
            .filter_map(|part| part.parse().ok())
            .collect()
    }

    fn right(question: &Question) -> i64 {
        match question.expected {
            ExpectedAnswer::Integer(number) => number,
            _ => panic!("not a number"),
        }
    }

    #[test]
    fn a_chain_read_from_its_text_has_the_right_result() {
        for (seed, level) in seeds(200) {
            let question = chain(level, &mut SplitMix64::new(seed));
            let (start, rest) = question
                .prompt
                .strip_prefix("Start with ")
                .unwrap()
                .split_once(". ")
                .unwrap();
            let steps = rest
                .split_once(": ")
                .unwrap()
                .1
                .split_once(". What")
                .unwrap()
                .0;
            let mut value: i64 = start.parse().unwrap();
            for step in steps.split(", ") {
                let number = numbers(step)[0];
                value = match step.split(' ').next().unwrap() {
                    "add" => value + number,
                    "subtract" => value - number,
                    "multiply" => value * number,
                    _ => {
                        assert_eq!(value % number, 0);
                        value / number
                    }
                };
                assert!(value > 0);
            }
            assert_eq!(value, right(&question));
        }
    }

    #[test]
    fn money_is_counted_piece_by_piece() {
        for (seed, level) in seeds(100) {
            let question = change(level, &mut SplitMix64::new(seed));
            let [pens, pen, books, book, note, ref rest @ ..] = numbers(&question.prompt)[..]
            else {
                panic!("{}", question.prompt)
            };
            let returned = rest.first().copied().unwrap_or_default();
            let mut left = note;
            (0..pens).for_each(|_| left -= pen);
            (returned..books).for_each(|_| left -= book);
            assert_eq!(left, right(&question));
            assert!(left > 0);
        }
    }

    #[test]
    fn the_price_of_chairs_is_whole() {
        for (seed, level) in seeds(100) {
            let question = discount(level, &mut SplitMix64::new(seed));
            let [price, percent, pieces, ref voucher @ .., shipping] =
                numbers(&question.prompt)[..]
            else {
                panic!("{}", question.prompt)
            };
            assert_eq!(price * percent % 100, 0);
            let chair = price - price * percent / 100;
            let total: i64 = (0..pieces).map(|_| chair).sum();
            assert_eq!(
                total - voucher.iter().sum::<i64>() + shipping,
                right(&question)
            );
        }
    }

    #[test]
    fn eggs_are_packed_one_by_one() {
        for (seed, level) in seeds(100) {
            let question = stock(level, &mut SplitMix64::new(seed));
            let [boxes, each, ref broken_eggs @ .., carton] = numbers(&question.prompt)[..] else {
                panic!("{}", question.prompt)
            };
            let (damaged, broken) = match broken_eggs[..] {
                [damaged, broken] => (damaged, broken),
                _ => (0, 0),
            };
            let mut open = 0;
            for number in 0..boxes {
                for egg in 0..each {
                    if number >= damaged || egg >= broken {
                        open = if open + 1 == carton { 0 } else { open + 1 };
                    }
                }
            }
            assert_eq!(open, right(&question));
        }
    }

    #[test]
    fn a_bus_never_has_fewer_passengers_than_get_off() {
        for (seed, level) in seeds(200) {
            let question = bus(level, &mut SplitMix64::new(seed));
            let mut sentences = question.prompt.split(". ");
            let mut on_board = numbers(sentences.next().unwrap())[0];
            for stop in sentences.filter(|sentence| sentence.starts_with("At the")) {
                let counts = numbers(stop);
                if stop.contains("half") {
                    assert_eq!(on_board % 2, 0);
                    on_board = on_board / 2 + counts[0];
                } else {
                    assert!(counts[0] <= on_board);
                    on_board += counts[1] - counts[0];
                }
            }
            assert_eq!(on_board, right(&question));
        }
    }
}
