//! Logic: knights and knaves, orderings, statements of which some are true, and chains of "all" and
//! "no". Every puzzle has exactly one solution: puzzles with none or several are thrown away.

use super::{PEOPLE, Question, enumeration, owned};
use crate::{ExpectedAnswer, SplitMix64};

pub(super) fn question(index: usize, random: &mut SplitMix64) -> Question {
    match index % 4 {
        0 => ordering(random),
        1 => knights(random),
        2 => culprit(random),
        _ => classes(random),
    }
}

/// What a knight or a knave says. The numbers are positions in the list of people.
#[derive(Debug, Clone, Copy)]
enum Claim {
    IsKnight(usize),
    IsKnave(usize),
    SameKind(usize, usize),
    DifferentKinds(usize, usize),
    KnightCount(u32),
}

fn is_knight(world: u32, person: usize) -> bool {
    world >> person & 1 == 1
}

fn holds(claim: Claim, world: u32) -> bool {
    match claim {
        Claim::IsKnight(person) => is_knight(world, person),
        Claim::IsKnave(person) => !is_knight(world, person),
        Claim::SameKind(one, other) => is_knight(world, one) == is_knight(world, other),
        Claim::DifferentKinds(one, other) => is_knight(world, one) != is_knight(world, other),
        Claim::KnightCount(count) => world.count_ones() == count,
    }
}

/// Returns the worlds, as bit masks of knights, in which knights speak the truth and knaves lie.
fn possible_worlds(claims: &[Claim]) -> Vec<u32> {
    (0..1 << claims.len())
        .filter(|world| {
            let fits = |(person, claim): (usize, &Claim)| {
                holds(*claim, *world) == is_knight(*world, person)
            };
            claims.iter().enumerate().all(fits)
        })
        .collect()
}

fn random_claim(random: &mut SplitMix64, speaker: usize, people: usize) -> Claim {
    let other = (speaker + 1 + random.below(people - 1)) % people;
    let third = (0..people)
        .find(|person| *person != speaker && *person != other)
        .unwrap_or(other);
    match random.below(6) {
        0 | 1 => Claim::IsKnave(other),
        2 => Claim::IsKnight(other),
        3 => Claim::SameKind(other, third),
        4 => Claim::DifferentKinds(other, third),
        _ => Claim::KnightCount(random.choose(&[1, 2])),
    }
}

fn random_claims(random: &mut SplitMix64) -> (Vec<Claim>, u32) {
    loop {
        let claims: Vec<Claim> = (0..3)
            .map(|speaker| random_claim(random, speaker, 3))
            .collect();
        if let [world] = possible_worlds(&claims)[..] {
            return (claims, world);
        }
    }
}

fn knights(random: &mut SplitMix64) -> Question {
    let names = random.sample(&PEOPLE, 3);
    let (claims, world) = random_claims(random);
    let name = |position: usize| names.get(position).copied().unwrap_or_default();
    let mut text = format!(
        "On an island everyone is either a knight, who always tells the truth, or a knave, who always lies. You meet {}.",
        enumeration(&names)
    );
    for (speaker, claim) in claims.iter().enumerate() {
        let said = match *claim {
            Claim::IsKnight(other) => format!("{} is a knight.", name(other)),
            Claim::IsKnave(other) => format!("{} is a knave.", name(other)),
            Claim::SameKind(one, other) => {
                format!("{} and {} are of the same kind.", name(one), name(other))
            }
            Claim::DifferentKinds(one, other) => {
                format!("{} and {} are of different kinds.", name(one), name(other))
            }
            Claim::KnightCount(1) => "Exactly one of the three of us is a knight.".to_owned(),
            Claim::KnightCount(_) => "Exactly two of the three of us are knights.".to_owned(),
        };
        text.push_str(&format!(" {} says: \"{said}\"", name(speaker)));
    }
    text.push_str(" How many of the three are knights?");
    Question::number(&text, i64::from(world.count_ones()))
}

