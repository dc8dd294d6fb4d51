//! Converts a record to a CSL-JSON item, the input of citation processors. Knows no styles.

use citationberg::json::{
    DateValue, Item, LiteralName, NameItem, NameValue, Value, VecDate, VecDateRange,
};
use deliberate_core::{Article, ArxivId, Author, PartialDate, WorkKind};

use crate::{name_suffix, text_normalization};

/// Longer than any title, in characters.
const MAX_VALUE_CHARS: usize = 2_000;

/// Styles print at most about twenty names and the last one. With thousands of authors the
/// processor needs minutes to tell works apart.
const MAX_NAMES: usize = 500;

/// The CSL type of a work. Without a kind, the fields of the record decide.
pub(crate) fn csl_type(article: &Article) -> &'static str {
    match article.kind {
        WorkKind::JournalArticle => "article-journal",
        WorkKind::ConferencePaper => "paper-conference",
        WorkKind::Preprint => "article",
        WorkKind::Book => "book",
        WorkKind::Chapter => "chapter",
        WorkKind::Thesis => "thesis",
        WorkKind::Report => "report",
        WorkKind::Dataset => "dataset",
        WorkKind::Software => "software",
        WorkKind::WebPage => "webpage",
        WorkKind::Unknown
            if article.venue.is_some() && (article.volume.is_some() || article.issn.is_some()) =>
        {
            "article-journal"
        }
        WorkKind::Unknown if article.venue.is_none() && article.arxiv_id.is_some() => "article",
        WorkKind::Unknown if article.isbn.is_some() && article.venue.is_none() => "book",
        WorkKind::Document | WorkKind::Unknown => "document",
    }
}

/// Converts a record to an item. `id` must be unique in a list.
pub(crate) fn to_csl_item(id: &str, article: &Article) -> Item {
    let mut fields = std::collections::BTreeMap::new();
    for (name, value) in text_fields(article) {
        let value = deliberate_core::truncate_chars(&value, MAX_VALUE_CHARS);
        fields.insert(name.to_owned(), Value::String(value));
    }
    fields.insert("id".to_owned(), Value::String(id.to_owned()));
    fields.insert(
        "type".to_owned(),
        Value::String(csl_type(article).to_owned()),
    );
    fields.insert("citation-label".to_owned(), Value::String(label(article)));
    let names: Vec<NameValue> = printed_authors(&article.authors).filter_map(name).collect();
    if !names.is_empty() {
        fields.insert("author".to_owned(), Value::Names(names));
    }
    if let Some(date) = article.date {
        fields.insert("issued".to_owned(), Value::Date(date_value(date)));
    }
    Item(fields)
}

/// `Knu97`, `LBH15`: the label of styles that cite by letters.
fn label(article: &Article) -> String {
    let start = |author: &Author, letters: usize| {
        author
            .family
            .chars()
            .filter(|it| it.is_alphabetic())
            .take(letters)
            .collect::<String>()
    };
    let names = match article.authors.as_slice() {
        [] => article
            .title
            .chars()
            .filter(|it| it.is_alphabetic())
            .take(3)
            .collect(),
        [one] => start(one, 3),
        [first, .., _] if article.authors.len() > 4 => format!("{}+", start(first, 3)),
        all => all.iter().map(|it| start(it, 1)).collect(),
    };
    let year = article
        .year()
        .map(|it| format!("{:02}", it % 100))
        .unwrap_or_default();
    format!("{names}{year}")
}

