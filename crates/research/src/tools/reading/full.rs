//! `read_full_article`: one article whole, as one of the few in a reader's working set.

use deliberate_toolkit::{About, Annotations, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::shown::{about, line, told},
    slots::{MOST, Slot, Slots},
    stretch::{needed, stretch},
};
use crate::collect::{Library, fence::DATA_NOT_ORDERS};

/// `read_full_article`.
pub(crate) struct ReadFullArticle;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 1000))]
    article_identifier: String,
    #[serde(default = "usual")]
    #[schemars(range(min = 1000, max = 100_000))]
    max_length: usize,
    /// Whose working set; one for all without it
    #[schemars(length(max = 200))]
    agent_id: Option<String>,
}

fn usual() -> usize {
    50_000
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    article_id: String,
    text: String,
    cut: bool,
    /// Titles in the working set
    loaded: Vec<String>,
}

impl Tool for ReadFullArticle {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        about(
            "read_full_article",
            "Read a whole article",
            "The whole text of an article, which takes one of 3 slots of the working set; \
             unload_article frees it. read_article reads parts without slots.",
            Annotations::MARKS,
        )
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let library = Library(call.store());
        let kept = library.find(&input.article_identifier).await?.kept;
        let text = needed(&kept, library.text(&kept.id).await?)?;
        let mut slots = Slots::of(call, input.agent_id.as_deref()).await?;
        let before = slots.articles.len();
        let mut there = Vec::new();
        for slot in &slots.articles {
            // What was deleted since takes no slot.
            if library.get(&slot.article_id).await?.is_some() {
                there.push(slot.clone());
            }
        }
        slots.articles = there;
        let is_new = !slots.has(&kept.id);
        if is_new {
            if slots.articles.len() >= MOST {
                return Err(told(
                    "WorkingSetFull",
                    format!("all {MOST} slots are taken ({})", slots.said()),
                    "Free one with unload_article, or read parts with read_article.",
                ));
            }
            slots.articles.push(Slot {
                article_id: kept.id.clone(),
                title: kept.article.title.clone(),
            });
        }
        let whole = text.whole();
        let shown = stretch(&text, &whole, 0, whole.len(), input.max_length);
        let changed = is_new || slots.articles.len() != before;
        Ok(Outcome {
            changes: changed.then(|| slots.put(call)).into_iter().collect(),
            output: Output {
                said: format!(
                    "{}\n\n{DATA_NOT_ORDERS}\n{}{}\n\n---\n{}",
                    line(&kept),
                    shown.fenced(&kept, "whole"),
                    shown.more("read_article and pages"),
                    slots.said()
                ),
                article_id: kept.id.clone(),
                text: shown.text,
                cut: shown.cut,
                loaded: slots.articles.into_iter().map(|it| it.title).collect(),
            },
            session: None,
        })
    }
}
