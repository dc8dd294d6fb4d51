//! The `add_article` tool: adds papers by their ids, one after the other; each is committed before
//! the next is looked up.

use std::{sync::Arc, time::Duration};

use deliberate_core::{Article, Change, truncate_chars};
use deliberate_toolkit::{
    ArgumentIssue, ErrorCode, Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    ResearchServices,
    articles::{ArticleCategory, ArticleRepository, Provenance, VersionedArticle},
    ingest::{
        IngestRequest, IngestResult,
        batch_job::{BatchItemResult, BatchJob, ProgressShare},
        metadata_lookup::look_up,
        new_article,
        path_policy::{VerifiedFile, create_papers_subfolder},
        pdf_download::{DownloadTarget, PdfDownload, download_path},
        remove_conflicting_ids,
    },
    sources::PaperId,
    tools::{
        batch_report::{render_batch, render_partial_batch},
        rendering::{custom_error, tool_meta},
    },
};

const NAME: &str = "add_article";

/// Longest wait for one file.
const FILE_TIMEOUT: Duration = Duration::from_mins(2);

/// Longest accepted id.
const MAX_IDENTIFIER_CHARS: usize = 500;

/// The `add_article` tool.
pub(crate) struct AddArticle(pub(crate) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 20), extend("x-separated" = "ids"))]
    identifiers: Vec<String>,
    /// Also download and read open PDFs
    #[serde(default)]
    download: bool,
    /// Progress of the batch.
    #[serde(default, rename = "_leg")]
    #[schemars(skip)]
    leg: Option<BatchJob>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    results: Vec<BatchItemResult>,
    #[serde(skip)]
    #[schemars(skip)]
    next: Option<Value>,
}

impl Tool for AddArticle {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            NAME,
            "Add articles",
            "Add papers to the collection by DOI, arXiv id or other id.",
            ToolHints {
                idempotent: true,
                open_world: true,
                ..ToolHints::ADDITIVE
            },
        )
    }

    fn may_run_in_background(&self) -> bool {
        true
    }

    fn next_step(&self, output: &Output) -> Option<Value> {
        output.next.clone()
    }

    fn partial_summary(&self, output: &Output) -> Option<String> {
        Some(render_partial_batch(&output.results))
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let mut job = match input.leg {
            Some(job) => job,
            None => BatchJob::new(unique_identifiers(&input.identifiers)?),
        };
        let mut changes = Vec::new();
        if let Some((name, share)) = job.take_next() {
            share.report(call, 0.0, &name);
            let adding = ArticleAdder {
                lab: &self.0,
                call,
                download: input.download,
                share,
            };
            let came = Box::pin(adding.add(&name)).await;
            changes = job.record_result(name, came)?;
        }
        let next = job.next_arguments(json!({
            "identifiers": input.identifiers,
            "download": input.download,
        }));
        Ok(ToolOutput {
            output: Output {
                said: render_batch(&job),
                results: job.done,
                next,
            },
            changes,
            session: None,
        })
    }
}

/// Adds one paper to the collection.
struct ArticleAdder<'a> {
    lab: &'a ResearchServices,
    call: &'a ToolContext,
    download: bool,
    share: ProgressShare,
}

