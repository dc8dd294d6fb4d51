//! Repairs a damaged PDF: finds its objects by scanning, writes a new cross-reference table, and
//! loads the objects inside object streams.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use lopdf::{Document, Object, ObjectId, ObjectStream};
use regex::bytes::Regex;

use super::{load::load, object_access::name_at};

/// Higher object numbers are damage: a table is as long as its highest number.
const MAX_OBJECT_NUMBER: u32 = 8_388_607;

static OBJECT_PATTERN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?-u)(?:^|[\r\n\s>])(\d{1,7})\s+(\d{1,5})\s+obj\b").ok());
static ENCRYPT_PATTERN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?-u)/Encrypt\s+(\d{1,7})\s+(\d{1,5})\s+R").ok());

/// Rebuilds the cross-reference table; `None` if there are no objects.
pub(super) fn rebuild_xref(bytes: &[u8]) -> Option<Document> {
    let objects = find_objects(bytes)?;
    let whole = append_xref(bytes, &objects);
    let mut file = load(&whole).ok()?;
    load_object_streams(&mut file);
    let root = find_root(&file)?;
    file.trailer.set("Root", Object::Reference(root));
    Some(file)
}

/// The offset of each object; the last one with the same number counts.
fn find_objects(bytes: &[u8]) -> Option<BTreeMap<u32, (usize, u16)>> {
    let mut objects = BTreeMap::new();
    for found in OBJECT_PATTERN.as_ref()?.captures_iter(bytes) {
        let number = found.get(1)?;
        let parse = |at| {
            std::str::from_utf8(found.get(at)?.as_bytes())
                .ok()?
                .parse::<u32>()
                .ok()
        };
        let (Some(id), Some(generation)) = (parse(1), parse(2)) else {
            continue;
        };
        if id <= MAX_OBJECT_NUMBER
            && let Ok(generation) = u16::try_from(generation)
        {
            objects.insert(id, (number.start(), generation));
        }
    }
    (!objects.is_empty()).then_some(objects)
}

/// The bytes with a new table and trailer, and a new header if it is lost.
fn append_xref(bytes: &[u8], objects: &BTreeMap<u32, (usize, u16)>) -> Vec<u8> {
    let headed = crate::format::find_bytes(
        bytes.get(..bytes.len().min(1024)).unwrap_or_default(),
        b"%PDF-",
    );
    let (mut whole, shift) = match headed {
        Some(at) => (bytes.get(at..).unwrap_or_default().to_vec(), at),
        None => (Vec::from(*b"%PDF-1.7\n"), 0),
    };
    let offset = if headed.is_none() { whole.len() } else { 0 };
    if headed.is_none() {
        whole.extend_from_slice(bytes);
    }
    whole.push(b'\n');
    let start = whole.len();
    let mut table = String::from("xref\n");
    for (id, (at, generation)) in objects {
        let place = (at + offset).saturating_sub(shift);
        let _ = write!(table, "{id} 1\n{place:010} {generation:05} n \n");
    }
    let size = objects.keys().next_back().map_or(1, |last| last + 1);
    let _ = write!(table, "trailer\n<< /Size {size} ");
    let locked = ENCRYPT_PATTERN
        .as_ref()
        .and_then(|encrypt| encrypt.find_iter(bytes).last());
    if let Some(locked) = locked {
        table.push_str(&String::from_utf8_lossy(locked.as_bytes()));
    }
    let _ = write!(table, " >>\nstartxref\n{start}\n%%EOF\n");
    whole.extend(table.bytes());
    whole
}

/// Adds the objects of object streams, which the new table cannot name.
fn load_object_streams(file: &mut Document) {
    let mut found: Vec<(ObjectId, Object)> = Vec::new();
    for object in file.objects.values_mut() {
        if let Object::Stream(stream) = object
            && stream.dict.has_type(b"ObjStm")
            && let Ok(packed) = ObjectStream::new(stream)
        {
            found.extend(packed.objects);
        }
    }
    for (id, object) in found {
        file.objects.entry(id).or_insert(object);
    }
}

fn find_root(file: &Document) -> Option<ObjectId> {
    let with = |kind: &'static [u8]| {
        file.objects.iter().rev().find(move |(_, object)| {
            matches!(object, Object::Dictionary(dict) if name_at(file, dict, b"Type") == Some(kind))
        })
    };
    // Without a catalog any page will do: pages are then listed by their type.
    with(b"Catalog")
        .or_else(|| with(b"Page"))
        .map(|(id, _)| *id)
}
