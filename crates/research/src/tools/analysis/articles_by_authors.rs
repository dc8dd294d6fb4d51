//! The `find_articles_by_authors` tool: lists articles of the collection by their authors.

use std::{cmp::Reverse, fmt::Write as _};

use deliberate_core::{Author, PartialDate};
use deliberate_store::{DocumentFilter, DocumentOrder, KeyMatch, Pagination};
use deliberate_toolkit::{ArgumentIssue, Tool, ToolContext, ToolError, ToolMeta, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::topic::year_range;
use crate::{
    articles::{ARTICLE, ArticleRepository, VersionedArticle, author_key},
    tools::{
        discovery::paper_line,
        rendering::{pluralize, read_only_meta, read_only_output},
    },
};

/// The `find_articles_by_authors` tool.
pub(crate) struct FindArticlesByAuthors;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Family names, or full ones
    #[schemars(length(min = 1, max = 20), inner(length(max = 200)), extend("x-separated" = "families"))]
    authors: Vec<String>,
    /// Require all authors, not any
    #[serde(default)]
    match_all: bool,
    year_from: Option<i32>,
    year_to: Option<i32>,
    #[serde(default = "fifty")]
    #[schemars(range(min = 1, max = 200))]
    limit: u32,
}

/// Authors of one article in the output.
const MAX_AUTHORS: usize = 50;

fn fifty() -> u32 {
    50
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    total: usize,
    /// Newest first
    articles: Vec<AuthorArticle>,
}

/// An article by one of the authors.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AuthorArticle {
    article_id: String,
    cite_key: String,
    title: String,
    authors: Vec<String>,
    year: Option<u16>,
}

impl Tool for FindArticlesByAuthors {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        read_only_meta(
            "find_articles_by_authors",
            "Find articles by authors",
            "Articles of the collection by any or all of these people",
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let names: Vec<Author> = input.authors.iter().map(|it| Author::parse(it)).collect();
        if names.iter().any(|it| author_key(&it.family).is_empty()) {
            let issue = ArgumentIssue::new("authors", "must contain names");
            return Err(ToolError::Invalid(vec![issue]));
        }
        let (from, to) = year_range(input.year_from, input.year_to)?;
        let found = find_by_family_names(ArticleRepository(call.store()), &names).await?;
        let within = |it: &VersionedArticle| {
            let date = it.record.article.date.map(PartialDate::as_number);
            let after = from.is_none_or(|from| date.is_some_and(|it| it >= from.as_number()));
            after && to.is_none_or(|to| it.record.article.year().is_some_and(|it| it <= to.year))
        };
        let fits = |it: &VersionedArticle| {
            let has = |name: &Author| {
                it.record
                    .article
                    .authors
                    .iter()
                    .any(|one| same_person(one, name))
            };
            if input.match_all {
                names.iter().all(has)
            } else {
                names.iter().any(has)
            }
        };
        let found: Vec<VersionedArticle> = found
            .into_iter()
            .filter(|it| within(it) && fits(it))
            .collect();
        let total = found.len();
        let limit = usize::try_from(input.limit).unwrap_or(200);
        let mut said = pluralize(total as u64, "article");
        if total > limit {
            let _ = write!(said, ", showing the newest {limit}");
        }
        said.push_str("\n\n");
        let articles = found.into_iter().take(limit).map(|it| {
            let _ = writeln!(
                said,
                "- {} (`{}`)",
                paper_line(&it.record.article),
                it.record.cite_key
            );
            AuthorArticle {
                article_id: it.record.id,
                cite_key: it.record.cite_key,
                title: it.record.article.title.clone(),
                authors: it
                    .record
                    .article
                    .authors
                    .iter()
                    .take(MAX_AUTHORS)
                    .map(Author::full_name)
                    .collect(),
                year: it.record.article.year(),
            }
        });
        let articles = articles.collect();
        Ok(read_only_output(Output {
            said,
            total,
            articles,
        }))
    }
}

/// Finds articles by authors with one of these family names, newest first.
async fn find_by_family_names(
    library: ArticleRepository<'_>,
    names: &[Author],
) -> Result<Vec<VersionedArticle>, ToolError> {
    let mut all: Vec<VersionedArticle> = Vec::new();
    for name in names {
        let mut filter = DocumentFilter {
            order: DocumentOrder::Key {
                name: "date".to_owned(),
                descending: true,
            },
            ..DocumentFilter::of_kind(ARTICLE)
        };
        // Some callers omit name particles: `Meer` must find `van der Meer`.
        filter.keys.push(KeyMatch::Contains {
            name: "family".to_owned(),
            text: without_particles(&author_key(&name.family)).to_owned(),
        });
        let found = library
            .list(&filter, Pagination::limit(Pagination::MAX))
            .await?;
        let new = |it: &VersionedArticle| !all.iter().any(|known| known.record.id == it.record.id);
        let new: Vec<VersionedArticle> = found.into_iter().filter(new).collect();
        all.extend(new);
    }
    all.sort_by_key(|it| Reverse(it.record.article.date.map(PartialDate::as_number)));
    Ok(all)
}

/// A family name without its leading particles.
fn without_particles(family: &str) -> &str {
    family.rsplit(' ').next().unwrap_or(family)
}

/// Whether two names can be the same person: the same family name, with or without particles, and
/// given names that agree as far as both are known.
fn same_person(one: &Author, author: &Author) -> bool {
    let given = |it: &Author| -> Vec<String> {
        let names = author_key(it.given.as_deref().unwrap_or(""));
        names
            .split(' ')
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect()
    };
    // `J` and `Johann` may be the same person, `Jakob` and `Johann` are not.
    let alike = given(one)
        .iter()
        .zip(&given(author))
        .all(|(one, other)| one.starts_with(other.as_str()) || other.starts_with(one.as_str()));
    let (own, other) = (author_key(&one.family), author_key(&author.family));
    let within = own.ends_with(&format!(" {other}")) || other.ends_with(&format!(" {own}"));
    // `O Briain` may be a family name without a given name.
    let whole = own == author_key(&author.full_name());
    (own == other || within) && alike || whole
}
