//! Converts an article to an index document: its passages and filter terms.

use std::collections::BTreeMap;

use deliberate_core::{Author, truncate_chars};
use deliberate_index::{
    Facets, IndexedDocument, Passage,
    chunk::{ChunkOptions, SectionHeading, chunk},
};

use crate::articles::{
    ArticleRecord, FullText, author_key, references_section::bibliographies, title_key,
};

/// The most authors an article is indexed by, because each takes space in the index.
const MAX_AUTHORS: usize = 3_000;

/// The longest filter term.
const MAX_TERM_CHARS: usize = 250;

/// Builds the document of an article from its full text, or from its title and abstract.
pub(crate) fn build_document(
    record: &ArticleRecord,
    text: Option<&FullText>,
    options: ChunkOptions,
) -> IndexedDocument {
    let passages = match text {
        Some(text) => chunk_full_text(text, options),
        None => Vec::new(),
    };
    IndexedDocument {
        id: record.id.clone(),
        title: record.article.title.clone(),
        facets: build_facets(record),
        passages: if passages.is_empty() {
            vec![abstract_passage(record)]
        } else {
            passages
        },
    }
}

/// Splits the paper's own text into passages. Bibliographies are omitted, because the titles in
/// them are other works'.
fn chunk_full_text(text: &FullText, options: ChunkOptions) -> Vec<Passage> {
    let whole = text.join_pages();
    let starts = text.page_starts();
    let headings = text.outline.headings.iter().zip(text.heading_starts());
    let sections = headings.filter_map(|(heading, start)| {
        Some(SectionHeading {
            level: heading.level,
            title: heading.title.clone(),
            start: start?,
        })
    });
    let cited = bibliographies(text);
    // The text after a bibliography without a heading starts a new passage, too.
    let begins = cited.iter().map(|it| SectionHeading {
        level: u8::MAX,
        title: String::new(),
        start: it.start,
    });
    let sections: Vec<SectionHeading> = sections.chain(begins).collect();
    let mut passages = chunk(&whole, &sections, &starts, options);
    passages.retain(|it| {
        let start = usize::try_from(it.start).unwrap_or(usize::MAX);
        !cited.iter().any(|range| range.contains(&start))
    });
    for (number, passage) in (0..).zip(&mut passages) {
        passage.number = number;
    }
    passages
}

/// The title and abstract as a passage on page 0.
fn abstract_passage(record: &ArticleRecord) -> Passage {
    let article = &record.article;
    let parts = [Some(article.title.as_str()), article.summary.as_deref()];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    Passage {
        end: text.len() as u64,
        text,
        ..Passage::default()
    }
}

fn build_facets(record: &ArticleRecord) -> Facets {
    let article = &record.article;
    let mut words = BTreeMap::<String, Vec<String>>::new();
    let mut add = |name: &str, value: &str| {
        let value = truncate_chars(value, MAX_TERM_CHARS);
        if !value.is_empty() {
            words.entry(name.to_owned()).or_default().push(value);
        }
    };
    add("category", record.category.as_str());
    add("kind", article.kind.as_str());
    add("has_text", if record.pages > 0 { "yes" } else { "no" });
    if let Some(venue) = &article.venue {
        add("venue", &title_key(venue));
    }
    for name in &record.collections {
        add("collection", name);
    }
    for tag in &record.tags {
        add("tag", tag);
    }
    for author in article.authors.iter().take(MAX_AUTHORS) {
        for name in author_name_keys(author) {
            add("author", &name);
        }
        if let Some(brief) = brief_name(author).filter(|_| has_initials_only(author)) {
            add("author_brief", &brief);
        }
    }
    let number = |name: &str, value: Option<i64>| value.map(|it| (name.to_owned(), it));
    let citations = article
        .citation_count
        .map(|it| it.try_into().unwrap_or(i64::MAX));
    let date = article.date.map(deliberate_core::PartialDate::as_number);
    Facets {
        words,
        numbers: [number("date", date), number("citations", citations)]
            .into_iter()
            .flatten()
            .collect(),
    }
}

/// The forms by which an author is found: the full name, the family name, and the family name with
/// an initial; the last two also without particles such as `van der`.
fn author_name_keys(author: &Author) -> Vec<String> {
    let family = author_key(&author.family);
    let mut names = vec![author_key(&author.full_name()), family.clone()];
    names.extend(brief_name(author));
    if let Some((_, last)) = family.rsplit_once(' ') {
        names.push(last.to_owned());
        let short = Author {
            family: last.to_owned(),
            ..author.clone()
        };
        names.extend(brief_name(&short));
    }
    names.sort();
    names.dedup();
    names
}

/// The family name and first initial: `vaswani a`.
pub(crate) fn brief_name(author: &Author) -> Option<String> {
    let given = author.given.as_deref()?;
    let initial = author_key(given).chars().find(|it| it.is_alphabetic())?;
    Some(format!("{} {initial}", author_key(&author.family)))
}

/// Whether the given names are known by their initials only.
pub(crate) fn has_initials_only(author: &Author) -> bool {
    let given = author.given.as_deref().unwrap_or_default();
    let words = given.split(|it: char| !it.is_alphanumeric());
    !given.is_empty()
        && words.filter(|it| !it.is_empty()).all(|word| {
            let short = word.chars().count() == 1;
            short || (word.chars().count() < 4 && word.chars().all(char::is_uppercase))
        })
}
