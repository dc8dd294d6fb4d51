//! Small planning: the fastest route, jugs, projects with dependencies, meetings in one room.

use std::collections::VecDeque;

use super::{Question, enumeration, owned};
use crate::{ExpectedAnswer, SplitMix64};

pub(super) fn question(index: usize, random: &mut SplitMix64) -> Question {
    match index % 5 {
        0 => route_minutes(random),
        1 => project(random),
        2 => meetings(random),
        3 => route_stops(random),
        _ => jugs(random),
    }
}

const PLACES: [&str; 8] = [
    "Market", "Harbor", "Castle", "Museum", "Station", "Library", "Stadium", "Garden",
];

/// A road between two places, by their positions, and its minutes.
type Road = (usize, usize, i64);

/// Returns the shortest time between two places (Bellman and Ford).
fn shortest(roads: &[Road], places: usize, from: usize, to: usize) -> Option<i64> {
    let mut best: Vec<Option<i64>> = (0..places)
        .map(|place| (place == from).then_some(0))
        .collect();
    for _ in 0..places {
        for (a, b, minutes) in roads {
            for (start, end) in [(*a, *b), (*b, *a)] {
                let Some(Some(time)) = best.get(start).copied() else {
                    continue;
                };
                if let Some(end) = best.get_mut(end)
                    && end.is_none_or(|known| time + minutes < known)
                {
                    *end = Some(time + minutes);
                }
            }
        }
    }
    best.get(to).copied().flatten()
}

/// Returns all paths that visit no place twice, with their minutes.
fn simple_paths(roads: &[Road], from: usize, to: usize) -> Vec<(i64, Vec<usize>)> {
    let mut found = Vec::new();
    let mut open = vec![(0, vec![from])];
    while let Some((time, path)) = open.pop() {
        let last = path.last().copied().unwrap_or(from);
        if last == to {
            found.push((time, path));
            continue;
        }
        for (a, b, minutes) in roads {
            let next = if *a == last {
                *b
            } else if *b == last {
                *a
            } else {
                continue;
            };
            if !path.contains(&next) {
                let mut longer = path.clone();
                longer.push(next);
                open.push((time + minutes, longer));
            }
        }
    }
    found.sort_unstable();
    found
}

/// Returns roads between five places such that the best way from 0 to 4 is unique and has a stop.
fn random_roads(random: &mut SplitMix64) -> (Vec<Road>, Vec<usize>) {
    loop {
        let mut roads: Vec<Road> = Vec::new();
        for (a, b) in [
            (0, 1),
            (0, 2),
            (1, 2),
            (1, 3),
            (2, 3),
            (3, 4),
            (1, 4),
            (2, 4),
        ] {
            if random.percent(80) {
                roads.push((a, b, random.range(3, 15)));
            }
        }
        random.shuffle(&mut roads);
        if let [(first, path), (second, _), _, ..] = &simple_paths(&roads, 0, 4)[..]
            && first < second
        {
            return (roads.clone(), path.clone());
        }
    }
}

fn road_text(names: &[&str], roads: &[Road]) -> String {
    let name = |place: usize| names.get(place).copied().unwrap_or_default();
    let list: Vec<String> = roads
        .iter()
        .map(|(a, b, minutes)| format!("{} – {}: {minutes} minutes", name(*a), name(*b)))
        .collect();
    format!(
        "These are the only roads between some places; each can be used in both directions: {}.",
        list.join("; ")
    )
}

fn route_minutes(random: &mut SplitMix64) -> Question {
    let names = random.sample(&PLACES, 5);
    let (roads, _) = random_roads(random);
    let minutes = shortest(&roads, 5, 0, 4).unwrap_or_default();
    let (from, to) = (
        names.first().copied().unwrap_or_default(),
        names.last().copied().unwrap_or_default(),
    );
    let text = format!(
        "{} How many minutes does the fastest way from {from} to {to} take?",
        road_text(&names, &roads)
    );
    Question::number(&text, minutes)
}

