//! The metadata of a PDF: information dictionary, XMP packet, page labels and outline. Knows nothing
//! of the text on the pages.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::LazyLock;

use lopdf::{Dictionary, Document, Object, ObjectId};
use regex::Regex;

use super::{
    object_access::{decode_text, dict_at, get, integer, list_at, name_at, resolve, stream_at},
    stream_decoder::decode_stream,
};
use crate::DocumentMetadata;
use crate::structure::{PdfOutlineEntry, find_arxiv, find_doi};

/// The longest value.
const MAX_VALUE_CHARS: usize = 1_000;

pub(super) fn read_metadata(file: &Document) -> DocumentMetadata {
    let info = file
        .trailer
        .get(b"Info")
        .ok()
        .and_then(|info| resolve(file, info).as_dict().ok());
    let field = |key: &[u8]| {
        info.and_then(|info| decode_text(get(file, info, key)?))
            .map(truncate_value)
    };
    let packet = read_xmp(file).unwrap_or_default();
    let root = catalog(file);
    let doi = find_doi(&packet)
        .or_else(|| field(b"doi").as_deref().and_then(find_doi))
        .or_else(|| field(b"Subject").as_deref().and_then(find_doi));
    DocumentMetadata {
        title: xmp_element_text(&packet, "dc:title")
            .or_else(|| field(b"Title"))
            .filter(|title| is_plausible_title(title)),
        authors: field(b"Author").or_else(|| xmp_element_text(&packet, "dc:creator")),
        subject: field(b"Subject").or_else(|| xmp_element_text(&packet, "dc:description")),
        keywords: field(b"Keywords").or_else(|| xmp_element_text(&packet, "pdf:Keywords")),
        created: field(b"CreationDate").map(|date| format_date(&date)),
        producer: field(b"Producer"),
        language: root
            .and_then(|root| decode_text(get(file, root, b"Lang")?))
            .map(truncate_value),
        doi,
        arxiv_id: find_arxiv(&packet),
        ..DocumentMetadata::default()
    }
}

fn catalog(file: &Document) -> Option<&Dictionary> {
    resolve(file, file.trailer.get(b"Root").ok()?)
        .as_dict()
        .ok()
}

fn truncate_value(text: String) -> String {
    if text.len() <= MAX_VALUE_CHARS {
        return text;
    }
    text.chars().take(MAX_VALUE_CHARS / 4).collect()
}

/// Writers leave file names and placeholders where a title belongs.
fn is_plausible_title(title: &str) -> bool {
    let lower = title.to_lowercase();
    let file_name = [
        ".dvi", ".tex", ".doc", ".docx", ".pdf", ".indd", ".qxd", ".ps", ".eps",
    ]
    .iter()
    .any(|ending| lower.ends_with(ending));
    let filler = [
        "untitled",
        "title",
        "no title",
        "microsoft word - ",
        "noname",
        "document",
    ]
    .iter()
    .any(|filler| lower == *filler || (filler.ends_with("- ") && lower.starts_with(filler)));
    !file_name && !filler && title.chars().filter(|c| c.is_alphabetic()).count() >= 3
}

/// `D:20230421103000+02'00'` as `2023-04-21T10:30:00`.
fn format_date(date: &str) -> String {
    let digits: Vec<char> = date
        .trim_start_matches("D:")
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    let part = |from: usize, to: usize| -> Option<String> {
        let part: String = digits.get(from..to)?.iter().collect();
        Some(part)
    };
    let (Some(year), Some(month), Some(day)) = (part(0, 4), part(4, 6), part(6, 8)) else {
        return date.to_owned();
    };
    match (part(8, 10), part(10, 12), part(12, 14)) {
        (Some(hour), Some(minute), Some(second)) => {
            format!("{year}-{month}-{day}T{hour}:{minute}:{second}")
        }
        _ => format!("{year}-{month}-{day}"),
    }
}

fn read_xmp(file: &Document) -> Option<String> {
    let stream = stream_at(file, catalog(file)?, b"Metadata")?;
    let bytes = decode_stream(file, stream, 1_000_000)?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

static TAG_PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"<[^>]*>").ok());

