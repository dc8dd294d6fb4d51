//! The tantivy schema of a passage.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tantivy::schema::{
    FAST, Field, IndexRecordOption, JsonObjectOptions, OwnedValue, STORED, Schema,
    TextFieldIndexing, TextOptions, Value,
};
use tantivy::{TantivyDocument, Term};

use super::analyzer::ANALYZER;
use crate::limits::{TITLE_BYTES, truncate_bytes};
use crate::{IndexError, IndexedDocument, Passage};

/// The column of the passage keys.
pub(crate) const KEY: &str = "key";
/// The parent column of the numbers.
pub(crate) const NUMBERS: &str = "numbers";
/// Separates a facet's name and word; no name contains it.
const SEPARATOR: char = '\u{1f}';

#[derive(Clone)]
pub(crate) struct PassageSchema {
    pub schema: Schema,
    pub document: Field,
    /// Title, headings and text: the field for BM25.
    pub body: Field,
    pub title: Field,
    word: Field,
    numbers: Field,
    key: Field,
    text: Field,
    location: Field,
}

/// The parts of a passage that are stored but not searched.
#[derive(Serialize, Deserialize)]
struct PassageLocation<'a> {
    #[serde(rename = "n")]
    number: u32,
    #[serde(rename = "s")]
    section: Vec<String>,
    #[serde(rename = "p")]
    pages: (u32, u32),
    #[serde(rename = "b")]
    bytes: (u64, u64),
    #[serde(rename = "t", borrow)]
    title: std::borrow::Cow<'a, str>,
}

/// A passage read from the index.
pub(crate) struct StoredPassage {
    pub document: String,
    pub title: String,
    pub passage: Passage,
}

impl PassageSchema {
    pub(crate) fn new() -> Self {
        let mut schema = Schema::builder();
        let exact = TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_fieldnorms(false)
            .set_index_option(IndexRecordOption::Basic);
        let searched = TextFieldIndexing::default()
            .set_tokenizer(ANALYZER)
            .set_index_option(IndexRecordOption::WithFreqs);
        let exact = TextOptions::default().set_indexing_options(exact);
        let searched = TextOptions::default().set_indexing_options(searched);
        let numbers = JsonObjectOptions::default().set_fast("raw");
        Self {
            document: schema.add_text_field("document", exact.clone().set_stored()),
            body: schema.add_text_field("body", searched.clone()),
            title: schema.add_text_field("title", searched),
            word: schema.add_text_field("word", exact),
            numbers: schema.add_json_field(NUMBERS, numbers),
            key: schema.add_u64_field(KEY, FAST),
            text: schema.add_text_field("text", STORED),
            location: schema.add_bytes_field("place", STORED),
            schema: schema.build(),
        }
    }

    pub(crate) fn document_term(&self, id: &str) -> Term {
        Term::from_field_text(self.document, id)
    }

    pub(crate) fn facet_term(&self, name: &str, word: &str) -> Term {
        Term::from_field_text(self.word, &format!("{name}{SEPARATOR}{word}"))
    }

    /// The term of each document's first passage, by which documents are counted.
    pub(crate) fn first_passage_term(&self) -> Term {
        self.facet_term("", "first")
    }

