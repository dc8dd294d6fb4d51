//! Full-text search over thoughts and nodes.
//!
//! Words are searched in the index. Scripts without spaces between words (Chinese, Japanese,
//! Thai…) are one long word to the index, so their terms are searched in the text itself.

mod newest;
mod short_ids;
pub(crate) mod snippet;
mod terms;

use std::collections::{HashMap, HashSet};

use deliberate_core::{GraphNode, Mode, SessionId, Thought, Timestamp};
use serde_json::json;
use sqlx::{Row, Sqlite, query::Query, sqlite::SqliteArguments, sqlite::SqliteRow};

use super::{
    SqliteStore,
    rows::{Columns, FromRow, query_error},
};
use crate::{
    Pagination, SearchEntity, SearchHit, SearchQuery, SearchResults, StoreError, WordMatch,
};
pub(super) use newest::{newest_entities, search_texts};
use terms::{SearchTerms, TermMatch};

type SearchStatement<'q> = Query<'q, Sqlite, SqliteArguments>;

/// A matching row and its rank; lower is better.
struct RankedRow {
    rank: f64,
    seq: i64,
    entity: SearchEntity,
    /// The excerpt of the index, or the whole text.
    excerpt: String,
    is_indexed: bool,
}

/// The statements for one kind of entity.
struct KindStatements {
    /// Finds rows by the index.
    indexed: &'static str,
    /// Finds rows by their text.
    scanned: &'static str,
    /// Finds which terms of `$1` the rows `$2` have.
    terms_of_rows: &'static str,
}

/// Parameters: `$1` the index terms, `$2` session, `$3` mode, `$4` since, `$5` until, `$6` limit,
/// `$7` the text terms that must occur, `$8` those of which one must occur.
macro_rules! search_sql {
    ($index:literal, $table:literal, $text:literal, $mode:literal) => {
        KindStatements {
            // The excerpts are made for the best rows only.
            indexed: concat!(
                "SELECT t.*, snippet(", $index, ", -1, '[', ']', '…', 24) AS excerpt, best.rank, \
                 1 AS is_indexed FROM (SELECT t.seq AS seq, bm25(", $index, ") AS rank FROM ",
                $index, " JOIN ", $table, " t ON t.seq = ", $index, ".rowid WHERE ", $index,
                " MATCH $1", search_sql!(@filters $text, $mode),
                " ORDER BY rank, t.seq DESC LIMIT $6) best JOIN ", $index, " ON ", $index,
                ".rowid = best.seq JOIN ", $table, " t ON t.seq = best.seq WHERE ", $index,
                " MATCH $1"
            ),
            scanned: concat!(
                "SELECT t.*, ", $text, " AS excerpt, 0.0 AS rank, 0 AS is_indexed FROM ", $table, " t \
                 WHERE $1 IS NULL", search_sql!(@filters $text, $mode),
                " ORDER BY (SELECT count(*) FROM json_each($8) w \
                 WHERE instr(lower(", $text, "), w.value) > 0) DESC, t.seq DESC LIMIT $6"
            ),
            terms_of_rows: concat!(
                "SELECT w.key AS term, r.value AS seq FROM json_each($1) w CROSS JOIN \
                 json_each($2) r WHERE EXISTS (SELECT 1 FROM ", $index, " WHERE ", $index,
                ".rowid = r.value AND ", $index, " MATCH w.value)"
            ),
        }
    };
    (@filters $text:literal, $mode:literal) => {
        concat!(
            " AND ($2 IS NULL OR t.session_id = $2) AND ($3 IS NULL OR ", $mode, " = $3) \
             AND ($4 IS NULL OR t.created_at >= $4) AND ($5 IS NULL OR t.created_at <= $5) \
             AND NOT EXISTS (SELECT 1 FROM json_each($7) w \
             WHERE instr(lower(", $text, "), w.value) = 0) \
             AND ($8 IS NULL OR EXISTS (SELECT 1 FROM json_each($8) w \
             WHERE instr(lower(", $text, "), w.value) > 0))"
        )
    };
}

