//! Reciprocal rank fusion of several rankings. Knows nothing of the ranked items.

use std::collections::{BTreeMap, BTreeSet};

/// The minimum share of a rank, so that ranks still order items with scores near zero.
const MIN_SHARE: f64 = 0.01;

/// A ranking and its weight.
#[derive(Debug, Clone, Copy)]
pub struct Ranking<'a, T> {
    /// 0 (or less, or not a number) leaves the ranking out.
    pub weight: f32,
    /// Best first. A repeated item counts at its better rank.
    pub items: &'a [T],
}

/// A ranking with scores and its maximum weight.
#[derive(Debug, Clone, Copy)]
pub struct ScoredRanking<'a, T> {
    /// 0 (or less, or not a number) leaves the ranking out.
    pub weight: f32,
    /// Items and scores, best first. A repeated item counts at its better rank.
    pub items: &'a [(T, f32)],
}

/// An item of the fused ranking.
#[derive(Debug, Clone, PartialEq)]
pub struct FusedItem<T> {
    pub item: T,
    /// The sum of its shares of the rankings. A share is weight ÷ (constant + rank), ranks counted from
    /// 1, or less if the fusion is adaptive.
    pub score: f32,
}

/// Fuses rankings: each item scores weight ÷ (`rank_constant` + rank) in each ranking it is in.
/// Equal scores are ordered by the items themselves, so the result depends on the rankings alone.
pub fn fuse<T: Ord + Clone>(rankings: &[Ranking<'_, T>], rank_constant: f32) -> Vec<FusedItem<T>> {
    let mut shares = RankShares::new(rank_constant);
    for ranking in rankings {
        let items = ranking.items.iter().map(|item| (item, 1.0));
        shares.add(f64::from(ranking.weight), items);
    }
    shares.into_ranking()
}

/// Fuses full-text and vector results so that a side with little evidence counts less:
///
/// - A rank counts by how close its score is to the best of its side: its share is
///   weight × (score ÷ best)² ÷ (`rank_constant` + rank). A side with one clear winner supports that
///   one; a side with equal scores supports none.
/// - The vectors count by what full-text search leaves open: their weight is multiplied by
///   (1 − `covered`)², where `covered` (0 to 1) is the share of the query that the best full-text hit
///   has. If all words of the query are found, similar meanings add mostly noise; if hardly one is
///   found, they are all there is.
///
/// So no share is larger than in [`fuse`] with the same weights. Of two items that both sides rank
/// in the same order, the better one stays better, whatever the scores.
pub fn fuse_adaptive<T: Ord + Clone>(
    words: &ScoredRanking<'_, T>,
    vectors: &ScoredRanking<'_, T>,
    covered: f32,
    rank_constant: f32,
) -> Vec<FusedItem<T>> {
    let covered = f64::from(if covered.is_nan() { 0.0 } else { covered });
    let open = (1.0 - covered).clamp(MIN_SHARE, 1.0).powi(2);
    let mut shares = RankShares::new(rank_constant);
    shares.add(f64::from(words.weight), by_closeness(words.items));
    shares.add(
        f64::from(vectors.weight) * open,
        by_closeness(vectors.items),
    );
    shares.into_ranking()
}

/// Each item with the squared ratio of its score to the best.
fn by_closeness<T>(items: &[(T, f32)]) -> impl Iterator<Item = (&T, f64)> {
    let best = items.first().map_or(0.0, |(_, score)| f64::from(*score));
    let mut before = 1.0_f64;
    items.iter().map(move |(item, score)| {
        // A best score of zero or less is no measure, so the ranks alone count.
        if best > 0.0 {
            let close = (f64::from(*score) / best).clamp(MIN_SHARE, 1.0);
            // Never above the ratio before (nor NaN): ranks have precedence.
            before = before.min(close);
        }
        (item, before.powi(2))
    })
}

/// The shares of each item in each ranking.
struct RankShares<'a, T> {
    constant: f64,
    by_item: BTreeMap<&'a T, Vec<f64>>,
}

impl<'a, T: Ord + Clone> RankShares<'a, T> {
    fn new(rank_constant: f32) -> Self {
        Self {
            constant: f64::from(rank_constant.max(0.0)),
            by_item: BTreeMap::new(),
        }
    }