    /// The passages of a document as tantivy documents, made lazily: all at once would hold a long text
    /// several times.
    pub(crate) fn rows<'a>(
        &'a self,
        document: &'a IndexedDocument,
        keys: &'a [u64],
    ) -> impl Iterator<Item = Result<TantivyDocument, IndexError>> + 'a {
        let numbers: BTreeMap<String, OwnedValue> = document
            .facets
            .numbers
            .iter()
            .map(|(name, number)| (name.clone(), OwnedValue::I64(*number)))
            .collect();
        let passages = document.passages.iter().zip(keys).enumerate();
        passages.map(move |(place, (passage, key))| {
            let mut row = self.row(document, passage)?;
            row.add_u64(self.key, *key);
            if place == 0 {
                row.add_text(self.word, format!("{SEPARATOR}first"));
            }
            if !numbers.is_empty() {
                row.add_object(self.numbers, numbers.clone());
            }
            Ok(row)
        })
    }

    fn row(
        &self,
        document: &IndexedDocument,
        passage: &Passage,
    ) -> Result<TantivyDocument, IndexError> {
        let title = truncate_bytes(&document.title, TITLE_BYTES);
        let mut row = TantivyDocument::default();
        row.add_text(self.document, &document.id);
        row.add_text(self.title, title);
        row.add_text(self.body, title);
        for heading in &passage.section {
            row.add_text(self.body, truncate_bytes(heading, TITLE_BYTES));
        }
        row.add_text(self.body, &passage.text);
        row.add_text(self.text, &passage.text);
        row.add_bytes(self.location, &encode_location(passage, title)?);
        for (name, words) in &document.facets.words {
            for word in words {
                row.add_text(self.word, format!("{name}{SEPARATOR}{word}"));
            }
        }
        Ok(row)
    }

    pub(crate) fn read(&self, row: &TantivyDocument) -> Result<StoredPassage, IndexError> {
        let text_of = |field| row.get_first(field).and_then(|value| value.as_str());
        let place = row
            .get_first(self.location)
            .and_then(|value| value.as_bytes());
        let (Some(document), Some(text), Some(place)) =
            (text_of(self.document), text_of(self.text), place)
        else {
            return Err(IndexError::corrupt("a passage lacks its text or place"));
        };
        let place: PassageLocation<'_> = serde_json::from_slice(place)
            .map_err(|error| IndexError::corrupt(format!("a passage's place: {error}")))?;
        Ok(StoredPassage {
            document: document.to_owned(),
            title: place.title.into_owned(),
            passage: Passage {
                number: place.number,
                text: text.to_owned(),
                section: place.section,
                page: place.pages.0,
                end_page: place.pages.1,
                start: place.bytes.0,
                end: place.bytes.1,
            },
        })
    }
}

fn encode_location(passage: &Passage, title: &str) -> Result<Vec<u8>, IndexError> {
    serde_json::to_vec(&PassageLocation {
        number: passage.number,
        section: passage
            .section
            .iter()
            .map(|heading| truncate_bytes(heading, TITLE_BYTES).to_owned())
            .collect(),
        pages: (passage.page, passage.end_page),
        bytes: (passage.start, passage.end),
        title: title.into(),
    })
    .map_err(IndexError::failed)
}

/// The text that is embedded for a passage.
pub(crate) fn embedding_text(title: &str, passage: &Passage, headings: bool) -> String {
    let mut text = String::with_capacity(passage.text.len() + title.len() + 64);
    if headings {
        let section = passage.section.iter().map(String::as_str);
        for line in std::iter::once(title).chain(section) {
            let line = truncate_bytes(line, TITLE_BYTES);
            if !line.is_empty() {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    text.push_str(&passage.text);
    text
}

/// A key for each passage: the same for the same document, title, headings and text, whatever its
/// number, so that a vector survives changes of neighboring passages.
pub(crate) fn keys(document: &IndexedDocument) -> Vec<u64> {
    let mut base = Sha256::new();
    update_digest(&mut base, &document.id);
    update_digest(&mut base, truncate_bytes(&document.title, TITLE_BYTES));
    let mut times: BTreeMap<[u8; 32], u32> = BTreeMap::new();
    document
        .passages
        .iter()
        .map(|passage| {
            let mut content = base.clone();
            for heading in &passage.section {
                update_digest(&mut content, truncate_bytes(heading, TITLE_BYTES));
            }
            update_digest(&mut content, &passage.text);
            let content: [u8; 32] = content.finalize().into();
            let time = times.entry(content).or_default();
            *time += 1;
            let whole = Sha256::new()
                .chain_update(content)
                .chain_update(time.to_le_bytes())
                .finalize();
            whole
                .iter()
                .take(8)
                .fold(0, |key, byte| key << 8 | u64::from(*byte))
        })
        .collect()
}

fn update_digest(digest: &mut Sha256, part: &str) {
    digest.update((part.len() as u64).to_le_bytes());
    digest.update(part);
}
