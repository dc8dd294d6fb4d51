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

/// The share of these results that are the same as `answer`. `None` unless it and at least two of
/// them can be compared: nobody words an open result in the same way, so that few of them being the
/// same says nothing. Neither does a text that no other result has: it joins what the others say.
pub(crate) fn share_of_same_answers<'a>(
    answer: &str,
    others: impl IntoIterator<Item = &'a str>,
) -> Option<Score> {
    let answer = AnswerValue::parse(answer);
    let others: Vec<AnswerValue> = others
        .into_iter()
        .map(AnswerValue::parse)
        .filter(AnswerValue::is_comparable)
        .collect();
    if !answer.is_comparable() || others.len() < 2 {
        return None;
    }
    let same = others.iter().filter(|it| it.agrees(&answer)).count();
    if same == 0 && matches!(answer, AnswerValue::Text(_)) {
        return None;
    }
    Some(Score::clamped(round_fraction(
        same as f64 / others.len() as f64,
    )))
}

/// The groups whose results can be compared, so that two of them contradict each other.
pub(crate) fn comparable_groups(groups: &[AnswerGroup]) -> impl Iterator<Item = &AnswerGroup> {
    let is_comparable = |group: &&AnswerGroup| AnswerValue::parse(&group.answer).is_comparable();
    groups.iter().filter(is_comparable)
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

    #[test]
    fn only_comparable_results_have_a_share() {
        let share = |answer: &str, others: &[&str]| {
            share_of_same_answers(answer, others.iter().copied()).map(Score::get)
        };
        let open = "keep one shelf for what must be eaten first";
        let other = "note for two weeks what is thrown away and why";
        assert_eq!(share("42", &["41", "42.0"]), Some(0.5));
        assert_eq!(share("43", &["41", "42"]), Some(0.0));
        assert_eq!(share("Monday", &["monday", "Friday"]), Some(0.5));
        assert_eq!(share("42", &["42", open]), None, "one result to compare");
        assert_eq!(share(open, &["41", "42"]), None);
        assert_eq!(share(open, &[open, other]), None);
        assert_eq!(share("shelf and notes", &["a shelf", "notes"]), None);
    }

    #[test]
    fn open_results_are_no_comparable_group() {
        let open = "keep one shelf for what must be eaten first";
        let groups = group_answers([Some(open), Some("41"), Some("42")]);
        let answers: Vec<&str> = comparable_groups(&groups)
            .map(|group| group.answer.as_str())
            .collect();
        assert_eq!(answers, ["41", "42"]);
    }
}
