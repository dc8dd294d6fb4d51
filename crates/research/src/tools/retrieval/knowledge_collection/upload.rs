//! The `upload_external_knowledge` tool: reads a file that is not a paper into a collection.

use std::sync::Arc;

use deliberate_toolkit::{Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ResearchServices,
    articles::{
        ArticleCategory,
        collections::{self, KnowledgeCollection, NamedDocument as _, validate_name},
    },
    ingest::{IngestRequest, batch_job::ProgressShare, path_policy::open_readable_file},
    tools::rendering::{article_line, escape_markdown, tool_meta, with_notes},
};

/// The `upload_external_knowledge` tool.
pub(crate) struct UploadExternalKnowledge(pub(crate) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// PDF, Markdown, text, HTML, EPUB or DOCX
    #[schemars(length(min = 1, max = 4096))]
    file_path: String,
    /// Created if missing
    #[schemars(length(min = 1, max = 100))]
    collection_name: String,
    #[schemars(length(max = 500))]
    title: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    article_id: String,
    /// added, joined or unchanged
    outcome: &'static str,
    characters: u64,
    pages: u32,
    notes: Vec<String>,
}

impl Tool for UploadExternalKnowledge {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "upload_external_knowledge",
            "Upload external knowledge",
            "Read a textbook, notes or another file into a knowledge collection; search it with \
             search_external_knowledge.",
            ToolHints::IDEMPOTENT,
        )
    }

    fn may_run_in_background(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let name = validate_name("collection_name", &input.collection_name)?;
        let known = collections::look_up::<KnowledgeCollection>(call.store(), &name).await?;
        let made = known.is_none().then(|| KnowledgeCollection {
            name: name.clone(),
            description: None,
            created_at: call.now(),
        });
        let name = known.map_or(name, |it| it.name);
        let title = input.title.filter(|it| !it.trim().is_empty());
        let ingest = IngestRequest {
            file: open_readable_file(self.0.options(), "file_path", &input.file_path).await?,
            skip_existing: true,
            category: ArticleCategory::External,
            collection: Some(name.clone()),
            title: title.map(|it| it.split_whitespace().collect::<Vec<_>>().join(" ")),
            article: None,
            share: ProgressShare::FULL,
        };
        let ingested = ingest.run(&self.0, call).await?;
        let mut changes = ingested.changes;
        changes.extend(made.map(|it| it.put_change(0, call.now())));
        let said = format!(
            "{} in **{}**: {}",
            ingested.outcome.as_str(),
            escape_markdown(&name),
            article_line(&ingested.record)
        );
        Ok(ToolOutput {
            output: Output {
                said: with_notes(said, &ingested.notes),
                article_id: ingested.record.id.clone(),
                outcome: ingested.outcome.as_str(),
                characters: ingested.record.chars,
                pages: ingested.record.pages,
                notes: ingested.notes,
            },
            changes,
            session: None,
        })
    }
}