fn ordering(random: &mut SplitMix64) -> Question {
    let names = random.sample(&PEOPLE, 4);
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
        "{} have different heights. {} List all four from the tallest to the shortest. Give only the four names, \
         separated by commas, as the final answer.",
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

fn culprit(random: &mut SplitMix64) -> Question {
    let names = random.sample(&PEOPLE, 4);
    let (testimonies, true_count, right) = loop {
        let testimonies: Vec<Testimony> = (0..4)
            .map(|speaker| match random.below(5) {
                0 | 1 => Testimony::Guilty((speaker + 1 + random.below(3)) % 4),
                2 | 3 => Testimony::Innocent((speaker + 1 + random.below(3)) % 4),
                _ => Testimony::Innocent(speaker),
            })
            .collect();
        let true_count = 1 + random.below(2);
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
        "One of {} broke a window. {} {count} Who broke the window? Give only the name as the final answer.",
        enumeration(&names),
        statements.join(" "),
    );
    Question::choice(prompt, name(right), &names)
}

const NONSENSE: [&str; 8] = [
    "wugs", "daxes", "blickets", "feps", "zorps", "tomas", "lumps", "quills",
];

/// A statement about two classes, by their positions in the list of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Premise {
    All(usize, usize),
    No(usize, usize),
}

fn closure(premises: &[Premise], from: usize) -> Vec<usize> {
    let mut reached = vec![from];
    let mut position = 0;
    while let Some(class) = reached.get(position).copied() {
        for premise in premises {
            if let Premise::All(inner, outer) = *premise
                && inner == class
                && !reached.contains(&outer)
            {
                reached.push(outer);
            }
        }
        position += 1;
    }
    reached
}

/// Returns whether every member of a class is in another: `yes`, `no` if none is, else `unknown`.
fn membership(premises: &[Premise], class: usize, other: usize) -> &'static str {
    let above = closure(premises, class);
    if above.contains(&other) {
        return "yes";
    }
    let above_other = closure(premises, other);
    let excluded = premises.iter().any(|premise| match *premise {
        Premise::No(one, two) => {
            above.contains(&one) && above_other.contains(&two)
                || above.contains(&two) && above_other.contains(&one)
        }
        Premise::All(..) => false,
    });
    if excluded { "no" } else { "unknown" }
}

fn random_premises(random: &mut SplitMix64) -> (Vec<Premise>, usize, usize) {
    // A chain 0 ⊂ 1 ⊂ 2 ⊂ 3, a second chain 4 ⊂ 5, and for some questions a wall between them.
    let mut premises = vec![
        Premise::All(0, 1),
        Premise::All(1, 2),
        Premise::All(2, 3),
        Premise::All(4, 5),
        Premise::No(5, random.choose(&[2, 3])),
    ];
    let (class, other) = match random.below(3) {
        0 => random.choose(&[(0, 2), (0, 3), (1, 3)]),
        1 => random.choose(&[(0, 4), (4, 0), (1, 4), (4, 1), (0, 5)]),
        _ => random.choose(&[(3, 0), (2, 0), (3, 1), (5, 4)]),
    };
    random.shuffle(&mut premises);
    (premises, class, other)
}

