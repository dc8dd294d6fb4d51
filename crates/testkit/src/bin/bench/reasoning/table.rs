//! The results as Markdown tables, and as JSON with every text.

use std::{collections::BTreeSet, fmt::Write as _};

use deliberate_bench::{
    BenchTask, TaskFamily,
    statistics::{paired_difference, wilson_interval},
};
use serde_json::{Value, json};

use super::{
    arm::{BenchArm, ReferenceArm},
    run::{ResultRow, TaskResult, TaskResults, mean_calls},
};

/// The results of one model.
pub(crate) struct ModelResults {
    pub(crate) label: String,
    pub(crate) seed: u64,
    pub(crate) temperature: f64,
    pub(crate) tasks: Vec<BenchTask>,
    pub(crate) results: Vec<TaskResults>,
}

impl ModelResults {
    fn rows(&self) -> BTreeSet<ResultRow> {
        self.results
            .iter()
            .flat_map(TaskResults::keys)
            .copied()
            .collect()
    }

    fn of_row(&self, row: ResultRow) -> Vec<&TaskResult> {
        self.results
            .iter()
            .filter_map(|results| results.get(&row))
            .collect()
    }

    /// Returns the row that a row is compared with, if it was run.
    fn reference(&self, row: ResultRow) -> Option<ResultRow> {
        let reference = match row {
            ResultRow::VoteOf(_) => ResultRow::Arm(BenchArm::Direct),
            ResultRow::Arm(arm) => match arm.reference() {
                ReferenceArm::None => return None,
                ReferenceArm::Arm(other) => ResultRow::Arm(other),
                ReferenceArm::VoteOfEqualCalls => ResultRow::VoteOf(mean_calls(arm, &self.results)),
            },
        };
        self.rows().contains(&reference).then_some(reference)
    }

    /// Returns the Markdown text: all arms, the families, and what reflection changed.
    pub(crate) fn markdown(&self) -> String {
        let mut text = format!(
            "### {}\n\n{} tasks, seed {}, temperature {} (direct, vote, client). Intervals are 95 %: Wilson, and a bootstrap over tasks.\n\n",
            self.label,
            self.tasks.len(),
            self.seed,
            self.temperature,
        );
        text.push_str("| arm | success | calls/task | tokens/task (prompt + completion) | against | difference in points | McNemar p | cut answers | failed calls |\n|---|---|---|---|---|---|---|---|---|\n");
        for row in self.rows() {
            self.write_row(&mut text, row);
        }
        self.write_families(&mut text);
        self.write_reflection(&mut text);
        text
    }

    fn write_row(&self, text: &mut String, row: ResultRow) {
        let results = self.of_row(row);
        let right = results.iter().filter(|result| result.verdict.right).count();
        let interval = wilson_interval(right, results.len());
        let count = results.len().max(1) as f64;
        let mean = |figure: fn(&TaskResult) -> u64| {
            results.iter().map(|result| figure(result)).sum::<u64>() as f64 / count
        };
        let failed = results
            .iter()
            .filter(|result| result.error.is_some())
            .count();
        let cut: u64 = results.iter().map(|result| result.cost.cut_answers).sum();
        let (against, difference, p) = self.comparison(row);
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "| {} | {right}/{} = {:.0} % ({:.0}–{:.0}) | {:.1} | {:.0} + {:.0} | {against} | {difference} | {p} | {cut} | {failed} |",
            row.name(),
            results.len(),
            100.0 * right as f64 / count,
            100.0 * interval.low,
            100.0 * interval.high,
            mean(|result| result.cost.calls),
            mean(|result| result.cost.prompt_tokens),
            mean(|result| result.cost.completion_tokens),
        );
    }

    /// Returns the reference's name, the paired difference and its p, as text.
    fn comparison(&self, row: ResultRow) -> (String, String, String) {
        let Some(reference) = self.reference(row) else {
            return ("–".to_owned(), "–".to_owned(), "–".to_owned());
        };
        let both = |results: &TaskResults| {
            Some((
                results.get(&row)?.verdict.right,
                results.get(&reference)?.verdict.right,
            ))
        };
        let pairs: Vec<(bool, bool)> = self.results.iter().filter_map(both).collect();
        let found = paired_difference(&pairs, self.seed);
        let difference = format!(
            "{:+.1} ({:+.1} to {:+.1}; {} won, {} lost)",
            100.0 * found.difference,
            100.0 * found.interval.low,
            100.0 * found.interval.high,
            found.only_first,
            found.only_second,
        );
        (reference.name(), difference, format!("{:.2}", found.p))
    }

    fn write_families(&self, text: &mut String) {
        text.push_str("\n| arm |");
        for family in TaskFamily::ALL {
            let _ = write!(text, " {} |", family.name());
        }
        text.push_str("\n|---|---|---|---|---|---|---|\n");
        for row in self.rows() {
            let _ = write!(text, "| {} |", row.name());
            for family in TaskFamily::ALL {
                let of_family = self
                    .tasks
                    .iter()
                    .zip(&self.results)
                    .filter(|(task, _)| task.family == family);
                let results: Vec<&TaskResult> = of_family
                    .filter_map(|(_, results)| results.get(&row))
                    .collect();
                let right = results.iter().filter(|result| result.verdict.right).count();
                let _ = write!(text, " {right}/{} |", results.len());
            }
            text.push('\n');
        }
    }

    fn write_reflection(&self, text: &mut String) {
        for row in self.rows() {
            let changes: Vec<(bool, bool)> = self
                .of_row(row)
                .iter()
                .filter_map(|result| Some((result.right_before_reflection?, result.verdict.right)))
                .collect();
            if changes.is_empty() {
                continue;
            }
            let count = |change| changes.iter().filter(|found| **found == change).count();
            let _ = writeln!(
                text,
                "\n{}: reflection made {} right answers wrong and {} wrong answers right; {} stayed right, {} stayed wrong.",
                row.name(),
                count((true, false)),
                count((false, true)),
                count((true, true)),
                count((false, false)),
            );
        }
    }

    /// Returns every task with its prompt, its right answer, and what each arm said.
    pub(crate) fn json(&self) -> Value {
        let tasks: Vec<Value> = self
            .tasks
            .iter()
            .zip(&self.results)
            .map(|(task, results)| {
                let results: serde_json::Map<String, Value> = results
                    .iter()
                    .map(|(row, result)| (row.name(), json!(result)))
                    .collect();
                json!({
                    "id": task.id,
                    "family": task.family,
                    "prompt": task.prompt,
                    "expected": task.expected.canonical(),
                    "results": results,
                })
            })
            .collect();
        json!({ "model": self.label, "seed": self.seed, "temperature": self.temperature, "tasks": tasks })
    }
}
