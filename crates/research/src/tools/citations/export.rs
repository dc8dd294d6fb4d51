//! The `export_bibliography` tool: writes a bibliography file.

use std::{
    fmt::Write as _,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use deliberate_citations::{
    BibliographyEntry, missing_fields, to_bibtex, to_csl_json, to_csv, to_endnote, to_ris,
};
use deliberate_core::PromptFence;
use deliberate_toolkit::{
    ArgumentIssue, ErrorCode, Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::format::retracted_key;
use crate::{
    ResearchServices,
    bibliography::{SelectedArticles, select_articles},
    pdf_locator::safe_file_name,
    prompt_fence::{fence_passage, prompt_fence, untrusted_data_notice},
    tools::rendering::{custom_error, read_only_output, tool_meta, with_notes},
};

/// The `export_bibliography` tool.
pub(crate) struct ExportBibliography(pub(super) Arc<ResearchServices>);

/// File format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum ExportFormat {
    #[default]
    Bibtex,
    Ris,
    Endnote,
    /// CSL-JSON.
    Json,
    Csv,
}

impl ExportFormat {
    const fn extension(self) -> &'static str {
        match self {
            Self::Bibtex => "bib",
            Self::Ris => "ris",
            Self::Endnote => "enw",
            Self::Json => "json",
            Self::Csv => "csv",
        }
    }

    fn write(self, entries: &[BibliographyEntry<'_>]) -> String {
        match self {
            Self::Bibtex => to_bibtex(entries),
            Self::Ris => to_ris(entries),
            Self::Endnote => to_endnote(entries),
            Self::Json => to_csl_json(entries),
            Self::Csv => to_csv(entries),
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[serde(default)]
    format: ExportFormat,
    /// Identifiers; default: all
    #[serde(default)]
    #[schemars(length(max = 1000), extend("x-separated" = "ids"))]
    articles: Vec<String>,
    /// Instead of articles
    search_query: Option<String>,
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 10_000))]
    max_results: usize,
    /// A name, not a path
    filename: Option<String>,
    #[serde(default)]
    overwrite: bool,
}

fn hundred() -> usize {
    100
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    path: String,
    /// Number of works in it
    records: usize,
    /// Keys of incomplete works
    incomplete: Vec<String>,
    /// Keys of retracted works
    retracted: Vec<String>,
    /// Identifiers that were not found
    not_found: Vec<String>,
    /// Articles beyond `max_results`
    left_out: usize,
    notes: Vec<String>,
    /// Beginning of the file
    preview: String,
}

/// Characters of the preview.
const PREVIEW_CHARS: usize = 2_000;

impl Tool for ExportBibliography {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "export_bibliography",
            "Export bibliography",
            "Write articles of the collection to a BibTeX, RIS, EndNote, CSL-JSON or CSV file",
            ToolHints::IDEMPOTENT,
        )
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let place = output_path(&self.0, &input)?;
        let search = input.search_query.as_deref();
        let SelectedArticles {
            articles,
            not_found,
            remaining: left_out,
            notes,
        } = select_articles(&self.0, call, &input.articles, search, input.max_results).await?;
        if articles.is_empty() {
            return Err(nothing_to_export_error(not_found, search.is_some(), &notes));
        }
        let entries: Vec<BibliographyEntry<'_>> = articles
            .iter()
            .map(|kept| BibliographyEntry {
                key: Some(&kept.cite_key),
                article: &kept.article,
            })
            .collect();
        let text = input.format.write(&entries);
        let lacks = articles
            .iter()
            .filter(|it| !missing_fields(&it.article).is_empty());
        let incomplete: Vec<String> = lacks.map(|it| it.cite_key.clone()).collect();
        let mut output = Output {
            said: String::new(),
            path: place.display().to_string(),
            records: entries.len(),
            incomplete,
            retracted: articles.iter().filter_map(retracted_key).collect(),
            not_found,
            left_out,
            notes,
            preview: deliberate_core::truncate_chars(&text, PREVIEW_CHARS),
        };
        write_export(place, text, input.overwrite).await?;
        output.said = render_text(&output, &prompt_fence(call));
        Ok(read_only_output(output))
    }
}

