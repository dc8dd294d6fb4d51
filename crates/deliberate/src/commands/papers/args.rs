//! Arguments of `deliberate papers`, and the tool calls that they stand for.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    slice,
};

use anyhow::{Context as _, bail};
use clap::{Args, value_parser};
use serde_json::{Map, Value, json};

use super::{PapersCommand, parse_object};

/// A tool and its arguments.
pub(super) type PapersCall<'a> = (&'a str, Value);

#[derive(Debug, Args)]
pub(crate) struct PapersSearchArgs {
    /// A topic, a title or a question
    query: String,
    /// Search only these sources
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    sources: Vec<String>,
    /// Earliest date: 2020 or 2020-05-17
    #[arg(long, value_name = "DATE")]
    from: Option<String>,
    /// Latest date
    #[arg(long, value_name = "DATE")]
    to: Option<String>,
    /// Maximum number of results, up to 100
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = value_parser!(u32).range(1..=100))]
    limit: u32,
    /// List the newest first
    #[arg(long)]
    newest: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PapersAddArgs {
    /// Files, folders, DOIs, arXiv ids
    #[arg(required = true)]
    what: Vec<String>,
    /// Also download open PDFs of papers given by id
    #[arg(long)]
    download: bool,
    /// Also read files that were read before; each replaces its paper's text
    #[arg(long, conflicts_with = "download")]
    again: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PapersListArgs {
    /// Maximum number of papers, up to 100
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = value_parser!(u32).range(1..=100))]
    limit: u32,
    /// Number of papers to skip
    #[arg(long, default_value_t = 0, value_name = "N")]
    offset: u32,
}

#[derive(Debug, Args)]
pub(crate) struct PapersShowArgs {
    /// Its id, DOI, arXiv id, citation key or title
    paper: String,
    /// Print these pages: 3-5
    #[arg(long, value_name = "PAGES")]
    pages: Option<String>,
    /// Print this section
    #[arg(long, value_name = "TITLE", conflicts_with = "pages")]
    section: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct PapersFindArgs {
    /// What to search for
    query: String,
    /// Maximum number of papers, up to 50
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = value_parser!(u32).range(1..=50))]
    limit: u32,
}

