//! Runs the arms on the tasks, several tasks at a time.

use std::{collections::BTreeMap, io::Write as _, sync::Arc};

use deliberate_bench::{BenchTask, Verdict, verify};
use serde::Serialize;
use tokio::{sync::Semaphore, task::JoinSet};

use super::{
    answer_shape::ModeAnswer,
    arm::{ArmAnswer, BenchArm, ReferenceArm, direct_body},
    server_session::{SessionSettings, completion_text},
    usage::ModelCost,
};

/// The number of votes if no arm says how many calls it needed.
const DEFAULT_VOTES: u64 = 5;

/// The row of a table: an arm, or a vote of a certain number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ResultRow {
    Arm(BenchArm),
    VoteOf(u64),
}

impl ResultRow {
    pub(crate) fn name(self) -> String {
        match self {
            Self::Arm(arm) => arm.name().to_owned(),
            Self::VoteOf(votes) => format!("vote of {votes}"),
        }
    }
}

/// The result of one arm on one task.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct TaskResult {
    #[serde(flatten)]
    pub(crate) verdict: Verdict,
    /// Whether the answer before the reflection was right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) right_before_reflection: Option<bool>,
    #[serde(flatten)]
    pub(crate) cost: ModelCost,
    pub(crate) answer: Option<String>,
    pub(crate) text: String,
    /// Why the arm gave no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// The results of a task in every row.
pub(crate) type TaskResults = BTreeMap<ResultRow, TaskResult>;

/// Runs all arms, votes last, because their number depends on the others' calls.
pub(crate) async fn run_arms(
    settings: &SessionSettings,
    tasks: &[BenchTask],
    arms: &[BenchArm],
    concurrency: usize,
) -> anyhow::Result<Vec<TaskResults>> {
    let single: Vec<BenchArm> = arms
        .iter()
        .copied()
        .filter(|arm| *arm != BenchArm::Vote)
        .collect();
    let mut results = run_parallel(settings, tasks, concurrency, move |settings, task| {
        let single = single.clone();
        async move {
            let mut results = TaskResults::new();
            for arm in single {
                let result = run_arm(&settings, &task, arm).await?;
                show_progress(&task, arm.name(), &result);
                results.insert(ResultRow::Arm(arm), result);
            }
            Ok(results)
        }
    })
    .await?;
    if arms.contains(&BenchArm::Vote) {
        let numbers = vote_numbers(arms, &results);
        let votes = run_parallel(settings, tasks, concurrency, move |settings, task| {
            let numbers = numbers.clone();
            async move { vote(&settings, &task, &numbers).await }
        })
        .await?;
        for (all, votes) in results.iter_mut().zip(votes) {
            all.extend(votes);
        }
    }
    Ok(results)
}

