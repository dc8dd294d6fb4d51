//! Knights, who tell the truth, and knaves, who lie.

use std::fmt::Write as _;

use crate::{
    SplitMix64, TaskLevel,
    tasks::{PEOPLE, Question, enumeration},
};

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
        .unwrap_or(speaker);
    match random.below(6) {
        0 | 1 => Claim::IsKnave(other),
        2 => Claim::IsKnight(other),
        3 => Claim::SameKind(other, third),
        4 => Claim::DifferentKinds(other, third),
        _ => Claim::KnightCount(random.choose(&[1, 2])),
    }
}

fn random_claims(level: TaskLevel, random: &mut SplitMix64) -> (Vec<Claim>, u32) {
    let (people, wanted) = match level {
        // One knight of two would be the answer so often that guessing pays.
        TaskLevel::Easy => (2, Some(random.choose(&[0, 1, 1, 2, 2]))),
        TaskLevel::Hard => (3, None),
    };
    loop {
        let claims: Vec<Claim> = (0..people)
            .map(|speaker| random_claim(random, speaker, people))
            .collect();
        if let [world] = possible_worlds(&claims)[..]
            && wanted.is_none_or(|knights| world.count_ones() == knights)
        {
            return (claims, world);
        }
    }
}

pub(super) fn knights(level: TaskLevel, random: &mut SplitMix64) -> Question {
    let (people, group) = match level {
        TaskLevel::Easy => (2, "two"),
        TaskLevel::Hard => (3, "three"),
    };
    let names = random.sample(&PEOPLE, people);
    let (claims, world) = random_claims(level, random);
    let name = |position: usize| names.get(position).copied().unwrap_or_default();
    let mut text = format!(
        "On an island everyone is either a knight, who always tells the truth, or a knave, who always lies. You meet {}.",
        enumeration(&names)
    );
    for (speaker, claim) in claims.iter().enumerate() {
        let pair = |one: usize, other: usize| {
            let other = if other == speaker { "I" } else { name(other) };
            format!("{} and {other} are", name(one))
        };
        let said = match *claim {
            Claim::IsKnight(other) => format!("{} is a knight.", name(other)),
            Claim::IsKnave(other) => format!("{} is a knave.", name(other)),
            Claim::SameKind(one, other) => format!("{} of the same kind.", pair(one, other)),
            Claim::DifferentKinds(one, other) => {
                format!("{} of different kinds.", pair(one, other))
            }
            Claim::KnightCount(1) => format!("Exactly one of the {group} of us is a knight."),
            Claim::KnightCount(_) if people == 2 => "Both of us are knights.".to_owned(),
            Claim::KnightCount(_) => "Exactly two of the three of us are knights.".to_owned(),
        };
        let _ = write!(text, " {} says: \"{said}\"", name(speaker));
    }
    let _ = write!(text, " How many of the {group} are knights?");
    Question::number(&text, i64::from(world.count_ones()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::tests::seeds;

    /// Reads a claim back from its sentence and evaluates it in a world given by names.
    fn said_is_true(said: &str, names: &[&str], knights: &[bool]) -> bool {
        let kinds: Vec<bool> = (0..names.len())
            .filter(|position| said.contains(names[*position]))
            .map(|position| knights[position])
            .collect();
        let count = knights.iter().filter(|knight| **knight).count();
        if said.contains("Exactly one") {
            count == 1
        } else if said.contains("Exactly two") || said.contains("Both") {
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
        for (seed, level) in seeds(200) {
            let question = knights(level, &mut SplitMix64::new(seed));
            let parts: Vec<&str> = question.prompt.split('"').collect();
            let said: Vec<&str> = parts.iter().skip(1).step_by(2).copied().collect();
            let speakers = parts.iter().step_by(2).take(said.len());
            let names: Vec<&str> = speakers
                .map(|part| part.trim_end_matches(" says: ").rsplit(' ').next().unwrap())
                .collect();
            let mut solutions = Vec::new();
            for a in [false, true] {
                for b in [false, true] {
                    for c in [false, true] {
                        let world = &[a, b, c][..names.len()];
                        if names.len() == 2 && c {
                            continue;
                        }
                        let fits = |who: usize| {
                            let said = said[who].replace(" I ", &format!(" {} ", names[who]));
                            said_is_true(&said, &names, world) == world[who]
                        };
                        if (0..names.len()).all(fits) {
                            solutions.push(world.iter().filter(|knight| **knight).count());
                        }
                    }
                }
            }
            assert_eq!(solutions.len(), 1, "{}", question.prompt);
            assert_eq!(solutions[0].to_string(), question.expected.canonical());
        }
    }
}