const THOUGHTS: KindStatements = search_sql!(
    "thoughts_text",
    "thoughts",
    "(coalesce(t.input || char(10), '') || t.content)",
    "t.mode"
);
const NODES: KindStatements = search_sql!("nodes_text", "graph_nodes", "t.content", "'got'");

pub(super) async fn search(
    store: &SqliteStore,
    search: &SearchQuery,
) -> Result<SearchResults, StoreError> {
    let terms = SearchTerms::parse(&search.text);
    let mut results = SearchResults {
        phrases: terms.list(true),
        words: terms.list(false),
        hits: Vec::new(),
    };
    if terms.is_empty() {
        return Ok(results);
    }
    let most = usize::try_from(limit(search)).unwrap_or(usize::MAX);
    let mut with_all = rows_that_match(store, search, &terms.all(), limit(search)).await?;
    with_all.sort_by(RankedRow::compare);
    with_all.truncate(most);
    let known: HashSet<_> = with_all.iter().map(RankedRow::key).collect();
    let all_words = |row: RankedRow| row.into_hit(&terms, WordMatch::All);
    results.hits = with_all.into_iter().map(all_words).collect();
    let free = most.saturating_sub(results.hits.len());
    if free > 0 {
        results
            .hits
            .extend(hits_with_some_words(store, search, &terms, known, free).await?);
    }
    Ok(results)
}

/// Finds texts that have not all words: those with more terms of the text itself first, then by
/// the rank of the index, to which rare words count more.
async fn hits_with_some_words(
    store: &SqliteStore,
    search: &SearchQuery,
    terms: &SearchTerms,
    mut known: HashSet<(bool, i64)>,
    most: usize,
) -> Result<Vec<SearchHit>, StoreError> {
    let mut rows = Vec::new();
    for condition in terms.any() {
        // The rows with all words, at most `limit`, are among these and are left out.
        let found = rows_that_match(store, search, &condition, 2 * limit(search)).await?;
        rows.extend(found.into_iter().filter(|row| known.insert(row.key())));
    }
    let text_terms = terms.text_terms();
    let mut counted: Vec<(usize, RankedRow)> = rows
        .into_iter()
        .map(|row| (row.count_terms(&text_terms), row))
        .collect();
    counted.sort_by(|(count, one), (other_count, other)| {
        other_count.cmp(count).then_with(|| one.compare(other))
    });
    counted.truncate(most);
    let rows: Vec<RankedRow> = counted.into_iter().map(|(_, row)| row).collect();
    let mut words = words_of_rows(store, &rows, terms).await?;
    let hits = rows.into_iter().map(|row| {
        let own = words.remove(&row.key()).unwrap_or_default();
        row.into_hit(terms, WordMatch::Some(own))
    });
    Ok(hits.collect())
}

async fn rows_that_match(
    store: &SqliteStore,
    search: &SearchQuery,
    condition: &TermMatch,
    limit: u32,
) -> Result<Vec<RankedRow>, StoreError> {
    let mut rows = Vec::new();
    for kind in [THOUGHTS, NODES] {
        let sql = if condition.index_query.is_some() {
            kind.indexed
        } else {
            kind.scanned
        };
        let statement = bind_query(sql, condition, search, limit);
        rows.extend(store.fetch_rows(statement).await?);
    }
    Ok(rows)
}

/// Finds which terms each row has, in the order of the query.
async fn words_of_rows(
    store: &SqliteStore,
    rows: &[RankedRow],
    terms: &SearchTerms,
) -> Result<HashMap<(bool, i64), Vec<String>>, StoreError> {
    let single = terms.single();
    let queries: Vec<_> = single.iter().map(|term| term.index_query()).collect();
    let mut indexed = HashSet::new();
    for (kind, is_node) in [(THOUGHTS, false), (NODES, true)] {
        let of_kind = rows.iter().map(RankedRow::key);
        let places: Vec<i64> = of_kind
            .filter_map(|(node, seq)| (node == is_node).then_some(seq))
            .collect();
        let statement = sqlx::query(kind.terms_of_rows)
            .bind(json!(queries).to_string())
            .bind(json!(places).to_string());
        let found: Vec<TermOfRow> = store.fetch_rows(statement).await?;
        indexed.extend(found.into_iter().map(|it| (it.term, (is_node, it.seq))));
    }
    let words = rows.iter().map(|row| {
        let has = |(number, term): &(usize, &&terms::SearchTerm)| {
            if term.in_text {
                row.count_terms(&[term.lower_text()]) > 0
            } else {
                indexed.contains(&(i64::try_from(*number).unwrap_or(i64::MAX), row.key()))
            }
        };
        let own = single.iter().enumerate().filter(has);
        (row.key(), own.map(|(_, term)| term.text.clone()).collect())
    });
    Ok(words.collect())
}

