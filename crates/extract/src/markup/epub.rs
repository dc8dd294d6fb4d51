//! An electronic book: its chapters in the order of its spine, each a page of its own.

use std::collections::HashMap;

use super::archive::{Archive, Met, each_in_xml};
use super::html;
use super::writer::{Writer, complete};
use crate::limits::{Deadline, over};
use crate::{Document, ExtractError, Limits, Meta};

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
    let mut number = 0;
    for chapter in chapters {
        deadline.check()?;
        let Some(text) = archive.text(&chapter)? else {
            document.warn(None, "a chapter that the book lists is missing");
            continue;
        };
        number += 1;
        let mut writer = Writer::page(number);
        html::write(&text, &mut writer, limits);
        writer.finish(&mut document);
    }
    if document.pages.iter().all(|page| page.text.is_empty()) {
        return Err(ExtractError::NoText { pages: number });
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
    let mut meta = Meta::default();
    let mut items: HashMap<String, String> = HashMap::new();
    let mut chapters = Vec::new();
    let mut inside = String::new();
    each_in_xml(xml, |met| match met {
        Met::Open { name, attributes } => {
            name.clone_into(&mut inside);
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
        }
        Met::Close { .. } => inside.clear(),
        Met::Text(text) => {
            let place = match inside.as_str() {
                "title" => &mut meta.title,
                "creator" => &mut meta.authors,
                "subject" => &mut meta.subject,
                "date" => &mut meta.created,
                "language" => &mut meta.language,
                _ => return,
            };
            if place.is_none() && !text.trim().is_empty() {
                *place = Some(text.trim().to_owned());
            }
        }
    })?;
    Ok(Package { meta, chapters })
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
    parts.join("/").replace("%20", " ")
}
