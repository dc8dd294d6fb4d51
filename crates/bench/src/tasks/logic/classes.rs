//! Chains of "all" and "no" between invented classes.

use crate::{SplitMix64, TaskLevel, tasks::Question};

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

fn random_premises(level: TaskLevel, random: &mut SplitMix64) -> (Vec<Premise>, usize, usize) {
    if level == TaskLevel::Easy {
        let (second, class, other) = match random.below(3) {
            0 => (Premise::All(1, 2), 0, 2),
            1 => (Premise::No(1, 2), 0, 2),
            _ => random.choose(&[(Premise::All(1, 2), 2, 0), (Premise::All(2, 1), 0, 2)]),
        };
        return (vec![Premise::All(0, 1), second], class, other);
    }
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

pub(super) fn classes(level: TaskLevel, random: &mut SplitMix64) -> Question {
    let names = random.sample(&NONSENSE, 6);
    let (premises, class, other) = random_premises(level, random);
    let name = |position: usize| names.get(position).copied().unwrap_or_default();
    let statements: Vec<String> = premises
        .iter()
        .map(|premise| match *premise {
            Premise::All(inner, outer) => format!("All {} are {}.", name(inner), name(outer)),
            Premise::No(one, two) => format!("No {} are {}.", name(one), name(two)),
        })
        .collect();
    let prompt = format!(
        "{} A thing belongs to the {}. Does it belong to the {}? End with the final answer: yes, no or unknown (if \
         it does not follow).",
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
    use crate::tasks::tests::seeds;

    #[test]
    fn memberships_agree_with_every_possible_thing() {
        let mut seen = std::collections::BTreeSet::new();
        for (seed, level) in seeds(200) {
            let (premises, class, other) = random_premises(level, &mut SplitMix64::new(seed));
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