fn limit(search: &SearchQuery) -> u32 {
    search.limit.min(Pagination::MAX)
}

fn bind_query<'q>(
    sql: &'static str,
    condition: &'q TermMatch,
    search: &'q SearchQuery,
    limit: u32,
) -> SearchStatement<'q> {
    let any_text = condition.any_text.as_ref();
    bind_filters(sql, condition.index_query.as_deref(), search)
        .bind(limit)
        .bind(json!(condition.required_text).to_string())
        .bind(any_text.map(|terms| json!(terms).to_string()))
}

/// Binds the parameters `$1` to `$5`.
fn bind_filters<'q>(
    sql: &'static str,
    first: Option<&'q str>,
    search: &'q SearchQuery,
) -> SearchStatement<'q> {
    sqlx::query(sql)
        .bind(first)
        .bind(search.session.as_ref().map(SessionId::as_str))
        .bind(search.mode.map(Mode::as_str))
        .bind(search.since.map(Timestamp::as_micros))
        .bind(search.until.map(Timestamp::as_micros))
}

/// A term, by its number in the query, and a row that has it.
struct TermOfRow {
    term: i64,
    seq: i64,
}

impl FromRow for TermOfRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let row = Columns(row);
        Ok(Self {
            term: row.get("term")?,
            seq: row.get("seq")?,
        })
    }
}

impl FromRow for RankedRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let get = |error| query_error(&error);
        let entity = if row.try_get::<&str, _>("node_type").is_ok() {
            SearchEntity::Node(GraphNode::from_row(row)?)
        } else {
            SearchEntity::Thought(Thought::from_row(row)?)
        };
        Ok(Self {
            rank: row.try_get("rank").map_err(get)?,
            seq: row.try_get("seq").map_err(get)?,
            entity,
            excerpt: row.try_get("excerpt").map_err(get)?,
            is_indexed: row.try_get("is_indexed").map_err(get)?,
        })
    }
}

impl RankedRow {
    /// Identifies the row among those of both kinds.
    fn key(&self) -> (bool, i64) {
        (matches!(self.entity, SearchEntity::Node(_)), self.seq)
    }

    /// Orders the better rank first, then the newer row.
    fn compare(&self, other: &Self) -> std::cmp::Ordering {
        let better = self.rank.total_cmp(&other.rank);
        better.then_with(|| other.entity.created_at().cmp(&self.entity.created_at()))
    }

    /// Counts the terms that the text has; they are in lower case.
    fn count_terms(&self, terms: &[String]) -> usize {
        if terms.is_empty() {
            return 0;
        }
        let text = match &self.entity {
            SearchEntity::Thought(thought) => {
                let input = thought.input.as_deref().unwrap_or_default();
                format!("{input}\n{}", thought.content)
            }
            SearchEntity::Node(node) => node.content.clone(),
        };
        let text = text.to_ascii_lowercase();
        terms.iter().filter(|term| text.contains(*term)).count()
    }

    /// Converts the row into a hit with its final excerpt.
    fn into_hit(self, terms: &SearchTerms, words: WordMatch) -> SearchHit {
        let text_terms = terms.text_terms();
        let excerpt = if self.is_indexed {
            snippet::shorten_indexed(&self.excerpt, &text_terms)
        } else {
            snippet::snippet_around(&self.excerpt, &text_terms)
        };
        SearchHit {
            entity: self.entity,
            excerpt,
            words,
        }
    }
}
