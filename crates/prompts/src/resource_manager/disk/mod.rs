//! The files of a workspace on disk: paths, locks, atomic writes, versions.

pub(crate) mod atomic_files;
pub(crate) mod history;
pub(crate) mod lock;
pub(crate) mod resource_path;
pub(crate) mod shipped_files;
