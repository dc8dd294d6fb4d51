//! Divides a token budget among the items of a list.

/// The shares of a budget: an item that needs less than an equal share leaves the rest to the
/// others. If all items fit, each gets what it needs.
pub fn equal_shares(sizes: &[usize], budget: usize) -> Vec<usize> {
    let mut order: Vec<usize> = sizes.to_vec();
    order.sort_unstable();
    let mut left = budget;
    let mut level = usize::MAX;
    for (place, size) in order.iter().enumerate() {
        let share = left / (order.len() - place);
        if *size > share {
            level = share;
            break;
        }
        left -= size;
    }
    sizes.iter().map(|size| level.min(*size)).collect()
}

/// The shares of the items that are shown, in the order of their importance. The first `always` are
/// shown in any case and divide the budget among them. The others are shown whole, up to the first
/// one that does not fit.
pub fn fit_items(sizes: &[usize], always: usize, budget: usize) -> Vec<usize> {
    let (first, others) = sizes.split_at(always.min(sizes.len()));
    let mut shares = equal_shares(first, budget);
    let mut left = budget.saturating_sub(shares.iter().sum());
    for size in others {
        let Some(rest) = left.checked_sub(*size) else {
            break;
        };
        left = rest;
        shares.push(*size);
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_items_leave_their_rest_to_large_ones() {
        assert_eq!(equal_shares(&[10, 500, 20, 400], 100), [10, 35, 20, 35]);
        assert_eq!(equal_shares(&[10, 20], 100), [10, 20]);
        assert_eq!(equal_shares(&[], 100), [0; 0]);
        assert_eq!(equal_shares(&[5], 0), [0]);
    }

    #[test]
    fn items_are_dropped_before_one_is_shortened() {
        assert_eq!(fit_items(&[40, 30, 20, 50, 1], 2, 100), [40, 30, 20]);
        assert_eq!(fit_items(&[400, 30, 20], 2, 100), [70, 30]);
        assert_eq!(fit_items(&[5], 2, 100), [5]);
    }
}
