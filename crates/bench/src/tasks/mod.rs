//! Generators of tasks, one file for each family. A generator takes turns between its kinds of
//! question, so that every kind is asked about equally often.

mod arithmetic;
mod code;
mod counting;
mod dates_times;
mod logic;
mod planning;

use crate::{BenchTask, ExpectedAnswer, SplitMix64, TaskFamily};

const WHOLE_NUMBER: &str = "Give only a whole number as the final answer.";

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
pub fn generate(seed: u64, per_family: usize) -> Vec<BenchTask> {
    let mut tasks = Vec::new();
    for (position, family) in (0..).zip(TaskFamily::ALL) {
        for (number, index) in (0..).zip(0..per_family) {
            let mut random = SplitMix64::from_parts(&[seed, position, number]);
            let question = match family {
                TaskFamily::Arithmetic => arithmetic::question(index, &mut random),
                TaskFamily::DatesTimes => dates_times::question(index, &mut random),
                TaskFamily::Logic => logic::question(index, &mut random),
                TaskFamily::Counting => counting::question(index, &mut random),
                TaskFamily::Planning => planning::question(index, &mut random),
                TaskFamily::Code => code::question(index, &mut random),
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

    #[test]
    fn the_same_seed_gives_the_same_tasks_whatever_their_number() {
        let few = generate(5, 2);
        let many = generate(5, 7);
        assert_eq!(many.len(), 42);
        assert!(few.iter().all(|task| many.contains(task)));
        assert_ne!(generate(6, 2), few);
    }

    #[test]
    fn ids_and_prompts_are_unique() {
        let tasks = generate(1, 10);
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
        for task in generate(2, 20) {
            let last = task
                .prompt
                .trim_end_matches('.')
                .rsplit(['.', '?', ':'])
                .next();
            let last = last.unwrap_or_default();
            assert!(last.contains("final answer"), "{}", task.prompt);
        }
    }

    #[test]
    fn every_right_answer_is_accepted_in_its_canonical_form() {
        for task in generate(3, 20) {
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
