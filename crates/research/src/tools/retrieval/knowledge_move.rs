//! `move_paper_to_project`: an article goes from the collections it is in into another. Nothing is
//! moved on the disk.

use std::fmt::Write as _;

use deliberate_toolkit::{About, Annotations, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::shown::{ShownArticle, about, line, plain};
use crate::collect::{
    Kept, Library,
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
    /// Leave it in the collections it is in, too
    #[serde(default)]
    keep_others: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    project_name: String,
    /// The collections it was taken out of
    taken_from: Vec<String>,
    article: ShownArticle,
}

impl Tool for MovePaperToProject {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        about(
            "move_paper_to_project",
            "Move a paper to a project",
            "Move an article from the collections it is in to a project's; files stay where they \
             are.",
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
        let before = version.kept.collections.clone();
        let collections = &mut version.kept.collections;
        collections.retain(|it| input.keep_others || *it == name);
        if !collections.contains(&name) {
            collections.push(name.clone());
        }
        if *collections != before {
            changes.push(version.put(call.now()));
        }
        let mut taken_from = before;
        taken_from.retain(|it| !version.kept.collections.contains(it));
        Ok(Outcome {
            changes,
            output: Output {
                said: said(&name, &taken_from, &version.kept),
                project_name: name,
                taken_from,
                article: ShownArticle::of(&version.kept),
            },
            session: None,
        })
    }
}

fn said(name: &str, taken_from: &[String], kept: &Kept) -> String {
    let mut said = format!("In **{}**", plain(name));
    if !taken_from.is_empty() {
        let from: Vec<String> = taken_from.iter().map(|it| plain(it)).collect();
        let _ = write!(said, ", no longer in {}", from.join(", "));
    }
    let _ = write!(said, ": {}", line(kept));
    said
}