fn route_stops(random: &mut SplitMix64) -> Question {
    let names = random.sample(&PLACES, 5);
    let (roads, path) = random_roads(random);
    let right: Vec<&str> = path
        .iter()
        .filter_map(|place| names.get(*place).copied())
        .collect();
    let (from, to) = (
        names.first().copied().unwrap_or_default(),
        names.last().copied().unwrap_or_default(),
    );
    let prompt = format!(
        "{} Which is the fastest way from {from} to {to}? Give only the places in order, from {from} to {to}, separated \
         by commas, as the final answer.",
        road_text(&names, &roads)
    );
    let expected = ExpectedAnswer::Sequence {
        right: owned(&right),
        names: owned(&names),
    };
    Question { prompt, expected }
}

const STEPS: [&str; 6] = [
    "foundation",
    "frame",
    "roof",
    "wiring",
    "plumbing",
    "painting",
];

/// A step of a project: its days and the steps that must be finished before, all earlier ones.
type ProjectStep = (i64, Vec<usize>);

fn random_project(random: &mut SplitMix64) -> Vec<ProjectStep> {
    (0..5)
        .map(|step| {
            let mut before: Vec<usize> = (0..step).filter(|_| random.percent(45)).collect();
            if before.is_empty() && step > 0 && random.percent(70) {
                before.push(step - 1);
            }
            (random.range(2, 9), before)
        })
        .collect()
}

fn finish(steps: &[ProjectStep]) -> i64 {
    let mut ends: Vec<i64> = Vec::new();
    for (days, before) in steps {
        let start = before
            .iter()
            .filter_map(|step| ends.get(*step))
            .max()
            .copied()
            .unwrap_or_default();
        ends.push(start + days);
    }
    ends.into_iter().max().unwrap_or_default()
}

fn project(random: &mut SplitMix64) -> Question {
    let steps = random_project(random);
    let name = |step: usize| STEPS.get(step).copied().unwrap_or_default();
    let list: Vec<String> = steps
        .iter()
        .enumerate()
        .map(|(step, (days, before))| {
            let before: Vec<String> = before
                .iter()
                .map(|step| format!("the {}", name(*step)))
                .collect();
            let condition = if before.is_empty() {
                "can start at once".to_owned()
            } else {
                format!(
                    "can start when {} {} finished",
                    enumeration(&before),
                    if before.len() == 1 { "is" } else { "are" }
                )
            };
            format!("The {} takes {days} days and {condition}.", name(step))
        })
        .collect();
    let text = format!(
        "A project has five parts. Parts can be done at the same time. {} After how many days at the earliest is the \
         whole project finished?",
        list.join(" ")
    );
    Question::number(&text, finish(&steps))
}

/// Returns the most meetings that fit into one room: always take the one that ends first.
fn most_meetings(meetings: &[(i64, i64)]) -> i64 {
    let mut by_end = meetings.to_vec();
    by_end.sort_unstable_by_key(|(_, end)| *end);
    let (mut count, mut free) = (0, 0);
    for (start, end) in by_end {
        if start >= free {
            (count, free) = (count + 1, end);
        }
    }
    count
}

fn meetings(random: &mut SplitMix64) -> Question {
    let list: Vec<(i64, i64)> = (0..6)
        .map(|_| {
            let start = random.range(8, 15);
            (start, start + random.range(1, 3))
        })
        .collect();
    let shown: Vec<String> = ('A'..)
        .zip(&list)
        .map(|(name, (start, end))| format!("{name} from {start}:00 to {end}:00"))
        .collect();
    let text = format!(
        "Six groups want the same room: {}. A group can start at the moment when another ends, but two groups can't \
         be in the room at the same time. At most how many of the groups can get the room?",
        enumeration(&shown)
    );
    Question::number(&text, most_meetings(&list))
}

/// Returns the fewest actions (fill, empty, pour) until one jug holds the target.
fn fewest_actions(large: i64, small: i64, target: i64) -> Option<i64> {
    let mut seen = vec![(0, 0)];
    let mut open = VecDeque::from([(0, 0, 0)]);
    while let Some((a, b, actions)) = open.pop_front() {
        if a == target || b == target {
            return Some(actions);
        }
        let (to_b, to_a) = (a.min(small - b), b.min(large - a));
        for next in [
            (large, b),
            (a, small),
            (0, b),
            (a, 0),
            (a - to_b, b + to_b),
            (a + to_a, b - to_a),
        ] {
            if !seen.contains(&next) {
                seen.push(next);
                open.push_back((next.0, next.1, actions + 1));
            }
        }
    }
    None
}

