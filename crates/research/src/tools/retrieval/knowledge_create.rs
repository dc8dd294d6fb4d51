//! `create_knowledge_collection`: a new named set of articles.

use deliberate_toolkit::{About, Annotations, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::shown::{about, plain, told};
use crate::collect::groups::{self, KnowledgeCollection, Named as _, checked_name};

/// `create_knowledge_collection`.
pub(crate) struct CreateKnowledgeCollection;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 100))]
    name: String,
    #[schemars(length(max = 2000))]
    description: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    name: String,
}

impl Tool for CreateKnowledgeCollection {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        about(
            "create_knowledge_collection",
            "Create a knowledge collection",
            "Make a named set for textbooks, notes or papers; search it with the scope \
             collection:<name>.",
            Annotations::ADDS,
        )
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let name = checked_name("name", &input.name)?;
        if groups::look_up::<KnowledgeCollection>(call.store(), &name)
            .await?
            .is_some()
        {
            return Err(told(
                "AlreadyThere",
                format!("there is a collection called {name:?}"),
                "Choose another name; list_knowledge_collections shows all.",
            ));
        }
        let collection = KnowledgeCollection {
            name,
            description: input.description.filter(|it| !it.trim().is_empty()),
            created_at: call.now(),
        };
        Ok(Outcome {
            changes: vec![collection.put(0, call.now())],
            output: Output {
                said: format!(
                    "**{}** is made. upload_external_knowledge and move_paper_to_project fill it.",
                    plain(&collection.name)
                ),
                name: collection.name,
            },
            session: None,
        })
    }
}
