//! The passages as they are written down.

use deliberate_research::{
    answer::verify::{Credit, Source},
    collect::Place,
};

/// A passage and what is said of it.
pub(crate) struct Record {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) claims: Vec<Written>,
    credit: Credit,
}

/// A faithful claim, and the same with another name in it.
pub(crate) struct Written {
    pub(crate) text: String,
    pub(crate) other_names: Vec<String>,
}

impl Record {
    pub(crate) fn source(&self) -> Source {
        self.saying(&self.text)
    }

    /// The same with another text.
    pub(crate) fn saying(&self, text: &str) -> Source {
        let end = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        Source {
            id: self.id.clone(),
            work: self.id.clone(),
            text: text.to_owned(),
            place: Place {
                page: 1,
                start: 0,
                end_page: 1,
                end,
            },
            credit: self.credit.clone(),
        }
    }
}

/// All of them.
pub(crate) fn records() -> Vec<Record> {
    let all = written(include_str!("passages.txt")).into_iter();
    all.map(|(record, _)| record).collect()
}

/// The passages of a text, each with its lines.
pub(crate) fn written(text: &str) -> Vec<(Record, Vec<&str>)> {
    let records = text.split("@ ").skip(1).enumerate();
    let with_lines = |(at, text)| Some((record(at, text)?, text.lines().collect()));
    records.filter_map(with_lines).collect()
}

fn record(at: usize, written: &str) -> Option<Record> {
    let mut lines = written.lines();
    let mut head = lines.next()?.split(" | ");
    let authors = head.next()?.split(", ").map(str::to_owned).collect();
    let year = head.next()?.parse().ok();
    let title = head.next()?.to_owned();
    let text = lines.next()?.to_owned();
    let claims = lines.filter_map(|it| it.strip_prefix("+ ")).map(claim);
    Some(Record {
        id: format!("p{}", at + 1),
        text,
        claims: claims.collect(),
        credit: Credit {
            authors,
            year,
            title,
        },
    })
}

/// `{Ghana>Senegal}` is one name that could be another.
fn claim(line: &str) -> Written {
    let mut pieces: Vec<(String, Option<String>)> = Vec::new();
    for (at, piece) in line.split(['{', '}']).enumerate() {
        let named = (at % 2 == 1).then(|| piece.split_once('>')).flatten();
        pieces.push(match named {
            Some((name, other)) => (name.to_owned(), Some(other.to_owned())),
            None => (piece.to_owned(), None),
        });
    }
    let with = |changed: Option<usize>| -> String {
        let pieces = pieces.iter().enumerate();
        let texts = pieces.map(|(at, (name, other))| match other {
            Some(other) if changed == Some(at) => other.as_str(),
            _ => name.as_str(),
        });
        texts.collect()
    };
    let named = pieces.iter().enumerate().filter(|(_, it)| it.1.is_some());
    Written {
        text: with(None),
        other_names: named.map(|(at, _)| with(Some(at))).collect(),
    }
}
