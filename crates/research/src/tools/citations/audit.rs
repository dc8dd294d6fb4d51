//! `audit_bibliography`: every entry checked, a few side by side.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
    sync::Arc,
};

use deliberate_citations::{BibRecord, merge_keys, read_any};
use deliberate_store::ItemFilter;
use deliberate_toolkit::{About, Annotations, Call, Issue, Limits, Outcome, Tool, ToolError};
use futures::{StreamExt as _, stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verify::{read, told};
use crate::{
    Lab,
    cite::{Checked, Chosen, CitationStatus, check, choose},
    collect::{ARTICLE, Library},
    tools::shown::{plain, told as told_error},
};

/// `audit_bibliography`.
pub(crate) struct AuditBibliography(pub(super) Arc<Lab>);

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// BibTeX, RIS or CSL-JSON
    #[schemars(length(max = 1_000_000))]
    bibliography: Option<String>,
    /// Or the references of an article
    article_identifier: Option<String>,
    /// Or articles of the collection
    #[serde(default)]
    #[schemars(length(max = 200))]
    articles: Vec<String>,
    #[serde(default = "fifty")]
    #[schemars(range(min = 1, max = 200))]
    max_entries: usize,
}

fn fifty() -> usize {
    50
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    /// Entries by how they were found
    counts: BTreeMap<String, usize>,
    /// Entries that were retracted, by their keys
    retracted: Vec<String>,
    /// Entries that are the same work
    duplicates: Vec<Vec<String>>,
    /// What could not be read of the bibliography
    unreadable: Vec<String>,
    /// Entries that were not looked at, because there are more than `max_entries`
    left_out: usize,
    entries: Vec<Audited>,
}

/// An entry and what was found of it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Audited {
    key: String,
    #[serde(flatten)]
    checked: Checked,
}

/// Entries that are looked at side by side; sources keep their own pace.
const SIDE_BY_SIDE: usize = 4;

impl Tool for AuditBibliography {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        About {
            name: "audit_bibliography",
            title: "Audit bibliography",
            description: "Check every entry: does it exist, is it right, whole, a duplicate, \
                 retracted",
            annotations: Annotations {
                open_world: true,
                ..Annotations::READS
            },
            thinks: false,
            limits: Limits::default(),
        }
    }

    fn takes_long(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let Found {
            mut records,
            unreadable,
            more,
        } = found(&self.0, &input, call).await?;
        let left_out = records.len().saturating_sub(input.max_entries) + more;
        records.truncate(input.max_entries);
        let total = records.len();
        let duplicates = duplicates(&records);
        let mut done = 0_u32;
        let lab = &self.0;
        let checks = records.into_iter().map(|record| async move {
            Audited {
                checked: check(lab, &record.article).await,
                key: record.key,
            }
        });
        let mut checks = stream::iter(checks).buffered(SIDE_BY_SIDE);
        let mut entries = Vec::new();
        while let Some(audited) = checks.next().await {
            done += 1;
            let total = f64::from(u32::try_from(total).unwrap_or(u32::MAX));
            call.progress(
                f64::from(done),
                Some(total),
                &format!("checked {}", audited.key),
            );
            entries.push(audited);
        }
        Ok(Outcome {
            output: Output {
                said: said(&entries, &duplicates, &unreadable, left_out),
                counts: counts(&entries),
                retracted: keys(&entries, |it| it.checked.retracted),
                duplicates,
                unreadable,
                left_out,
                entries,
            },
            changes: Vec::new(),
            session: None,
        })
    }
}

/// What is to be looked at.
struct Found {
    records: Vec<BibRecord>,
    /// What can't be read.
    unreadable: Vec<String>,
    /// How many there are beyond those.
    more: usize,
}

async fn found(lab: &Lab, input: &Input, call: &Call) -> Result<Found, ToolError> {
    let wrong = |field: &str, rule: String| ToolError::Invalid(vec![Issue::new(field, rule)]);
    let given = [
        input.bibliography.is_some(),
        input.article_identifier.is_some(),
        !input.articles.is_empty(),
    ];
    if given.iter().filter(|it| **it).count() > 1 {
        let rule = "give one of bibliography, article_identifier and articles".to_owned();
        return Err(wrong("arguments", rule));
    }
    if let Some(text) = &input.bibliography {
        let found = of_text(text);
        return if found.records.is_empty() {
            let what = found.unreadable.into_iter().next();
            let rule = what.unwrap_or_else(|| "must hold at least one entry".to_owned());
            Err(wrong("bibliography", rule))
        } else {
            Ok(found)
        };
    }
    if let Some(name) = &input.article_identifier {
        return of_article(Library(call.store()), name).await;
    }
    of_collection(lab, input, call).await
}

fn of_text(text: &str) -> Found {
    let (records, problems) = read_any(text);
    let problems = problems.iter().take(MOST_PROBLEMS);
    Found {
        records: records.into_iter().enumerate().map(named).collect(),
        unreadable: problems
            .map(|it| format!("line {}: {}", it.line, it.what))
            .collect(),
        more: 0,
    }
}

