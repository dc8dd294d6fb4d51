//! Full-text search over thoughts and nodes.
//!
//! Words are looked up in the index. Scripts that put no blanks between words (Chinese, Japanese,
//! Thai…) are one long word to it, so their terms are looked for in the text itself.

use deliberate_core::{GraphNode, Mode, SessionId, Thought, Timestamp};
use serde_json::json;
use sqlx::{Row, Sqlite, query::Query, sqlite::SqliteArguments, sqlite::SqliteRow};

use super::{
    SqliteStore, excerpt,
    rows::{FromRow, query_error},
};
use crate::{Finding, Found, Page, Search, StoreError};

type Statement<'q> = Query<'q, Sqlite, SqliteArguments>;

/// What the index and the text are searched for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Terms {
    /// For the index: each a quoted word, so that no character of theirs is an operator.
    indexed: Option<String>,
    /// For the text; letters that come in two cases are small, as far as `SQLite` knows them.
    inside: Vec<String>,
}

/// A finding and how well it matches; lower is better.
struct Ranked {
    rank: f64,
    found: Found,
}

/// `$1` the index's terms, `$2` session, `$3` mode, `$4` since, `$5` until, `$6` limit, `$7` the
/// terms for the text.
macro_rules! searching {
    ($index:literal, $table:literal, $text:literal, $mode:literal) => {
        (
            concat!(
                "SELECT t.*, snippet(", $index, ", -1, '[', ']', '…', 24) AS excerpt, \
                 bm25(", $index, ") AS rank FROM ", $index, " JOIN ", $table, " t \
                 ON t.seq = ", $index, ".rowid WHERE ", $index, " MATCH $1",
                searching!(@filters $text, $mode), " ORDER BY rank, t.seq DESC LIMIT $6"
            ),
            concat!(
                "SELECT t.*, ", $text, " AS excerpt, 0.0 AS rank FROM ", $table, " t \
                 WHERE $1 IS NULL", searching!(@filters $text, $mode),
                " ORDER BY t.seq DESC LIMIT $6"
            ),
        )
    };
    (@filters $text:literal, $mode:literal) => {
        concat!(
            " AND ($2 IS NULL OR t.session_id = $2) AND ($3 IS NULL OR ", $mode, " = $3) \
             AND ($4 IS NULL OR t.created_at >= $4) AND ($5 IS NULL OR t.created_at <= $5) \
             AND NOT EXISTS (SELECT 1 FROM json_each($7) w \
             WHERE instr(lower(", $text, "), w.value) = 0)"
        )
    };
}

const THOUGHTS: (&str, &str) = searching!(
    "thoughts_text",
    "thoughts",
    "(coalesce(t.input || char(10), '') || t.content)",
    "t.mode"
);
const NODES: (&str, &str) = searching!("nodes_text", "graph_nodes", "t.content", "'got'");

pub(super) async fn search(store: &SqliteStore, search: &Search) -> Result<Vec<Found>, StoreError> {
    let terms = Terms::of(&search.words);
    if terms == Terms::default() {
        return Ok(Vec::new());
    }
    let mut all: Vec<Ranked> = Vec::new();
    for (indexed, inside) in [THOUGHTS, NODES] {
        let sql = if terms.indexed.is_some() {
            indexed
        } else {
            inside
        };
        all.extend(store.rows(bound(sql, &terms, search)).await?);
    }
    all.sort_by(|one, other| {
        let better = one.rank.total_cmp(&other.rank);
        better.then_with(|| other.created_at().cmp(&one.created_at()))
    });
    all.truncate(usize::try_from(limit(search)).unwrap_or(usize::MAX));
    Ok(all.into_iter().map(|it| it.shown(&terms)).collect())
}

fn limit(search: &Search) -> u32 {
    search.limit.min(Page::MOST)
}

fn bound<'q>(sql: &'static str, terms: &'q Terms, search: &'q Search) -> Statement<'q> {
    sqlx::query(sql)
        .bind(terms.indexed.as_deref())
        .bind(search.session.as_ref().map(SessionId::as_str))
        .bind(search.mode.map(Mode::as_str))
        .bind(search.since.map(Timestamp::as_micros))
        .bind(search.until.map(Timestamp::as_micros))
        .bind(limit(search))
        .bind(json!(terms.inside).to_string())
}

impl FromRow for Ranked {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let get = |error| query_error(&error);
        let what = if row.try_get::<&str, _>("node_type").is_ok() {
            Finding::Node(GraphNode::from_row(row)?)
        } else {
            Finding::Thought(Thought::from_row(row)?)
        };
        Ok(Self {
            rank: row.try_get("rank").map_err(get)?,
            found: Found {
                what,
                excerpt: row.try_get("excerpt").map_err(get)?,
            },
        })
    }
}

impl Ranked {
    /// The same, with its passage in the form that is shown.
    fn shown(self, terms: &Terms) -> Found {
        let excerpt = if terms.indexed.is_some() {
            excerpt::indexed(&self.found.excerpt, &terms.inside)
        } else {
            excerpt::around(&self.found.excerpt, &terms.inside)
        };
        Found {
            excerpt,
            ..self.found
        }
    }

    fn created_at(&self) -> Timestamp {
        match &self.found.what {
            Finding::Thought(thought) => thought.created_at,
            Finding::Node(node) => node.created_at,
        }
    }
}

impl Terms {
    fn of(words: &str) -> Self {
        let (inside, indexed): (Vec<&str>, Vec<&str>) = words
            .split(|letter: char| !letter.is_alphanumeric() && !is_mark(letter))
            .filter(|word| !word.is_empty())
            .partition(|word| word.chars().any(has_no_blanks));
        let quoted: Vec<String> = indexed.iter().map(|word| format!("\"{word}\"")).collect();
        Self {
            indexed: (!quoted.is_empty()).then(|| quoted.join(" ")),
            inside: inside.into_iter().map(str::to_ascii_lowercase).collect(),
        }
    }
}

/// Whether it is an accent, a tone or a vowel sign written apart from its letter; it is part of the
/// word. Rust counts most of them among the letters: these are the others, in the scripts that put
/// no blanks between words, and the accents of Europe.
fn is_mark(letter: char) -> bool {
    matches!(letter, '\u{300}'..='\u{36f}' | '\u{e47}'..='\u{e4e}' | '\u{eba}'
        | '\u{ec8}'..='\u{ece}' | '\u{1037}'..='\u{103a}' | '\u{17b4}'..='\u{17b5}'
        | '\u{17c9}'..='\u{17d3}' | '\u{17dd}' | '\u{3099}'..='\u{309a}')
}

/// Whether it is of a script that puts no blanks between words: Thai, Lao, Burmese, Khmer,
/// Japanese, Chinese.
fn has_no_blanks(letter: char) -> bool {
    matches!(letter, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}')
}
