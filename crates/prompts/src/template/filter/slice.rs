//! Slices with a step, as Python takes them.

use minijinja::{
    Error, ErrorKind, Value,
    value::ValueKind::{Iterable, None as NoneKind, Seq, String as Text, Undefined},
};

/// Returns every `step`th item of a list, or character of a text, from `start` to before `stop`.
pub(super) fn slice_with_step(
    value: &Value,
    start: Option<i64>,
    stop: Option<i64>,
    step: Option<i64>,
) -> Result<Value, Error> {
    let fail = |message: String| Err(Error::new(ErrorKind::InvalidOperation, message));
    let step = step.unwrap_or(1);
    if step == 0 {
        return fail("the step of a slice is not 0".to_owned());
    }
    match value.kind() {
        Undefined | NoneKind => Ok(Value::from(Vec::<Value>::new())),
        Text => {
            let letters: Vec<char> = value.as_str().unwrap_or_default().chars().collect();
            let indices = slice_indices(letters.len(), start, stop, step);
            Ok(indices
                .filter_map(|index| letters.get(index))
                .collect::<String>()
                .into())
        }
        Seq | Iterable => {
            let items: Vec<Value> = value.try_iter()?.collect();
            let indices = slice_indices(items.len(), start, stop, step);
            Ok(indices
                .filter_map(|index| items.get(index).cloned())
                .collect::<Vec<Value>>()
                .into())
        }
        kind => fail(format!("a value of type {kind} cannot be sliced")),
    }
}

/// Returns the indices that a slice of a sequence of `length` items has.
fn slice_indices(
    length: usize,
    start: Option<i64>,
    stop: Option<i64>,
    step: i64,
) -> impl Iterator<Item = usize> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let (lowest, highest) = if step > 0 {
        (0, length)
    } else {
        (-1, length - 1)
    };
    let clamp = |bound: i64| {
        let bound = if bound < 0 { bound + length } else { bound };
        bound.clamp(lowest, highest)
    };
    let (first, end) = if step > 0 {
        (lowest, highest)
    } else {
        (highest, lowest)
    };
    let start = start.map_or(first, clamp);
    let stop = stop.map_or(end, clamp);
    let is_inside = move |index: &i64| {
        if step > 0 {
            *index < stop
        } else {
            *index > stop
        }
    };
    std::iter::successors(Some(start), move |index| index.checked_add(step))
        .take_while(is_inside)
        .filter_map(|index| usize::try_from(index).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_those_of_python() {
        for (length, start, stop, step, expected) in [
            (0, None, None, -1, vec![]),
            (3, None, None, -1, vec![2, 1, 0]),
            (3, Some(0), Some(2), -1, vec![]),
            (3, Some(9), Some(0), -1, vec![2, 1]),
            (3, Some(-9), None, -1, vec![]),
            (3, Some(-9), None, 2, vec![0, 2]),
            (4, Some(-1), Some(-4), -2, vec![3, 1]),
            (3, Some(i64::MIN), Some(i64::MAX), i64::MAX, vec![0]),
            (3, Some(i64::MAX), Some(i64::MIN), i64::MIN, vec![2]),
        ] {
            let found: Vec<usize> = slice_indices(length, start, stop, step).collect();
            assert_eq!(found, expected, "{length} {start:?} {stop:?} {step}");
        }
    }
}
