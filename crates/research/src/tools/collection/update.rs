//! The `update_article_metadata` tool: changes fields and tags of one article.

use deliberate_core::{ArxivId, Author, Doi, PartialDate, WorkKind, truncate_chars};
use deliberate_toolkit::{
    ArgumentIssue, ErrorCode, Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    articles::{ArticleRecord, ArticleRepository, VersionedArticle, parse_work_kind},
    retrieval::index_filter::tag_key,
    tools::rendering::{ArticleView, article_line, custom_error, tool_meta},
};

const MAX_TAG_CHARS: usize = 60;
const MAX_TAGS: usize = 100;

/// The `update_article_metadata` tool.
pub(crate) struct UpdateArticleMetadata;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 1000))]
    article_identifier: String,
    #[schemars(length(max = 50), extend("x-separated" = "words"))]
    add_tags: Option<Vec<String>>,
    #[schemars(length(max = 50), extend("x-separated" = "words"))]
    remove_tags: Option<Vec<String>>,
    /// Fields to set; empty clears
    update_metadata: Option<ArticleFields>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline)]
struct ArticleFields {
    #[schemars(length(min = 1, max = 1000))]
    title: Option<String>,
    #[schemars(length(max = 1000), extend("x-separated" = "names"))]
    authors: Option<Vec<String>>,
    #[serde(rename = "abstract")]
    #[schemars(length(max = 20_000))]
    summary: Option<String>,
    #[schemars(length(max = 500))]
    journal: Option<String>,
    document_type: Option<String>,
    #[schemars(length(max = 100))]
    volume: Option<String>,
    #[schemars(length(max = 100))]
    issue: Option<String>,
    #[schemars(length(max = 100))]
    pages: Option<String>,
    #[schemars(length(max = 500))]
    publisher: Option<String>,
    publication_date: Option<String>,
    doi: Option<String>,
    arxiv_id: Option<String>,
    #[schemars(length(max = 2000))]
    url: Option<String>,
    citation_count: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    article: ArticleView,
    /// Changes, in words
    changes: Vec<String>,
}

impl Tool for UpdateArticleMetadata {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "update_article_metadata",
            "Update an article",
            "Set fields and tags of an article.",
            ToolHints::IDEMPOTENT,
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let library = ArticleRepository(call.store());
        let before = library.find(&input.article_identifier).await?;
        let mut now = before.record.clone();
        set_tags(&mut now, &input)?;
        if let Some(fields) = &input.update_metadata {
            fields.apply(&mut now)?;
        }
        check_ids(&now, library).await?;
        let changes = describe_changes(&before.record, &now);
        let version = VersionedArticle {
            record: now,
            version: before.version,
        };
        let said = if changes.is_empty() {
            format!("Nothing changed: {}", article_line(&version.record))
        } else {
            format!(
                "{}\n\n- {}",
                article_line(&version.record),
                changes.join("\n- ")
            )
        };
        let put = (!changes.is_empty()).then(|| version.put_change(call.now()));
        Ok(ToolOutput {
            output: Output {
                said,
                article: ArticleView::from_record(&version.record),
                changes,
            },
            changes: put.into_iter().collect(),
            session: None,
        })
    }
}

fn set_tags(record: &mut ArticleRecord, input: &Input) -> Result<(), ToolError> {
    let remove: Vec<String> = input
        .remove_tags
        .iter()
        .flatten()
        .map(|it| tag_key(it))
        .collect();
    record.tags.retain(|it| !remove.contains(it));
    for tag in input.add_tags.iter().flatten().map(|it| tag_key(it)) {
        let fits = !tag.is_empty() && tag.chars().count() <= MAX_TAG_CHARS;
        if !fits || tag.chars().any(char::is_control) {
            let rule = format!("must have 1 to {MAX_TAG_CHARS} characters each");
            return Err(field_error("add_tags", rule, &tag));
        }
        if !record.tags.contains(&tag) {
            record.tags.push(tag);
        }
    }
    if record.tags.len() > MAX_TAGS {
        let rule = format!("would exceed {MAX_TAGS} tags");
        return Err(ToolError::Invalid(vec![ArgumentIssue::new(
            "add_tags", rule,
        )]));
    }
    Ok(())
}