    /// Adds a ranking whose items count by this factor of their rank.
    fn add(&mut self, weight: f64, items: impl Iterator<Item = (&'a T, f64)>) {
        if weight.is_nan() || weight <= 0.0 {
            return;
        }
        let mut seen = BTreeSet::new();
        for (place, (item, part)) in items.enumerate() {
            if seen.insert(item) {
                let rank = place as f64 + 1.0;
                let share = weight * part / (self.constant + rank);
                self.by_item.entry(item).or_default().push(share);
            }
        }
    }

    fn into_ranking(self) -> Vec<FusedItem<T>> {
        let shares = self.by_item.into_iter();
        let mut fused: Vec<(f64, &T)> = shares
            .map(|(item, mut shares)| {
                // Summed in ascending order, so that the order of the rankings does not matter.
                shares.sort_by(f64::total_cmp);
                (shares.iter().sum(), item)
            })
            .collect();
        fused.sort_by(|(a, left), (b, right)| b.total_cmp(a).then_with(|| left.cmp(right)));
        fused
            .into_iter()
            .map(|(score, item)| FusedItem {
                item: item.clone(),
                score: narrow(score),
            })
            .collect()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a score keeps its order in 24 bits well enough to be shown"
)]
fn narrow(score: f64) -> f32 {
    score as f32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{FusedItem, Ranking, ScoredRanking, fuse, fuse_adaptive};

    type Scored = Vec<(u8, f32)>;

    /// Distinct items with arbitrary scores: negative, unordered, NaN.
    fn ranking() -> impl Strategy<Value = Scored> {
        let items = prop::collection::hash_set(0_u8..40, 0..30);
        let score = prop_oneof![20 => -5.0_f32..20.0, 1 => Just(f32::NAN)];
        (items, prop::collection::vec(score, 30))
            .prop_map(|(items, scores)| items.into_iter().zip(scores).collect())
    }

    fn adaptive(
        words: (f32, &Scored),
        vectors: (f32, &Scored),
        covered: f32,
    ) -> Vec<FusedItem<u8>> {
        let of = |weight, items| ScoredRanking { weight, items };
        fuse_adaptive(
            &of(words.0, words.1),
            &of(vectors.0, vectors.1),
            covered,
            60.0,
        )
    }

    fn items(fused: &[FusedItem<u8>]) -> Vec<u8> {
        fused.iter().map(|one| one.item).collect()
    }

    fn rank_of(ranking: &[u8], item: u8) -> Option<usize> {
        ranking.iter().position(|other| *other == item)
    }

    #[test]
    fn the_shares_are_the_documented_ones() {
        let (words, vectors) = (vec![(1, 8.0), (2, 4.0)], vec![(2, 0.5), (3, 0.4)]);
        let fused = adaptive((0.7, &words), (0.3, &vectors), 0.5);
        let expected = [
            (1, 0.7 / 61.0),
            (2, 0.7 * 0.25 / 62.0 + 0.3 * 0.25 / 61.0),
            (3, 0.3 * 0.25 * 0.64 / 62.0),
        ];
        assert_eq!(fused.len(), expected.len());
        for (one, (item, score)) in fused.iter().zip(expected) {
            assert_eq!(one.item, item);
            assert!((f64::from(one.score) - score).abs() < 1e-7, "{one:?}");
        }
    }

    #[test]
    fn the_vectors_count_by_what_the_words_leave_open() {
        let (words, vectors) = (vec![(1, 8.0), (2, 7.9)], vec![(2, 0.9), (1, 0.2)]);
        let at = |covered| items(&adaptive((0.7, &words), (0.3, &vectors), covered));
        assert_eq!(at(0.0), [2, 1]);
        assert_eq!(at(0.95), [1, 2]);
        assert_eq!(at(f32::NAN), at(0.0));
        assert_eq!(at(7.0).len(), 2);
    }

    proptest! {
        #[test]
        fn a_side_of_no_weight_is_not_there(
            words in ranking(),
            vectors in ranking(),
            covered in 0.0_f32..=1.0,
            none in prop::sample::select(vec![0.0, -1.0, f32::NAN]),
        ) {
            let names = |ranking: &Scored| ranking.iter().map(|(item, _)| *item).collect::<Vec<_>>();
            let fused = adaptive((0.7, &words), (none, &vectors), covered);
            prop_assert_eq!(items(&fused), names(&words));
            let fused = adaptive((none, &words), (0.3, &vectors), covered);
            prop_assert_eq!(items(&fused), names(&vectors));
        }

        #[test]
        fn what_both_sides_rank_higher_is_higher(
            words in ranking(),
            vectors in ranking(),
            covered in 0.0_f32..=1.0,
        ) {
            let fused = items(&adaptive((0.7, &words), (0.3, &vectors), covered));
            let rank = |side: &Scored, item| side.iter().position(|(other, _)| *other == item);
            let ahead = |side: &Scored, a, b| match (rank(side, a), rank(side, b)) {
                (Some(a), Some(b)) => a < b,
                (Some(_) | None, None) => true,
                (None, Some(_)) => false,
            };
            for a in &fused {
                for b in fused.iter().filter(|b| *b != a) {
                    if ahead(&words, *a, *b) && ahead(&vectors, *a, *b) {
                        prop_assert!(rank_of(&fused, *a) < rank_of(&fused, *b), "{} {}", a, b);
                    }
                }
            }
        }

        #[test]
        fn every_item_comes_once_and_scores_no_more_than_with_fixed_weights(
            words in ranking(),
            vectors in ranking(),
            covered in 0.0_f32..=1.0,
        ) {
            let fused = adaptive((0.7, &words), (0.3, &vectors), covered);
            let names = |ranking: &Scored| ranking.iter().map(|(item, _)| *item).collect::<Vec<_>>();
            let (words, vectors) = (names(&words), names(&vectors));
            let fixed = fuse(
                &[
                    Ranking { weight: 0.7, items: &words },
                    Ranking { weight: 0.3, items: &vectors },
                ],
                60.0,
            );
            let mut known = items(&fixed);
            let mut found = items(&fused);
            known.sort_unstable();
            found.sort_unstable();
            prop_assert_eq!(found, known);
            for one in &fused {
                let most = fixed.iter().find(|other| other.item == one.item);
                prop_assert!(most.is_some_and(|most| one.score <= most.score * 1.000_001));
            }
        }

        #[test]
        fn the_order_of_the_rankings_does_not_matter(
            rankings in prop::collection::vec((0.0_f32..2.0, ranking()), 0..5),
        ) {
            let lists: Vec<(f32, Vec<u8>)> = rankings
                .iter()
                .map(|(weight, ranking)| {
                    (*weight, ranking.iter().map(|(item, _)| *item).collect())
                })
                .collect();
            let mut sides: Vec<Ranking<'_, u8>> = lists
                .iter()
                .map(|(weight, items)| Ranking { weight: *weight, items })
                .collect();
            let forwards = fuse(&sides, 60.0);
            sides.reverse();
            prop_assert_eq!(forwards, fuse(&sides, 60.0));
        }
    }
}
