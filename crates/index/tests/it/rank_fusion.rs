//! The laws of fusing rankings.

use deliberate_index::{Ranking, fuse};
use proptest::prelude::*;

fn list() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::btree_set(0_u8..40, 0..20)
        .prop_map(|set| set.into_iter().collect::<Vec<_>>())
        .prop_shuffle()
}

fn fuse_lists(lists: &[(f32, &[u8])]) -> Vec<(u8, f32)> {
    let rankings: Vec<Ranking<'_, u8>> = lists
        .iter()
        .map(|(weight, items)| Ranking {
            weight: *weight,
            items,
        })
        .collect();
    let fused = fuse(&rankings, 60.0);
    fused.into_iter().map(|one| (one.item, one.score)).collect()
}

fn rank_of(list: &[u8], item: u8) -> Option<usize> {
    list.iter().position(|other| *other == item)
}

proptest! {
    #[test]
    fn a_ranking_without_weight_does_not_count(left in list(), right in list()) {
        let order: Vec<u8> = fuse_lists(&[(0.7, &left), (0.0, &right)])
            .into_iter()
            .map(|(item, _)| item)
            .collect();
        prop_assert_eq!(order, left);
    }

    #[test]
    fn the_order_of_the_rankings_does_not_show(
        left in list(), middle in list(), right in list(),
    ) {
        let one = fuse_lists(&[(0.7, &left), (0.3, &middle), (0.5, &right)]);
        let other = fuse_lists(&[(0.5, &right), (0.7, &left), (0.3, &middle)]);
        prop_assert_eq!(one, other);
    }

    #[test]
    fn nothing_is_lost_or_made_up_or_out_of_order(left in list(), right in list()) {
        let all = fuse_lists(&[(0.7, &left), (0.3, &right)]);
        let mut items: Vec<u8> = all.iter().map(|(item, _)| *item).collect();
        items.sort_unstable();
        let mut expected: Vec<u8> = left.iter().chain(&right).copied().collect();
        expected.sort_unstable();
        expected.dedup();
        prop_assert_eq!(items, expected);
        prop_assert!(all.windows(2).all(|pair| pair[0].1 >= pair[1].1));
    }

    #[test]
    fn in_both_and_no_worse_anywhere_is_never_below(left in list(), right in list()) {
        let all: Vec<u8> = fuse_lists(&[(0.7, &left), (0.3, &right)])
            .into_iter()
            .map(|(item, _)| item)
            .collect();
        for both in &left {
            let Some(at_right) = rank_of(&right, *both) else { continue };
            let at_left = rank_of(&left, *both).unwrap();
            for other in &all {
                let worse_left = rank_of(&left, *other).is_none_or(|at| at > at_left);
                let worse_right = rank_of(&right, *other).is_none_or(|at| at > at_right);
                if other != both && worse_left && worse_right {
                    prop_assert!(rank_of(&all, *both) < rank_of(&all, *other));
                }
            }
        }
    }
}

#[test]
fn the_constants_give_the_score() {
    let all = fuse_lists(&[(0.7, &[1, 2]), (0.3, &[2])]);
    assert_eq!(all[0].0, 2);
    assert!((all[0].1 - (0.7 / 62.0 + 0.3 / 61.0)).abs() < 1e-7);
    assert!((all[1].1 - 0.7 / 61.0).abs() < 1e-7);
}

#[test]
fn an_item_counts_once_in_a_ranking() {
    assert_eq!(fuse_lists(&[(1.0, &[1, 1, 1])]), fuse_lists(&[(1.0, &[1])]));
}
