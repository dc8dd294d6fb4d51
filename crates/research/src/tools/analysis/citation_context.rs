//! `get_citation_context`.

use std::{fmt::Write as _, sync::Arc};

use deliberate_citations::is_same_work;
use deliberate_core::Article;
use deliberate_toolkit::{
    ArgumentIssue, Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ResearchServices,
    analysis::{CitationContext, analyze_blocking, find_citation_contexts, lookup_id},
    articles::ArticleRepository,
    prompt_fence::{UNTRUSTED_DATA_NOTICE, fence_passage},
    sources::{CitationDirection, CitationLink, PaperId},
    tools::{
        citations::parse_citation as read_citation,
        rendering::{custom_error, escape_markdown, read_only_output, tool_meta},
    },
};

/// `get_citation_context`.
pub(crate) struct GetCitationContext(pub(super) Arc<ResearchServices>);

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
    contexts: Vec<CitationContext>,
    notes: Vec<String>,
}

impl Tool for GetCitationContext {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "get_citation_context",
            "Get citation context",
            "The sentences in which one paper cites another",
            ToolHints {
                open_world: true,
                ..ToolHints::READ_ONLY
            },
        )
    }

    fn may_run_in_background(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let library = ArticleRepository(call.store());
        let citing = library.look_up(&input.citing_paper_id).await?;
        let cited = match library.look_up(&input.cited_paper_id).await? {
            Some(found) => found.record.article,
            None => parse_cited_work(&input.cited_paper_id)?,
        };
        let mut notes = Vec::new();
        let mut found = Vec::new();
        let mut reference = None;
        let mut was_read = false;
        match &citing {
            Some(version) => match library.text(&version.record.id).await? {
                Some(text) => {
                    was_read = true;
                    let (work, window) = (cited.clone(), input.context_window);
                    let looking =
                        analyze_blocking(move || find_citation_contexts(&text, &work, window));
                    let it = looking.await?;
                    if it.entry.is_none() {
                        notes.push("its bibliography has no such entry".to_owned());
                    } else if it.contexts.is_empty() {
                        notes.push(format!(
                            "its text was searched for {}; citations of another form are not \
                             recognized: read_article shows the text",
                            it.marker_forms
                        ));
                    }
                    reference = it.entry.map(|it| it.text);
                    found = it.contexts;
                }
                None => {
                    notes
                        .push("the citing paper was not read yet: process_pdf reads it".to_owned());
                }
            },
            None => notes.push("the citing paper is not in the collection".to_owned()),
        }
        if found.is_empty() {
            let known = citing.as_ref().and_then(|it| lookup_id(&it.record.article));
            let id = known.or_else(|| PaperId::parse(&input.citing_paper_id));
            match (id, &citing) {
                (Some(id), _) => match self.contexts_from_sources(&id, &cited, &mut notes).await {
                    Ok(told) => found = told,
                    // Who could not ask does not know that there is nothing.
                    Err(why) if !was_read => return Err(sources_failed_error(&why)),
                    Err(why) => notes.push(format!("Semantic Scholar: {why}")),
                },
                (None, Some(_)) => {}
                (None, None) => library.find(&input.citing_paper_id).await.map(|_| ())?,
            }
        }
        Ok(read_only_output(Output {
            said: render_text(reference.as_deref(), &found, &notes),
            reference,
            contexts: found,
            notes,
        }))
    }
}

/// A work that is not in the collection, by its id or as a reference names it.
fn parse_cited_work(text: &str) -> Result<Article, ToolError> {
    let article = read_citation(text);
    if article.title.trim().is_empty() && lookup_id(&article).is_none() {
        let rule = "must be an article, an identifier or a reference";
        let issue = ArgumentIssue::new("cited_paper_id", rule).with_value(&text.into());
        return Err(ToolError::Invalid(vec![issue]));
    }
    Ok(article)
}

fn sources_failed_error(why: &str) -> ToolError {
    custom_error(
        "SourcesFailed",
        format!("the citing paper was not read, and Semantic Scholar could not be asked: {why}"),
        "Ask again later, or read the citing paper with process_pdf.",
    )
}

impl GetCitationContext {
    /// What Semantic Scholar has of it, for a paper that was not read.
    async fn contexts_from_sources(
        &self,
        citing: &PaperId,
        cited: &Article,
        notes: &mut Vec<String>,
    ) -> Result<Vec<CitationContext>, String> {
        let Some(source) = self.0.source("semantic_scholar") else {
            return Err("it is not among the sources of the settings".to_owned());
        };
        let links = source
            .citation_links(citing, CitationDirection::Cited, 1_000)
            .await;
        let links = links.map_err(|error| error.to_string())?;
        let is_it = |it: &CitationLink| {
            let same_id = it.article.s2_id.is_some() && it.article.s2_id == cited.s2_id;
            same_id || is_same_work(&it.article, cited)
        };
        let Some(links) = links else {
            notes.push("Semantic Scholar does not know what the citing paper cites".to_owned());
            return Ok(Vec::new());
        };
        let links: Vec<CitationLink> = links.into_iter().filter(is_it).collect();
        if !links.is_empty() && links.iter().all(|it| it.contexts.is_empty()) {
            let note = "Semantic Scholar says that it cites it, and not in which sentences";
            notes.push(note.to_owned());
        }
        let mut all = Vec::new();
        for link in links {
            all.extend(
                link.contexts
                    .into_iter()
                    .take(MAX_CONTEXTS)
                    .map(|sentence| CitationContext {
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
const MAX_CONTEXTS: usize = 50;

fn render_text(reference: Option<&str>, found: &[CitationContext], notes: &[String]) -> String {
    let mut text = String::new();
    if let Some(reference) = reference {
        let _ = writeln!(text, "Its entry: {}\n", escape_markdown(reference));
    }
    if found.is_empty() {
        text.push_str("No sentence that cites it was found.\n");
    } else {
        let _ = writeln!(text, "{UNTRUSTED_DATA_NOTICE}\n");
    }
    for it in found {
        let page = it
            .place
            .map_or_else(|| it.from.clone(), |it| format!("p. {}", it.page));
        let _ = writeln!(text, "{}\n", fence_passage(&[("page", &page)], &it.around));
    }
    for note in notes {
        let _ = writeln!(text, "{note}");
    }
    text
}
