//! Parser of the passage files.

use deliberate_research::{
    answer::verifier::{Attribution, EvidencePassage},
    articles::TextSpan,
};

/// A passage with its claims.
pub(crate) struct PassageRecord {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) claims: Vec<WrittenClaim>,
    attribution: Attribution,
}

/// A faithful claim, and the same claim with another name.
pub(crate) struct WrittenClaim {
    pub(crate) text: String,
    pub(crate) other_names: Vec<String>,
}

impl PassageRecord {
    pub(crate) fn evidence_passage(&self) -> EvidencePassage {
        self.with_text(&self.text)
    }

    /// The passage with another text.
    pub(crate) fn with_text(&self, text: &str) -> EvidencePassage {
        let end = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        EvidencePassage {
            id: self.id.clone(),
            work: self.id.clone(),
            text: text.to_owned(),
            place: TextSpan {
                page: 1,
                start: 0,
                end_page: 1,
                end,
            },
            credit: self.attribution.clone(),
        }
    }
}

/// Loads all passages.
pub(crate) fn load_records() -> Vec<PassageRecord> {
    let all = parse_records(include_str!("passages.txt")).into_iter();
    all.map(|(record, _)| record).collect()
}

/// Parses passages, each with its lines.
pub(crate) fn parse_records(text: &str) -> Vec<(PassageRecord, Vec<&str>)> {
    let records = text.split("@ ").skip(1).enumerate();
    let with_lines = |(at, text)| Some((parse_record(at, text)?, text.lines().collect()));
    records.filter_map(with_lines).collect()
}

fn parse_record(at: usize, written: &str) -> Option<PassageRecord> {
    let mut lines = written.lines();
    let mut head = lines.next()?.split(" | ");
    let authors = head.next()?.split(", ").map(str::to_owned).collect();
    let year = head.next()?.parse().ok();
    let title = head.next()?.to_owned();
    let text = lines.next()?.to_owned();
    let claims = lines
        .filter_map(|it| it.strip_prefix("+ "))
        .map(parse_claim);
    Some(PassageRecord {
        id: format!("p{}", at + 1),
        text,
        claims: claims.collect(),
        attribution: Attribution {
            authors,
            year,
            title,
        },
    })
}

/// Parses a claim: `{Ghana>Senegal}` is a name with a replacement.
fn parse_claim(line: &str) -> WrittenClaim {
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
    WrittenClaim {
        text: with(None),
        other_names: named.map(|(at, _)| with(Some(at))).collect(),
    }
}
