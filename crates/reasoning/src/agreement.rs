//! Agreement between the results of several thoughts on one problem. Where nothing can be checked,
//! the result that most independent thoughts reach is the best guess, and the share that reaches it
//! is a better measure of confidence than a model's own.

use deliberate_core::Score;

use crate::{answer_value::AnswerValue, model_fields::round_fraction};

/// Thoughts with the same result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AnswerGroup {
    /// The result, as the first of them wrote it.
    pub(crate) answer: String,
    /// The indexes of the thoughts.
    pub(crate) members: Vec<usize>,
}

/// Groups thoughts by their results, largest group first; the older of equals first. Thoughts
/// without a result are in no group.
pub(crate) fn group_answers<'a>(
    answers: impl IntoIterator<Item = Option<&'a str>>,
) -> Vec<AnswerGroup> {
    let mut groups: Vec<(Vec<AnswerValue>, AnswerGroup)> = Vec::new();
    for (index, answer) in answers.into_iter().enumerate() {
        let Some(answer) = answer else { continue };
        let value = AnswerValue::parse(answer);
        // All members must agree: `2` agrees with `2 hours` and with `2 minutes`, but not with both.
        let agrees = |known: &[AnswerValue]| known.iter().all(|it| it.agrees(&value));
        match groups.iter_mut().find(|(known, _)| agrees(known)) {
            Some((known, group)) => {
                known.push(value);
                group.members.push(index);
            }
            None => groups.push((
                vec![value],
                AnswerGroup {
                    answer: answer.trim().to_owned(),
                    members: vec![index],
                },
            )),
        }
    }
    let mut groups: Vec<AnswerGroup> = groups.into_iter().map(|(_, group)| group).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.members.len()));
    groups
}

/// The group with the result that more thoughts reach than any other; at least two must agree.
pub(crate) fn plurality(groups: &[AnswerGroup]) -> Option<&AnswerGroup> {
    let size = |group: &AnswerGroup| group.members.len();
    let second = groups.get(1).map_or(0, size);
    groups.first().filter(|it| size(it) > second.max(1))
}

/// The share of thoughts that agree.
pub(crate) fn agreement_score(group: &AnswerGroup, total: usize) -> Score {
    Score::clamped(round_fraction(
        group.members.len() as f64 / total.max(1) as f64,
    ))
}

/// Tells whether two results are the same, whatever their form.
pub(crate) fn same_answer(one: &str, other: &str) -> bool {
    AnswerValue::parse(one).agrees(&AnswerValue::parse(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_grouped_whatever_their_form() {
        let answers = [
            Some("41"),
            Some("**1,200**"),
            None,
            Some("1200.0"),
            Some(" 1200. "),
        ];
        let groups = group_answers(answers);
        assert_eq!(groups.len(), 2);
        assert_eq!(groups[0].members, [1, 3, 4]);
        assert_eq!(groups[0].answer, "**1,200**");
        assert_eq!(plurality(&groups), Some(&groups[0]));
        let tied = group_answers([Some("a"), Some("b"), Some("a"), Some("b")]);
        assert_eq!(plurality(&tied), None);
        assert_eq!(plurality(&group_answers([Some("a"), None])), None);
        assert!(same_answer("Yes.", "yes") && !same_answer("x < 3", "x > 3"));
        assert!(!same_answer("1, 2", "12"));
    }
}
