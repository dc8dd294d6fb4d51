//! Full-text search over thoughts and nodes.
//!
//! Words are searched in the index. Scripts without spaces between words (Chinese, Japanese,
//! Thai…) are one long word to the index, so their terms are searched in the text itself.

pub(crate) mod snippet;

use deliberate_core::{GraphNode, Mode, SessionId, Thought, Timestamp};
use serde_json::json;
use sqlx::{Row, Sqlite, query::Query, sqlite::SqliteArguments, sqlite::SqliteRow};

use super::{
    SqliteStore,
    rows::{FromRow, query_error},
};
use crate::{Pagination, SearchEntity, SearchHit, SearchQuery, StoreError};

type SearchStatement<'q> = Query<'q, Sqlite, SqliteArguments>;

/// The terms of a search.
#[derive(Debug, Default, PartialEq, Eq)]
struct SearchTerms {
    /// Terms for the index. Each is a quoted word, so that no character is an operator.
    index_query: Option<String>,
    /// Terms for the text, in lower case as far as `SQLite` knows the letters.
    text_terms: Vec<String>,
}

/// A hit and its rank; lower is better.
struct RankedHit {
    rank: f64,
    hit: SearchHit,
}

/// Parameters: `$1` the index terms, `$2` session, `$3` mode, `$4` since, `$5` until, `$6` limit,
/// `$7` the text terms.
macro_rules! search_sql {
    ($index:literal, $table:literal, $text:literal, $mode:literal) => {
        (
            concat!(
                "SELECT t.*, snippet(", $index, ", -1, '[', ']', '…', 24) AS excerpt, \
                 bm25(", $index, ") AS rank FROM ", $index, " JOIN ", $table, " t \
                 ON t.seq = ", $index, ".rowid WHERE ", $index, " MATCH $1",
                search_sql!(@filters $text, $mode), " ORDER BY rank, t.seq DESC LIMIT $6"
            ),
            concat!(
                "SELECT t.*, ", $text, " AS excerpt, 0.0 AS rank FROM ", $table, " t \
                 WHERE $1 IS NULL", search_sql!(@filters $text, $mode),
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

const THOUGHTS: (&str, &str) = search_sql!(
    "thoughts_text",
    "thoughts",
    "(coalesce(t.input || char(10), '') || t.content)",
    "t.mode"
);
const NODES: (&str, &str) = search_sql!("nodes_text", "graph_nodes", "t.content", "'got'");

pub(super) async fn search(
    store: &SqliteStore,
    search: &SearchQuery,
) -> Result<Vec<SearchHit>, StoreError> {
    let terms = SearchTerms::parse(&search.text);
    if terms == SearchTerms::default() {
        return Ok(Vec::new());
    }
    let mut all: Vec<RankedHit> = Vec::new();
    for (indexed, inside) in [THOUGHTS, NODES] {
        let sql = if terms.index_query.is_some() {
            indexed
        } else {
            inside
        };
        all.extend(store.fetch_rows(bind_query(sql, &terms, search)).await?);
    }
    all.sort_by(|one, other| {
        let better = one.rank.total_cmp(&other.rank);
        better.then_with(|| other.created_at().cmp(&one.created_at()))
    });
    all.truncate(usize::try_from(limit(search)).unwrap_or(usize::MAX));
    Ok(all.into_iter().map(|it| it.into_hit(&terms)).collect())
}

fn limit(search: &SearchQuery) -> u32 {
    search.limit.min(Pagination::MAX)
}

fn bind_query<'q>(
    sql: &'static str,
    terms: &'q SearchTerms,
    search: &'q SearchQuery,
) -> SearchStatement<'q> {
    sqlx::query(sql)
        .bind(terms.index_query.as_deref())
        .bind(search.session.as_ref().map(SessionId::as_str))
        .bind(search.mode.map(Mode::as_str))
        .bind(search.since.map(Timestamp::as_micros))
        .bind(search.until.map(Timestamp::as_micros))
        .bind(limit(search))
        .bind(json!(terms.text_terms).to_string())
}

impl FromRow for RankedHit {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let get = |error| query_error(&error);
        let what = if row.try_get::<&str, _>("node_type").is_ok() {
            SearchEntity::Node(GraphNode::from_row(row)?)
        } else {
            SearchEntity::Thought(Thought::from_row(row)?)
        };
        Ok(Self {
            rank: row.try_get("rank").map_err(get)?,
            hit: SearchHit {
                entity: what,
                excerpt: row.try_get("excerpt").map_err(get)?,
            },
        })
    }
}

impl RankedHit {
    /// Converts the row into a hit with its final excerpt.
    fn into_hit(self, terms: &SearchTerms) -> SearchHit {
        let excerpt = if terms.index_query.is_some() {
            snippet::shorten_indexed(&self.hit.excerpt, &terms.text_terms)
        } else {
            snippet::snippet_around(&self.hit.excerpt, &terms.text_terms)
        };
        SearchHit {
            excerpt,
            ..self.hit
        }
    }

    fn created_at(&self) -> Timestamp {
        match &self.hit.entity {
            SearchEntity::Thought(thought) => thought.created_at,
            SearchEntity::Node(node) => node.created_at,
        }
    }
}

impl SearchTerms {
    fn parse(words: &str) -> Self {
        let (inside, indexed): (Vec<&str>, Vec<&str>) = words
            .split(|letter: char| !letter.is_alphanumeric() && !is_combining_mark(letter))
            .filter(|word| !word.is_empty())
            .partition(|word| word.chars().any(is_unspaced_script));
        let quoted: Vec<String> = indexed.iter().map(|word| format!("\"{word}\"")).collect();
        Self {
            index_query: (!quoted.is_empty()).then(|| quoted.join(" ")),
            text_terms: inside.into_iter().map(str::to_ascii_lowercase).collect(),
        }
    }
}

/// Recognizes a combining accent, tone or vowel sign, which is part of the word. Rust counts most
/// of them as letters; these are the others, in the scripts without spaces, and the European
/// accents.
fn is_combining_mark(letter: char) -> bool {
    matches!(letter, '\u{300}'..='\u{36f}' | '\u{e47}'..='\u{e4e}' | '\u{eba}'
        | '\u{ec8}'..='\u{ece}' | '\u{1037}'..='\u{103a}' | '\u{17b4}'..='\u{17b5}'
        | '\u{17c9}'..='\u{17d3}' | '\u{17dd}' | '\u{3099}'..='\u{309a}')
}

/// Recognizes scripts without spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese.
fn is_unspaced_script(letter: char) -> bool {
    matches!(letter, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}')
}