/// Does the same with every task, several at a time, and returns the results in the tasks' order.
async fn run_parallel<F, R>(
    settings: &SessionSettings,
    tasks: &[BenchTask],
    concurrency: usize,
    run: F,
) -> anyhow::Result<Vec<TaskResults>>
where
    F: Fn(SessionSettings, BenchTask) -> R,
    R: Future<Output = anyhow::Result<TaskResults>> + Send + 'static,
{
    let permits = Arc::new(Semaphore::new(concurrency.max(1)));
    let mut running = JoinSet::new();
    for (index, task) in tasks.iter().enumerate() {
        let permits = Arc::clone(&permits);
        let work = run(settings.clone(), task.clone());
        running.spawn(async move {
            let _permit = permits.acquire_owned().await?;
            anyhow::Ok((index, work.await?))
        });
    }
    let mut results = Vec::new();
    while let Some(ended) = running.join_next().await {
        results.push(ended??);
    }
    results.sort_unstable_by_key(|(index, _)| *index);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

async fn run_arm(
    settings: &SessionSettings,
    task: &BenchTask,
    arm: BenchArm,
) -> anyhow::Result<TaskResult> {
    let scope = format!("{}.{}", arm.name(), task.id);
    let said = arm.run(settings, task, &scope).await;
    // An endpoint that can't be reached ends the run; a call that fails is a wrong answer.
    let cost = settings.proxy.cost(&scope)?;
    let (said, error) = match said {
        Ok(said) => (said, None),
        Err(error) => (ArmAnswer::default(), Some(format!("{error:#}"))),
    };
    let verdict = verify(task, said.last.judged_text(task)).await?;
    let right_before_reflection = match &said.before_reflection {
        Some(before) => Some(verify(task, before.judged_text(task)).await?.right),
        None => None,
    };
    Ok(TaskResult {
        verdict,
        right_before_reflection,
        cost,
        answer: said.last.answer,
        text: said.last.text,
        error,
    })
}

/// Returns how many votes have as many calls as the arms that are compared with them.
fn vote_numbers(arms: &[BenchArm], results: &[TaskResults]) -> Vec<u64> {
    let compared = arms
        .iter()
        .filter(|arm| arm.reference() == ReferenceArm::VoteOfEqualCalls);
    let mut numbers: Vec<u64> = compared.map(|arm| mean_calls(*arm, results)).collect();
    if numbers.is_empty() {
        numbers.push(DEFAULT_VOTES);
    }
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Returns the mean number of an arm's calls, rounded, at least 1.
pub(crate) fn mean_calls(arm: BenchArm, results: &[TaskResults]) -> u64 {
    let rows = results
        .iter()
        .filter_map(|row| row.get(&ResultRow::Arm(arm)));
    let calls: Vec<u64> = rows.map(|result| result.cost.calls).collect();
    let count = u64::try_from(calls.len()).unwrap_or(1).max(1);
    ((calls.iter().sum::<u64>() + count / 2) / count).max(1)
}

/// Asks directly as often as the largest vote needs, and lets the first samples vote for each number.
async fn vote(
    settings: &SessionSettings,
    task: &BenchTask,
    numbers: &[u64],
) -> anyhow::Result<TaskResults> {
    let scope = format!("vote.{}", task.id);
    let body = direct_body(settings, task);
    let mut samples: Vec<(TaskResult, u64)> = Vec::new();
    for number in 1..=numbers.last().copied().unwrap_or_default() {
        let (response, cost) = settings.proxy.complete(&scope, &body).await?;
        let said = ModeAnswer::from_text(&completion_text(&response));
        let verdict = verify(task, &said.text).await?;
        let result = TaskResult {
            verdict,
            right_before_reflection: None,
            cost,
            answer: None,
            text: said.text,
            error: None,
        };
        show_progress(task, "vote", &result);
        samples.push((result, number));
    }
    let mut results = TaskResults::new();
    for votes in numbers {
        let voters: Vec<&TaskResult> = samples
            .iter()
            .filter(|(_, number)| number <= votes)
            .map(|(sample, _)| sample)
            .collect();
        if let Some(winner) = majority(&voters) {
            let mut result = winner.clone();
            result.cost = ModelCost::default();
            for voter in &voters {
                result.cost += voter.cost;
            }
            results.insert(ResultRow::VoteOf(*votes), result);
        }
    }
    Ok(results)
}

/// Returns the first sample with the most frequent answer. Samples without an answer do not vote,
/// and of equally frequent answers the one that was given first wins.
fn majority<'a>(samples: &[&'a TaskResult]) -> Option<&'a TaskResult> {
    let count = |sample: &TaskResult| {
        let answer = &sample.verdict.extracted;
        let same = samples
            .iter()
            .filter(|other| other.verdict.extracted == *answer);
        if answer.is_some() { same.count() } else { 0 }
    };
    let most = samples.iter().map(|sample| count(sample)).max()?;
    samples.iter().copied().find(|sample| count(sample) == most)
}

fn show_progress(task: &BenchTask, arm: &str, result: &TaskResult) {
    let verdict = match (&result.error, result.verdict.right) {
        (Some(error), _) => error.lines().next().unwrap_or("failed"),
        (None, true) => "right",
        (None, false) => "wrong",
    };
    let calls = result.cost.calls;
    // Progress that can't be written is not a reason to fail.
    let _ = writeln!(
        std::io::stderr(),
        "{} {arm}: {verdict} ({calls} calls)",
        task.id
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(answer: Option<&str>) -> TaskResult {
        TaskResult {
            verdict: Verdict {
                right: false,
                extracted: answer.map(str::to_owned),
            },
            right_before_reflection: None,
            cost: ModelCost::default(),
            answer: None,
            text: String::new(),
            error: None,
        }
    }

    #[test]
    fn the_most_frequent_answer_wins_and_the_first_of_equals() {
        for (answers, winner) in [
            (&[Some("1"), Some("2"), Some("2")][..], Some("2")),
            (&[Some("1"), Some("2")], Some("1")),
            (&[None, None, Some("3")], Some("3")),
            (&[None], None),
        ] {
            let samples: Vec<TaskResult> = answers.iter().map(|answer| sample(*answer)).collect();
            let samples: Vec<&TaskResult> = samples.iter().collect();
            let found = majority(&samples).unwrap();
            assert_eq!(found.verdict.extracted.as_deref(), winner, "{answers:?}");
        }
    }
}
