//! The metadata in `<meta>` elements of a web page: the tags of publishers for search engines
//! (`citation_title`), Dublin Core, or plain ones.

use super::tokenizer::HtmlTag;
use crate::DocumentMetadata;
use crate::structure::{find_arxiv, find_doi};

/// Limits of the elements, and of a name and its content in bytes.
const MAX_ELEMENTS: usize = 500;
const MAX_NAME_BYTES: usize = 60;
const MAX_CONTENT_BYTES: usize = 4_000;

const TITLES: &[&str] = &["citation_title", "dc.title", "dcterms.title"];
const AUTHORS: &[&str] = &["citation_author", "dc.creator", "dcterms.creator"];
const AUTHOR_LISTS: &[&str] = &["citation_authors", "author"];
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

/// The `<meta>` elements in order.
#[derive(Default)]
pub(crate) struct HtmlMetadata(Vec<(String, String)>);

impl HtmlMetadata {
    pub(crate) fn add_tag(&mut self, tag: &HtmlTag) {
        if self.0.len() >= MAX_ELEMENTS {
            return;
        }
        let (Some(name), Some(content)) = (tag.attribute("name"), tag.attribute("content")) else {
            return;
        };
        let name = name.trim().to_ascii_lowercase();
        let content = content.split_whitespace().collect::<Vec<_>>().join(" ");
        if name.len() <= MAX_NAME_BYTES && content.len() <= MAX_CONTENT_BYTES && !content.is_empty()
        {
            self.0.push((name, content));
        }
    }

    /// The values of the first of these names that occurs.
    fn first_values(&self, names: &[&str]) -> Vec<String> {
        let under = |name: &str| -> Vec<String> {
            let same = self.0.iter().filter(|(key, _)| key == name);
            same.map(|(_, said)| said.clone()).collect()
        };
        let mut found = names.iter().map(|name| under(name));
        found.find(|it| !it.is_empty()).unwrap_or_default()
    }

    fn first_value(&self, names: &[&str]) -> Option<String> {
        self.first_values(names).into_iter().next()
    }

    /// Builds the metadata; `title` is the page's title, often with the name of its site.
    pub(crate) fn to_metadata(&self, title: Option<String>) -> DocumentMetadata {
        let author_list = self.first_values(AUTHORS);
        let together = || join_values(&self.first_values(AUTHOR_LISTS));
        let doi = |name: &&str| {
            self.first_values(&[*name])
                .iter()
                .find_map(|said| find_doi(said))
        };
        let arxiv = self.first_value(&["citation_arxiv_id"]);
        DocumentMetadata {
            title: self.first_value(TITLES).or(title),
            authors: join_values(&author_list).or_else(together),
            author_list,
            keywords: join_values(&self.first_values(KEYWORDS)),
            published: self.first_value(DATES),
            venue: self.first_value(VENUES),
            pdf_url: self.first_value(&["citation_pdf_url"]),
            language: self.first_value(LANGUAGES),
            doi: IDS.iter().find_map(doi),
            arxiv_id: arxiv.and_then(|text| find_arxiv(&format!("arxiv:{text}"))),
            ..DocumentMetadata::default()
        }
    }
}

/// Joins values; `None` if there are none.
pub(crate) fn join_values(all: &[String]) -> Option<String> {
    (!all.is_empty()).then(|| all.join("; "))
}
