//! Edits of resource files: YAML edits, drafts, dry runs, diffs.

pub(crate) mod dependents;
pub(crate) mod diff;
pub(crate) mod dry_run;
pub(crate) mod file_draft;
pub(crate) mod input_normalization;
pub(crate) mod script_protection;
pub(crate) mod script_tools;
pub(crate) mod yaml_edit;
