//! The `audit_bibliography` tool: checks every entry, several concurrently; a long bibliography in
//! parts.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use deliberate_citations::{BibRecord, read_any};
use deliberate_toolkit::{
    ArgumentIssue, ErrorCode, Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput,
    compute,
};
use futures::{StreamExt as _, stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verify::{is_retraction_unknown, parse_citation, render_check};
use crate::{
    ResearchServices,
    articles::ArticleRepository,
    bibliography::{
        CitationCheck, CitationStatus, SelectedArticles, check_citation, duplicate_keys,
        find_duplicates, select_all, select_articles,
    },
    tools::rendering::{custom_error as told_error, escape_markdown, read_only_output, tool_meta},
};

/// The `audit_bibliography` tool.
pub(crate) struct AuditBibliography(pub(super) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// BibTeX, RIS or CSL-JSON
    #[schemars(length(max = 4_000_000))]
    bibliography: Option<String>,
    /// Or an article's references
    article_identifier: Option<String>,
    /// Or articles of the collection
    #[serde(default)]
    #[schemars(length(max = 200), extend("x-separated" = "ids"))]
    articles: Vec<String>,
    #[serde(default = "fifty")]
    #[schemars(range(min = 1, max = 200))]
    max_entries: usize,
    #[serde(default)]
    offset: usize,
}

fn fifty() -> usize {
    50
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    /// Entries by status
    counts: BTreeMap<String, usize>,
    /// Keys of retracted entries
    retracted: Vec<String>,
    /// Keys of entries whose retraction is unknown
    retraction_unknown: Vec<String>,
    /// Entries of the whole bibliography that are the same work
    duplicates: Vec<Vec<String>>,
    /// Keys of several entries, which BibTeX rejects
    repeated_keys: Vec<String>,
    /// Parts that could not be parsed
    unreadable: Vec<String>,
    /// Entries after these, not checked
    left_out: usize,
    /// `offset` of the next part
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
    entries: Vec<AuditedEntry>,
}

/// An entry with its check.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AuditedEntry {
    key: String,
    #[serde(flatten)]
    checked: CitationCheck,
}

/// Entries that are checked concurrently; sources have their own rate limits.
const CONCURRENCY: usize = 4;

impl Tool for AuditBibliography {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            "audit_bibliography",
            "Audit bibliography",
            "Check each entry: does it exist, is it correct, complete, a duplicate, retracted",
            ToolHints {
                open_world: true,
                ..ToolHints::READ_ONLY
            },
        )
    }

    fn may_run_in_background(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let (offset, most) = (input.offset, input.max_entries);
        let found = load_bibliography(&self.0, input, call).await?;
        let part = found.slice(offset, most)?;
        let total = u32::try_from(part.records.len()).unwrap_or(u32::MAX);
        let lab = &self.0;
        let checks = part.records.into_iter().map(|record| async move {
            AuditedEntry {
                checked: check_citation(lab, &record.article).await,
                key: record.key,
            }
        });
        let mut checks = stream::iter(checks).buffered(CONCURRENCY);
        let mut entries = Vec::new();
        let mut done = 0_u32;
        while let Some(audited) = checks.next().await {
            done += 1;
            let message = format!("checked {}", escape_markdown(&audited.key));
            call.progress(f64::from(done), Some(f64::from(total)), &message);
            entries.push(audited);
        }
        let next = (part.remaining > 0).then_some(offset + entries.len());
        let mut output = Output {
            said: String::new(),
            counts: count_by_status(&entries),
            retracted: keys_where(&entries, |it| it.checked.retracted == Some(true)),
            retraction_unknown: keys_where(&entries, |it| is_retraction_unknown(&it.checked)),
            duplicates: part.duplicates,
            repeated_keys: part.duplicate_keys,
            unreadable: part.unreadable,
            left_out: part.remaining,
            next_offset: next,
            entries,
        };
        output.said = render_text(&output);
        Ok(read_only_output(output))
    }
}