/// The plain text fields, by their CSL names.
pub(crate) fn text_fields(article: &Article) -> Vec<(&'static str, String)> {
    let preprint = csl_type(article) == "article";
    let arxiv = article.arxiv_id.as_ref().filter(|_| preprint);
    let archive = arxiv.map(|_| "arXiv".to_owned());
    let venue = text_normalization::optional_line(article.venue.as_ref());
    // A preprint has no container: its repository is the publisher.
    let publisher = text_normalization::optional_line(article.publisher.as_ref());
    let (container, publisher) = if preprint {
        (None, archive.clone().or(venue).or(publisher))
    } else {
        (venue, publisher)
    };
    let doi = article.doi.as_ref().map(ToString::to_string);
    let url =
        text_normalization::optional_line(article.url.as_ref()).or_else(|| arxiv.map(ArxivId::url));
    let fields = [
        ("title", text_normalization::non_empty_line(&article.title)),
        ("container-title", container),
        ("publisher", publisher),
        (
            "volume",
            text_normalization::optional_line(article.volume.as_ref()),
        ),
        (
            "issue",
            text_normalization::optional_line(article.issue.as_ref()),
        ),
        (
            "page",
            text_normalization::optional_line(article.pages.as_ref()),
        ),
        ("number", arxiv.map(|it| format!("arXiv:{it}"))),
        ("genre", genre(article)),
        ("DOI", doi),
        (
            "ISSN",
            text_normalization::optional_line(article.issn.as_ref()),
        ),
        (
            "ISBN",
            text_normalization::optional_line(article.isbn.as_ref()),
        ),
        (
            "PMID",
            text_normalization::optional_line(article.pmid.as_ref()),
        ),
        (
            "PMCID",
            text_normalization::optional_line(article.pmcid.as_ref()),
        ),
        ("URL", url),
        (
            "language",
            text_normalization::optional_line(article.language.as_ref()),
        ),
    ];
    fields
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// The genre that some styles print in brackets after the title.
fn genre(article: &Article) -> Option<String> {
    let genre = match article.kind {
        // An arXiv number says the same.
        WorkKind::Preprint if article.arxiv_id.is_none() => "Preprint",
        WorkKind::Thesis => "Thesis",
        _ => return None,
    };
    Some(genre.to_owned())
}

/// The first `MAX_NAMES - 1` authors and the last one.
fn printed_authors(authors: &[Author]) -> impl Iterator<Item = &Author> {
    let last = authors.len().saturating_sub(1);
    let fits = move |at: usize| at < MAX_NAMES - 1 || at == last;
    authors
        .iter()
        .enumerate()
        .filter(move |it| fits(it.0))
        .map(|it| it.1)
}

fn name(author: &Author) -> Option<NameValue> {
    let family = text_normalization::non_empty_line(&author.family)?;
    if author.organisation {
        return Some(NameValue::Literal(LiteralName { literal: family }));
    }
    let (particle, family) = split_particle(&family);
    let given = text_normalization::optional_line(author.given.as_ref());
    let (given, suffix) = given.as_deref().map(name_suffix::split_suffix).unzip();
    Some(NameValue::Item(NameItem {
        family,
        given: given.map(str::to_owned),
        non_dropping_particle: particle,
        dropping_particle: None,
        suffix: suffix.flatten().map(str::to_owned),
        comma_suffix: None,
    }))
}

/// Splits off the particle of a family name so that the processor joins it as it was. Otherwise it
/// takes `García de la` of `García de la Cruz` for a particle.
fn split_particle(family: &str) -> (Option<String>, String) {
    let starts_lower = |it: &str| it.starts_with(char::is_lowercase);
    let words: Vec<&str> = family.split(' ').collect();
    if words.len() < 2 || !words.iter().any(|it| starts_lower(it)) {
        return (None, family.to_owned());
    }
    let leading = words.iter().take_while(|it| starts_lower(it)).count();
    let split = leading.clamp(1, words.len() - 1);
    let (particle, rest) = words.split_at(split);
    (Some(particle.join(" ")), rest.join(" "))
}

/// The parts of a date in CSL's order.
pub(crate) fn date_parts(date: PartialDate) -> Vec<i16> {
    let year = i16::try_from(date.year).unwrap_or_default();
    let rest = [date.month, date.day].into_iter().flatten().map(i16::from);
    std::iter::once(year).chain(rest).collect()
}

fn date_value(date: PartialDate) -> DateValue {
    DateValue::DateParts {
        date_parts: VecDateRange(vec![VecDate(date_parts(date))]),
        literal: None,
        season: None,
        circa: false,
    }
}
