//! The `unload_article` tool: frees a slot of the working set.

use deliberate_core::truncate_chars;
use deliberate_toolkit::{
    ErrorCode, Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::working_set::{WorkingSet, WorkingSetSlot};
use crate::{
    articles::{ArticleRepository, title_key},
    tools::rendering::{custom_error, escape_markdown, tool_meta},
};

/// The `unload_article` tool.
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

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "unload_article",
            "Unload an article",
            "Free a slot of the working set of read_full_article; title (or a part of it), DOI or id.",
            ToolHints::IDEMPOTENT,
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let mut slots = WorkingSet::load(call, input.agent_id.as_deref()).await?;
        let name = &input.article_identifier;
        let key = title_key(name);
        // Several articles with the title are no error here: the loaded one is meant.
        let known = ArticleRepository(call.store())
            .look_up(name)
            .await
            .ok()
            .flatten();
        let id = known.map_or_else(|| name.trim().to_owned(), |it| it.record.id);
        let shown = truncate_chars(name, 200);
        let at = match matching_slots(&slots.articles, &id, &key).as_slice() {
            [at] => *at,
            [] => {
                let message = format!("{shown:?} is not loaded");
                return Err(custom_error(
                    ErrorCode::NotLoaded,
                    message,
                    slots.render_text(),
                ));
            }
            several => {
                let several = several.iter().filter_map(|at| slots.articles.get(*at));
                let named =
                    several.map(|it| format!("{} ({})", escape_markdown(&it.title), it.article_id));
                let named: Vec<String> = named.collect();
                return Err(custom_error(
                    ErrorCode::Ambiguous,
                    format!("{shown:?} matches {} loaded articles", named.len()),
                    format!("Give the id of one: {}.", named.join("; ")),
                ));
            }
        };
        let slot = slots.articles.remove(at);
        Ok(ToolOutput {
            changes: vec![slots.put_change(call)],
            output: Output {
                said: format!(
                    "Unloaded **{}**. {}",
                    escape_markdown(&slot.title),
                    slots.render_text()
                ),
                unloaded: slot.title,
                loaded: slots.articles.into_iter().map(|it| it.title).collect(),
            },
            session: None,
        })
    }
}

/// The matching slots: the one with the id, otherwise those with the title, otherwise those whose
/// titles contain it.
fn matching_slots(slots: &[WorkingSetSlot], id: &str, key: &str) -> Vec<usize> {
    let those = |is: &dyn Fn(&WorkingSetSlot) -> bool| {
        let all = slots.iter().enumerate().filter(|(_, it)| is(it));
        all.map(|(at, _)| at).collect::<Vec<usize>>()
    };
    let of_id = |it: &WorkingSetSlot| it.article_id == id;
    let titled = |it: &WorkingSetSlot| title_key(&it.title) == key;
    let holds = |it: &WorkingSetSlot| !key.is_empty() && title_key(&it.title).contains(key);
    let ways: [&dyn Fn(&WorkingSetSlot) -> bool; 3] = [&of_id, &titled, &holds];
    let mut found = ways.into_iter().map(those);
    found.find(|it| !it.is_empty()).unwrap_or_default()
}
