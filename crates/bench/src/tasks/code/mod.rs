//! Code: a small Python function with tests that the model does not see. The expected values are
//! computed here, by the same function in Rust.

mod easy;
mod hard;
#[cfg(test)]
mod hard_solutions;

use std::fmt::Write as _;

use super::Question;
use crate::{ExpectedAnswer, SplitMix64, TaskLevel};

const TEST_CASES: usize = 8;

pub(super) fn question(level: TaskLevel, index: usize, random: &mut SplitMix64) -> Question {
    match level {
        TaskLevel::Easy => easy::question(index, random),
        TaskLevel::Hard => hard::question(index, random),
    }
}

/// A call of the function: its arguments and the value to return, both as Python source.
type TestCase = (String, String);

fn code_question(
    name: &str,
    description: &str,
    example: &TestCase,
    cases: &[TestCase],
) -> Question {
    let (arguments, value) = example;
    let prompt = format!(
        "Write a Python function {description} For example, {name}({arguments}) returns {value}. End with the final answer: the \
         function, in one Python code block."
    );
    let mut tests = String::new();
    for (arguments, value) in cases.iter().chain([example]) {
        let _ = writeln!(tests, "assert {name}({arguments}) == {value}");
    }
    Question {
        prompt,
        expected: ExpectedAnswer::PythonTests(tests),
    }
}

fn cases(mut case: impl FnMut() -> TestCase) -> Vec<TestCase> {
    (0..TEST_CASES).map(|_| case()).collect()
}

fn random_text(random: &mut SplitMix64, letters: &[char], length: i64) -> String {
    (0..length)
        .filter_map(|_| letters.get(random.below(letters.len())))
        .collect()
}

fn random_list(
    random: &mut SplitMix64,
    shortest: i64,
    longest: i64,
    low: i64,
    high: i64,
) -> Vec<i64> {
    let length = random.range(shortest, longest);
    (0..length).map(|_| random.range(low, high)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::tests::seeds;

    #[tokio::test]
    async fn solutions_written_in_python_pass_the_tests() {
        for (seed, level) in seeds(3) {
            let solution = match level {
                TaskLevel::Easy => easy::tests::solution,
                TaskLevel::Hard => hard_solutions::solution,
            };
            for index in 0..10 {
                let mut random = SplitMix64::from_parts(&[seed, index]);
                let question = question(level, usize::try_from(index).unwrap(), &mut random);
                let task = crate::BenchTask {
                    id: index.to_string(),
                    family: crate::TaskFamily::Code,
                    prompt: question.prompt,
                    expected: question.expected,
                };
                let reply = format!(
                    "Here it is:\n```python\n{}\n```\nDone.",
                    solution(&task.prompt)
                );
                let verdict = crate::verify(&task, &reply).await.unwrap();
                assert!(
                    verdict.right,
                    "{}\n{reply}\n{:?}",
                    task.prompt, task.expected
                );
                let wrong = reply.replace("return ", "return None or not ");
                let verdict = crate::verify(&task, &wrong).await.unwrap();
                assert!(!verdict.right, "{wrong}");
            }
        }
    }
}