/// The error if there is nothing to write.
fn nothing_to_export_error(not_found: Vec<String>, searched: bool, notes: &[String]) -> ToolError {
    let none = "there are no articles to export".to_owned();
    let message = not_found.into_iter().next().unwrap_or(none);
    let mut hint = String::from(if searched {
        "search_articles finds similar articles."
    } else {
        "list_articles shows the collection."
    });
    for note in notes {
        let _ = write!(hint, " {note}");
    }
    custom_error(ErrorCode::NothingToExport, message, hint)
}

fn output_path(services: &ResearchServices, input: &Input) -> Result<PathBuf, ToolError> {
    let ending = input.format.extension();
    let name = match &input.filename {
        None => format!("bibliography.{ending}"),
        Some(given) => {
            let rule = "must be a plain file name: no folders, no leading dot";
            let issue = || ArgumentIssue::new("filename", rule).with_value(&given.as_str().into());
            let name = safe_file_name(given).ok_or_else(|| ToolError::Invalid(vec![issue()]))?;
            let has = Path::new(&name)
                .extension()
                .is_some_and(|it| it.eq_ignore_ascii_case(ending));
            let name = if has {
                name
            } else {
                format!("{name}.{ending}")
            };
            safe_file_name(&name).ok_or_else(|| ToolError::Invalid(vec![issue()]))?
        }
    };
    Ok(services.options().exports_folder.join(name))
}

/// Writes a temporary file and renames it, so that nobody sees a partial file.
async fn write_export(place: PathBuf, text: String, overwrite: bool) -> Result<(), ToolError> {
    let shown = place.display().to_string();
    let written = tokio::task::spawn_blocking(move || write_file(&place, &text, overwrite));
    match written.await {
        Ok(Ok(true)) => Ok(()),
        Ok(Ok(false)) => Err(custom_error(
            ErrorCode::Exists,
            format!("{shown} already exists with different content"),
            "Choose another filename, or set overwrite.",
        )),
        Ok(Err(error)) => Err(custom_error(
            ErrorCode::File,
            format!("{shown} cannot be written: {error}"),
            "Check the setting `research.exports`.",
        )),
        Err(_) => Err(ToolError::Internal),
    }
}

/// Writes the file and returns whether it now contains the text. An existing file is read only if
/// it is a regular file of the same length: links are not followed and pipes cannot block.
fn write_file(place: &Path, text: &str, overwrite: bool) -> std::io::Result<bool> {
    if let Ok(before) = std::fs::symlink_metadata(place) {
        let like = before.is_file() && before.len() == text.len() as u64;
        if like && std::fs::read(place)? == text.as_bytes() {
            return Ok(true);
        }
        if !overwrite {
            return Ok(false);
        }
    }
    let folder = place.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    let persisted = if overwrite {
        file.persist(place)
    } else {
        file.persist_noclobber(place)
    };
    match persisted {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error.error),
    }
}

fn render_text(output: &Output, fence: &PromptFence) -> String {
    let path = &output.path;
    let mut text = match output.records {
        1 => format!("1 work is in `{path}`.\n"),
        records => format!("{records} works are in `{path}`.\n"),
    };
    if output.left_out > 0 {
        let _ = writeln!(
            text,
            "\n**{} more of the collection not included**; raise max_results to include them.",
            output.left_out
        );
    }
    if !output.retracted.is_empty() {
        let _ = writeln!(text, "\n**Retracted**: {}.", output.retracted.join(", "));
    }
    if !output.incomplete.is_empty() {
        let _ = writeln!(text, "\nIncomplete: {}.", output.incomplete.join(", "));
    }
    for problem in &output.not_found {
        let _ = writeln!(text, "\n{problem}.");
    }
    let preview = output.preview.replace("```", "'''");
    let preview = fence_passage(fence, &[], &format!("```\n{preview}\n```"));
    let _ = writeln!(text, "\n{}\n\n{preview}", untrusted_data_notice(fence));
    with_notes(text, &output.notes)
}
