//! Filters node: restricts the search to the papers that the question names. A model extracts the
//! filters; one whose value is not in the question is dropped with a note.

use deliberate_core::PartialDate;
use deliberate_llm::ModelRequest;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::{
    agentic::state::AgenticState, phrase_match::contains_phrase, prompts::PromptTemplate,
};

/// Filters that a model extracted from the question.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct QuestionFilters {
    #[schemars(range(min = 1000, max = 2999))]
    year_from: Option<i32>,
    #[schemars(range(min = 1000, max = 2999))]
    year_to: Option<i32>,
    #[schemars(length(max = 100))]
    author: Option<String>,
    #[schemars(length(max = 200))]
    journal: Option<String>,
    #[schemars(length(max = 40))]
    document_type: Option<String>,
}

const FILTERS_PROMPT: PromptTemplate = PromptTemplate {
    purpose: "filters",
    text: include_str!("../../prompts/filters.md"),
    max_tokens: 300,
    temperature: 0.0,
};

pub(crate) fn filters_request(question: &str) -> ModelRequest {
    FILTERS_PROMPT.build_request::<QuestionFilters>("filters".to_owned(), &[("question", question)])
}

const DOCUMENT_TYPES: &[&str] = &[
    "journal_article",
    "conference_paper",
    "preprint",
    "book",
    "chapter",
    "thesis",
    "report",
    "dataset",
];

pub(crate) fn run(state: &mut AgenticState) -> String {
    let Some(read) = state.question_filters.take() else {
        return "none".to_owned();
    };
    let question = state.question.to_lowercase();
    let mut applied = Vec::new();
    let mut dropped = Vec::new();
    let year = |year: Option<i32>| {
        let named = year.filter(|it| question.contains(&it.to_string()));
        (year, named.and_then(|it| PartialDate::new(it, None, None)))
    };
    let filter = &mut state.filter;
    for (name, (said, date), place) in [
        ("from", year(read.year_from), &mut filter.date_from),
        ("to", year(read.year_to), &mut filter.date_to),
    ] {
        match (said, date) {
            (_, Some(date)) => {
                applied.push(format!("{name} {date}"));
                *place = Some(date);
            }
            (Some(year), None) => dropped.push(format!("{name} {year}")),
            (None, None) => {}
        }
    }
    for (name, said, place) in [
        ("by", read.author, &mut filter.author),
        ("in", read.journal, &mut filter.venue),
    ] {
        let Some(said) = said
            .map(|it| it.trim().to_owned())
            .filter(|it| !it.is_empty())
        else {
            continue;
        };
        if contains_phrase(&question, &said) {
            applied.push(format!("{name} {said}"));
            *place = Some(said);
        } else {
            dropped.push(format!("{name} {said}"));
        }
    }
    if let Some(kind) = read.document_type.filter(|it| !it.trim().is_empty()) {
        let kind = kind.trim().to_lowercase().replace([' ', '-'], "_");
        let named = kind.split('_').any(|it| question.contains(it));
        if DOCUMENT_TYPES.contains(&kind.as_str()) && named {
            applied.push(format!("of kind {kind}"));
            filter.kind = Some(kind);
        } else {
            dropped.push(format!(
                "of kind {}",
                deliberate_core::truncate_chars(&kind, 40)
            ));
        }
    }
    if !dropped.is_empty() {
        let dropped = dropped.join(", ");
        state.note(format!(
            "Filters not applied because the question does not state them: {dropped}."
        ));
    }
    if applied.is_empty() {
        "none".to_owned()
    } else {
        applied.join(", ")
    }
}
