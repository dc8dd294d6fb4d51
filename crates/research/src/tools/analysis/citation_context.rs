//! The `get_citation_context` tool: finds the sentences in which one paper cites another.

use std::{fmt::Write as _, sync::Arc};

use deliberate_citations::is_same_work;
use deliberate_core::{Article, PromptFence};
use deliberate_toolkit::{
    ArgumentIssue, ErrorCode, Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput,
    compute,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ResearchServices,
    analysis::{CitationContext, find_citation_contexts, lookup_id},
    articles::ArticleRepository,
    prompt_fence::{fence_passage, prompt_fence, untrusted_data_notice},
    sources::{CitationDirection, CitationLink, PaperId, SourceInfo},
    tools::{
        citations::parse_citation as read_citation,
        rendering::{custom_error, escape_markdown, read_only_output, tool_meta},
    },
};

/// The `get_citation_context` tool.
pub(crate) struct GetCitationContext(pub(super) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    citing_paper_id: String,
    cited_paper_id: String,
    /// Sentences on each side
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 5))]
    context_window: usize,
}

fn two() -> usize {
    2
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    /// Bibliography entry
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
                    let looking = compute(move || find_citation_contexts(&text, &work, window));
                    let it = looking.await?;
                    if it.entry.is_none() {
                        notes.push("its bibliography has no such entry".to_owned());
                    } else if it.contexts.is_empty() {
                        notes.push(format!(
                            "its text was searched for {}; citations in another form are not \
                             recognized. read_article shows the text",
                            it.marker_forms
                        ));
                    }
                    reference = it.entry.map(|it| it.text);
                    found = it.contexts;
                }
                None => {
                    notes.push("the citing paper has no text yet; process_pdf reads it".to_owned());
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
                    // After a failed request it is not known whether there is a citation.
                    Err(why) if !was_read => return Err(sources_failed_error(&why)),
                    Err(why) => notes.push(why),
                },
                (None, Some(_)) => {}
                (None, None) => library.find(&input.citing_paper_id).await.map(|_| ())?,
            }
        }
        Ok(read_only_output(Output {
            said: render_text(reference.as_deref(), &found, &notes, &prompt_fence(call)),
            reference,
            contexts: found,
            notes,
        }))
    }
}

/// Parses a work that is not in the collection from its id or a printed reference.
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
        ErrorCode::SourcesFailed,
        format!("the citing paper has no text, and its citations could not be looked up: {why}"),
        "Try again later, or read the citing paper with process_pdf.",
    )
}

impl GetCitationContext {
    /// Asks a source for the citing sentences of a paper whose text is not in the collection.
    async fn contexts_from_sources(
        &self,
        citing: &PaperId,
        cited: &Article,
        notes: &mut Vec<String>,
    ) -> Result<Vec<CitationContext>, String> {
        let mut sources = self.0.sources().iter();
        let Some(source) = sources.find(|it| it.has_citation_contexts()) else {
            return Err("no enabled source provides the sentences of citations".to_owned());
        };
        let SourceInfo { name, title, .. } = source.info();
        let links = source
            .citation_links(citing, CitationDirection::Cited, 1_000)
            .await;
        let links = links.map_err(|error| format!("{title}: {error}"))?;
        let is_it = |it: &CitationLink| {
            let same_id = it.article.s2_id.is_some() && it.article.s2_id == cited.s2_id;
            same_id || is_same_work(&it.article, cited)
        };
        let Some(links) = links else {
            notes.push(format!("{title} does not know what the citing paper cites"));
            return Ok(Vec::new());
        };
        let links: Vec<CitationLink> = links.into_iter().filter(is_it).collect();
        if !links.is_empty() && links.iter().all(|it| it.contexts.is_empty()) {
            notes.push(format!("{title} lists the citation, but not its sentences"));
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
                        from: name.clone(),
                    }),
            );
        }
        Ok(all)
    }
}

/// Further sentences are omitted.
const MAX_CONTEXTS: usize = 50;

fn render_text(
    reference: Option<&str>,
    found: &[CitationContext],
    notes: &[String],
    fence: &PromptFence,
) -> String {
    let mut text = String::new();
    if let Some(reference) = reference {
        let _ = writeln!(text, "Its entry: {}\n", escape_markdown(reference));
    }
    if found.is_empty() {
        text.push_str("No sentence that cites it was found.\n");
    } else {
        let _ = writeln!(text, "{}\n", untrusted_data_notice(fence));
    }
    for it in found {
        let page = it
            .place
            .map_or_else(|| it.from.clone(), |it| format!("p. {}", it.page));
        let _ = writeln!(
            text,
            "{}\n",
            fence_passage(fence, &[("page", &page)], &it.around)
        );
    }
    for note in notes {
        let _ = writeln!(text, "{note}");
    }
    text
}
