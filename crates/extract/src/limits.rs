//! The limits of one extraction, and its deadline.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::{ExtractError, ExtractedDocument};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtractLimits {
    /// The largest file, in bytes.
    pub bytes: u64,
    pub pages: u32,
    /// The text that is kept, in bytes; more is truncated with a warning.
    pub text_bytes: usize,
    pub time: Duration,
    /// The memory of a child process, in bytes.
    pub memory: u64,
}

impl Default for ExtractLimits {
    fn default() -> Self {
        Self {
            bytes: 100_000_000,
            pages: 5_000,
            text_bytes: 50_000_000,
            time: Duration::from_mins(2),
            memory: 1_500_000_000,
        }
    }
}

impl ExtractLimits {
    /// The maximum unpacked size of a compressed part.
    pub(crate) fn max_unpacked_bytes(&self) -> u64 {
        (self.memory / 6).clamp(16_000_000, 256_000_000)
    }

    pub(crate) fn check_size(&self, size: u64) -> Result<(), ExtractError> {
        check_limit("size in bytes", size, self.bytes)
    }
}

pub(crate) fn check_limit(what: &str, size: u64, limit: u64) -> Result<(), ExtractError> {
    if size > limit {
        return Err(ExtractError::TooLarge {
            what: what.to_owned(),
            size,
            limit,
        });
    }
    Ok(())
}

/// The time at which the work must be done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    started: Instant,
    time: Duration,
}

impl Deadline {
    pub(crate) fn new(limits: &ExtractLimits) -> Self {
        Self {
            started: Instant::now(),
            time: limits.time,
        }
    }

    pub(crate) fn remaining(&self) -> Duration {
        self.time.saturating_sub(self.started.elapsed())
    }

    pub(crate) fn check(&self) -> Result<(), ExtractError> {
        if self.remaining().is_zero() {
            return Err(self.timeout_error());
        }
        Ok(())
    }

    pub(crate) fn timeout_error(&self) -> ExtractError {
        ExtractError::TookTooLong {
            seconds: self.time.as_secs(),
        }
    }
}

/// Truncates the text at the limit, and drops headings and captions behind it.
pub(crate) fn truncate_document(document: &mut ExtractedDocument, text_bytes: usize) {
    let mut left = text_bytes;
    let mut cut = None;
    for page in &mut document.pages {
        if page.text.len() > left {
            let mut end = left;
            while !page.text.is_char_boundary(end) {
                end -= 1;
            }
            page.text.truncate(end);
            cut.get_or_insert((page.number, page.text.chars().count()));
        }
        left = left.saturating_sub(page.text.len());
    }
    let Some((page, characters)) = cut else {
        return;
    };
    let kept = |on: u32, offset: u32, length: usize| {
        on < page || (on == page && offset as usize + length <= characters)
    };
    document
        .headings
        .retain(|heading| kept(heading.page, heading.offset, heading.title.chars().count()));
    document
        .captions
        .retain(|caption| kept(caption.page, caption.offset, caption.text.chars().count()));
    document.references.retain(|entry| entry.page <= page);
    document.add_warning(
        Some(page),
        format!("the text was truncated here: it exceeds the limit of {text_bytes} bytes"),
    );
}
