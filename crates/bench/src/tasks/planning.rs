//! Small planning: the fastest route, jugs, projects with dependencies, meetings in one room.

use std::collections::VecDeque;

use super::{Question, enumeration, owned};
use crate::{ExpectedAnswer, SplitMix64, TaskLevel};

pub(super) fn question(level: TaskLevel, index: usize, random: &mut SplitMix64) -> Question {
    match index % 5 {
        0 => route_minutes(level, random),
        1 => project(level, random),
        2 => meetings(level, random),
        3 => route_stops(level, random),
        _ if level == TaskLevel::Easy => ferry(random),
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

/// Roads and the fastest way from the first place to the last, which has no equal.
struct RoadMap {
    places: usize,
    roads: Vec<Road>,
    fastest: Vec<usize>,
}

/// Returns a random map; hard ones have five places and at least three ways.
fn random_map(level: TaskLevel, random: &mut SplitMix64) -> RoadMap {
    let (places, joined, chance, ways) = match level {
        TaskLevel::Easy if random.percent(50) => (3, &[(0, 1), (1, 2), (0, 2)][..], 100, 2),
        TaskLevel::Easy => (4, &[(0, 1), (1, 3), (0, 2), (2, 3)][..], 100, 2),
        TaskLevel::Hard => {
            const JOINED: [(usize, usize); 8] = [
                (0, 1),
                (0, 2),
                (1, 2),
                (1, 3),
                (2, 3),
                (3, 4),
                (1, 4),
                (2, 4),
            ];
            (5, &JOINED[..], 80, 3)
        }
    };
    loop {
        let mut roads: Vec<Road> = Vec::new();
        for (a, b) in joined {
            if random.percent(chance) {
                roads.push((*a, *b, random.range(3, 15)));
            }
        }
        random.shuffle(&mut roads);
        let paths = simple_paths(&roads, 0, places - 1);
        if let [(first, fastest), (second, _), ..] = &paths[..]
            && first < second
            && paths.len() >= ways
        {
            let fastest = fastest.clone();
            return RoadMap {
                places,
                roads,
                fastest,
            };
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

fn route_minutes(level: TaskLevel, random: &mut SplitMix64) -> Question {
    let mut names = random.sample(&PLACES, 5);
    let RoadMap { places, roads, .. } = random_map(level, random);
    names.truncate(places);
    let minutes = shortest(&roads, places, 0, places - 1).unwrap_or_default();
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

fn route_stops(level: TaskLevel, random: &mut SplitMix64) -> Question {
    let mut names = random.sample(&PLACES, 5);
    let map = random_map(level, random);
    names.truncate(map.places);
    let right: Vec<&str> = map
        .fastest
        .iter()
        .filter_map(|place| names.get(*place).copied())
        .collect();
    let (from, to) = (
        names.first().copied().unwrap_or_default(),
        names.last().copied().unwrap_or_default(),
    );
    let prompt = format!(
        "{} Which is the fastest way from {from} to {to}? End with the final answer: the places in order, from {from} \
         to {to}, separated by commas.",
        road_text(&names, &map.roads)
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

fn random_project(level: TaskLevel, random: &mut SplitMix64) -> Vec<ProjectStep> {
    let parts = match level {
        TaskLevel::Easy => 3,
        TaskLevel::Hard => 5,
    };
    (0..parts)
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

fn project(level: TaskLevel, random: &mut SplitMix64) -> Question {
    let steps = random_project(level, random);
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
    let parts = match level {
        TaskLevel::Easy => "three",
        TaskLevel::Hard => "five",
    };
    let text = format!(
        "A project has {parts} parts. Parts can be done at the same time. {} After how many days at the earliest is the \
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

fn random_meetings(level: TaskLevel, random: &mut SplitMix64) -> Vec<(i64, i64)> {
    let (groups, latest) = match level {
        TaskLevel::Easy => (random.range(3, 4), 11),
        TaskLevel::Hard => (6, 15),
    };
    (0..groups)
        .map(|_| {
            let start = random.range(8, latest);
            (start, start + random.range(1, 3))
        })
        .collect()
}

fn meetings(level: TaskLevel, random: &mut SplitMix64) -> Question {
    let list = random_meetings(level, random);
    let number = match list.len() {
        3 => "Three",
        4 => "Four",
        _ => "Six",
    };
    let shown: Vec<String> = ('A'..)
        .zip(&list)
        .map(|(name, (start, end))| format!("{name} from {start}:00 to {end}:00"))
        .collect();
    let text = format!(
        "{number} groups want the same room: {}. A group can start at the moment when another ends, but two groups can't \
         be in the room at the same time. At most how many of the groups can get the room?",
        enumeration(&shown)
    );
    Question::number(&text, most_meetings(&list))
}

fn ferry(random: &mut SplitMix64) -> Question {
    let (cars, room) = (random.range(7, 20), random.range(3, 6));
    let text = format!(
        "{cars} cars wait at a river. A ferry takes at most {room} cars at a time to the other side. How many times must \
         the ferry bring cars to the other side until all of them are there?"
    );
    Question::number(&text, (cars + room - 1) / room)
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
    use crate::tasks::tests::seeds;

    #[test]
    fn two_ways_to_find_routes_agree() {
        for (seed, level) in seeds(200) {
            let map = random_map(level, &mut SplitMix64::new(seed));
            let (roads, places) = (map.roads, map.places);
            let paths = simple_paths(&roads, 0, places - 1);
            assert_eq!(shortest(&roads, places, 0, places - 1), Some(paths[0].0));
            let time: i64 = map
                .fastest
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
        for (seed, level) in seeds(200) {
            let steps = random_project(level, &mut SplitMix64::new(seed));
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
        for (seed, level) in seeds(200) {
            let list = random_meetings(level, &mut SplitMix64::new(seed));
            let best = (0_u32..1 << list.len())
                .filter(|subset| {
                    let chosen: Vec<_> = (0..list.len())
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

    #[test]
    fn a_ferry_empties_the_bank() {
        for seed in 0..100 {
            let question = ferry(&mut SplitMix64::new(seed));
            let numbers: Vec<i64> = question
                .prompt
                .split(' ')
                .filter_map(|word| word.parse().ok())
                .collect();
            let [mut cars, room] = numbers[..] else {
                panic!("{}", question.prompt)
            };
            let mut trips = 0;
            while cars > 0 {
                (cars, trips) = (cars - room, trips + 1);
            }
            assert_eq!(trips.to_string(), question.expected.canonical());
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