/// A loaded bibliography.
#[derive(Default)]
struct LoadedBibliography {
    records: Vec<BibRecord>,
    /// Keys that several entries share.
    duplicate_keys: Vec<String>,
    /// Parts that cannot be parsed.
    unreadable: Vec<String>,
    /// Number of entries before and after the loaded ones.
    before: usize,
    after: usize,
}

/// The part of a bibliography that is checked.
struct BibliographySlice {
    records: Vec<BibRecord>,
    duplicates: Vec<Vec<String>>,
    duplicate_keys: Vec<String>,
    unreadable: Vec<String>,
    remaining: usize,
}

impl LoadedBibliography {
    fn slice(self, offset: usize, most: usize) -> Result<BibliographySlice, ToolError> {
        let mut duplicates = find_duplicates(&self.records);
        let there = self.records.len();
        let skipped = offset.saturating_sub(self.before);
        let records = self.records.into_iter().skip(skipped).take(most);
        let records: Vec<BibRecord> = records.collect();
        if records.is_empty() {
            let rule = format!(
                "must be less than {}, the number of entries",
                there + self.before
            );
            let issue = ArgumentIssue::new("offset", rule).with_value(&offset.into());
            return Err(ToolError::Invalid(vec![issue]));
        }
        // Each group is reported once, with the part that contains its first entry.
        duplicates.retain(|group| records.iter().any(|it| group.first() == Some(&it.key)));
        let mut repeated_keys = self.duplicate_keys;
        repeated_keys.retain(|key| records.iter().any(|it| it.key == *key));
        let unreadable = if offset == 0 {
            self.unreadable
        } else {
            Vec::new()
        };
        Ok(BibliographySlice {
            remaining: there.saturating_sub(skipped + records.len()) + self.after,
            records,
            duplicates,
            duplicate_keys: repeated_keys,
            unreadable,
        })
    }
}

async fn load_bibliography(
    services: &ResearchServices,
    input: Input,
    call: &ToolContext,
) -> Result<LoadedBibliography, ToolError> {
    let wrong =
        |field: &str, rule: String| ToolError::Invalid(vec![ArgumentIssue::new(field, rule)]);
    let given = [
        input.bibliography.is_some(),
        input.article_identifier.is_some(),
        !input.articles.is_empty(),
    ];
    if given.iter().filter(|it| **it).count() > 1 {
        let rule = "give one of bibliography, article_identifier and articles".to_owned();
        return Err(wrong("arguments", rule));
    }
    if let Some(text) = input.bibliography {
        let found = compute(move || parse_bibliography(&text)).await?;
        return if found.records.is_empty() {
            let what = found.unreadable.into_iter().next();
            let rule = what.unwrap_or_else(|| "must contain at least one entry".to_owned());
            Err(wrong("bibliography", rule))
        } else {
            Ok(found)
        };
    }
    if let Some(name) = &input.article_identifier {
        return load_article_references(ArticleRepository(call.store()), name).await;
    }
    load_collection(services, &input, call).await
}

fn parse_bibliography(text: &str) -> LoadedBibliography {
    let (records, problems) = read_any(text);
    let told = problems.iter().take(MAX_PROBLEMS);
    let mut unreadable: Vec<String> = told
        .map(|it| format!("line {}: {}", it.line, it.what))
        .collect();
    if problems.len() > MAX_PROBLEMS {
        unreadable.push(format!("{} faults more", problems.len() - MAX_PROBLEMS));
    }
    let records: Vec<BibRecord> = records
        .into_iter()
        .enumerate()
        .map(with_fallback_key)
        .collect();
    LoadedBibliography {
        duplicate_keys: duplicate_keys(&records),
        records,
        unreadable,
        ..LoadedBibliography::default()
    }
}

/// Parse errors that are reported.
const MAX_PROBLEMS: usize = 50;

/// Uses the number of an entry as its key if it has none.
fn with_fallback_key((at, record): (usize, BibRecord)) -> BibRecord {
    match record.key.trim() {
        "" => BibRecord {
            key: format!("entry {}", at + 1),
            ..record
        },
        _ => record,
    }
}