fn jugs(random: &mut SplitMix64) -> Question {
    let wanted = random.choose(&[2, 4, 6]);
    loop {
        let small = random.range(2, 7);
        let large = random.range(small + 1, 11);
        let target = random.range(1, large - 1);
        if fewest_actions(large, small, target) == Some(wanted) {
            let text = format!(
                "You have an empty {large}-liter jug, an empty {small}-liter jug and a tap. An action is to fill a jug \
                 completely, to empty a jug completely, or to pour from one jug into the other until the one is empty or \
                 the other is full. What is the smallest number of actions after which one of the jugs holds exactly \
                 {target} {}?",
                if target == 1 { "liter" } else { "liters" }
            );
            return Question::number(&text, wanted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ways_to_find_routes_agree() {
        for seed in 0..200 {
            let (roads, path) = random_roads(&mut SplitMix64::new(seed));
            let paths = simple_paths(&roads, 0, 4);
            assert_eq!(shortest(&roads, 5, 0, 4), Some(paths[0].0));
            let time: i64 = path
                .windows(2)
                .map(|pair| {
                    let joins = |(a, b, _): &&Road| {
                        (*a, *b) == (pair[0], pair[1]) || (*b, *a) == (pair[0], pair[1])
                    };
                    roads.iter().find(joins).unwrap().2
                })
                .sum();
            assert_eq!(time, paths[0].0);
            assert!(paths[1].0 > time);
        }
    }

    #[test]
    fn a_project_simulated_day_by_day_ends_on_time() {
        for seed in 0..200 {
            let steps = random_project(&mut SplitMix64::new(seed));
            let mut left: Vec<i64> = steps.iter().map(|(days, _)| *days).collect();
            let mut day = 0;
            while left.iter().any(|days| *days > 0) {
                let before = left.clone();
                for (step, (_, needs)) in steps.iter().enumerate() {
                    if before[step] > 0 && needs.iter().all(|need| before[*need] == 0) {
                        left[step] -= 1;
                    }
                }
                day += 1;
            }
            assert_eq!(day, finish(&steps));
        }
    }

    #[test]
    fn no_subset_of_meetings_is_larger() {
        for seed in 0..200 {
            let mut random = SplitMix64::new(seed);
            let list: Vec<(i64, i64)> = (0..6)
                .map(|_| {
                    let start = random.range(8, 15);
                    (start, start + random.range(1, 3))
                })
                .collect();
            let best = (0_u32..64)
                .filter(|subset| {
                    let chosen: Vec<_> = (0..6)
                        .filter(|bit| subset >> bit & 1 == 1)
                        .map(|bit| list[bit])
                        .collect();
                    chosen.iter().enumerate().all(|(index, one)| {
                        chosen[index + 1..]
                            .iter()
                            .all(|other| one.1 <= other.0 || other.1 <= one.0)
                    })
                })
                .map(u32::count_ones)
                .max()
                .unwrap();
            assert_eq!(i64::from(best), most_meetings(&list));
        }
    }

    /// Tries every sequence of actions up to a length.
    fn reachable(a: i64, b: i64, large: i64, small: i64, target: i64, actions: i64) -> bool {
        if a == target || b == target {
            return true;
        }
        if actions == 0 {
            return false;
        }
        let (to_b, to_a) = (a.min(small - b), b.min(large - a));
        let next = [
            (large, b),
            (a, small),
            (0, b),
            (a, 0),
            (a - to_b, b + to_b),
            (a + to_a, b - to_a),
        ];
        next.iter()
            .any(|(a, b)| reachable(*a, *b, large, small, target, actions - 1))
    }

    #[test]
    fn no_shorter_sequence_of_actions_fills_a_jug() {
        for (large, small, target) in [(5, 3, 4), (5, 3, 2), (7, 3, 1), (9, 4, 5), (8, 3, 6)] {
            let fewest = fewest_actions(large, small, target).unwrap();
            assert!(reachable(0, 0, large, small, target, fewest));
            assert!(!reachable(0, 0, large, small, target, fewest - 1));
        }
        assert_eq!(fewest_actions(6, 4, 3), None);
    }
}
