//! `unload_article`: frees a slot of a reader's working set.

use deliberate_core::cut_to_chars;
use deliberate_toolkit::{About, Annotations, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::shown::{about, plain, told},
    slots::Slots,
};
use crate::collect::{Library, title_key};

/// `unload_article`.
pub(crate) struct UnloadArticle;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 1000))]
    article_identifier: String,
    #[schemars(length(max = 200))]
    agent_id: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    unloaded: String,
    loaded: Vec<String>,
}

impl Tool for UnloadArticle {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        about(
            "unload_article",
            "Unload an article",
            "Free a slot of the working set of read_full_article; title (or a part of it), DOI or id.",
            Annotations::MARKS,
        )
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let mut slots = Slots::of(call, input.agent_id.as_deref()).await?;
        let name = &input.article_identifier;
        let key = title_key(name);
        // Several of one title are no error here: the one that is loaded is meant.
        let known = Library(call.store()).look_up(name).await.ok().flatten();
        let id = known.map_or_else(|| name.trim().to_owned(), |it| it.kept.id);
        let all = &slots.articles;
        let exact = all
            .iter()
            .position(|it| it.article_id == id || title_key(&it.title) == key);
        let partly = || {
            let holds = |title: &str| !key.is_empty() && title_key(title).contains(&key);
            all.iter().position(|it| holds(&it.title))
        };
        let Some(at) = exact.or_else(partly) else {
            return Err(told(
                "NotLoaded",
                format!("{:?} is in no slot", cut_to_chars(name, 200)),
                slots.said(),
            ));
        };
        let slot = slots.articles.remove(at);
        Ok(Outcome {
            changes: vec![slots.put(call)],
            output: Output {
                said: format!("Unloaded **{}**. {}", plain(&slot.title), slots.said()),
                unloaded: slot.title,
                loaded: slots.articles.into_iter().map(|it| it.title).collect(),
            },
            session: None,
        })
    }
}
