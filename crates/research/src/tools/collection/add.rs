//! `add_article`: papers named by their ids come into the collection, one after the other, each kept
//! before the next is looked up.

use std::{sync::Arc, time::Duration};

use deliberate_core::{Article, Change, cut_to_chars};
use deliberate_toolkit::{About, Annotations, Call, Issue, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::{
    job_said::{said_of_job, so_far},
    shown::{about, told},
};
use crate::{
    Lab,
    collect::{
        Category, Library, Provenance, Version,
        enrich::look_up,
        files::{SafeFile, papers_folder},
        ingest::{Ingest, Ingested, new_article, without_taken_ids},
        job::{Job, JobLine, Share},
        obtain::{Obtaining, What, place_for},
    },
    sources::PaperId,
};

const NAME: &str = "add_article";

/// The longest that one file is waited for.
const FILE_TIME: Duration = Duration::from_mins(2);

/// No id is longer.
const NAME_CHARS: usize = 500;

/// `add_article`.
pub(crate) struct AddArticle(pub(crate) Arc<Lab>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 20), extend("x-separated" = "ids"))]
    identifiers: Vec<String>,
    /// Also read open PDFs
    #[serde(default)]
    download: bool,
    /// How far it has come.
    #[serde(default, rename = "_leg")]
    #[schemars(skip)]
    leg: Option<Job>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    results: Vec<JobLine>,
    #[serde(skip)]
    #[schemars(skip)]
    next: Option<Value>,
}

impl Tool for AddArticle {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        about(
            NAME,
            "Add articles",
            "Add papers to the collection by DOI, arXiv id or other id.",
            Annotations {
                idempotent: true,
                open_world: true,
                ..Annotations::ADDS
            },
        )
    }

    fn takes_long(&self) -> bool {
        true
    }

    fn goes_on(&self, output: &Output) -> Option<Value> {
        output.next.clone()
    }

    fn so_far(&self, output: &Output) -> Option<String> {
        Some(so_far(&output.results))
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let mut job = match input.leg {
            Some(job) => job,
            None => Job::on(identifiers(&input.identifiers)?),
        };
        let mut changes = Vec::new();
        if let Some((name, share)) = job.take() {
            share.tell(call, 0.0, &name);
            let adding = Adding {
                lab: &self.0,
                call,
                download: input.download,
                share,
            };
            let came = Box::pin(adding.add(&name)).await;
            changes = job.note(name, came)?;
        }
        let next = job.next(json!({
            "identifiers": input.identifiers,
            "download": input.download,
        }));
        Ok(Outcome {
            output: Output {
                said: said_of_job(&job),
                results: job.done,
                next,
            },
            changes,
            session: None,
        })
    }
}

/// One paper on its way into the collection.
struct Adding<'a> {
    lab: &'a Lab,
    call: &'a Call,
    download: bool,
    share: Share,
}

impl Adding<'_> {
    async fn add(&self, name: &str) -> Result<(JobLine, Vec<Change>), ToolError> {
        let library = Library(self.call.store());
        if let Some(known) = library.look_up(name).await? {
            if !self.download || known.kept.pages > 0 {
                let line = JobLine::of(name, "known", &known.kept, Vec::new());
                return Ok((line, Vec::new()));
            }
            return self.with_file(name, "known", known, Vec::new()).await;
        }
        let (article, mut notes) = self.looked_up(name).await?;
        let known = library.known(&article).await?;
        let outcome = if known.is_some() { "joined" } else { "added" };
        let version = if let Some(mut known) = known {
            deliberate_citations::merge(&mut known.kept.article, &article);
            without_taken_ids(library, &mut known.kept, &mut notes).await?;
            known
        } else {
            // Nobody has its ids. If somebody gets them until it is kept, the call is run again.
            let category = Category::ResearchPaper;
            new_article(self.call, article, category, Provenance::Discovered).await?
        };
        if self.download && version.kept.pages == 0 {
            return self.with_file(name, outcome, version, notes).await;
        }
        let line = JobLine::of(name, outcome, &version.kept, notes);
        Ok((line, vec![version.put(self.call.now())]))
    }

    async fn looked_up(&self, name: &str) -> Result<(Article, Vec<String>), ToolError> {
        let Some(id) = PaperId::parse(name) else {
            return Err(told(
                "WrongIdentifier",
                "it is no DOI, arXiv id, PubMed id, PMC id, Semantic Scholar or OpenAlex id",
                "search_papers finds papers by their titles, with their ids.",
            ));
        };
        let found = look_up(self.lab, &id).await;
        match found.article {
            Some(article) => Ok((article, found.notes)),
            None if found.answered => Err(told(
                "PaperNotFound",
                "no source knows it",
                "Check the id; search_papers finds papers by their titles.",
            )),
            None => Err(told(
                "SourcesFailed",
                format!("no source could answer: {}", found.notes.join(" ")),
                "Try again later.",
            )),
        }
    }

    /// With the text of its open PDF, if one can be fetched and read; without it otherwise.
    async fn with_file(
        &self,
        name: &str,
        outcome: &str,
        version: Version,
        mut notes: Vec<String>,
    ) -> Result<(JobLine, Vec<Change>), ToolError> {
        let is_new = version.version == 0;
        match self.read_file(&version).await {
            Ok(ingested) => {
                notes.extend(ingested.notes);
                let is_it = ingested.kept.id == version.kept.id;
                let outcome = if is_it { outcome } else { "joined" };
                let line = JobLine::of(name, outcome, &ingested.kept, notes);
                return Ok((line, ingested.changes));
            }
            Err(error @ (ToolError::Store(_) | ToolError::Cancelled)) => return Err(error),
            Err(error) => {
                let hint = error.hint().map(|it| format!(" {it}")).unwrap_or_default();
                notes.push(format!("Without its text: {error}.{hint}"));
            }
        }
        let changed = is_new || outcome != "known";
        let put = changed.then(|| version.put(self.call.now()));
        let line = JobLine::of(name, outcome, &version.kept, notes);
        Ok((line, put.into_iter().collect()))
    }

    async fn read_file(&self, version: &Version) -> Result<Ingested, ToolError> {
        let article = &version.kept.article;
        let folder = papers_folder(self.lab.options(), None).await?;
        let obtaining = Obtaining {
            lab: self.lab,
            call: self.call,
            overwrite: false,
            time: FILE_TIME,
            share: self.share.part(0.1, 0.6),
        };
        let to = place_for(Library(self.call.store()), &folder, article).await?;
        let here = obtaining.fetch(What::Paper(article), to).await?;
        let file = SafeFile::of_papers(here.path).await?;
        let mut ingest = Ingest::paper(file, false);
        ingest.of = Some(version.clone());
        ingest.share = self.share.part(0.6, 1.0);
        ingest.run(self.lab, self.call).await
    }
}

/// What was given, each once.
fn identifiers(names: &[String]) -> Result<Vec<String>, ToolError> {
    let mut all = Vec::<String>::new();
    for name in names.iter().map(|it| it.trim()).filter(|it| !it.is_empty()) {
        let name = cut_to_chars(name, NAME_CHARS);
        if !all.contains(&name) {
            all.push(name);
        }
    }
    if all.is_empty() {
        let issue = Issue::new("identifiers", "must hold at least one that is not empty");
        return Err(ToolError::Invalid(vec![issue]));
    }
    Ok(all)
}
