//! Decides whether two records describe the same work. Merging two works loses a text, while
//! keeping a duplicate only adds a line to a list, so doubtful cases stay separate.

use deliberate_core::{Article, Author};
use deliberate_store::{DocumentFilter, Pagination};
use deliberate_toolkit::ToolError;

use crate::articles::{
    ARTICLE, ArticleCategory, ArticleFile, ArticleRecord, ArticleRepository, FullText,
    VersionedArticle, author_key, title_key,
};

/// A title of this many words identifies a work together with its first author.
const MIN_TITLE_WORDS_WITH_AUTHOR: usize = 4;

/// A title of this many words identifies a work by itself.
const MIN_TITLE_WORDS_ALONE: usize = 8;

/// The author of a file is searched for in this many characters at its beginning.
const AUTHOR_SEARCH_CHARS: usize = 3_000;

/// The most articles of one path that are compared.
const MAX_ARTICLES_PER_PATH: u32 = 20;

/// Whether two records with the same title describe the same work.
pub(crate) fn is_same_work(one: &Article, other: &Article) -> bool {
    let words = title_key(&one.title).split(' ').count();
    match (first_author_key(one), first_author_key(other)) {
        (Some(first), Some(second)) => {
            let years = one.year().zip(other.year());
            first == second
                && (words >= MIN_TITLE_WORDS_WITH_AUTHOR
                    || years.is_some_and(|(one, other)| one == other))
        }
        _ => words >= MIN_TITLE_WORDS_ALONE,
    }
}

/// Whether two records have different identifiers of the same kind, so are certainly two works.
pub(crate) fn have_conflicting_ids(one: &Article, other: &Article) -> bool {
    fn differ<T: PartialEq>(one: Option<&T>, other: Option<&T>) -> bool {
        one.zip(other).is_some_and(|(one, other)| one != other)
    }
    differ(one.doi.as_ref(), other.doi.as_ref())
        || differ(one.arxiv_id.as_ref(), other.arxiv_id.as_ref())
}

/// Whether two records are different works by their identifiers and titles.
pub(crate) fn are_different_works(one: &Article, other: &Article) -> bool {
    have_conflicting_ids(one, other) || title_key(&one.title) != title_key(&other.title)
}

/// Finds the article that a file belongs to: the one with its identifiers, or with its title and
/// path, or with its title and an author that the file names, or the one whose text was read from
/// this file before the file was rewritten. External documents match only themselves.
pub(crate) async fn find_article_for_file(
    library: ArticleRepository<'_>,
    article: &Article,
    text: &FullText,
    (category, file): (ArticleCategory, &ArticleFile),
) -> Result<Option<VersionedArticle>, ToolError> {
    let titled = library.find_by_title(&article.title).await?;
    let from_there = |it: &&VersionedArticle| {
        let before = it.record.file.as_ref();
        it.record.category == category && before.is_some_and(|it| it.path == file.path)
    };
    let changed = titled.iter().find(from_there).cloned();
    if category == ArticleCategory::External {
        return match changed {
            Some(changed) => Ok(Some(changed)),
            None => find_rewritten_file(library, article, (category, file)).await,
        };
    }
    if let Some(found) = library.find_by_ids(article).await? {
        return Ok(Some(found));
    }
    if changed.is_some() {
        return Ok(changed);
    }
    let same = |it: &VersionedArticle| {
        let kept = &it.record;
        kept.category == category
            && (is_same_work(&kept.article, article)
                || names_first_author(&kept.article, article, text))
    };
    match titled.into_iter().find(same) {
        Some(found) => Ok(Some(found)),
        None => find_rewritten_file(library, article, (category, file)).await,
    }
}

/// Finds the article that was read from the file at this path before its title changed. A different
/// identifier or author means that another work replaced the file; and an article with a second
/// file still exists.
async fn find_rewritten_file(
    library: ArticleRepository<'_>,
    article: &Article,
    (category, file): (ArticleCategory, &ArticleFile),
) -> Result<Option<VersionedArticle>, ToolError> {
    let filter = DocumentFilter::with_key(ARTICLE, "path", &file.path);
    for mut it in library
        .list(&filter, Pagination::limit(MAX_ARTICLES_PER_PATH))
        .await?
    {
        let kept = &it.record;
        let is_text = kept.file.as_ref().is_some_and(|it| it.path == file.path);
        let is_its =
            is_text && kept.category == category && may_be_same_work(&kept.article, article);
        if !is_its || has_another_file(kept, &file.path).await {
            continue;
        }
        if is_title_from_text(library, kept).await? {
            it.record.article.title.clone_from(&article.title);
        }
        return Ok(Some(it));
    }
    Ok(None)
}

/// Whether only the titles distinguish two records.
fn may_be_same_work(one: &Article, other: &Article) -> bool {
    let authors = first_author_key(one).zip(first_author_key(other));
    one.doi == other.doi
        && one.arxiv_id == other.arxiv_id
        && authors.is_none_or(|(one, other)| one == other)
}

async fn has_another_file(record: &ArticleRecord, path: &str) -> bool {
    for other in record.other_files.iter().filter(|it| it.path != path) {
        if tokio::fs::try_exists(&other.path).await.unwrap_or(true) {
            return true;
        }
    }
    false
}

/// Whether an article's title comes from its text. A title set by a user is kept.
async fn is_title_from_text(
    library: ArticleRepository<'_>,
    record: &ArticleRecord,
) -> Result<bool, ToolError> {
    let pages = library.pages(&record.id, 1, 1).await?;
    let title = title_key(&record.article.title);
    Ok(pages.iter().any(|it| title_key(it).contains(&title)))
}

/// Whether a file with the title of a record, but without known authors, names the record's first
/// author at its beginning.
fn names_first_author(record: &Article, article: &Article, text: &FullText) -> bool {
    if title_key(&record.title).split(' ').count() < MIN_TITLE_WORDS_WITH_AUTHOR {
        return false;
    }
    let Some(family) = first_author_key(record).filter(|_| article.authors.is_empty()) else {
        return false;
    };
    let page = text.pages.first().map(String::as_str).unwrap_or_default();
    let beginning: String = page.chars().take(AUTHOR_SEARCH_CHARS).collect();
    author_key(&beginning).split(' ').any(|it| it == family)
}

/// The last word of the first author's family name, because sources differ in name particles.
fn first_author_key(article: &Article) -> Option<String> {
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
        assert!(!is_same_work(&intro(None, "2001"), &intro(None, "2001")));
        assert!(!is_same_work(
            &intro(Some("Gray"), ""),
            &intro(Some("Gray"), "")
        ));
        assert!(!is_same_work(
            &intro(Some("Gray"), "2001"),
            &intro(Some("Gray"), "2002")
        ));
        assert!(is_same_work(
            &intro(Some("Gray"), "2001"),
            &intro(Some("Gray"), "2001")
        ));
    }

    #[test]
    fn a_long_title_needs_less() {
        let five = |family| work("On bees and their ways", family, "");
        assert!(is_same_work(
            &five(Some("van der Meer")),
            &five(Some("Meer"))
        ));
        assert!(is_same_work(&five(Some("Müller")), &five(Some("Muller"))));
        assert!(!is_same_work(&five(Some("Gray")), &five(Some("Green"))));
        assert!(!is_same_work(&five(Some("Gray")), &five(None)));
        let eight = |family| work("On bees and their ways in the high north", family, "");
        assert!(is_same_work(&eight(Some("Gray")), &eight(None)));
    }
}
