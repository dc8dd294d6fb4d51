//! The `update_research_question` and `delete_research_question` tools.

use std::sync::Arc;

use deliberate_core::Change;
use deliberate_store::Pagination;
use deliberate_toolkit::{
    ArgumentIssue, ScheduleFrequency, Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    create_research_question::{
        DateRange, check_name_is_free, dedup_non_blank, default_min_relevance, unused_days_issue,
        unused_score_issue, validate_question,
    },
    default_user,
    get_research_question::QuestionView,
};
use crate::{
    ResearchServices,
    discovery::{
        MATCH, QUESTION, QuestionMatch, QuestionRepository, ResearchQuestion, VersionedQuestion,
    },
    tools::rendering::tool_meta,
};

/// The `update_research_question` tool.
pub(crate) struct UpdateResearchQuestion(pub(super) Arc<ResearchServices>);

/// The `delete_research_question` tool.
pub(crate) struct DeleteResearchQuestion;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateQuestionInput {
    question_id: String,
    #[serde(default = "default_user")]
    user_id: String,
    #[schemars(length(min = 1, max = 255))]
    name: Option<String>,
    #[schemars(length(max = 4000))]
    description: Option<String>,
    #[schemars(length(max = 50), inner(length(max = 200)), extend("x-separated" = "words"))]
    keywords: Option<Vec<String>>,
    #[schemars(length(max = 50), inner(length(max = 200)), extend("x-separated" = "words"))]
    topics: Option<Vec<String>>,
    #[schemars(length(max = 50), inner(length(max = 200)), extend("x-separated" = "families"))]
    authors: Option<Vec<String>>,
    #[schemars(length(min = 1, max = 20), inner(length(max = 100)), extend("x-separated" = "words"))]
    selected_sources: Option<Vec<String>>,
    schedule_frequency: Option<ScheduleFrequency>,
    #[schemars(length(max = 20))]
    schedule_time: Option<String>,
    #[schemars(length(max = 7), inner(range(min = 1, max = 7)))]
    schedule_days_of_week: Option<Vec<u8>>,
    #[schemars(range(min = 0.0, max = 1.0))]
    min_relevance_score: Option<f64>,
    auto_download_enabled: Option<bool>,
    #[schemars(range(min = 0.0, max = 1.0))]
    auto_download_min_score: Option<f64>,
    #[schemars(range(min = 1, max = 500))]
    max_articles_per_run: Option<u32>,
    is_active: Option<bool>,
    publication_date_range: Option<DateRange>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct UpdateQuestionOutput {
    said: String,
    /// Changed fields
    changed: Vec<String>,
    question: QuestionView,
}

impl Tool for UpdateResearchQuestion {
    type Input = UpdateQuestionInput;
    type Output = UpdateQuestionOutput;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "update_research_question",
            "Update research question",
            "Change the given fields of a saved question",
            ToolHints::IDEMPOTENT,
        )
    }

    async fn run(
        &self,
        input: UpdateQuestionInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<UpdateQuestionOutput>, ToolError> {
        let questions = QuestionRepository(call.store());
        let version = questions.get(&input.question_id, &input.user_id).await?;
        let before = version.question.clone();
        let days = input.schedule_days_of_week.clone().unwrap_or_default();
        let score = input.auto_download_min_score;
        let (mut question, changed) = apply_update(before.clone(), input);
        if changed.is_empty() {
            let issue =
                ArgumentIssue::new("arguments", "must contain at least one field to change");
            return Err(ToolError::Invalid(vec![issue]));
        }
        let idle = [
            unused_days_issue(question.schedule.frequency, &days),
            unused_score_issue(question.download_from.is_some(), score),
        ];
        validate_question(&self.0, &question, idle.into_iter().flatten())?;
        if question.name.to_lowercase() != before.name.to_lowercase() {
            check_name_is_free(call, &question).await?;
        }
        // A question that is due stays due, unless its schedule changes.
        if question.schedule != before.schedule || question.active != before.active {
            question.schedule_next(call.now());
        }
        if !has_same_query(&question, &before) {
            question.answered_by.clear();
        }
        let shown = QuestionView::from_question(&question);
        let version = VersionedQuestion {
            question,
            ..version
        };
        Ok(ToolOutput {
            output: UpdateQuestionOutput {
                said: format!(
                    "Changed: {}.\n\n{}",
                    changed.join(", "),
                    shown.render_text()
                ),
                changed: changed.into_iter().map(str::to_owned).collect(),
                question: shown,
            },
            changes: vec![version.put_change(call.now())],
            session: None,
        })
    }
}

/// Whether both questions send the same query to sources.
fn has_same_query(one: &ResearchQuestion, other: &ResearchQuestion) -> bool {
    let words = one.keywords == other.keywords && one.topics == other.topics;
    words && (one.from, one.to) == (other.from, other.to)
}

