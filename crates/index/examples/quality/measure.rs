//! How good a ranking is, by the measures that are published: linear gains and a logarithmic
//! discount, as `trec_eval` counts them.

use std::collections::HashMap;

/// The grades of the documents that were judged for a question.
pub(crate) type Grades = HashMap<String, i32>;

/// What a ranking scores for one question, or on average for many.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Scores {
    /// nDCG over the first ten.
    pub(crate) ndcg: f64,
    /// The share of relevant documents within the first twenty.
    pub(crate) recall: f64,
    /// One divided by the place of the first relevant document within the first ten.
    pub(crate) mrr: f64,
}

/// Scores one ranking of documents, best first.
pub(crate) fn scores(ranking: &[String], grades: &Grades) -> Scores {
    let gain = |document: &String| grades.get(document).copied().unwrap_or(0).max(0);
    let mut best: Vec<i32> = grades
        .values()
        .copied()
        .filter(|grade| *grade > 0)
        .collect();
    best.sort_unstable_by(|a, b| b.cmp(a));
    let relevant = best.len();
    let found = ranking.iter().take(20).filter(|one| gain(one) > 0).count();
    let first = ranking.iter().take(10).position(|one| gain(one) > 0);
    let ideal = discounted_gain(best.into_iter());
    Scores {
        ndcg: discounted_gain(ranking.iter().map(gain)) / ideal.max(f64::MIN_POSITIVE),
        recall: found as f64 / relevant.max(1) as f64,
        mrr: first.map_or(0.0, |place| 1.0 / (place as f64 + 1.0)),
    }
}

fn discounted_gain(gains: impl Iterator<Item = i32>) -> f64 {
    let ranks = (2_u32..).map(f64::from);
    gains
        .take(10)
        .zip(ranks)
        .map(|(gain, rank)| f64::from(gain) / rank.log2())
        .sum()
}

/// The mean over questions.
pub(crate) fn mean(all: impl IntoIterator<Item = Scores>) -> Scores {
    let mut sum = Scores::default();
    let mut count = 0_u32;
    for scores in all {
        sum.ndcg += scores.ndcg;
        sum.recall += scores.recall;
        sum.mrr += scores.mrr;
        count += 1;
    }
    let count = f64::from(count.max(1));
    Scores {
        ndcg: sum.ndcg / count,
        recall: sum.recall / count,
        mrr: sum.mrr / count,
    }
}

/// How often questions are drawn anew.
const DRAWS: usize = 4000;

/// Where the mean of these lies for 95 of 100 samples of as many questions, drawn from the same
/// ones over and over (a bootstrap). The draws are the same each time.
pub(crate) fn interval(of_questions: &[f64]) -> (f64, f64) {
    let count = of_questions.len().max(1);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut drawn = || {
        // Marsaglia's xorshift: as random as this needs.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let place = usize::try_from(state >> 32).unwrap_or_default() % count;
        of_questions.get(place).copied().unwrap_or_default()
    };
    let mut means: Vec<f64> = (0..DRAWS)
        .map(|_| (0..count).map(|_| drawn()).sum::<f64>() / count as f64)
        .collect();
    means.sort_by(f64::total_cmp);
    let at = |place: usize| means.get(place).copied().unwrap_or_default();
    (at(DRAWS / 40), at(DRAWS - 1 - DRAWS / 40))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn the_measures_are_the_known_ones() {
        let grades = Grades::from([
            ("a".to_owned(), 2),
            ("b".to_owned(), 1),
            ("c".to_owned(), 0),
        ]);
        let ranking = |names: &str| names.chars().map(String::from).collect::<Vec<_>>();
        let perfect = scores(&ranking("abx"), &grades);
        assert!(near(perfect.ndcg, 1.0) && near(perfect.recall, 1.0) && near(perfect.mrr, 1.0));
        let half = scores(&ranking("xcb"), &grades);
        assert!(near(half.ndcg, 0.5 / (2.0 + 1.0 / 3_f64.log2())));
        assert!(near(half.recall, 0.5) && near(half.mrr, 1.0 / 3.0));
        assert!(near(scores(&[], &grades).ndcg, 0.0));
    }

    #[test]
    fn an_interval_holds_the_mean_and_narrows_with_more_questions() {
        let coins = |count: usize| (0..count).map(|n| (n % 2) as f64).collect::<Vec<_>>();
        let (low, high) = interval(&coins(100));
        // The mean of a hundred coins is within 0.1 of a half 95 times of 100.
        assert!(
            (low - 0.4).abs() < 0.02 && (high - 0.6).abs() < 0.02,
            "{low} {high}"
        );
        let (narrow_low, narrow_high) = interval(&coins(1000));
        assert!(narrow_low > low && narrow_high < high);
        assert_eq!(interval(&[0.25; 10]), (0.25, 0.25));
        assert_eq!(interval(&[]), (0.0, 0.0));
    }
}
