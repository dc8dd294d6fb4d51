//! An electronic book: its chapters in the order of its spine, each on pages of its own.

use std::collections::HashMap;

use super::archive::{Archive, Met, each_in_xml, each_said};
use super::head;
use super::html;
use super::writer::{Writer, complete};
use crate::limits::{Deadline, over};
use crate::{Document, ExtractError, Limits, Meta};

/// The most authors, and the most subjects.
const MOST: usize = 100;

/// Reads an EPUB.
pub(crate) fn epub(
    bytes: &[u8],
    limits: &Limits,
    deadline: &Deadline,
) -> Result<Document, ExtractError> {
    let mut archive = Archive::open(bytes, limits)?;
    if archive.text("META-INF/rights.xml")?.is_some() {
        return Err(ExtractError::Encrypted);
    }
    let container = archive
        .text("META-INF/container.xml")?
        .ok_or_else(|| ExtractError::broken("it does not say where its contents are"))?;
    let package_path = root_file(&container)?;
    let package = archive
        .text(&package_path)?
        .ok_or_else(|| ExtractError::broken("its list of contents is missing"))?;
    let Package { meta, chapters } = package_of(&package, &package_path)?;
    over(
        "number of chapters",
        chapters.len() as u64,
        u64::from(limits.pages),
    )?;
    let mut document = Document {
        meta,
        extractor: "epub".to_owned(),
        ..Document::default()
    };
    let mut read = 0;
    for chapter in chapters {
        deadline.check()?;
        let Some(text) = archive.text(&chapter)? else {
            document.warn(None, "a chapter that the book lists is missing");
            continue;
        };
        read += 1;
        let before = u32::try_from(document.pages.len()).unwrap_or(u32::MAX);
        let mut writer = Writer::flow(before.saturating_add(1));
        html::write(&text, &mut writer, limits);
        writer.finish(&mut document);
    }
    if document.pages.iter().all(|page| page.text.is_empty()) {
        return Err(ExtractError::NoText { pages: read });
    }
    complete(&mut document);
    Ok(document)
}

fn root_file(container: &str) -> Result<String, ExtractError> {
    let mut found = None;
    each_in_xml(container, |met| {
        if let Met::Open {
            name: "rootfile",
            attributes,
        } = met
            && found.is_none()
        {
            found = attributes.get("full-path").map(str::to_owned);
        }
    })?;
    found.ok_or_else(|| ExtractError::broken("it does not say where its contents are"))
}

struct Package {
    meta: Meta,
    chapters: Vec<String>,
}

fn package_of(xml: &str, path: &str) -> Result<Package, ExtractError> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut items: HashMap<String, String> = HashMap::new();
    let mut chapters = Vec::new();
    each_in_xml(xml, |met| {
        let Met::Open { name, attributes } = met else {
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
                    items.insert(id.to_owned(), joined(folder, href));
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
    let meta = record(xml)?;
    Ok(Package { meta, chapters })
}

/// What the book says of itself.
fn record(xml: &str) -> Result<Meta, ExtractError> {
    let mut meta = Meta::default();
    let mut subjects: Vec<String> = Vec::new();
    each_said(xml, |name, said| {
        let place = match name {
            "title" => &mut meta.title,
            "date" => &mut meta.published,
            "language" => &mut meta.language,
            // Each author and each subject has an element of its own.
            "creator" if meta.author_list.len() < MOST => {
                return meta.author_list.push(said.to_owned());
            }
            "subject" if subjects.len() < MOST => return subjects.push(said.to_owned()),
            _ => return,
        };
        place.get_or_insert_with(|| said.to_owned());
    })?;
    meta.authors = head::joined(&meta.author_list);
    meta.keywords = head::joined(&subjects);
    Ok(meta)
}

/// A chapter's name in the archive. Nothing is written to disk, so `..` only climbs within it.
fn joined(folder: &str, href: &str) -> String {
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
    unescaped_path(&parts.join("/"))
}

/// A path with its `%20` and the like replaced; what is no such sign stays.
fn unescaped_path(path: &str) -> String {
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
