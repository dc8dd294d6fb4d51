//! The `move_paper_to_project` tool: moves an article from its collections to another one. Files
//! are not moved.

use std::fmt::Write as _;

use deliberate_toolkit::{Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    articles::{
        ArticleRecord, ArticleRepository,
        collections::{self, KnowledgeCollection, NamedDocument as _, validate_name},
    },
    tools::rendering::{ArticleView, article_line, escape_markdown, tool_meta},
};

/// The `move_paper_to_project` tool.
pub(crate) struct MovePaperToProject;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 1000))]
    paper_id: String,
    /// A collection; created if missing
    #[schemars(length(min = 1, max = 100))]
    project_name: String,
    /// Also keep it in its current collections
    #[serde(default)]
    keep_others: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    project_name: String,
    /// Collections it was removed from
    taken_from: Vec<String>,
    article: ArticleView,
}

impl Tool for MovePaperToProject {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "move_paper_to_project",
            "Move a paper to a project",
            "Move an article from its collections to a project's collection; files are not \
             moved.",
            ToolHints::IDEMPOTENT,
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let name = validate_name("project_name", &input.project_name)?;
        let mut version = ArticleRepository(call.store())
            .find(&input.paper_id)
            .await?;
        let known = collections::look_up::<KnowledgeCollection>(call.store(), &name).await?;
        let mut changes = Vec::new();
        if known.is_none() {
            let made = KnowledgeCollection {
                name: name.clone(),
                description: None,
                created_at: call.now(),
            };
            changes.push(made.put_change(0, call.now()));
        }
        let name = known.map_or(name, |it| it.name);
        let before = version.record.collections.clone();
        let collections = &mut version.record.collections;
        collections.retain(|it| input.keep_others || *it == name);
        if !collections.contains(&name) {
            collections.push(name.clone());
        }
        if *collections != before {
            changes.push(version.put_change(call.now()));
        }
        let mut taken_from = before;
        taken_from.retain(|it| !version.record.collections.contains(it));
        Ok(ToolOutput {
            changes,
            output: Output {
                said: render_text(&name, &taken_from, &version.record),
                project_name: name,
                taken_from,
                article: ArticleView::from_record(&version.record),
            },
            session: None,
        })
    }
}

fn render_text(name: &str, taken_from: &[String], record: &ArticleRecord) -> String {
    let mut said = format!("In **{}**", escape_markdown(name));
    if !taken_from.is_empty() {
        let from: Vec<String> = taken_from.iter().map(|it| escape_markdown(it)).collect();
        let _ = write!(said, ", no longer in {}", from.join(", "));
    }
    let _ = write!(said, ": {}", article_line(record));
    said
}
