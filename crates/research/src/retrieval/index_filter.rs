//! Converts scopes and filters to index filters. A filter that can't be applied is rejected, never
//! ignored.

use std::collections::BTreeSet;

use deliberate_core::{Author, PartialDate};
use deliberate_index::IndexFilter;
use deliberate_store::{DocumentFilter, Pagination};
use deliberate_toolkit::{ArgumentIssue, ToolError};

use super::query::ArticleFilter;
use crate::{
    articles::{
        ARTICLE, ArticleCategory, ArticleRepository, author_key, title_key,
        work_kind::parse_work_kind,
    },
    index_sync::document::{brief_name, has_initials_only},
};

/// The most journals that a partial name may match.
const MAX_VENUES: usize = 500;

impl ArticleFilter {
    /// Converts to an index filter.
    pub(crate) async fn as_index_filter(
        &self,
        library: ArticleRepository<'_>,
    ) -> Result<IndexFilter, ToolError> {
        let mut all = Vec::new();
        if let Some(ids) = &self.ids {
            all.push(IndexFilter::Documents(ids.iter().cloned().collect()));
        }
        if !self.not_ids.is_empty() {
            let ids = self.not_ids.iter().cloned().collect();
            all.push(IndexFilter::Not(Box::new(IndexFilter::Documents(ids))));
        }
        all.extend(self.author.as_deref().map(author_filter));
        all.extend(date_range_filter(self.date_from, self.date_to)?);
        if let Some(kind) = &self.kind {
            all.push(term_filter(
                "kind",
                parse_work_kind("document_type", kind)?.as_str(),
            ));
        }
        if let Some(venue) = &self.venue {
            all.push(venue_filter(venue, library).await?);
        }
        all.extend(
            self.tags
                .iter()
                .map(|tag| term_filter("tag", &tag_key(tag))),
        );
        all.extend(self.min_citations.map(|least| IndexFilter::Number {
            name: "citations".to_owned(),
            from: Some(least.try_into().unwrap_or(i64::MAX)),
            to: None,
        }));
        all.extend(
            self.has_text
                .map(|has| term_filter("has_text", if has { "yes" } else { "no" })),
        );
        Ok(if all.is_empty() {
            IndexFilter::All
        } else {
            IndexFilter::And(all)
        })
    }
}

/// The form in which tags are compared.
pub(crate) fn tag_key(tag: &str) -> String {
    let words: Vec<String> = tag.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ")
}

pub(crate) fn category_filter(category: ArticleCategory) -> IndexFilter {
    term_filter("category", category.as_str())
}

pub(crate) fn collection_filter(name: &str) -> IndexFilter {
    term_filter("collection", name)
}

/// The filter for these documents.
pub(crate) fn id_filter(ids: BTreeSet<String>) -> IndexFilter {
    IndexFilter::Documents(ids)
}

fn term_filter(name: &str, value: &str) -> IndexFilter {
    any_term_filter(name, vec![value.to_owned()])
}

fn any_term_filter(name: &str, any_of: Vec<String>) -> IndexFilter {
    IndexFilter::Word {
        name: name.to_owned(),
        any_of,
    }
}

/// The filter for an author. A name with initials matches everyone with these initials; a full name
/// also matches an author of whom only the initials are known.
fn author_filter(name: &str) -> IndexFilter {
    let parsed = Author::parse(name);
    let Some(brief) = brief_name(&parsed) else {
        return term_filter("author", &author_key(name));
    };
    if has_initials_only(&parsed) {
        // `O Briain` may be a family name as a whole.
        return any_term_filter("author", vec![brief, author_key(name)]);
    }
    let full = vec![author_key(&parsed.full_name()), author_key(name)];
    IndexFilter::Or(vec![
        any_term_filter("author", full),
        any_term_filter("author_brief", vec![brief]),
    ])
}

/// The filter for a range of dates, both inclusive; a year means all of it.
fn date_range_filter(
    from: Option<PartialDate>,
    to: Option<PartialDate>,
) -> Result<Option<IndexFilter>, ToolError> {
    if from.is_none() && to.is_none() {
        return Ok(None);
    }
    let (from, to) = (from.map(PartialDate::as_number), to.map(max_date_number));
    if from.zip(to).is_some_and(|(from, to)| from > to) {
        let issue = ArgumentIssue::new("date_to", "must not be before date_from");
        return Err(ToolError::Invalid(vec![issue]));
    }
    Ok(Some(IndexFilter::Number {
        name: "date".to_owned(),
        from,
        to,
    }))
}

/// The highest number of a partial date.
pub(crate) fn max_date_number(date: PartialDate) -> i64 {
    date.as_number()
        + match (date.month, date.day) {
            (None, _) => 9_999,
            (Some(_), None) => 99,
            (Some(_), Some(_)) => 0,
        }
}

/// The filter for a journal with exactly this name or, if there is none, with a name that contains
/// it.
async fn venue_filter(
    venue: &str,
    library: ArticleRepository<'_>,
) -> Result<IndexFilter, ToolError> {
    let key = title_key(venue);
    if key.is_empty() {
        let issue = ArgumentIssue::new("journal", "must name a journal or conference");
        return Err(ToolError::Invalid(vec![issue]));
    }
    let exact = DocumentFilter::with_key(ARTICLE, "venue", &key);
    if library.0.count_documents(&exact).await? > 0 {
        return Ok(term_filter("venue", &key));
    }
    let names = venues_containing(&key, library).await?;
    if names.len() > MAX_VENUES {
        let rule = format!("matches more than {MAX_VENUES} journals; give more of its name");
        let issue = ArgumentIssue::new("journal", rule).with_value(&venue.into());
        return Err(ToolError::Invalid(vec![issue]));
    }
    Ok(any_term_filter("venue", names))
}

/// The names of all journals that contain a text.
async fn venues_containing(
    key: &str,
    library: ArticleRepository<'_>,
) -> Result<Vec<String>, ToolError> {
    let mut names = Vec::new();
    let mut page = Pagination::limit(Pagination::MAX);
    loop {
        let some = library.0.document_values(ARTICLE, "venue", page).await?;
        let last = some.len() < Pagination::MAX as usize;
        let fitting = some
            .into_iter()
            .map(|it| it.0)
            .filter(|it| it.contains(key));
        names.extend(fitting);
        if last || names.len() > MAX_VENUES {
            return Ok(names);
        }
        page.offset = page.offset.saturating_add(Pagination::MAX);
    }
}

/// Parses a date argument.
pub(crate) fn parse_date_argument(
    field: &str,
    text: Option<&str>,
) -> Result<Option<PartialDate>, ToolError> {
    let Some(text) = text.filter(|it| !it.trim().is_empty()) else {
        return Ok(None);
    };
    let date = PartialDate::parse_strict(text).ok_or_else(|| {
        let issue = ArgumentIssue::new(field, "must be a date: 2024, 2024-05 or 2024-05-17");
        ToolError::Invalid(vec![issue.with_value(&text.into())])
    });
    date.map(Some)
}