async fn load_article_references(
    library: ArticleRepository<'_>,
    name: &str,
) -> Result<LoadedBibliography, ToolError> {
    let kept = library.find(name).await?.record;
    let outline = library.outline(&kept.id).await?.unwrap_or_default();
    if outline.references.is_empty() {
        let message = match kept.pages {
            0 => "it has no text yet, so its references are unknown",
            _ => "no references were found in its text",
        };
        let hint = "Read its text with process_pdf, or pass the bibliography as BibTeX.";
        return Err(told_error(ErrorCode::NoReferences, message, hint));
    }
    let records = outline.references.iter().map(|reference| BibRecord {
        key: reference
            .label
            .clone()
            .unwrap_or_else(|| reference.number.to_string()),
        article: parse_citation(&reference.text),
    });
    Ok(LoadedBibliography {
        records: records.collect(),
        ..LoadedBibliography::default()
    })
}

/// Loads the named articles, or all.
async fn load_collection(
    services: &ResearchServices,
    input: &Input,
    call: &ToolContext,
) -> Result<LoadedBibliography, ToolError> {
    let mut before = 0;
    let SelectedArticles {
        articles,
        not_found,
        remaining: left_out,
        ..
    } = if input.articles.is_empty() {
        before = input.offset;
        select_all(
            ArticleRepository(call.store()),
            input.offset,
            input.max_entries,
        )
        .await?
    } else {
        select_articles(services, call, &input.articles, None, input.max_entries).await?
    };
    if articles.is_empty() && before == 0 {
        let none = "the collection has no articles".to_owned();
        let message = not_found.into_iter().next().unwrap_or(none);
        let hint = "list_articles shows the collection.";
        return Err(told_error(ErrorCode::NothingToAudit, message, hint));
    }
    let records = articles.into_iter().map(|kept| BibRecord {
        key: kept.cite_key,
        article: kept.article,
    });
    Ok(LoadedBibliography {
        records: records.collect(),
        unreadable: not_found,
        duplicate_keys: Vec::new(),
        before,
        after: left_out,
    })
}

fn count_by_status(entries: &[AuditedEntry]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for entry in entries {
        *counts
            .entry(entry.checked.status.label().to_owned())
            .or_default() += 1;
    }
    counts
}

fn keys_where(entries: &[AuditedEntry], wanted: impl Fn(&AuditedEntry) -> bool) -> Vec<String> {
    entries
        .iter()
        .filter(|it| wanted(it))
        .map(|it| it.key.clone())
        .collect()
}

fn render_text(output: &Output) -> String {
    let entries = &output.entries;
    let mut text = match entries.len() {
        1 => "# 1 entry\n\n".to_owned(),
        many => format!("# {many} entries\n\n"),
    };
    for (status, many) in &output.counts {
        let _ = writeln!(text, "- {many} {status}");
    }
    let names = |keys: &[String]| {
        keys.iter()
            .map(|it| escape_markdown(it))
            .collect::<Vec<_>>()
            .join(", ")
    };
    if !output.retracted.is_empty() {
        let _ = writeln!(text, "- **retracted**: {}", names(&output.retracted));
    }
    if !output.retraction_unknown.is_empty() {
        let keys = names(&output.retraction_unknown);
        let _ = writeln!(text, "- not known whether retracted: {keys}");
    }
    for group in &output.duplicates {
        let _ = writeln!(text, "- the same work: {}", names(group));
    }
    if !output.repeated_keys.is_empty() {
        let keys = names(&output.repeated_keys);
        let _ = writeln!(text, "- more than one entry has the key: {keys}");
    }
    for problem in &output.unreadable {
        let _ = writeln!(text, "- {}", escape_markdown(problem));
    }
    if let Some(next) = output.next_offset {
        let _ = writeln!(
            text,
            "- {} more were not checked; continue with offset {next}",
            output.left_out
        );
    }
    let fine = |it: &AuditedEntry| {
        it.checked.status == CitationStatus::Verified
            && it.checked.retracted != Some(true)
            && it.checked.missing.is_empty()
    };
    for entry in entries.iter().filter(|it| !fine(it)) {
        let _ = write!(
            text,
            "\n## {}\n\n{}",
            escape_markdown(&entry.key),
            render_check(&entry.checked)
        );
    }
    text
}
