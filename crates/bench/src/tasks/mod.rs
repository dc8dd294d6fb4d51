//! Generators of tasks, one file or folder for each family. A generator takes turns between its kinds of
//! question, so that every kind is asked about equally often.

mod arithmetic;
mod code;
mod counting;
mod dates_times;
mod logic;
mod planning;

use crate::{BenchTask, ExpectedAnswer, SplitMix64, TaskFamily, TaskLevel};

const WHOLE_NUMBER: &str = "End with the final answer: a whole number.";

const PEOPLE: [&str; 12] = [
    "Anna", "Boris", "Clara", "David", "Elena", "Frank", "Greta", "Hugo", "Irene", "Jonas",
    "Karin", "Louis",
];

/// A prompt and its right answer.
struct Question {
    prompt: String,
    expected: ExpectedAnswer,
}

impl Question {
    fn number(text: &str, right: i64) -> Self {
        Self {
            prompt: format!("{text} {WHOLE_NUMBER}"),
            expected: ExpectedAnswer::Integer(right),
        }
    }

    fn choice(prompt: String, right: &str, options: &[&str]) -> Self {
        let expected = ExpectedAnswer::Choice {
            right: right.to_owned(),
            options: owned(options),
        };
        Self { prompt, expected }
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Joins words as a sentence does: `a, b and c`.
fn enumeration<T: AsRef<str>>(words: &[T]) -> String {
    match words {
        [] => String::new(),
        [only] => only.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

/// Generates this many tasks of each family.
pub fn generate(seed: u64, level: TaskLevel, per_family: usize) -> Vec<BenchTask> {
    let mut tasks = Vec::new();
    for (position, family) in (0..).zip(TaskFamily::ALL) {
        for (number, index) in (0..).zip(0..per_family) {
            let mut random = SplitMix64::from_parts(&[seed, position, number]);
            let question = match family {
                TaskFamily::Arithmetic => arithmetic::question(level, index, &mut random),
                TaskFamily::DatesTimes => dates_times::question(level, index, &mut random),
                TaskFamily::Logic => logic::question(level, index, &mut random),
                TaskFamily::Counting => counting::question(level, index, &mut random),
                TaskFamily::Planning => planning::question(level, index, &mut random),
                TaskFamily::Code => code::question(level, index, &mut random),
            };
            tasks.push(BenchTask {
                id: format!("{}-{seed}-{index}", family.name()),
                family,
                prompt: question.prompt,
                expected: question.expected,
            });
        }
    }
    tasks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns this many seeds for each level.
    pub(super) fn seeds(count: u64) -> impl Iterator<Item = (u64, TaskLevel)> {
        LEVELS
            .into_iter()
            .flat_map(move |level| (0..count).map(move |seed| (seed, level)))
    }

    const LEVELS: [TaskLevel; 2] = [TaskLevel::Easy, TaskLevel::Hard];

    #[test]
    fn the_same_seed_gives_the_same_tasks_whatever_their_number() {
        for level in LEVELS {
            let few = generate(5, level, 2);
            let many = generate(5, level, 7);
            assert_eq!(many.len(), 42);
            assert!(few.iter().all(|task| many.contains(task)));
            assert_ne!(generate(6, level, 2), few);
        }
    }

    #[test]
    fn easy_questions_are_shorter() {
        let [easy, hard] = LEVELS.map(|level| generate(4, level, 20));
        for family in TaskFamily::ALL {
            let length = |tasks: &[BenchTask]| -> usize {
                let tasks = tasks.iter().filter(|task| task.family == family);
                tasks.map(|task| task.prompt.len()).sum()
            };
            assert!(length(&easy) * 10 < length(&hard) * 9, "{family:?}");
        }
    }

    #[test]
    fn ids_and_prompts_are_unique() {
        for tasks in LEVELS.map(|level| generate(1, level, 10)) {
            assert_unique(&tasks);
        }
    }

    fn assert_unique(tasks: &[BenchTask]) {
        for field in [
            |task: &BenchTask| task.id.clone(),
            |task: &BenchTask| task.prompt.clone(),
        ] {
            let mut values: Vec<String> = tasks.iter().map(field).collect();
            values.sort_unstable();
            let all = values.len();
            values.dedup();
            assert_eq!(values.len(), all);
        }
    }

    #[test]
    fn every_prompt_ends_with_the_form_of_the_answer() {
        for task in LEVELS.into_iter().flat_map(|level| generate(2, level, 20)) {
            let last = task.prompt.trim_end_matches('.').rsplit(['.', '?']).next();
            let last = last.unwrap_or_default().trim_start();
            assert!(
                last.starts_with("End with the final answer: "),
                "{}",
                task.prompt
            );
        }
    }

    #[test]
    fn every_right_answer_is_accepted_in_its_canonical_form() {
        for task in LEVELS.into_iter().flat_map(|level| generate(3, level, 20)) {
            if task.family != TaskFamily::Code {
                let right = task.expected.canonical();
                assert_eq!(
                    crate::extract_final_answer(&task, &right).as_deref(),
                    Some(right.as_str()),
                    "{}",
                    task.prompt
                );
            }
        }
    }
}
