//! A test collection as it lies on disk: documents, questions and judgements in the files that
//! BEIR uses.

use std::{collections::HashMap, fs, path::Path};

use serde::Deserialize;

use crate::measure::Grades;

/// A collection with its judgements.
pub(crate) struct Collection {
    pub(crate) about: CollectionInfo,
    pub(crate) documents: Vec<CollectionEntry>,
    /// The questions that have a relevant document, in the order of their ids.
    pub(crate) questions: Vec<(CollectionEntry, Grades)>,
}

/// What is known of a collection.
#[derive(Deserialize)]
pub(crate) struct CollectionInfo {
    pub(crate) name: String,
    /// nDCG@10 of BM25 as others measured it, and where they say so.
    #[serde(default)]
    pub(crate) published: Vec<PublishedScore>,
}

/// A figure that others measured.
#[derive(Deserialize)]
pub(crate) struct PublishedScore {
    pub(crate) ndcg: f64,
    pub(crate) by: String,
}

/// A document or a question.
#[derive(Deserialize)]
pub(crate) struct CollectionEntry {
    #[serde(rename = "_id")]
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) title: String,
    pub(crate) text: String,
}

impl Collection {
    /// Reads `about.json`, `corpus.jsonl`, `queries.jsonl` and `qrels/test.tsv` of a folder.
    pub(crate) fn read(folder: &Path) -> Result<Self, Box<dyn std::error::Error>> {
        let text = |name: &str| {
            let path = folder.join(name);
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let mut judged = judgements(&text("qrels/test.tsv")?)?;
        let mut questions: Vec<_> = entries(&text("queries.jsonl")?)?
            .into_iter()
            .filter_map(|question| {
                let grades = judged.remove(&question.id)?;
                grades
                    .values()
                    .any(|grade| *grade > 0)
                    .then_some((question, grades))
            })
            .collect();
        questions.sort_by(|(a, _), (b, _)| (a.id.len(), &a.id).cmp(&(b.id.len(), &b.id)));
        Ok(Self {
            about: serde_json::from_str(&text("about.json")?)?,
            documents: entries(&text("corpus.jsonl")?)?,
            questions,
        })
    }
}

fn entries(text: &str) -> serde_json::Result<Vec<CollectionEntry>> {
    text.lines().map(serde_json::from_str).collect()
}

/// Reads lines of question, document and grade; the first names the columns.
fn judgements(text: &str) -> Result<HashMap<String, Grades>, String> {
    let mut judged: HashMap<String, Grades> = HashMap::new();
    for line in text.lines().skip(1) {
        let mut columns = line.split('\t');
        let (Some(question), Some(document), Some(grade)) =
            (columns.next(), columns.next(), columns.next())
        else {
            return Err(format!("a judgement has too few columns: {line}"));
        };
        let grade = grade
            .trim()
            .parse()
            .map_err(|_| format!("not a grade: {line}"))?;
        let grades = judged.entry(question.to_owned()).or_default();
        grades.insert(document.to_owned(), grade);
    }
    Ok(judged)
}
