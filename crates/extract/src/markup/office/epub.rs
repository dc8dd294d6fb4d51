//! Reads EPUB: the chapters in the order of the spine, each on its own pages.

use std::collections::HashMap;

use super::zip_archive::{DocumentArchive, XmlEvent, for_each_text_element, parse_xml};
use crate::{
    DocumentMetadata, ExtractError, ExtractLimits, ExtractedDocument,
    limits::{Deadline, check_limit},
    markup::{
        document_builder::{DocumentBuilder, complete_document},
        html::{self, meta},
    },
};

/// Limit of authors, and of subjects.
const MAX_VALUES: usize = 100;

pub(crate) fn read_epub(
    bytes: &[u8],
    limits: &ExtractLimits,
    deadline: &Deadline,
) -> Result<ExtractedDocument, ExtractError> {
    let mut archive = DocumentArchive::open(bytes, limits)?;
    if archive.read_text("META-INF/rights.xml")?.is_some() {
        return Err(ExtractError::Encrypted);
    }
    let container = archive
        .read_text("META-INF/container.xml")?
        .ok_or_else(|| ExtractError::broken("it does not say where its contents are"))?;
    let package_path = find_package_path(&container)?;
    let package = archive
        .read_text(&package_path)?
        .ok_or_else(|| ExtractError::broken("its list of contents is missing"))?;
    let EpubPackage { meta, chapters } = parse_package(&package, &package_path)?;
    check_limit(
        "number of chapters",
        chapters.len() as u64,
        u64::from(limits.pages),
    )?;
    let mut document = ExtractedDocument {
        meta,
        extractor: "epub".to_owned(),
        ..ExtractedDocument::default()
    };
    let mut read = 0;
    for chapter in chapters {
        deadline.check()?;
        let Some(text) = archive.read_text(&chapter)? else {
            document.add_warning(None, "a chapter that the book lists is missing");
            continue;
        };
        read += 1;
        let before = u32::try_from(document.pages.len()).unwrap_or(u32::MAX);
        let mut writer = DocumentBuilder::paged(before.saturating_add(1));
        html::write_blocks(&text, &mut writer, limits);
        writer.finish(&mut document);
    }
    if document.pages.iter().all(|page| page.text.is_empty()) {
        return Err(ExtractError::NoText { pages: read });
    }
    complete_document(&mut document);
    Ok(document)
}

fn find_package_path(container: &str) -> Result<String, ExtractError> {
    let mut found = None;
    parse_xml(container, |event| {
        if let XmlEvent::Open {
            name: "rootfile",
            attributes,
        } = event
            && found.is_none()
        {
            found = attributes.get("full-path").map(str::to_owned);
        }
    })?;
    found.ok_or_else(|| ExtractError::broken("it does not say where its contents are"))
}

struct EpubPackage {
    meta: DocumentMetadata,
    chapters: Vec<String>,
}

fn parse_package(xml: &str, path: &str) -> Result<EpubPackage, ExtractError> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut items: HashMap<String, String> = HashMap::new();
    let mut chapters = Vec::new();
    parse_xml(xml, |event| {
        let XmlEvent::Open { name, attributes } = event else {
            return;
        };
        match name {
            "item" => {
                let readable = attributes
                    .get("media-type")
                    .is_some_and(|kind| kind.contains("html"));
                if let (Some(id), Some(href), true) =
                    (attributes.get("id"), attributes.get("href"), readable)
                {
                    items.insert(id.to_owned(), resolve_href(folder, href));
                }
            }
            "itemref" => {
                if let Some(item) = attributes.get("idref").and_then(|id| items.get(id)) {
                    chapters.push(item.clone());
                }
            }
            _ => {}
        }
    })?;
    let meta = parse_metadata(xml)?;
    Ok(EpubPackage { meta, chapters })
}

fn parse_metadata(xml: &str) -> Result<DocumentMetadata, ExtractError> {
    let mut meta = DocumentMetadata::default();
    let mut subjects: Vec<String> = Vec::new();
    for_each_text_element(xml, |name, text| {
        let place = match name {
            "title" => &mut meta.title,
            "date" => &mut meta.published,
            "language" => &mut meta.language,
            // Each author and each subject has its own element.
            "creator" if meta.author_list.len() < MAX_VALUES => {
                return meta.author_list.push(text.to_owned());
            }
            "subject" if subjects.len() < MAX_VALUES => return subjects.push(text.to_owned()),
            _ => return,
        };
        place.get_or_insert_with(|| text.to_owned());
    })?;
    meta.authors = meta::join_values(&meta.author_list);
    meta.keywords = meta::join_values(&subjects);
    Ok(meta)
}

/// The name of a chapter in the archive. Nothing is written to disk, so `..` stays within it.
fn resolve_href(folder: &str, href: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let href = href.split(['#', '?']).next().unwrap_or_default();
    for part in href.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    decode_percent(&parts.join("/"))
}

/// Decodes percent-encoding; invalid sequences stay.
fn decode_percent(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| first == b'%');
        let code = digits
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.unwrap_or(first));
        rest = match code {
            Some(_) => after.get(2..).unwrap_or_default(),
            None => after,
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
