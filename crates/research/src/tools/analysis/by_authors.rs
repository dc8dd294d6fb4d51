//! `find_articles_by_authors`.

use std::{cmp::Reverse, fmt::Write as _};

use deliberate_core::{Author, PartialDate};
use deliberate_store::{ItemFilter, ItemOrder, KeyMatch, Page};
use deliberate_toolkit::{About, Call, Issue, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::topic::years;
use crate::{
    collect::{ARTICLE, Library, Version, author_key},
    tools::{
        discovery::line,
        shown::{count, only_read, reads},
    },
};

/// `find_articles_by_authors`.
pub(crate) struct FindArticlesByAuthors;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Family names, or full ones
    #[schemars(length(min = 1, max = 20), inner(length(max = 200)), extend("x-separated" = "families"))]
    authors: Vec<String>,
    /// All of them, rather than any
    #[serde(default)]
    match_all: bool,
    year_from: Option<i32>,
    year_to: Option<i32>,
    #[serde(default = "fifty")]
    #[schemars(range(min = 1, max = 200))]
    limit: u32,
}

/// Authors of one article that are told.
const MOST_AUTHORS: usize = 50;

fn fifty() -> u32 {
    50
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    /// How many there are in all
    total: usize,
    /// The newest first
    articles: Vec<Found>,
}

/// An article by them.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Found {
    article_id: String,
    cite_key: String,
    title: String,
    authors: Vec<String>,
    year: Option<u16>,
}

impl Tool for FindArticlesByAuthors {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        reads(
            "find_articles_by_authors",
            "Find articles by authors",
            "Articles of the collection by any or all of these people",
        )
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let names: Vec<Author> = input.authors.iter().map(|it| Author::parse(it)).collect();
        if names.iter().any(|it| author_key(&it.family).is_empty()) {
            let issue = Issue::new("authors", "must hold names");
            return Err(ToolError::Invalid(vec![issue]));
        }
        let (from, to) = years(input.year_from, input.year_to)?;
        let found = named_so(Library(call.store()), &names).await?;
        let within = |it: &Version| {
            let date = it.kept.article.date.map(PartialDate::as_number);
            let after = from.is_none_or(|from| date.is_some_and(|it| it >= from.as_number()));
            after && to.is_none_or(|to| it.kept.article.year().is_some_and(|it| it <= to.year))
        };
        let fits = |it: &Version| {
            let has = |name: &Author| {
                it.kept
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
        let found: Vec<Version> = found
            .into_iter()
            .filter(|it| within(it) && fits(it))
            .collect();
        let total = found.len();
        let limit = usize::try_from(input.limit).unwrap_or(200);
        let mut said = count(total as u64, "article");
        if total > limit {
            let _ = write!(said, ", the newest {limit} shown");
        }
        said.push_str("\n\n");
        let articles = found.into_iter().take(limit).map(|it| {
            let _ = writeln!(
                said,
                "- {} (`{}`)",
                line(&it.kept.article),
                it.kept.cite_key
            );
            Found {
                article_id: it.kept.id,
                cite_key: it.kept.cite_key,
                title: it.kept.article.title.clone(),
                authors: it
                    .kept
                    .article
                    .authors
                    .iter()
                    .take(MOST_AUTHORS)
                    .map(Author::full_name)
                    .collect(),
                year: it.kept.article.year(),
            }
        });
        let articles = articles.collect();
        Ok(only_read(Output {
            said,
            total,
            articles,
        }))
    }
}

/// Articles by people of one of these family names, the newest first.
async fn named_so(library: Library<'_>, names: &[Author]) -> Result<Vec<Version>, ToolError> {
    let mut all: Vec<Version> = Vec::new();
    for name in names {
        let mut filter = ItemFilter {
            order: ItemOrder::Key {
                name: "date".to_owned(),
                descending: true,
            },
            ..ItemFilter::of(ARTICLE)
        };
        // Some leave the particles out: who wants `Meer` finds `van der Meer`.
        filter.keys.push(KeyMatch::Holds {
            name: "family".to_owned(),
            text: proper(&author_key(&name.family)).to_owned(),
        });
        let found = library.list(&filter, Page::first(Page::MOST)).await?;
        let new = |it: &Version| !all.iter().any(|known| known.kept.id == it.kept.id);
        let new: Vec<Version> = found.into_iter().filter(new).collect();
        all.extend(new);
    }
    all.sort_by_key(|it| Reverse(it.kept.article.date.map(PartialDate::as_number)));
    Ok(all)
}

/// A family name without what stands before it.
fn proper(family: &str) -> &str {
    family.rsplit(' ').next().unwrap_or(family)
}

/// Of the same family name, with or without its particles, and with given names that do not differ
/// as far as both are known.
fn same_person(one: &Author, wanted: &Author) -> bool {
    let given = |it: &Author| -> Vec<String> {
        let names = author_key(it.given.as_deref().unwrap_or(""));
        names
            .split(' ')
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect()
    };
    // `J` and `Johann` may be one, `Jakob` and `Johann` are two.
    let alike = given(one)
        .iter()
        .zip(&given(wanted))
        .all(|(one, other)| one.starts_with(other.as_str()) || other.starts_with(one.as_str()));
    let (own, other) = (author_key(&one.family), author_key(&wanted.family));
    let within = own.ends_with(&format!(" {other}")) || other.ends_with(&format!(" {own}"));
    // `O Briain` may be all family.
    let whole = own == author_key(&wanted.full_name());
    (own == other || within) && alike || whole
}
