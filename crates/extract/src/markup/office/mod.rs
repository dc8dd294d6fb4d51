//! Office documents: files in a ZIP archive with XML inside.

pub(crate) mod docx;
pub(crate) mod epub;
pub(crate) mod zip_archive;