#[derive(Debug, Args)]
pub(crate) struct PapersAskArgs {
    /// The question
    question: String,
    /// Spend more time: rephrase the question, grade the passages, check the answer
    #[arg(long)]
    thorough: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PapersCiteArgs {
    /// Papers; default: all
    papers: Vec<String>,
    /// Style: apa, ieee, mla, chicago, harvard, nature, vancouver…, or a `.csl` file of your own
    #[arg(long, default_value = "apa")]
    style: String,
}

impl PapersCiteArgs {
    fn style_file(&self) -> Option<&Path> {
        has_extension(Path::new(&self.style), &["csl"]).then_some(Path::new(&self.style))
    }
}

#[derive(Debug, Args)]
pub(crate) struct PapersExportArgs {
    /// Papers; default: all
    papers: Vec<String>,
    /// Format of the file
    #[arg(long, default_value = "bibtex", value_parser = ["bibtex", "ris", "endnote", "json", "csv"])]
    format: String,
    /// File name in the exports folder, not a path
    #[arg(long, value_name = "NAME")]
    file: Option<String>,
    /// Overwrite an existing file
    #[arg(long)]
    overwrite: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PapersCheckArgs {
    /// A file in BibTeX, RIS or CSL-JSON; `-` reads standard input
    file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct PapersCallArgs {
    /// The tool
    tool: String,
    /// Its arguments as JSON
    #[arg(default_value = "{}")]
    arguments: String,
}

/// Returns the files and folders that are named. A symbolic link stands for its target.
pub(super) fn named_paths(command: &PapersCommand) -> Vec<PathBuf> {
    let named: &[String] = match command {
        PapersCommand::Add(args) => args.what.as_slice(),
        PapersCommand::Cite(args) => args
            .style_file()
            .map_or(&[], |_| slice::from_ref(&args.style)),
        _ => &[],
    };
    named.iter().flat_map(std::fs::canonicalize).collect()
}

/// Returns the tool calls of a command.
pub(super) fn plan_calls(command: &PapersCommand) -> anyhow::Result<Vec<PapersCall<'_>>> {
    let one = match command {
        PapersCommand::Search(args) => ("search_papers", search_arguments(args)),
        PapersCommand::Add(args) => return plan_add_calls(args),
        PapersCommand::List(args) => (
            "list_articles",
            json!({ "limit": args.limit, "offset": args.offset }),
        ),
        PapersCommand::Show(args) => ("read_article", show_arguments(args)),
        PapersCommand::Find(args) => (
            "search_articles",
            json!({ "query": args.query, "limit": args.limit }),
        ),
        PapersCommand::Ask(args) if args.thorough => (
            "agentic_research_question",
            json!({ "question": args.question }),
        ),
        PapersCommand::Ask(args) => (
            "answer_research_question",
            json!({ "question": args.question }),
        ),
        PapersCommand::Cite(args) => {
            let style = match args.style_file() {
                Some(file) => std::path::absolute(file)?.display().to_string(),
                None => args.style.clone(),
            };
            let most = if args.papers.is_empty() {
                200
            } else {
                args.papers.len()
            };
            let arguments = json!({ "articles": args.papers, "style": style, "max_results": most });
            ("format_citations", arguments)
        }
        PapersCommand::Export(args) => ("export_bibliography", export_arguments(args)),
        PapersCommand::Check(args) => {
            let text = read_bibliography(&args.file)?;
            ("audit_bibliography", json!({ "bibliography": text }))
        }
        PapersCommand::Stats => ("collection_stats", json!({})),
        PapersCommand::Call(args) => (args.tool.as_str(), parse_object(&args.arguments)?),
    };
    Ok(vec![one])
}

/// Returns the calls that continue where one call is not enough: the next part of a bibliography,
/// the next files of a folder.
pub(super) fn plan_next_calls(
    command: &PapersCommand,
    arguments: &Value,
    output: &Value,
) -> Option<Value> {
    let mut rest = arguments.clone();
    let fields = rest.as_object_mut()?;
    match command {
        PapersCommand::Check(_) => {
            fields.insert("offset".to_owned(), output.get("next_offset")?.clone());
        }
        PapersCommand::Add(_) => {
            let outcomes = output.get("results")?.as_array()?.iter();
            let mut outcomes = outcomes.filter_map(|it| it.get("outcome")?.as_str());
            // Every call tries failed files again, so calls that only fail would not end.
            let came_on = outcomes.any(|it| matches!(it, "added" | "joined"));
            let left = output.get("left").and_then(Value::as_u64).unwrap_or(0);
            (came_on && left > 0).then_some(())?;
        }
        _ => return None,
    }
    Some(rest)
}

/// Returns whether some of the requested items failed.
pub(super) fn has_failed(command: &PapersCommand, output: &Value) -> bool {
    if matches!(command, PapersCommand::Ask(_)) {
        return !is_answered(output);
    }
    let any = |name: &str, is: fn(&Value) -> bool| {
        let all = output.get(name).and_then(Value::as_array);
        all.is_some_and(|all| all.iter().any(is))
    };
    any("not_found", |_| true)
        || any("results", |it| {
            it.get("outcome").and_then(Value::as_str) == Some("failed")
        })
}

/// Returns whether a question was answered, at least in part.
fn is_answered(output: &Value) -> bool {
    match output.get("status").and_then(Value::as_str) {
        Some("answered") => true,
        // Without any claim that could be supported, no model was available.
        Some("partial") => output.get("support").is_some_and(Value::is_number),
        _ => false,
    }
}

/// Largest bibliography in bytes; the tool accepts a quarter as many characters.
const MAX_BIBLIOGRAPHY_BYTES: u64 = 16_000_000;

fn read_bibliography(file: &Path) -> anyhow::Result<String> {
    let shown = file.display();
    let reading: Box<dyn Read> = if file == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(file).with_context(|| format!("{shown} cannot be read"))?)
    };
    let mut bytes = Vec::new();
    reading
        .take(MAX_BIBLIOGRAPHY_BYTES + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("{shown} cannot be read"))?;
    if bytes.len() as u64 > MAX_BIBLIOGRAPHY_BYTES {
        bail!("{shown} is larger than {MAX_BIBLIOGRAPHY_BYTES} bytes; check it in parts");
    }
    String::from_utf8(bytes)
        .with_context(|| format!("{shown} is not UTF-8; convert it and check it again"))
}