/// Faults of a bibliography that are told.
const MOST_PROBLEMS: usize = 50;

/// An entry without a key is called by its number.
fn named((at, record): (usize, BibRecord)) -> BibRecord {
    match record.key.trim() {
        "" => BibRecord {
            key: format!("entry {}", at + 1),
            ..record
        },
        _ => record,
    }
}

async fn of_article(library: Library<'_>, name: &str) -> Result<Found, ToolError> {
    let kept = library.find(name).await?.kept;
    let outline = library.outline(&kept.id).await?.unwrap_or_default();
    if outline.references.is_empty() {
        let message = match kept.pages {
            0 => "its text was not read yet, so its references are not known",
            _ => "no references were found in its text",
        };
        let hint = "process_pdf reads a text; a bibliography can be given as BibTeX.";
        return Err(told_error("NoReferences", message, hint));
    }
    let records = outline.references.iter().map(|reference| BibRecord {
        key: reference
            .label
            .clone()
            .unwrap_or_else(|| reference.number.to_string()),
        article: read(&reference.text),
    });
    Ok(Found {
        records: records.collect(),
        unreadable: Vec::new(),
        more: 0,
    })
}

/// Those that are named, or all.
async fn of_collection(lab: &Lab, input: &Input, call: &Call) -> Result<Found, ToolError> {
    let (most, all) = if input.articles.is_empty() {
        let all = call.store().count_items(&ItemFilter::of(ARTICLE)).await?;
        (
            input.max_entries,
            usize::try_from(all).unwrap_or(usize::MAX),
        )
    } else {
        (input.articles.len(), 0)
    };
    let Chosen {
        articles,
        not_found,
    } = choose(lab, call, &input.articles, None, most).await?;
    if articles.is_empty() {
        let none = "there is no article in the collection".to_owned();
        let message = not_found.into_iter().next().unwrap_or(none);
        let hint = "list_articles shows what is in the collection.";
        return Err(told_error("NothingToAudit", message, hint));
    }
    let more = all.saturating_sub(articles.len());
    let records = articles.into_iter().map(|kept| BibRecord {
        key: kept.cite_key,
        article: kept.article,
    });
    Ok(Found {
        records: records.collect(),
        unreadable: not_found,
        more,
    })
}

/// Entries that are one work: that have a DOI, an arXiv id, or title and author in common, be it
/// by way of a third.
fn duplicates(records: &[BibRecord]) -> Vec<Vec<String>> {
    let mut group_of: Vec<usize> = (0..records.len()).collect();
    let mut first = HashMap::new();
    for (at, record) in records.iter().enumerate() {
        for key in merge_keys(&record.article) {
            let other = *first.entry(format!("{key:?}")).or_insert(at);
            let (from, to) = (group_of.get(at).copied(), group_of.get(other).copied());
            for group in &mut group_of {
                if Some(*group) == from {
                    *group = to.unwrap_or(*group);
                }
            }
        }
    }
    let mut groups = BTreeMap::<usize, Vec<String>>::new();
    for (record, group) in records.iter().zip(group_of) {
        groups.entry(group).or_default().push(record.key.clone());
    }
    groups.into_values().filter(|it| it.len() > 1).collect()
}

fn counts(entries: &[Audited]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for entry in entries {
        *counts
            .entry(entry.checked.status.said().to_owned())
            .or_default() += 1;
    }
    counts
}

fn keys(entries: &[Audited], wanted: impl Fn(&Audited) -> bool) -> Vec<String> {
    entries
        .iter()
        .filter(|it| wanted(it))
        .map(|it| it.key.clone())
        .collect()
}

fn said(
    entries: &[Audited],
    duplicates: &[Vec<String>],
    unreadable: &[String],
    left_out: usize,
) -> String {
    let mut text = match entries.len() {
        1 => "# 1 entry\n\n".to_owned(),
        many => format!("# {many} entries\n\n"),
    };
    for (status, many) in counts(entries) {
        let _ = writeln!(text, "- {many} {status}");
    }
    let retracted = keys(entries, |it| it.checked.retracted);
    if !retracted.is_empty() {
        let _ = writeln!(text, "- **retracted**: {}", retracted.join(", "));
    }
    for group in duplicates {
        let _ = writeln!(text, "- the same work: {}", group.join(", "));
    }
    for problem in unreadable {
        let _ = writeln!(text, "- {}", plain(problem));
    }
    if left_out > 0 {
        let _ = writeln!(
            text,
            "- {left_out} more were not looked at; max_entries says how many are"
        );
    }
    let fine = |it: &Audited| {
        it.checked.status == CitationStatus::Verified
            && !it.checked.retracted
            && it.checked.missing.is_empty()
    };
    for entry in entries.iter().filter(|it| !fine(it)) {
        let _ = write!(
            text,
            "\n## {}\n\n{}",
            plain(&entry.key),
            told(&entry.checked)
        );
    }
    text
}