/// The text of an element in the packet.
fn xmp_element_text(packet: &str, element: &str) -> Option<String> {
    let (_, rest) = packet.split_once(&format!("<{element}"))?;
    let (inside, _) = rest.split_once(&format!("</{element}>"))?;
    let (_, inside) = inside.split_once('>')?;
    let plain = TAG_PATTERN.as_ref()?.replace_all(inside, " ");
    let words = crate::markup::decode_entities(&plain);
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    (!words.is_empty()).then(|| truncate_value(words))
}

/// The labels of pages by index, from 0.
pub(super) fn read_page_labels(file: &Document, pages: usize) -> HashMap<usize, String> {
    let mut ranges: BTreeMap<usize, &Dictionary> = BTreeMap::new();
    if let Some(tree) = catalog(file).and_then(|root| dict_at(file, root, b"PageLabels")) {
        let mut waiting = vec![(tree, 0)];
        while let Some((node, depth)) = waiting.pop() {
            for pair in list_at(file, node, b"Nums")
                .unwrap_or_default()
                .chunks_exact(2)
            {
                if let [at, label] = pair
                    && let Some(at) =
                        integer(resolve(file, at)).and_then(|at| usize::try_from(at).ok())
                    && let Ok(label) = resolve(file, label).as_dict()
                {
                    ranges.insert(at, label);
                }
            }
            if depth < 8 && waiting.len() < 1_000 {
                let kids = list_at(file, node, b"Kids").unwrap_or_default();
                waiting.extend(
                    kids.iter()
                        .take(1_000)
                        .filter_map(|kid| Some((resolve(file, kid).as_dict().ok()?, depth + 1))),
                );
            }
        }
    }
    let mut labels = HashMap::new();
    for page in 0..pages {
        let Some((start, label)) = ranges.range(..=page).next_back() else {
            continue;
        };
        let first = get(file, label, b"St")
            .and_then(integer)
            .unwrap_or(1)
            .clamp(1, 1_000_000);
        let number = usize::try_from(first).unwrap_or(1) + page - start;
        let prefix = get(file, label, b"P")
            .and_then(decode_text)
            .map(truncate_value);
        let prefix = prefix.unwrap_or_default();
        let printed = match name_at(file, label, b"S") {
            Some(b"D") => number.to_string(),
            Some(b"r") => roman_numeral(number).to_lowercase(),
            Some(b"R") => roman_numeral(number),
            Some(b"a") => letter_label(number).to_lowercase(),
            Some(b"A") => letter_label(number),
            _ => String::new(),
        };
        let whole = format!("{prefix}{printed}");
        if !whole.is_empty() {
            labels.insert(page, whole);
        }
    }
    labels
}

fn roman_numeral(mut number: usize) -> String {
    const ROMAN_SIGNS: [(usize, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    if number > 5_000 {
        return number.to_string();
    }
    let mut roman = String::new();
    for (value, sign) in ROMAN_SIGNS {
        while number >= value {
            roman.push_str(sign);
            number -= value;
        }
    }
    roman
}

fn letter_label(number: usize) -> String {
    let letter = (b'A' + u8::try_from((number - 1) % 26).unwrap_or(0)) as char;
    letter.to_string().repeat(((number - 1) / 26 + 1).min(20))
}

/// The outline in order. Its targets are ignored: titles are looked for on the pages.
pub(super) fn read_outline(file: &Document) -> Vec<PdfOutlineEntry> {
    let mut entries = Vec::new();
    let mut seen: HashSet<ObjectId> = HashSet::new();
    let first = catalog(file)
        .and_then(|root| dict_at(file, root, b"Outlines"))
        .and_then(|outlines| outlines.get(b"First").ok()?.as_reference().ok());
    let mut waiting: Vec<(ObjectId, u8)> = first.map(|id| (id, 1)).into_iter().collect();
    while let Some((id, level)) = waiting.pop() {
        if !seen.insert(id) || entries.len() >= 5_000 {
            continue;
        }
        let Some(Object::Dictionary(item)) = file.objects.get(&id) else {
            continue;
        };
        if let Some(title) = get(file, item, b"Title").and_then(decode_text) {
            entries.push(PdfOutlineEntry {
                level,
                title: truncate_value(title),
            });
        }
        let mut follow = |key: &[u8], level| {
            if let Some(next) = item.get(key).ok().and_then(|next| next.as_reference().ok()) {
                waiting.push((next, level));
            }
        };
        follow(b"Next", level);
        if level < 8 {
            follow(b"First", level + 1);
        }
    }
    entries
}
