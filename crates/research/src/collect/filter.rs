//! Scopes and filters as the index understands them. What can't be applied is refused, never
//! passed over.

use std::collections::BTreeSet;

use deliberate_core::{Author, PartialDate};
use deliberate_index::Filter;
use deliberate_store::{ItemFilter, Page};
use deliberate_toolkit::{Issue, ToolError};

use super::{
    ARTICLE, ArticleFilter, Category, Library, author_key,
    indexed::{brief_name, has_initials_only},
    kinds::kind_named,
    title_key,
};

/// The most names of journals that one may stand for.
const MOST_VENUES: usize = 500;

impl ArticleFilter {
    /// As the index understands it.
    pub(crate) async fn as_index_filter(&self, library: Library<'_>) -> Result<Filter, ToolError> {
        let mut all = Vec::new();
        if let Some(ids) = &self.ids {
            all.push(Filter::Documents(ids.iter().cloned().collect()));
        }
        if !self.not_ids.is_empty() {
            let ids = self.not_ids.iter().cloned().collect();
            all.push(Filter::Not(Box::new(Filter::Documents(ids))));
        }
        all.extend(self.author.as_deref().map(by_author));
        all.extend(between(self.date_from, self.date_to)?);
        if let Some(kind) = &self.kind {
            all.push(word("kind", kind_named("document_type", kind)?.as_str()));
        }
        if let Some(venue) = &self.venue {
            all.push(by_venue(venue, library).await?);
        }
        all.extend(self.tags.iter().map(|tag| word("tag", &tag_key(tag))));
        all.extend(self.min_citations.map(|least| Filter::Number {
            name: "citations".to_owned(),
            from: Some(least.try_into().unwrap_or(i64::MAX)),
            to: None,
        }));
        all.extend(
            self.has_text
                .map(|has| word("has_text", if has { "yes" } else { "no" })),
        );
        Ok(if all.is_empty() {
            Filter::All
        } else {
            Filter::And(all)
        })
    }
}

/// A tag in the one form it is compared in.
pub(crate) fn tag_key(tag: &str) -> String {
    let words: Vec<String> = tag.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ")
}

/// What is of that category.
pub(crate) fn of_category(category: Category) -> Filter {
    word("category", category.as_str())
}

/// What is in that collection.
pub(crate) fn in_collection(name: &str) -> Filter {
    word("collection", name)
}

/// One of these documents.
pub(crate) fn among(ids: BTreeSet<String>) -> Filter {
    Filter::Documents(ids)
}

fn word(name: &str, value: &str) -> Filter {
    any_word(name, vec![value.to_owned()])
}

fn any_word(name: &str, any_of: Vec<String>) -> Filter {
    Filter::Word {
        name: name.to_owned(),
        any_of,
    }
}

/// By someone of that name. Who is given with initials is anyone with them; who is given by a full
/// name is also someone of whom only the initials are known.
fn by_author(name: &str) -> Filter {
    let parsed = Author::parse(name);
    let Some(brief) = brief_name(&parsed) else {
        return word("author", &author_key(name));
    };
    if has_initials_only(&parsed) {
        // `O Briain` may be all family.
        return any_word("author", vec![brief, author_key(name)]);
    }
    let full = vec![author_key(&parsed.full_name()), author_key(name)];
    Filter::Or(vec![
        any_word("author", full),
        any_word("author_brief", vec![brief]),
    ])
}

/// Within two dates, both included: a year is all of it.
fn between(
    from: Option<PartialDate>,
    to: Option<PartialDate>,
) -> Result<Option<Filter>, ToolError> {
    if from.is_none() && to.is_none() {
        return Ok(None);
    }
    let (from, to) = (from.map(PartialDate::as_number), to.map(last_day));
    if from.zip(to).is_some_and(|(from, to)| from > to) {
        let issue = Issue::new("date_to", "must not be before date_from");
        return Err(ToolError::Invalid(vec![issue]));
    }
    Ok(Some(Filter::Number {
        name: "date".to_owned(),
        from,
        to,
    }))
}

/// The last number that a date, of which parts may not be known, can be.
pub(crate) fn last_day(date: PartialDate) -> i64 {
    date.as_number()
        + match (date.month, date.day) {
            (None, _) => 9_999,
            (Some(_), None) => 99,
            (Some(_), Some(_)) => 0,
        }
}

/// In a journal of exactly that name, or, if there is none, of a name that holds it.
async fn by_venue(venue: &str, library: Library<'_>) -> Result<Filter, ToolError> {
    let key = title_key(venue);
    if key.is_empty() {
        let issue = Issue::new("journal", "must name a journal or conference");
        return Err(ToolError::Invalid(vec![issue]));
    }
    let exact = ItemFilter::with(ARTICLE, "venue", &key);
    if library.0.count_items(&exact).await? > 0 {
        return Ok(word("venue", &key));
    }
    let names = venues_that_hold(&key, library).await?;
    if names.len() > MOST_VENUES {
        let rule = format!("fits more than {MOST_VENUES} journals; give more of its name");
        let issue = Issue::new("journal", rule).given(&venue.into());
        return Err(ToolError::Invalid(vec![issue]));
    }
    Ok(any_word("venue", names))
}

/// The names of all journals that hold this.
async fn venues_that_hold(key: &str, library: Library<'_>) -> Result<Vec<String>, ToolError> {
    let mut names = Vec::new();
    let mut page = Page::first(Page::MOST);
    loop {
        let some = library.0.item_values(ARTICLE, "venue", page).await?;
        let last = some.len() < Page::MOST as usize;
        let fitting = some
            .into_iter()
            .map(|it| it.0)
            .filter(|it| it.contains(key));
        names.extend(fitting);
        if last || names.len() > MOST_VENUES {
            return Ok(names);
        }
        page.offset = page.offset.saturating_add(Page::MOST);
    }
}

/// A date of an argument.
pub(crate) fn date_of(field: &str, text: Option<&str>) -> Result<Option<PartialDate>, ToolError> {
    let Some(text) = text.filter(|it| !it.trim().is_empty()) else {
        return Ok(None);
    };
    let date = PartialDate::given(text).ok_or_else(|| {
        let issue = Issue::new(field, "must be a date: 2024, 2024-05 or 2024-05-17");
        ToolError::Invalid(vec![issue.given(&text.into())])
    });
    date.map(Some)
}