/// Applies the given fields and returns their names.
fn apply_update(
    mut question: ResearchQuestion,
    input: UpdateQuestionInput,
) -> (ResearchQuestion, Vec<&'static str>) {
    let mut names = Vec::new();
    macro_rules! set {
        ($($field:ident => $($place:ident).+),* $(,)?) => {$(
            if let Some(value) = input.$field {
                question.$($place).+ = value;
                names.push(stringify!($field));
            }
        )*};
    }
    let downloads = input.auto_download_enabled;
    let from = input.auto_download_min_score;
    let range = input.publication_date_range;
    set! {
        name => name,
        description => description,
        keywords => keywords,
        topics => topics,
        authors => authors,
        selected_sources => sources,
        schedule_frequency => schedule.frequency,
        schedule_time => schedule.time,
        schedule_days_of_week => schedule.days_of_week,
        min_relevance_score => min_relevance,
        max_articles_per_run => max_articles,
        is_active => active,
    }
    if let Some(on) = downloads {
        question.download_from =
            on.then(|| question.download_from.unwrap_or_else(default_min_relevance));
        names.push("auto_download_enabled");
    }
    if let Some(from) = from {
        question.download_from = question.download_from.map(|_| from);
        names.push("auto_download_min_score");
    }
    if let Some(range) = range {
        (question.from, question.to) = (range.start, range.end);
        names.push("publication_date_range");
    }
    let name = question.name.trim().to_owned();
    question.name = name;
    for list in [
        &mut question.keywords,
        &mut question.topics,
        &mut question.authors,
    ] {
        *list = dedup_non_blank(std::mem::take(list));
    }
    (question, names)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeleteQuestionInput {
    question_id: String,
    #[serde(default = "default_user")]
    user_id: String,
    /// Delete it and its matches instead of deactivating it
    #[serde(default)]
    hard_delete: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DeleteQuestionOutput {
    said: String,
    question_id: String,
    /// Whether it is deleted; otherwise it is inactive
    deleted: bool,
    #[serde(skip)]
    #[schemars(skip)]
    next: Option<Value>,
}

impl Tool for DeleteResearchQuestion {
    type Input = DeleteQuestionInput;
    type Output = DeleteQuestionOutput;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "delete_research_question",
            "Delete research question",
            "Deactivate a saved question, or delete it with hard_delete",
            ToolHints {
                destructive: true,
                ..ToolHints::ADDITIVE
            },
        )
    }

    async fn run(
        &self,
        input: DeleteQuestionInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<DeleteQuestionOutput>, ToolError> {
        let questions = QuestionRepository(call.store());
        let mut version = questions.get(&input.question_id, &input.user_id).await?;
        let name = version.question.name.clone();
        let mut next = None;
        let (said, changes) = if input.hard_delete {
            let said =
                format!("The question {name:?} and its matches are deleted; its papers stay.");
            let (changes, ends) = deletion_changes(call, &version).await?;
            next = (!ends).then(|| {
                json!({
                    "question_id": input.question_id,
                    "user_id": input.user_id,
                    "hard_delete": true,
                })
            });
            (said, changes)
        } else {
            version.question.active = false;
            let said = format!("The question {name:?} is inactive now; hard_delete deletes it.");
            (said, vec![version.put_change(call.now())])
        };
        Ok(ToolOutput {
            output: DeleteQuestionOutput {
                said,
                question_id: version.question.id,
                deleted: input.hard_delete,
                next,
            },
            changes,
            session: None,
        })
    }

    fn next_step(&self, output: &DeleteQuestionOutput) -> Option<Value> {
        output.next.clone()
    }
}

/// Changes that delete a question and its matches, and whether they complete the deletion: many
/// matches take several steps, during which the question is inactive.
pub(super) async fn deletion_changes(
    call: &ToolContext,
    version: &VersionedQuestion,
) -> Result<(Vec<Change>, bool), ToolError> {
    let question = &version.question;
    let gone = |kind: &str, id: String| Change::DeleteDocument {
        kind: kind.to_owned(),
        id,
        at: call.now(),
    };
    let matches = QuestionMatch::ids(
        call.store(),
        &question.id,
        Pagination::limit(Pagination::MAX),
    )
    .await?;
    let ends = matches.len() < Pagination::MAX as usize;
    let mut changes: Vec<Change> = matches.into_iter().map(|id| gone(MATCH, id)).collect();
    if ends {
        changes.push(gone(QUESTION, question.id.clone()));
    } else if question.active {
        let mut resting = version.clone();
        resting.question.active = false;
        changes.push(resting.put_change(call.now()));
    }
    Ok((changes, ends))
}
