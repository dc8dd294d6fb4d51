//! `export_bibliography`: a file, and where it is.

use std::{
    fmt::Write as _,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use deliberate_citations::{Entry, missing, to_bibtex, to_csl_json, to_csv, to_endnote, to_ris};
use deliberate_toolkit::{About, Annotations, Call, Issue, Limits, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Lab,
    cite::{Chosen, choose},
    locate::safe_file_name,
};

/// `export_bibliography`.
pub(crate) struct ExportBibliography(pub(super) Arc<Lab>);

/// In which form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Form {
    /// BibTeX.
    #[default]
    Bibtex,
    /// RIS.
    Ris,
    /// EndNote.
    Endnote,
    /// CSL-JSON.
    Json,
    /// A table.
    Csv,
}

impl Form {
    const fn ending(self) -> &'static str {
        match self {
            Self::Bibtex => "bib",
            Self::Ris => "ris",
            Self::Endnote => "enw",
            Self::Json => "json",
            Self::Csv => "csv",
        }
    }

    fn write(self, entries: &[Entry<'_>]) -> String {
        match self {
            Self::Bibtex => to_bibtex(entries),
            Self::Ris => to_ris(entries),
            Self::Endnote => to_endnote(entries),
            Self::Json => to_csl_json(entries),
            Self::Csv => to_csv(entries),
        }
    }
}

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[serde(default)]
    format: Form,
    /// Identifiers; all without them
    #[serde(default)]
    #[schemars(length(max = 1000))]
    articles: Vec<String>,
    /// In place of articles
    search_query: Option<String>,
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 1000))]
    max_results: usize,
    /// A name, not a path
    filename: Option<String>,
    #[serde(default)]
    overwrite: bool,
}

fn hundred() -> usize {
    100
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    /// Where the file is
    path: String,
    /// How many works are in it
    records: usize,
    /// Those that lack something, by their keys
    incomplete: Vec<String>,
    /// What was named and is not there
    not_found: Vec<String>,
    /// The file's beginning
    preview: String,
}

/// How much of the file is shown.
const PREVIEW_CHARS: usize = 2_000;

impl Tool for ExportBibliography {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        About {
            name: "export_bibliography",
            title: "Export bibliography",
            description: "Write articles of the collection to a BibTeX, RIS, EndNote, CSL-JSON or \
                 CSV file",
            annotations: Annotations::MARKS,
            thinks: false,
            limits: Limits::default(),
        }
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let most = if input.articles.is_empty() {
            input.max_results
        } else {
            input.articles.len()
        };
        let search = input.search_query.as_deref();
        let Chosen {
            articles,
            not_found,
        } = choose(&self.0, call, &input.articles, search, most).await?;
        if articles.is_empty() {
            return Err(nothing(&not_found));
        }
        let entries: Vec<Entry<'_>> = articles
            .iter()
            .map(|kept| Entry {
                key: Some(&kept.cite_key),
                article: &kept.article,
            })
            .collect();
        let text = input.format.write(&entries);
        let place = place(&self.0, &input)?;
        write(&place, &text, input.overwrite).await?;
        let lacks = articles
            .iter()
            .filter(|it| !missing(&it.article).is_empty());
        let incomplete: Vec<String> = lacks.map(|it| it.cite_key.clone()).collect();
        let preview = deliberate_core::cut_to_chars(&text, PREVIEW_CHARS);
        let path = place.display().to_string();
        Ok(Outcome {
            output: Output {
                said: said(&path, entries.len(), &incomplete, &not_found, &preview),
                path,
                records: entries.len(),
                incomplete,
                not_found,
                preview,
            },
            changes: Vec::new(),
            session: None,
        })
    }
}

fn nothing(not_found: &[String]) -> ToolError {
    ToolError::Told {
        code: "NothingToExport".to_owned(),
        message: match not_found.first() {
            Some(first) => first.clone(),
            None => "there is no article to export".to_owned(),
        },
        hint: Some("list_articles shows what is in the collection.".to_owned()),
    }
}

fn place(lab: &Lab, input: &Input) -> Result<PathBuf, ToolError> {
    let ending = input.format.ending();
    let name = match &input.filename {
        None => format!("bibliography.{ending}"),
        Some(given) => {
            let rule = "must be a plain file name: no folders, no leading dot";
            let issue = || Issue::new("filename", rule).given(&given.as_str().into());
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
    Ok(lab.options().exports.join(name))
}

/// Beside it first, then in its place: nobody sees half a file.
async fn write(place: &Path, text: &str, overwrite: bool) -> Result<(), ToolError> {
    let shown = place.display().to_string();
    let failed = |error: std::io::Error| ToolError::Told {
        code: "File".to_owned(),
        message: format!("{shown} can't be written: {error}"),
        hint: Some("Check `research.exports`.".to_owned()),
    };
    let (place, text) = (place.to_owned(), text.to_owned());
    let written = {
        let place = place.clone();
        tokio::task::spawn_blocking(move || put(&place, &text, overwrite))
    };
    match written.await {
        Ok(Ok(true)) => Ok(()),
        Ok(Ok(false)) => Err(ToolError::Told {
            code: "Exists".to_owned(),
            message: format!(
                "{} is there already, with something else in it",
                place.display()
            ),
            hint: Some("Give another filename, or set overwrite.".to_owned()),
        }),
        Ok(Err(error)) => Err(failed(error)),
        Err(_) => Err(ToolError::Internal),
    }
}

/// Whether the text stands there now. What is there is looked at only if it is a file of the same
/// length: a link is not followed, a pipe not waited for.
fn put(place: &Path, text: &str, overwrite: bool) -> std::io::Result<bool> {
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

fn said(
    path: &str,
    records: usize,
    incomplete: &[String],
    not_found: &[String],
    preview: &str,
) -> String {
    let mut text = match records {
        1 => format!("1 work is in `{path}`.\n"),
        _ => format!("{records} works are in `{path}`.\n"),
    };
    if !incomplete.is_empty() {
        let _ = writeln!(text, "\nIncomplete: {}.", incomplete.join(", "));
    }
    for problem in not_found {
        let _ = writeln!(text, "\n{problem}.");
    }
    let _ = write!(text, "\n```\n{}\n```\n", preview.replace("```", "'''"));
    text
}
