//! The `verify_citation` tool: checks a single citation.

use std::{fmt::Write as _, sync::Arc};

use deliberate_citations::{BibliographyFormat, detect_format, read_any, read_reference};
use deliberate_core::{Article, Author, Doi, PartialDate};
use deliberate_toolkit::{
    ArgumentIssue, Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ResearchServices,
    articles::ArticleRepository,
    bibliography::{CitationCheck, CitationStatus, check_citation},
    sources::{PaperId, PaperNoticeKind},
    tools::{
        discovery::paper_line,
        rendering::{escape_markdown, read_only_output, tool_meta},
    },
};

/// The `verify_citation` tool.
pub(crate) struct VerifyCitation(pub(super) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// A reference as printed, a BibTeX entry, a DOI or arXiv id
    #[schemars(length(min = 1, max = 10_000))]
    citation: Option<String>,
    /// Or an article of the collection
    article_identifier: Option<String>,
    /// Or its parts
    title: Option<String>,
    #[serde(default)]
    #[schemars(length(max = 100), extend("x-separated" = "names"))]
    authors: Vec<String>,
    year: Option<i32>,
    doi: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    #[serde(flatten)]
    checked: CitationCheck,
}

impl Tool for VerifyCitation {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "verify_citation",
            "Verify citation",
            "Check whether a cited work exists, is cited correctly, and is not retracted",
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
        let given = input_article(input, call).await?;
        call.progress(0.0, None, "asking sources");
        let checked = check_citation(&self.0, &given).await;
        Ok(read_only_output(Output {
            said: render_check(&checked),
            checked,
        }))
    }
}

async fn input_article(input: Input, call: &ToolContext) -> Result<Article, ToolError> {
    if let Some(name) = &input.article_identifier {
        let more = input.citation.is_some()
            || input.title.is_some()
            || !input.authors.is_empty()
            || input.year.is_some()
            || input.doi.is_some();
        if more {
            let rule = "cannot be combined with the citation or its parts";
            let issue = ArgumentIssue::new("article_identifier", rule);
            return Err(ToolError::Invalid(vec![issue]));
        }
        return Ok(ArticleRepository(call.store())
            .find(name)
            .await?
            .record
            .article);
    }
    let read = input
        .citation
        .as_deref()
        .map(parse_single_citation)
        .transpose()?;
    let mut article = read.unwrap_or_default();
    if let Some(title) = input.title {
        article.title = title;
    }
    if !input.authors.is_empty() {
        article.authors = input.authors.iter().map(|it| Author::parse(it)).collect();
    }
    if let Some(year) = input.year {
        let issue = || {
            ArgumentIssue::new("year", "must be a year from 1000 to 9999").with_value(&year.into())
        };
        let date = PartialDate::new(year, None, None);
        article.date = Some(date.ok_or_else(|| ToolError::Invalid(vec![issue()]))?);
    }
    if let Some(doi) = &input.doi {
        let issue = || ArgumentIssue::new("doi", "is not a DOI").with_value(&doi.as_str().into());
        let doi = Doi::parse(doi).ok_or_else(|| ToolError::Invalid(vec![issue()]))?;
        article.doi = Some(doi);
    }
    let named = !article.title.trim().is_empty()
        || article.doi.is_some()
        || article.arxiv_id.is_some()
        || article.pmid.is_some()
        || article.pmcid.is_some()
        || article.s2_id.is_some()
        || article.openalex_id.is_some();
    if !named {
        let issue =
            ArgumentIssue::new("citation", "must contain at least a title or an identifier");
        return Err(ToolError::Invalid(vec![issue]));
    }
    Ok(article)
}

/// Parses one citation. A malformed BibTeX entry is reported instead of searched as a title.
fn parse_single_citation(text: &str) -> Result<Article, ToolError> {
    let rule = match (detect_format(text), read_any(text)) {
        (_, (records, _)) if records.len() > 1 => Some(format!(
            "contains {} entries; audit_bibliography checks several",
            records.len()
        )),
        (Some(BibliographyFormat::Bibtex | BibliographyFormat::Ris), (records, problems))
            if records.is_empty() =>
        {
            let problem = problems.into_iter().next();
            problem.map(|it| format!("cannot be parsed, line {}: {}", it.line, it.what))
        }
        _ => None,
    };
    match rule {
        Some(rule) => Err(ToolError::Invalid(vec![ArgumentIssue::new(
            "citation", rule,
        )])),
        None => Ok(parse_citation(text)),
    }
}

/// Parses an identifier, a bibliography entry, or a printed reference.
pub(crate) fn parse_citation(text: &str) -> Article {
    let mut article = Article::default();
    match PaperId::parse(text) {
        Some(PaperId::Doi(doi)) => article.doi = Some(doi),
        Some(PaperId::Arxiv(id)) => article.arxiv_id = Some(id),
        Some(PaperId::Pubmed(id)) => article.pmid = Some(id),
        Some(PaperId::Pmc(id)) => article.pmcid = Some(id),
        Some(PaperId::SemanticScholar(id)) => article.s2_id = Some(id),
        Some(PaperId::OpenAlex(id)) => article.openalex_id = Some(id),
        None => {
            let first = read_any(text).0.into_iter().next();
            return first.map_or_else(|| read_reference(text), |it| it.article);
        }
    }
    article
}

const fn notice_name(kind: PaperNoticeKind) -> &'static str {
    match kind {
        PaperNoticeKind::Retraction => "retraction",
        PaperNoticeKind::Withdrawal => "withdrawal",
        PaperNoticeKind::ExpressionOfConcern => "expression of concern",
        PaperNoticeKind::Correction => "correction",
        PaperNoticeKind::Other => "another notice",
    }
}

/// Whether a work was found but its retraction status is unknown.
pub(super) fn is_retraction_unknown(checked: &CitationCheck) -> bool {
    let is_found = checked.found.is_some() && checked.status != CitationStatus::WrongIdentifier;
    is_found && checked.retracted.is_none()
}

/// Renders a check.
pub(super) fn render_check(checked: &CitationCheck) -> String {
    let mut text = format!("**{}**", checked.status.label());
    if checked.retracted == Some(true) {
        text.push_str(" — **RETRACTED**");
    }
    text.push('\n');
    if let Some(found) = &checked.found {
        let _ = writeln!(text, "\nFound: {}", paper_line(found));
    }
    if let Some(near) = &checked.near {
        let _ = writeln!(text, "\nPossibly meant: {}", paper_line(near));
    }
    for it in &checked.differences {
        let _ = writeln!(
            text,
            "- {}: given {:?}, found {:?}",
            it.field,
            escape_markdown(&it.given),
            escape_markdown(&it.found)
        );
    }
    for notice in &checked.notices {
        let date = notice.date.map(|it| format!(" {it}")).unwrap_or_default();
        let doi = notice.doi.as_ref().map(|it| format!(", {it}"));
        let _ = writeln!(
            text,
            "- {}{date} (says {}{})",
            notice_name(notice.kind),
            notice.source,
            escape_markdown(&doi.unwrap_or_default())
        );
    }
    if is_retraction_unknown(checked) {
        text.push_str("- retraction: unknown\n");
    }
    for it in &checked.missing {
        let _ = writeln!(text, "- lacks {}, which {} needs", it.field, it.needed_for);
    }
    for reason in &checked.reasons {
        let _ = writeln!(text, "- {}", escape_markdown(reason));
    }
    text
}
