//! Checks a result by working its question out again. The new solutions do not see the text that is
//! checked: a model that sees it tends to approve of it, whatever it says. Only a result that two of
//! them share replaces the original.
//!
//! The client's own model is no independent judge: it usually wrote the text in the same conversation,
//! which a round of its own for the solution would not change. So it gets the first solution and the
//! check in one round, the solution first.

use deliberate_core::Score;
use deliberate_llm::{ModelError, ModelRequest};
use deliberate_toolkit::{ToolContext, ToolError};

use super::{ImprovedText, subject::ReflectionSubject};
use crate::{
    agreement::{agreement_score, group_answers},
    answer_value::AnswerValue,
    linear::{LinearStep, step_request},
};

/// What the solutions say about the result of the subject.
pub(super) struct SolutionCheck {
    /// The solution that replaces the subject.
    pub(super) improved: Option<ImprovedText>,
    /// The share of the results that agree with the one that stands.
    pub(super) confidence: Option<Score>,
    pub(super) note: String,
    /// The weakness that the solutions show.
    pub(super) weakness: Option<String>,
    /// How many rounds of solutions there were.
    pub(super) rounds: usize,
}

/// The question and the result of a subject whose result can be compared with others.
pub(super) struct ComparableResult<'s> {
    subject: &'s ReflectionSubject,
    question: &'s str,
    answer: String,
}

impl<'s> ComparableResult<'s> {
    /// `None` if the subject answers no question, or its result is a text that two models would
    /// hardly word alike.
    pub(super) fn of_subject(subject: &'s ReflectionSubject) -> Option<Self> {
        let question = subject.question.as_deref()?;
        let answer = subject.answer.clone()?;
        AnswerValue::parse(&answer).is_comparable().then_some(Self {
            subject,
            question,
            answer,
        })
    }

    /// The request for solution number `number`, from 1.
    fn request(&self, number: usize, call: &ToolContext) -> Result<ModelRequest, ToolError> {
        let ask = step_request(self.question, &self.subject.question_past, None, call)?;
        Ok(ModelRequest {
            key: format!("solution_{number}"),
            ..ask
        })
    }

    /// Asks for solution number `number`. `None` if the model gave none that can be used.
    pub(super) async fn solve(
        &self,
        number: usize,
        call: &ToolContext,
    ) -> Result<Option<LinearStep>, ToolError> {
        let ask = self.request(number, call)?;
        match call.ask(ask, Some(LinearStep::from_plain_text)).await {
            Ok(answer) => Ok(Some(answer.value)),
            Err(ToolError::Model(error)) if error != ModelError::Pending => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Asks for more solutions until two results agree, at most one for each of `most` rounds.
    pub(super) async fn settle(
        &self,
        first: Option<LinearStep>,
        most: u8,
        call: &ToolContext,
    ) -> Result<SolutionCheck, ToolError> {
        let mut solutions: Vec<LinearStep> = first.into_iter().collect();
        let mut rounds = 1;
        while self.agreed_index(&solutions).is_none() && rounds <= usize::from(most) {
            rounds += 1;
            solutions.extend(self.solve(rounds, call).await?);
        }
        Ok(self.verdict(&solutions, rounds.min(usize::from(most))))
    }

    /// The index of the first result that another one agrees with: 0 is the original.
    fn agreed_index(&self, solutions: &[LinearStep]) -> Option<usize> {
        let groups = group_answers(self.answers(solutions));
        let group = groups.first().filter(|group| group.members.len() > 1)?;
        group.members.first().copied()
    }

    fn answers<'a>(&'a self, solutions: &'a [LinearStep]) -> impl Iterator<Item = Option<&'a str>> {
        let others = solutions.iter().map(|it| it.fields.answer.as_deref());
        std::iter::once(Some(self.answer.as_str())).chain(others)
    }

    fn verdict(&self, solutions: &[LinearStep], rounds: usize) -> SolutionCheck {
        let groups = group_answers(self.answers(solutions));
        let total = groups.iter().map(|group| group.members.len()).sum();
        let others: Vec<&str> = groups
            .iter()
            .filter(|group| !group.members.contains(&0))
            .map(|group| group.answer.as_str())
            .collect();
        let agreed = self.agreed_index(solutions);
        let improved = agreed
            .and_then(|index| index.checked_sub(1))
            .and_then(|index| solutions.get(index))
            .map(|solution| ImprovedText {
                text: solution.thought.clone(),
                answer: solution.fields.answer.clone(),
                quality: None,
            });
        let confidence = match (&agreed, total) {
            (_, ..=1) => None,
            (Some(index), _) => groups
                .iter()
                .find(|group| group.members.contains(index))
                .map(|group| agreement_score(group, total)),
            (None, _) => groups.first().map(|group| agreement_score(group, total)),
        };
        let original = self.answer.as_str();
        let note = match (&improved, agreed) {
            (Some(_), _) => format!(
                "Two independent solutions reach {}, not {original}, so the text was replaced.",
                others.first().copied().unwrap_or("another result"),
            ),
            (None, Some(_)) => format!("An independent solution also reaches {original}."),
            (None, None) if others.is_empty() => {
                "No independent solution reached a result, so the original was kept unchecked."
                    .to_owned()
            }
            (None, None) => format!(
                "Independent solutions reach other results ({}), but no two agree, so the original \
                 was kept. Take it as uncertain.",
                others.join("; "),
            ),
        };
        let weakness = (agreed != Some(0) && !others.is_empty()).then(|| {
            format!(
                "Independent solutions reach {} instead of {original}.",
                others.join(" and ")
            )
        });
        SolutionCheck {
            improved,
            confidence,
            note,
            weakness,
            rounds,
        }
    }
}
