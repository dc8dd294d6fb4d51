//! `move_paper_to_project`: an article is put into a collection. Nothing is moved on the disk.

use deliberate_toolkit::{About, Annotations, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::shown::{ShownArticle, about, line, plain};
use crate::collect::{
    Library,
    groups::{self, KnowledgeCollection, Named as _, checked_name},
};

/// `move_paper_to_project`.
pub(crate) struct MovePaperToProject;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 1000))]
    paper_id: String,
    /// A collection; made if it is not there
    #[schemars(length(min = 1, max = 100))]
    project_name: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    project_name: String,
    article: ShownArticle,
}

impl Tool for MovePaperToProject {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        about(
            "move_paper_to_project",
            "Put a paper into a project",
            "Put an article into a project's collection; files stay where they are.",
            Annotations::MARKS,
        )
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let name = checked_name("project_name", &input.project_name)?;
        let mut version = Library(call.store()).find(&input.paper_id).await?;
        let known = groups::look_up::<KnowledgeCollection>(call.store(), &name).await?;
        let mut changes = Vec::new();
        if known.is_none() {
            let made = KnowledgeCollection {
                name: name.clone(),
                description: None,
                created_at: call.now(),
            };
            changes.push(made.put(0, call.now()));
        }
        let name = known.map_or(name, |it| it.name);
        if !version.kept.collections.contains(&name) {
            version.kept.collections.push(name.clone());
            changes.push(version.put(call.now()));
        }
        Ok(Outcome {
            changes,
            output: Output {
                said: format!("In **{}**: {}", plain(&name), line(&version.kept)),
                project_name: name,
                article: ShownArticle::of(&version.kept),
            },
            session: None,
        })
    }
}
