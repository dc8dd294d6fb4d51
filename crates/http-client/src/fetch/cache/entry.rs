//! The file format of a cached response: a line of JSON metadata, then the body. A file of any
//! other form is not a response.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::fetch::{FetchResponse, digest::digest};

/// The version of the file format; files of other versions are ignored.
const FORMAT_VERSION: u32 = 1;

/// A response and the time it was stored, in microseconds since 1970.
#[derive(Debug, Clone)]
pub(super) struct CacheEntry {
    pub(super) stored_at: i64,
    pub(super) response: FetchResponse,
}

#[derive(Serialize, Deserialize)]
struct CacheEntryHeader {
    form: u32,
    status: u16,
    kind: String,
    url: String,
    stored: i64,
    sum: String,
}

impl CacheEntry {
    /// Serializes the entry as a file.
    pub(super) fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        let head = CacheEntryHeader {
            form: FORMAT_VERSION,
            status: self.response.status,
            kind: self.response.content_type.clone(),
            url: self.response.url.to_string(),
            stored: self.stored_at,
            sum: digest(&[&self.response.body]),
        };
        let mut bytes = serde_json::to_vec(&head)?;
        bytes.push(b'\n');
        bytes.extend_from_slice(&self.response.body);
        Ok(bytes)
    }

    /// Parses a file; `None` if it is incomplete.
    pub(super) fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let end = memchr::memchr(b'\n', &bytes)?;
        let head: CacheEntryHeader = serde_json::from_slice(bytes.get(..end)?).ok()?;
        let body = Bytes::from(bytes).slice(end + 1..);
        let url = Url::parse(&head.url).ok()?;
        let whole =
            head.form == FORMAT_VERSION && head.status == 200 && head.sum == digest(&[&body]);
        whole.then_some(Self {
            stored_at: head.stored,
            response: FetchResponse {
                status: head.status,
                content_type: head.kind,
                body,
                url,
                from_cache: true,
            },
        })
    }
}
