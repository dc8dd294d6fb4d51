//! Logic: knights and knaves, orderings, statements of which some are true, and chains of "all" and
//! "no". Every puzzle has exactly one solution: puzzles with none or several are thrown away.

mod classes;
mod knights;

use classes::classes;
use knights::knights;

use super::{PEOPLE, Question, enumeration, owned};
use crate::{ExpectedAnswer, SplitMix64, TaskLevel};

pub(super) fn question(level: TaskLevel, index: usize, random: &mut SplitMix64) -> Question {
    match index % 4 {
        0 => ordering(level, random),
        1 => knights(level, random),
        2 => culprit(level, random),
        _ => classes(level, random),
    }
}

fn ordering(level: TaskLevel, random: &mut SplitMix64) -> Question {
    let (people, number) = match level {
        TaskLevel::Easy => (3, "three"),
        TaskLevel::Hard => (4, "four"),
    };
    let names = random.sample(&PEOPLE, people);
    let mut clues: Vec<String> = names
        .windows(2)
        .filter_map(|pair| match pair {
            [taller, smaller] if random.percent(50) => {
                Some(format!("{taller} is taller than {smaller}."))
            }
            [taller, smaller] => Some(format!("{smaller} is shorter than {taller}.")),
            _ => None,
        })
        .collect();
    random.shuffle(&mut clues);
    let mut shown = names.clone();
    random.shuffle(&mut shown);
    let prompt = format!(
        "{} have different heights. {} List all {number} from the tallest to the shortest. End with the final \
         answer: the {number} names, separated by commas.",
        enumeration(&shown),
        clues.join(" "),
    );
    let expected = ExpectedAnswer::Sequence {
        right: owned(&names),
        names: owned(&shown),
    };
    Question { prompt, expected }
}

/// What a suspect says about who did it.
#[derive(Debug, Clone, Copy)]
enum Testimony {
    Guilty(usize),
    Innocent(usize),
}

fn is_true(testimony: Testimony, culprit: usize) -> bool {
    match testimony {
        Testimony::Guilty(person) => person == culprit,
        Testimony::Innocent(person) => person != culprit,
    }
}

fn possible_culprits(testimonies: &[Testimony], true_count: usize) -> Vec<usize> {
    (0..testimonies.len())
        .filter(|culprit| {
            let truths = testimonies
                .iter()
                .filter(|testimony| is_true(**testimony, *culprit));
            truths.count() == true_count
        })
        .collect()
}

fn culprit(level: TaskLevel, random: &mut SplitMix64) -> Question {
    let (people, most_truths) = match level {
        TaskLevel::Easy => (3, 1),
        TaskLevel::Hard => (4, 2),
    };
    let names = random.sample(&PEOPLE, people);
    let (testimonies, true_count, right) = loop {
        let testimonies: Vec<Testimony> = (0..people)
            .map(|speaker| match random.below(5) {
                0 | 1 => Testimony::Guilty((speaker + 1 + random.below(people - 1)) % people),
                2 | 3 => Testimony::Innocent((speaker + 1 + random.below(people - 1)) % people),
                _ => Testimony::Innocent(speaker),
            })
            .collect();
        let true_count = 1 + random.below(most_truths);
        if let [culprit] = possible_culprits(&testimonies, true_count)[..] {
            break (testimonies, true_count, culprit);
        }
    };
    let name = |position: usize| names.get(position).copied().unwrap_or_default();
    let said = |(speaker, testimony): (usize, &Testimony)| {
        let words = match *testimony {
            Testimony::Guilty(person) => format!("{} did it.", name(person)),
            Testimony::Innocent(person) if person == speaker => "I did not do it.".to_owned(),
            Testimony::Innocent(person) => format!("{} did not do it.", name(person)),
        };
        format!("{} says: \"{words}\"", name(speaker))
    };
    let statements: Vec<String> = testimonies.iter().enumerate().map(said).collect();
    let count = if true_count == 1 {
        "Exactly one of these statements is true."
    } else {
        "Exactly two of these statements are true."
    };
    let prompt = format!(
        "One of {} broke a window. {} {count} Who broke the window? End with the final answer: the name.",
        enumeration(&names),
        statements.join(" "),
    );
    Question::choice(prompt, name(right), &names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::tests::seeds;

    fn permutations(items: &[String]) -> Vec<Vec<String>> {
        if items.is_empty() {
            return vec![Vec::new()];
        }
        let mut all = Vec::new();
        for index in 0..items.len() {
            let mut rest = items.to_vec();
            let first = rest.remove(index);
            for mut tail in permutations(&rest) {
                tail.insert(0, first.clone());
                all.push(tail);
            }
        }
        all
    }

    #[test]
    fn one_order_fits_all_clues() {
        for (seed, level) in seeds(100) {
            let question = ordering(level, &mut SplitMix64::new(seed));
            let ExpectedAnswer::Sequence { right, names } = &question.expected else {
                panic!("not a sequence")
            };
            let fits = |order: &Vec<String>| {
                question.prompt.split(". ").all(|clue| {
                    let words: Vec<&str> = clue.split(' ').collect();
                    let place = |name: &str| order.iter().position(|other| other == name).unwrap();
                    match words[..] {
                        [one, "is", "taller", "than", other] => place(one) < place(other),
                        [one, "is", "shorter", "than", other] => place(one) > place(other),
                        _ => true,
                    }
                })
            };
            let solutions: Vec<_> = permutations(names).into_iter().filter(fits).collect();
            assert_eq!(solutions, std::slice::from_ref(right));
        }
    }

    #[test]
    fn one_culprit_fits_the_number_of_true_statements() {
        for (seed, level) in seeds(200) {
            let question = culprit(level, &mut SplitMix64::new(seed));
            let ExpectedAnswer::Choice { right, options } = &question.expected else {
                panic!("not a choice")
            };
            let parts: Vec<&str> = question.prompt.split('"').collect();
            let wanted = if question.prompt.contains("Exactly one") {
                1
            } else {
                2
            };
            let fits = |culprit: &&String| {
                let truths = (0..options.len()).filter(|number| {
                    let speaker = parts[number * 2]
                        .trim_end_matches(" says: ")
                        .rsplit(' ')
                        .next()
                        .unwrap();
                    let said = parts[number * 2 + 1].replace("I did", &format!("{speaker} did"));
                    let (person, did) = said.split_once(' ').unwrap();
                    (person == culprit.as_str()) == (did == "did it.")
                });
                truths.count() == wanted
            };
            let culprits: Vec<&String> = options.iter().filter(fits).collect();
            assert_eq!(culprits, [right], "{}", question.prompt);
        }
    }
}
