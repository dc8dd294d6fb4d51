//! `get_citation_context`.

use std::{fmt::Write as _, sync::Arc};

use deliberate_citations::same_work;
use deliberate_core::Article;
use deliberate_toolkit::{About, Annotations, Call, Issue, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Lab,
    analyse::{Context, aside, contexts, id_of},
    collect::{DATA_NOT_ORDERS, Library, fenced},
    sources::{Direction, Link, PaperId},
    tools::{
        citations::read as read_citation,
        shown::{about, only_read, plain, told},
    },
};

/// `get_citation_context`.
pub(crate) struct GetCitationContext(pub(super) Arc<Lab>);

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    citing_paper_id: String,
    cited_paper_id: String,
    /// Sentences around it
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 5))]
    context_window: usize,
}

fn two() -> usize {
    2
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    /// The entry of the bibliography
    reference: Option<String>,
    contexts: Vec<Context>,
    notes: Vec<String>,
}

impl Tool for GetCitationContext {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        about(
            "get_citation_context",
            "Get citation context",
            "The sentences in which one paper cites another",
            Annotations {
                open_world: true,
                ..Annotations::READS
            },
        )
    }

    fn takes_long(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let library = Library(call.store());
        let citing = library.look_up(&input.citing_paper_id).await?;
        let cited = match library.look_up(&input.cited_paper_id).await? {
            Some(found) => found.kept.article,
            None => named(&input.cited_paper_id)?,
        };
        let mut notes = Vec::new();
        let mut found = Vec::new();
        let mut reference = None;
        let mut was_read = false;
        match &citing {
            Some(version) => match library.text(&version.kept.id).await? {
                Some(text) => {
                    was_read = true;
                    let (work, window) = (cited.clone(), input.context_window);
                    let looking = aside(move || contexts(&text, &work, window));
                    let it = looking.await?;
                    if it.entry.is_none() {
                        notes.push("its bibliography has no such entry".to_owned());
                    } else if it.places.is_empty() {
                        notes.push(format!(
                            "its text was searched for {}; citations of another form are not \
                             recognized: read_article shows the text",
                            it.looked_for
                        ));
                    }
                    reference = it.entry.map(|it| it.text);
                    found = it.places;
                }
                None => {
                    notes
                        .push("the citing paper was not read yet: process_pdf reads it".to_owned());
                }
            },
            None => notes.push("the citing paper is not in the collection".to_owned()),
        }
        if found.is_empty() {
            let known = citing.as_ref().and_then(|it| id_of(&it.kept.article));
            let id = known.or_else(|| PaperId::parse(&input.citing_paper_id));
            match (id, &citing) {
                (Some(id), _) => match self.by_sources(&id, &cited, &mut notes).await {
                    Ok(told) => found = told,
                    // Who could not ask does not know that there is nothing.
                    Err(why) if !was_read => return Err(nobody_answered(&why)),
                    Err(why) => notes.push(format!("Semantic Scholar: {why}")),
                },
                (None, Some(_)) => {}
                (None, None) => library.find(&input.citing_paper_id).await.map(|_| ())?,
            }
        }
        Ok(only_read(Output {
            said: said(reference.as_deref(), &found, &notes),
            reference,
            contexts: found,
            notes,
        }))
    }
}

/// A work that is not in the collection, by its id or as a reference names it.
fn named(text: &str) -> Result<Article, ToolError> {
    let article = read_citation(text);
    if article.title.trim().is_empty() && id_of(&article).is_none() {
        let rule = "must be an article, an identifier or a reference";
        let issue = Issue::new("cited_paper_id", rule).given(&text.into());
        return Err(ToolError::Invalid(vec![issue]));
    }
    Ok(article)
}

fn nobody_answered(why: &str) -> ToolError {
    told(
        "SourcesFailed",
        format!("the citing paper was not read, and Semantic Scholar could not be asked: {why}"),
        "Ask again later, or read the citing paper with process_pdf.",
    )
}

impl GetCitationContext {
    /// What Semantic Scholar has of it, for a paper that was not read.
    async fn by_sources(
        &self,
        citing: &PaperId,
        cited: &Article,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Context>, String> {
        let Some(source) = self.0.source("semantic_scholar") else {
            return Err("it is not among the sources of the settings".to_owned());
        };
        let links = source.linked(citing, Direction::Cited, 1_000).await;
        let links = links.map_err(|error| error.to_string())?;
        let is_it = |it: &Link| {
            let same_id = it.article.s2_id.is_some() && it.article.s2_id == cited.s2_id;
            same_id || same_work(&it.article, cited)
        };
        let Some(links) = links else {
            notes.push("Semantic Scholar does not know what the citing paper cites".to_owned());
            return Ok(Vec::new());
        };
        let links: Vec<Link> = links.into_iter().filter(is_it).collect();
        if !links.is_empty() && links.iter().all(|it| it.contexts.is_empty()) {
            let note = "Semantic Scholar says that it cites it, and not in which sentences";
            notes.push(note.to_owned());
        }
        let mut all = Vec::new();
        for link in links {
            all.extend(
                link.contexts
                    .into_iter()
                    .take(MOST)
                    .map(|sentence| Context {
                        around: sentence.clone(),
                        sentence,
                        place: None,
                        from: "semantic_scholar".to_owned(),
                    }),
            );
        }
        Ok(all)
    }
}

/// Sentences beyond this are not told.
const MOST: usize = 50;

fn said(reference: Option<&str>, found: &[Context], notes: &[String]) -> String {
    let mut text = String::new();
    if let Some(reference) = reference {
        let _ = writeln!(text, "Its entry: {}\n", plain(reference));
    }
    if found.is_empty() {
        text.push_str("No sentence that cites it was found.\n");
    } else {
        let _ = writeln!(text, "{DATA_NOT_ORDERS}\n");
    }
    for it in found {
        let page = it
            .place
            .map_or_else(|| it.from.clone(), |it| format!("p. {}", it.page));
        let _ = writeln!(text, "{}\n", fenced(&[("page", &page)], &it.around));
    }
    for note in notes {
        let _ = writeln!(text, "{note}");
    }
    text
}
