//! What a web page says of itself in its `<meta>` elements: in the words that publishers agreed on
//! with search engines (`citation_title`), in those of Dublin Core, or in the plain ones.

use super::tag::Tag;
use crate::Meta;
use crate::structure::{find_arxiv, find_doi};

/// The most elements that are read, and the longest name and content, in bytes.
const MOST: usize = 500;
const LONGEST_NAME: usize = 60;
const LONGEST: usize = 4_000;

const TITLES: &[&str] = &["citation_title", "dc.title", "dcterms.title"];
const AUTHORS: &[&str] = &["citation_author", "dc.creator", "dcterms.creator"];
const TOGETHER: &[&str] = &["citation_authors", "author"];
const KEYWORDS: &[&str] = &[
    "citation_keywords",
    "dc.subject",
    "dcterms.subject",
    "keywords",
];
const DATES: &[&str] = &[
    "citation_publication_date",
    "citation_date",
    "citation_online_date",
    "citation_year",
    "dc.date.issued",
    "dcterms.issued",
    "dc.date",
    "dcterms.date",
];
const VENUES: &[&str] = &[
    "citation_journal_title",
    "citation_conference_title",
    "prism.publicationname",
];
const LANGUAGES: &[&str] = &["citation_language", "dc.language", "dcterms.language"];
const IDS: [&str; 4] = [
    "citation_doi",
    "prism.doi",
    "dc.identifier",
    "dcterms.identifier",
];

/// The elements that were met, in their order.
#[derive(Default)]
pub(super) struct Head(Vec<(String, String)>);

impl Head {
    /// Takes note of a `<meta>`.
    pub(super) fn meet(&mut self, tag: &Tag<'_>) {
        if self.0.len() >= MOST {
            return;
        }
        let (Some(name), Some(content)) = (tag.attribute("name"), tag.attribute("content")) else {
            return;
        };
        let name = name.trim().to_ascii_lowercase();
        let content = content.split_whitespace().collect::<Vec<_>>().join(" ");
        if name.len() <= LONGEST_NAME && content.len() <= LONGEST && !content.is_empty() {
            self.0.push((name, content));
        }
    }

    /// What is said under the first of these names that is there.
    fn all(&self, names: &[&str]) -> Vec<String> {
        let under = |name: &str| -> Vec<String> {
            let same = self.0.iter().filter(|(key, _)| key == name);
            same.map(|(_, said)| said.clone()).collect()
        };
        let mut found = names.iter().map(|name| under(name));
        found.find(|it| !it.is_empty()).unwrap_or_default()
    }

    fn one(&self, names: &[&str]) -> Option<String> {
        self.all(names).into_iter().next()
    }

    /// The record; `title` is what the page calls itself, often with the name of its site.
    pub(super) fn record(&self, title: Option<String>) -> Meta {
        let author_list = self.all(AUTHORS);
        let together = || joined(&self.all(TOGETHER));
        let doi = |name: &&str| self.all(&[*name]).iter().find_map(|said| find_doi(said));
        let arxiv = self.one(&["citation_arxiv_id"]);
        Meta {
            title: self.one(TITLES).or(title),
            authors: joined(&author_list).or_else(together),
            author_list,
            keywords: joined(&self.all(KEYWORDS)),
            published: self.one(DATES),
            venue: self.one(VENUES),
            pdf_url: self.one(&["citation_pdf_url"]),
            language: self.one(LANGUAGES),
            doi: IDS.iter().find_map(doi),
            arxiv_id: arxiv.and_then(|said| find_arxiv(&format!("arxiv:{said}"))),
            ..Meta::default()
        }
    }
}

/// Several as one text; nothing if there are none.
pub(super) fn joined(all: &[String]) -> Option<String> {
    (!all.is_empty()).then(|| all.join("; "))
}