fn search_arguments(args: &PapersSearchArgs) -> Value {
    let mut wanted = Map::new();
    wanted.insert("query".to_owned(), args.query.clone().into());
    wanted.insert("max_results".to_owned(), args.limit.into());
    if !args.sources.is_empty() {
        wanted.insert("sources".to_owned(), args.sources.clone().into());
    }
    if args.newest {
        wanted.insert("sort_by".to_owned(), "newest".into());
    }
    for (name, date) in [("date_from", &args.from), ("date_to", &args.to)] {
        if let Some(date) = date {
            wanted.insert(name.to_owned(), date.clone().into());
        }
    }
    wanted.into()
}

/// Plans one call for each file or folder, and one for all ids.
fn plan_add_calls(args: &PapersAddArgs) -> anyhow::Result<Vec<(&'static str, Value)>> {
    let mut calls = Vec::new();
    let mut ids: Vec<&str> = Vec::new();
    for what in &args.what {
        let path = Path::new(what);
        if args.again && path.is_dir() {
            // A folder is read in parts; each continues with the files not read yet.
            let files = path.join("*.pdf");
            bail!("--again needs file names, such as {}", files.display());
        }
        if path.is_dir() {
            let folder = std::path::absolute(path)?.display().to_string();
            let arguments = json!({ "directory_path": folder, "max_files": 100 });
            calls.push(("batch_process_pdfs", arguments));
        } else if path.exists() {
            let file = std::path::absolute(path)?.display().to_string();
            let arguments = json!({ "pdf_path": file, "skip_existing": !args.again });
            calls.push(("process_pdf", arguments));
        } else if args.again || looks_like_a_file(path) {
            bail!("there is no file {}", path.display());
        } else {
            ids.push(what);
        }
    }
    for some in ids.chunks(20) {
        let arguments = json!({ "identifiers": some, "download": args.download });
        calls.push(("add_article", arguments));
    }
    Ok(calls)
}

/// Decides by the extension; ids have none of these.
fn looks_like_a_file(path: &Path) -> bool {
    has_extension(path, &["pdf", "md", "txt", "html", "htm", "docx", "epub"])
}

fn has_extension(path: &Path, known: &[&str]) -> bool {
    let ending = path.extension().and_then(|it| it.to_str()).unwrap_or("");
    known.iter().any(|it| ending.eq_ignore_ascii_case(it))
}

fn show_arguments(args: &PapersShowArgs) -> Value {
    let mut wanted = Map::new();
    wanted.insert("article_identifier".to_owned(), args.paper.clone().into());
    for (name, value) in [("pages", &args.pages), ("section", &args.section)] {
        if let Some(value) = value {
            wanted.insert(name.to_owned(), value.clone().into());
        }
    }
    wanted.into()
}

fn export_arguments(args: &PapersExportArgs) -> Value {
    let mut wanted = Map::new();
    wanted.insert("format".to_owned(), args.format.clone().into());
    wanted.insert("overwrite".to_owned(), args.overwrite.into());
    wanted.insert("max_results".to_owned(), 10_000.into());
    if !args.papers.is_empty() {
        wanted.insert("articles".to_owned(), args.papers.clone().into());
    }
    if let Some(file) = &args.file {
        wanted.insert("filename".to_owned(), file.clone().into());
    }
    wanted.into()
}