impl ArticleFields {
    fn apply(&self, record: &mut ArticleRecord) -> Result<(), ToolError> {
        let article = &mut record.article;
        if let Some(title) = &self.title {
            if title.trim().is_empty() {
                return Err(field_error(
                    "update_metadata.title",
                    "must not be empty".to_owned(),
                    title,
                ));
            }
            article.title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        if let Some(authors) = &self.authors {
            let named = authors.iter().filter(|it| !it.trim().is_empty());
            article.authors = named
                .map(|it| Author::parse(&truncate_chars(it, 200)))
                .collect();
        }
        for (field, given) in [
            (&mut article.summary, &self.summary),
            (&mut article.venue, &self.journal),
            (&mut article.volume, &self.volume),
            (&mut article.issue, &self.issue),
            (&mut article.pages, &self.pages),
            (&mut article.publisher, &self.publisher),
        ] {
            if let Some(given) = given {
                *field = Some(given.trim().to_owned()).filter(|it| !it.is_empty());
            }
        }
        if let Some(kind) = &self.document_type {
            article.kind = match kind.trim() {
                "" => WorkKind::Unknown,
                kind => parse_work_kind("update_metadata.document_type", kind)?,
            };
        }
        if let Some(date) = &self.publication_date {
            let rule = "must be a date: 2024, 2024-05 or 2024-05-17";
            article.date = parse_field("publication_date", date, PartialDate::parse_strict, rule)?;
        }
        if let Some(doi) = &self.doi {
            article.doi = parse_field("doi", doi, Doi::parse, "must be a DOI: 10.1000/182")?;
        }
        if let Some(id) = &self.arxiv_id {
            let rule = "must be an arXiv id: 2301.00001";
            article.arxiv_id = parse_field("arxiv_id", id, ArxivId::parse, rule)?;
        }
        if let Some(url) = &self.url {
            let rule = "must be a URL that begins with http:// or https://";
            article.url = parse_field("url", url, parse_http_url, rule)?;
        }
        if let Some(count) = self.citation_count {
            article.citation_count = Some(count);
        }
        Ok(())
    }
}

fn parse_http_url(text: &str) -> Option<String> {
    let url = url::Url::parse(text.trim()).ok()?;
    matches!(url.scheme(), "http" | "https").then(|| url.to_string())
}

/// Parses the new value of a field; `None` clears it.
fn parse_field<T>(
    field: &str,
    given: &str,
    parse: impl Fn(&str) -> Option<T>,
    rule: &str,
) -> Result<Option<T>, ToolError> {
    if given.trim().is_empty() {
        return Ok(None);
    }
    match parse(given) {
        Some(value) => Ok(Some(value)),
        None => Err(field_error(
            &format!("update_metadata.{field}"),
            rule.to_owned(),
            given,
        )),
    }
}

fn field_error(field: &str, rule: String, given: &str) -> ToolError {
    ToolError::Invalid(vec![
        ArgumentIssue::new(field, rule).with_value(&given.into()),
    ])
}

/// Rejects an id that another article already has.
async fn check_ids(
    record: &ArticleRecord,
    library: ArticleRepository<'_>,
) -> Result<(), ToolError> {
    let article = &record.article;
    let ids = [
        (
            "doi",
            article.doi.as_ref().map(|it| it.as_str().to_lowercase()),
        ),
        (
            "arxiv",
            article
                .arxiv_id
                .as_ref()
                .map(|it| it.as_str().to_lowercase()),
        ),
    ];
    for (name, value) in ids {
        let Some(value) = value else { continue };
        let other = library.find_by_key(name, &value).await?;
        if let Some(other) = other.filter(|it| it.record.id != record.id) {
            return Err(custom_error(
                ErrorCode::AlreadyTaken,
                format!(
                    "{value} is the {name} id of another article: {}",
                    article_line(&other.record)
                ),
                "Delete one of the two, or give another id.",
            ));
        }
    }
    Ok(())
}

fn describe_changes(before: &ArticleRecord, now: &ArticleRecord) -> Vec<String> {
    let mut all = Vec::new();
    let (old, new) = (&before.article, &now.article);
    let names = |it: &deliberate_core::Article| {
        it.authors
            .iter()
            .map(Author::full_name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let date = |it: &deliberate_core::Article| it.date.map(|it| it.to_string());
    let mut differ = |name: &str, was: Option<String>, is: Option<String>| {
        if was != is {
            let is = is
                .filter(|it| !it.is_empty())
                .map(|it| truncate_chars(&it, 200));
            all.push(is.map_or(format!("{name} cleared"), |it| format!("{name}: {it}")));
        }
    };
    differ("title", Some(old.title.clone()), Some(new.title.clone()));
    differ("authors", Some(names(old)), Some(names(new)));
    differ("abstract", old.summary.clone(), new.summary.clone());
    differ("journal", old.venue.clone(), new.venue.clone());
    let kind = |it: &deliberate_core::Article| Some(it.kind.as_str().replace('_', " "));
    differ("document type", kind(old), kind(new));
    differ("volume", old.volume.clone(), new.volume.clone());
    differ("issue", old.issue.clone(), new.issue.clone());
    differ("pages", old.pages.clone(), new.pages.clone());
    differ("publisher", old.publisher.clone(), new.publisher.clone());
    differ("date", date(old), date(new));
    differ(
        "doi",
        old.doi.clone().map(String::from),
        new.doi.clone().map(String::from),
    );
    let arxiv = |it: &deliberate_core::Article| it.arxiv_id.clone().map(String::from);
    differ("arXiv id", arxiv(old), arxiv(new));
    differ("url", old.url.clone(), new.url.clone());
    let cited = |it: &deliberate_core::Article| it.citation_count.map(|it| it.to_string());
    differ("citations", cited(old), cited(new));
    differ(
        "tags",
        Some(before.tags.join(", ")),
        Some(now.tags.join(", ")),
    );
    all
}
