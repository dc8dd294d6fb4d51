//! An open regular file. The content that is read is that of the opened file, even if another file
//! is put at its path meanwhile.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::Path;

use crate::{DocumentFormat, ExtractError, ExtractLimits, ExtractedDocument, extract};

/// A regular file, open at its start.
#[derive(Debug)]
pub struct DocumentFile {
    file: File,
    name: String,
    bytes: u64,
}

impl DocumentFile {
    /// Opens the file at a path. Anything but a regular file is rejected, because reading it might
    /// never end.
    pub fn open(path: &Path) -> Result<Self, ExtractError> {
        // Checked before opening, because opening a pipe waits for its writer.
        check(&std::fs::metadata(path)?)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Self::new(File::open(path)?, &name)
    }

    /// Wraps a file that is open already; the name may indicate the format.
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

    /// Reads and extracts the file in this thread.
    pub(crate) fn read(
        self,
        format: Option<DocumentFormat>,
        limits: &ExtractLimits,
    ) -> Result<ExtractedDocument, ExtractError> {
        limits.check_size(self.bytes)?;
        let mut content = Vec::with_capacity(usize::try_from(self.bytes).unwrap_or(0));
        // Reading stops one byte past the limit, also if the file grows.
        self.file
            .take(limits.bytes.saturating_add(1))
            .read_to_end(&mut content)?;
        read_content(&content, &self.name, format, limits)
    }
}

/// Extracts the content of a file in this thread.
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
        reason: "it is not a regular file".to_owned(),
    })
}