fn classes(random: &mut SplitMix64) -> Question {
    let names = random.sample(&NONSENSE, 6);
    let (premises, class, other) = random_premises(random);
    let name = |position: usize| names.get(position).copied().unwrap_or_default();
    let statements: Vec<String> = premises
        .iter()
        .map(|premise| match *premise {
            Premise::All(inner, outer) => format!("All {} are {}.", name(inner), name(outer)),
            Premise::No(one, two) => format!("No {} are {}.", name(one), name(two)),
        })
        .collect();
    let prompt = format!(
        "{} A thing belongs to the {}. Does it belong to the {}? Give only yes, no or unknown (if it does not follow) as \
         the final answer.",
        statements.join(" "),
        name(class),
        name(other),
    );
    Question::choice(
        prompt,
        membership(&premises, class, other),
        &["yes", "no", "unknown"],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a claim back from its sentence and evaluates it in a world given by names.
    fn said_is_true(said: &str, names: &[&str], knights: &[bool]) -> bool {
        let kinds: Vec<bool> = (0..3)
            .filter(|position| said.contains(names[*position]))
            .map(|position| knights[position])
            .collect();
        let count = knights.iter().filter(|knight| **knight).count();
        if said.contains("Exactly one") {
            count == 1
        } else if said.contains("Exactly two") {
            count == 2
        } else if said.contains("the same kind") {
            kinds[0] == kinds[1]
        } else if said.contains("different kinds") {
            kinds[0] != kinds[1]
        } else if said.contains("knave") {
            !kinds[0]
        } else {
            kinds[0]
        }
    }

    #[test]
    fn knights_read_from_the_text_have_one_solution() {
        for seed in 0..200 {
            let question = knights(&mut SplitMix64::new(seed));
            let parts: Vec<&str> = question.prompt.split('"').collect();
            let said = [parts[1], parts[3], parts[5]];
            let names: Vec<&str> = [parts[0], parts[2], parts[4]]
                .iter()
                .map(|part| part.trim_end_matches(" says: ").rsplit(' ').next().unwrap())
                .collect();
            let mut solutions = Vec::new();
            for a in [false, true] {
                for b in [false, true] {
                    for c in [false, true] {
                        let world = [a, b, c];
                        if (0..3).all(|who| said_is_true(said[who], &names, &world) == world[who]) {
                            solutions.push(world.iter().filter(|knight| **knight).count());
                        }
                    }
                }
            }
            assert_eq!(solutions.len(), 1, "{}", question.prompt);
            assert_eq!(solutions[0].to_string(), question.expected.canonical());
        }
    }

    fn permutations(items: Vec<String>) -> Vec<Vec<String>> {
        if items.is_empty() {
            return vec![Vec::new()];
        }
        let mut all = Vec::new();
        for index in 0..items.len() {
            let mut rest = items.clone();
            let first = rest.remove(index);
            for mut tail in permutations(rest) {
                tail.insert(0, first.clone());
                all.push(tail);
            }
        }
        all
    }

    #[test]
    fn one_order_fits_all_clues() {
        for seed in 0..100 {
            let question = ordering(&mut SplitMix64::new(seed));
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
            let solutions: Vec<_> = permutations(names.clone())
                .into_iter()
                .filter(fits)
                .collect();
            assert_eq!(solutions, [right.clone()]);
        }
    }

    #[test]
    fn one_culprit_fits_the_number_of_true_statements() {
        for seed in 0..200 {
            let question = culprit(&mut SplitMix64::new(seed));
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
                let truths = (0..4).filter(|number| {
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

    #[test]
    fn memberships_agree_with_every_possible_thing() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let (premises, class, other) = random_premises(&mut SplitMix64::new(seed));
            // A thing is a set of classes; possible are those that break no premise.
            let possible = (0_u32..64).filter(|thing| {
                premises.iter().all(|premise| match *premise {
                    Premise::All(inner, outer) => {
                        thing >> inner & 1 == 0 || thing >> outer & 1 == 1
                    }
                    Premise::No(one, two) => thing >> one & 1 == 0 || thing >> two & 1 == 0,
                })
            });
            let members: Vec<bool> = possible
                .filter(|thing| thing >> class & 1 == 1)
                .map(|thing| thing >> other & 1 == 1)
                .collect();
            let expected = match (members.contains(&true), members.contains(&false)) {
                (true, false) => "yes",
                (false, true) => "no",
                _ => "unknown",
            };
            assert_eq!(membership(&premises, class, other), expected);
            seen.insert(expected);
        }
        assert_eq!(seen.len(), 3);
    }
}