impl ArticleAdder<'_> {
    async fn add(&self, name: &str) -> Result<(BatchItemResult, Vec<Change>), ToolError> {
        let library = ArticleRepository(self.call.store());
        if let Some(known) = library.look_up(name).await? {
            if !self.download || known.record.pages > 0 {
                let line = BatchItemResult::from_record(name, "known", &known.record, Vec::new());
                return Ok((line, Vec::new()));
            }
            return self.add_with_file(name, "known", known, Vec::new()).await;
        }
        let (article, mut notes) = self.look_up_article(name).await?;
        let known = library.find_same_work(&article).await?;
        let outcome = if known.is_some() { "joined" } else { "added" };
        let version = if let Some(mut known) = known {
            deliberate_citations::merge(&mut known.record.article, &article);
            remove_conflicting_ids(library, &mut known.record, &mut notes).await?;
            known
        } else {
            // No article has these ids. If another call adds one before the commit, this call is
            // run again.
            let category = ArticleCategory::ResearchPaper;
            new_article(self.call, article, category, Provenance::Discovered).await?
        };
        if self.download && version.record.pages == 0 {
            return self.add_with_file(name, outcome, version, notes).await;
        }
        let line = BatchItemResult::from_record(name, outcome, &version.record, notes);
        Ok((line, vec![version.put_change(self.call.now())]))
    }

    async fn look_up_article(&self, name: &str) -> Result<(Article, Vec<String>), ToolError> {
        let Some(id) = PaperId::parse(name) else {
            return Err(custom_error(
                ErrorCode::WrongIdentifier,
                "it is not a DOI, arXiv, PubMed, PMC, Semantic Scholar or OpenAlex id",
                "search_papers finds papers and their ids by title.",
            ));
        };
        let found = look_up(self.lab, &id).await;
        match found.article {
            Some(article) => Ok((article, found.notes)),
            None if found.answered => Err(custom_error(
                ErrorCode::PaperNotFound,
                "no source knows it",
                "Check the id; search_papers finds papers by title.",
            )),
            None => Err(custom_error(
                ErrorCode::SourcesFailed,
                format!("no source answered: {}", found.notes.join(" ")),
                "Try again later.",
            )),
        }
    }

    /// Adds the paper with the text of its open PDF, or without it if that fails.
    async fn add_with_file(
        &self,
        name: &str,
        outcome: &str,
        version: VersionedArticle,
        mut notes: Vec<String>,
    ) -> Result<(BatchItemResult, Vec<Change>), ToolError> {
        let is_new = version.version == 0;
        match self.read_file(&version).await {
            Ok(ingested) => {
                notes.extend(ingested.notes);
                let is_it = ingested.record.id == version.record.id;
                let outcome = if is_it { outcome } else { "joined" };
                let line = BatchItemResult::from_record(name, outcome, &ingested.record, notes);
                return Ok((line, ingested.changes));
            }
            Err(error @ (ToolError::Store(_) | ToolError::Cancelled)) => return Err(error),
            Err(error) => {
                let hint = error.hint().map(|it| format!(" {it}")).unwrap_or_default();
                notes.push(format!("Added without its text: {error}.{hint}"));
            }
        }
        let changed = is_new || outcome != "known";
        let put = changed.then(|| version.put_change(self.call.now()));
        let line = BatchItemResult::from_record(name, outcome, &version.record, notes);
        Ok((line, put.into_iter().collect()))
    }

    async fn read_file(&self, version: &VersionedArticle) -> Result<IngestResult, ToolError> {
        let article = &version.record.article;
        let folder = create_papers_subfolder(self.lab.options(), None).await?;
        let obtaining = PdfDownload {
            services: self.lab,
            call: self.call,
            overwrite: false,
            timeout: FILE_TIMEOUT,
            share: self.share.subrange(0.1, 0.6),
        };
        let to = download_path(ArticleRepository(self.call.store()), &folder, article).await?;
        let here = obtaining.fetch(DownloadTarget::Paper(article), to).await?;
        let file = VerifiedFile::open_paper(here.path).await?;
        let mut ingest = IngestRequest::for_paper(file, false);
        ingest.article = Some(version.clone());
        ingest.share = self.share.subrange(0.6, 1.0);
        ingest.run(self.lab, self.call).await
    }
}

/// The given identifiers, each once.
fn unique_identifiers(names: &[String]) -> Result<Vec<String>, ToolError> {
    let mut all = Vec::<String>::new();
    for name in names.iter().map(|it| it.trim()).filter(|it| !it.is_empty()) {
        let name = truncate_chars(name, MAX_IDENTIFIER_CHARS);
        if !all.contains(&name) {
            all.push(name);
        }
    }
    if all.is_empty() {
        let issue =
            ArgumentIssue::new("identifiers", "must contain at least one that is not empty");
        return Err(ToolError::Invalid(vec![issue]));
    }
    Ok(all)
}
