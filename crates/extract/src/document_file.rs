//! A file that is open and was seen to be a plain one. What is read is what was looked at: whoever
//! puts something else at its path meanwhile changes nothing.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::Path;

use crate::{DocumentFormat, ExtractError, ExtractLimits, ExtractedDocument, extract};

/// A plain file, open from its start.
#[derive(Debug)]
pub struct DocumentFile {
    file: File,
    name: String,
    bytes: u64,
}

impl DocumentFile {
    /// Opens the file at a path; anything but a plain file is refused, since reading it might
    /// never end.
    pub fn open(path: &Path) -> Result<Self, ExtractError> {
        // Looked at first: opening a pipe waits for whoever writes to it.
        check(&std::fs::metadata(path)?)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Self::new(File::open(path)?, &name)
    }

    /// A file that was opened elsewhere, under the name that may tell its format.
    pub fn new(mut file: File, name: &str) -> Result<Self, ExtractError> {
        let about = file.metadata()?;
        check(&about)?;
        file.rewind()?;
        Ok(Self {
            file,
            name: name.to_owned(),
            bytes: about.len(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn into_file(self) -> File {
        self.file
    }

    /// Reads and extracts it, in this thread.
    pub(crate) fn read(
        self,
        format: Option<DocumentFormat>,
        limits: &ExtractLimits,
    ) -> Result<ExtractedDocument, ExtractError> {
        limits.check_size(self.bytes)?;
        let mut content = Vec::with_capacity(usize::try_from(self.bytes).unwrap_or(0));
        // A file that grows while it is read is stopped one byte past the limit.
        self.file
            .take(limits.bytes.saturating_add(1))
            .read_to_end(&mut content)?;
        read_content(&content, &self.name, format, limits)
    }
}

/// Extracts the content of a file of that name, in this thread.
pub(crate) fn read_content(
    content: &[u8],
    name: &str,
    format: Option<DocumentFormat>,
    limits: &ExtractLimits,
) -> Result<ExtractedDocument, ExtractError> {
    let format = format
        .or_else(|| DocumentFormat::detect(content, name))
        .ok_or(ExtractError::UnknownFormat)?;
    extract(content, format, limits)
}

fn check(about: &std::fs::Metadata) -> Result<(), ExtractError> {
    if about.is_file() {
        return Ok(());
    }
    Err(ExtractError::Io {
        reason: "it is not a plain file".to_owned(),
    })
}
