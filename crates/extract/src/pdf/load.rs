//! Loads a PDF: rejects decompression bombs, tries the empty password, repairs damage, and lists the
//! pages without trusting the page tree.

use std::collections::HashSet;

use lopdf::{Dictionary, Document, Object, ObjectId};

use super::{
    object_access::{dict_at, get, list_at, name_at, numbers_at, resolve},
    stream_decoder::{decode_stream, unpacked_size},
    xref_repair::rebuild_xref,
};
use crate::extract::catch_panic;
use crate::format::find_bytes;
use crate::limits::check_limit;
use crate::{ExtractError, ExtractLimits};

pub(super) struct LoadedPdf {
    pub(super) file: Document,
    /// Whether the cross-reference table was rebuilt.
    pub(super) repaired: bool,
}

/// Loads the file, repairing it if necessary.
pub(super) fn load_or_repair(
    bytes: &[u8],
    limits: &ExtractLimits,
) -> Result<LoadedPdf, ExtractError> {
    check_object_streams(bytes, limits)?;
    let first = load(bytes);
    match first {
        Ok(file) if !page_ids(&file, 1).is_empty() => {
            return Ok(LoadedPdf {
                file,
                repaired: false,
            });
        }
        Ok(_) if find_bytes(bytes, b"/Encrypt").is_some() => return Err(ExtractError::Encrypted),
        Err(ExtractError::Encrypted) => return Err(ExtractError::Encrypted),
        _ => {}
    }
    load_repaired(bytes).ok_or_else(|| {
        first
            .err()
            .unwrap_or_else(|| ExtractError::broken("it has no pages"))
    })
}

/// Loads the file with a rebuilt cross-reference table; `None` if it then has no page.
pub(super) fn load_repaired(bytes: &[u8]) -> Option<LoadedPdf> {
    let file = catch_panic(|| rebuild_xref(bytes)).flatten()?;
    (!page_ids(&file, 1).is_empty()).then_some(LoadedPdf {
        file,
        repaired: true,
    })
}

/// Loads the file with the library, with the empty password if it is encrypted.
pub(super) fn load(bytes: &[u8]) -> Result<Document, ExtractError> {
    let loaded = catch_panic(|| Document::load_mem(bytes))
        .ok_or_else(|| ExtractError::broken("its cross-reference table is invalid"))?;
    let mut file = match loaded {
        Ok(file) => file,
        Err(lopdf::Error::Decryption(_) | lopdf::Error::InvalidPassword) => {
            return Err(ExtractError::Encrypted);
        }
        Err(error) => return Err(ExtractError::broken(shorten_message(&error.to_string()))),
    };
    if file.is_encrypted() && file.encryption_state.is_none() {
        let unlocked = catch_panic(|| file.decrypt("").is_ok());
        if unlocked != Some(true) {
            return Err(ExtractError::Encrypted);
        }
    }
    Ok(file)
}

/// Shortens a library's message to a sentence.
fn shorten_message(words: &str) -> String {
    words
        .chars()
        .filter(|c| !c.is_control())
        .take(160)
        .collect()
}

/// The library unpacks all object streams while loading, without a limit, so they are counted first.
fn check_object_streams(bytes: &[u8], limits: &ExtractLimits) -> Result<(), ExtractError> {
    let most = limits.max_unpacked_bytes();
    let mut total = 0;
    for mark in [&b"/ObjStm"[..], b"/XRef"] {
        let mut at = 0;
        while let Some(found) = bytes.get(at..).and_then(|rest| find_bytes(rest, mark)) {
            at += found + mark.len();
            let rest = bytes.get(at..).unwrap_or_default();
            let near = rest.get(..rest.len().min(2_000)).unwrap_or_default();
            let Some(start) = find_bytes(near, b"stream") else {
                continue;
            };
            let data = rest.get(start + b"stream".len()..).unwrap_or_default();
            let skip = data
                .iter()
                .take(2)
                .take_while(|byte| matches!(byte, b'\r' | b'\n'))
                .count();
            total += unpacked_size(data.get(skip..).unwrap_or_default(), most + 1);
            check_limit("unpacked size in bytes", total, most)?;
        }
    }
    Ok(())
}

/// Limit of followed nodes of the page tree, which may be shared.
const MAX_PAGE_TREE_NODES: usize = 2_000_000;

/// The pages in order, at most `most`. A tree with loops or lost branches yields each page once;
/// without a tree, the page objects are taken in the order of their numbers.
pub(super) fn page_ids(file: &Document, most: usize) -> Vec<ObjectId> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let root = file
        .trailer
        .get(b"Root")
        .ok()
        .and_then(|root| resolve(file, root).as_dict().ok());
    let mut waiting: Vec<ObjectId> = root
        .and_then(|root| root.get(b"Pages").ok()?.as_reference().ok())
        .into_iter()
        .collect();
    let mut looked = 0;
    while let Some(id) = waiting.pop() {
        if found.len() >= most || looked > MAX_PAGE_TREE_NODES {
            return found;
        }
        if !seen.insert(id) {
            continue;
        }
        let Some(Object::Dictionary(node)) = file.objects.get(&id) else {
            continue;
        };
        match list_at(file, node, b"Kids") {
            Some(kids) => {
                looked += kids.len();
                waiting.extend(kids.iter().rev().filter_map(|kid| kid.as_reference().ok()));
            }
            None => found.push(id),
        }
    }
    if found.is_empty() {
        found = file
            .objects
            .iter()
            .filter(|(_, object)| {
                matches!(object, Object::Dictionary(dict) if name_at(file, dict, b"Type") == Some(b"Page"))
            })
            .map(|(id, _)| *id)
            .take(most)
            .collect();
    }
    found
}

/// A page's content streams, concatenated.
pub(super) fn page_content(file: &Document, page: &Dictionary, most: u64) -> Vec<u8> {
    let mut all = Vec::new();
    let mut add = |object: &Object| {
        let left = most.saturating_sub(all.len() as u64);
        if let Object::Stream(stream) = object
            && let Some(bytes) = decode_stream(file, stream, left)
        {
            all.extend(bytes);
            all.push(b'\n');
        }
    };
    match get(file, page, b"Contents") {
        Some(Object::Array(parts)) => parts
            .iter()
            .take(10_000)
            .for_each(|part| add(resolve(file, part))),
        Some(single) => add(single),
        None => {}
    }
    all
}

/// The value of a page's key, own or inherited.
fn inherited_value<'f, T>(
    file: &'f Document,
    page: &'f Dictionary,
    read: impl Fn(&'f Dictionary) -> Option<T>,
) -> Option<T> {
    let mut node = page;
    for _ in 0..64 {
        if let Some(found) = read(node) {
            return Some(found);
        }
        node = dict_at(file, node, b"Parent")?;
    }
    None
}

/// The fonts and forms of a page.
pub(super) fn page_resources<'f>(
    file: &'f Document,
    page: &'f Dictionary,
) -> Option<&'f Dictionary> {
    inherited_value(file, page, |node| dict_at(file, node, b"Resources"))
}

/// The media box of a page; the default size if it is missing or absurd.
pub(super) fn page_bounds(file: &Document, page: &Dictionary) -> [f64; 4] {
    inherited_value(file, page, |node| numbers_at::<4>(file, node, b"MediaBox"))
        .map(|[a, b, c, d]| [a.min(c), b.min(d), a.max(c), b.max(d)])
        .filter(|[left, low, right, high]| right - left > 1.0 && high - low > 1.0)
        .unwrap_or([0.0, 0.0, 612.0, 792.0])
}
