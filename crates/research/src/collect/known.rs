//! Whether two records of one title are of one work. Taking two works for one loses a text; taking
//! one for two costs a line in a list. So whatever is in doubt is two.

use deliberate_core::{Article, Author};
use deliberate_store::{ItemFilter, Page};
use deliberate_toolkit::ToolError;

use super::{ARTICLE, Category, Kept, KeptFile, Library, Text, Version, author_key, title_key};

/// A title of so many words names a work together with its first author.
const TELLING: usize = 4;

/// A title of so many words names a work by itself.
const TELLING_ALONE: usize = 8;

/// Where the author of a file is looked for: this far from its beginning.
const BEGINNING: usize = 3_000;

/// So many articles of one path are looked at.
const MOST_OF_A_PATH: u32 = 20;

/// Whether two works of the same title are one.
pub(super) fn is_same(one: &Article, other: &Article) -> bool {
    let words = title_key(&one.title).split(' ').count();
    match (first_author(one), first_author(other)) {
        (Some(first), Some(second)) => {
            let years = one.year().zip(other.year());
            first == second && (words >= TELLING || years.is_some_and(|(one, other)| one == other))
        }
        _ => words >= TELLING_ALONE,
    }
}

/// Whether two works are two for sure: they have ids of one kind that differ.
pub(super) fn have_other_ids(one: &Article, other: &Article) -> bool {
    fn differ<T: PartialEq>(one: Option<&T>, other: Option<&T>) -> bool {
        one.zip(other).is_some_and(|(one, other)| one != other)
    }
    differ(one.doi.as_ref(), other.doi.as_ref())
        || differ(one.arxiv_id.as_ref(), other.arxiv_id.as_ref())
}

/// Whether two works are two, as far as ids and titles tell.
pub(super) fn are_two(one: &Article, other: &Article) -> bool {
    have_other_ids(one, other) || title_key(&one.title) != title_key(&other.title)
}

/// The article that a file is of, if it is kept: the one with its ids, or of its title and the same
/// path, or of its title and with an author that the file names, or the one whose text was this file
/// before it was written anew. What is brought in from elsewhere is only ever the same as itself.
pub(super) async fn known_file(
    library: Library<'_>,
    article: &Article,
    text: &Text,
    (category, file): (Category, &KeptFile),
) -> Result<Option<Version>, ToolError> {
    let titled = library.titled(&article.title).await?;
    let from_there = |it: &&Version| {
        let before = it.kept.file.as_ref();
        it.kept.category == category && before.is_some_and(|it| it.path == file.path)
    };
    let changed = titled.iter().find(from_there).cloned();
    if category == Category::External {
        return match changed {
            Some(changed) => Ok(Some(changed)),
            None => rewritten(library, article, (category, file)).await,
        };
    }
    if let Some(found) = library.of_its_ids(article).await? {
        return Ok(Some(found));
    }
    if changed.is_some() {
        return Ok(changed);
    }
    let same = |it: &Version| {
        let kept = &it.kept;
        kept.category == category
            && (is_same(&kept.article, article) || is_named(&kept.article, article, text))
    };
    match titled.into_iter().find(same) {
        Some(found) => Ok(Some(found)),
        None => rewritten(library, article, (category, file)).await,
    }
}

/// The article whose text was that of the file at this path, which has another title by now. An id
/// or an author of another says that another work was put there; and what has a second file is not
/// gone.
async fn rewritten(
    library: Library<'_>,
    article: &Article,
    (category, file): (Category, &KeptFile),
) -> Result<Option<Version>, ToolError> {
    let filter = ItemFilter::with(ARTICLE, "path", &file.path);
    for mut it in library.list(&filter, Page::first(MOST_OF_A_PATH)).await? {
        let kept = &it.kept;
        let is_text = kept.file.as_ref().is_some_and(|it| it.path == file.path);
        let is_its = is_text && kept.category == category && may_be_one(&kept.article, article);
        if !is_its || has_another_file(kept, &file.path).await {
            continue;
        }
        if is_own_title(library, kept).await? {
            it.kept.article.title.clone_from(&article.title);
        }
        return Ok(Some(it));
    }
    Ok(None)
}

/// Whether nothing but the titles says that two are two.
fn may_be_one(one: &Article, other: &Article) -> bool {
    let authors = first_author(one).zip(first_author(other));
    one.doi == other.doi
        && one.arxiv_id == other.arxiv_id
        && authors.is_none_or(|(one, other)| one == other)
}

async fn has_another_file(kept: &Kept, path: &str) -> bool {
    for other in kept.other_files.iter().filter(|it| it.path != path) {
        if tokio::fs::try_exists(&other.path).await.unwrap_or(true) {
            return true;
        }
    }
    false
}

/// Whether an article is called what its text says. A title that somebody gave it stays.
async fn is_own_title(library: Library<'_>, kept: &Kept) -> Result<bool, ToolError> {
    let pages = library.pages(&kept.id, 1, 1).await?;
    let title = title_key(&kept.article.title);
    Ok(pages.iter().any(|it| title_key(it).contains(&title)))
}

/// Whether a file of the title of a record, of which nothing else says who wrote it, names the
/// record's first author at its beginning.
fn is_named(record: &Article, article: &Article, text: &Text) -> bool {
    if title_key(&record.title).split(' ').count() < TELLING {
        return false;
    }
    let Some(family) = first_author(record).filter(|_| article.authors.is_empty()) else {
        return false;
    };
    let page = text.pages.first().map(String::as_str).unwrap_or_default();
    let beginning: String = page.chars().take(BEGINNING).collect();
    author_key(&beginning).split(' ').any(|it| it == family)
}

/// The last word of the first author's family name: some write the particles and some do not.
fn first_author(article: &Article) -> Option<String> {
    let family = |it: &Author| {
        let key = author_key(&it.family);
        key.rsplit(' ').next().map(str::to_owned)
    };
    let family = article.authors.first().and_then(family);
    family.filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use deliberate_core::PartialDate;

    use super::*;

    fn work(title: &str, family: Option<&str>, year: &str) -> Article {
        Article {
            title: title.to_owned(),
            authors: family
                .map(|it| Author::person(it, "A."))
                .into_iter()
                .collect(),
            date: PartialDate::parse(year),
            ..Article::default()
        }
    }

    #[test]
    fn a_short_title_needs_more_than_itself() {
        let intro = |family, year| work("Introduction", family, year);
        assert!(!is_same(&intro(None, "2001"), &intro(None, "2001")));
        assert!(!is_same(&intro(Some("Gray"), ""), &intro(Some("Gray"), "")));
        assert!(!is_same(
            &intro(Some("Gray"), "2001"),
            &intro(Some("Gray"), "2002")
        ));
        assert!(is_same(
            &intro(Some("Gray"), "2001"),
            &intro(Some("Gray"), "2001")
        ));
    }

    #[test]
    fn a_long_title_needs_less() {
        let five = |family| work("On bees and their ways", family, "");
        assert!(is_same(&five(Some("van der Meer")), &five(Some("Meer"))));
        assert!(is_same(&five(Some("Müller")), &five(Some("Muller"))));
        assert!(!is_same(&five(Some("Gray")), &five(Some("Green"))));
        assert!(!is_same(&five(Some("Gray")), &five(None)));
        let eight = |family| work("On bees and their ways in the high north", family, "");
        assert!(is_same(&eight(Some("Gray")), &eight(None)));
    }
}
