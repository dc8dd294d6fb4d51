//! `PubMed`: medicine and the life sciences. Two steps: ids by a search, then records by ids. Three
//! requests a second, ten with a key.

mod read;

use std::time::Duration;

use deliberate_core::{Article, Author};

use crate::web::{Pace, Web, WebError, unmarked};

use super::{
    Notice, PaperId, PaperQuery, Source, SourceAbout, SourceFound, SourceFuture, SourceSettings,
    reading::{
        ask::{Api, Got, KeyPlace, bounded, or_none},
        gather::Gathered,
        json,
        words::{Asked, first_day, last_day},
        xml::Element,
    },
};

/// Records of one request.
const PAGE: usize = 200;
/// More words than that are seldom all in one abstract; then any will do, and the best come first.
const ALL_OF: usize = 6;

/// `PubMed`.
pub struct Pubmed {
    ids: Api,
    records: Api,
}

impl Pubmed {
    /// `PubMed` as the settings say.
    pub fn new(web: Web, settings: SourceSettings) -> Self {
        let every = if settings.key.is_some() { 110 } else { 350 };
        let usual = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils";
        let pace = Pace::new("ncbi", Duration::from_millis(every)).at_once(3);
        let api = Api::new(web, settings, usual, pace);
        let api = api.with_key(KeyPlace::Query("api_key"));
        let api = api.with_contact("email");
        Self {
            ids: api.clone(),
            records: api.for_xml(&[]),
        }
    }

    async fn find(&self, query: &PaperQuery) -> Result<SourceFound, WebError> {
        let asked = Asked::something(query)?;
        let limit = bounded(query.limit);
        let order = if asked.newest {
            "pub_date"
        } else {
            "relevance"
        };
        let (ids, total, kept) = self.ids(term(query, &asked), limit, order).await?;
        let mut gathered = Gathered::of(limit, PAGE);
        for some in ids.chunks(PAGE) {
            let got = self.set(some).await?;
            let mut records = read::records(&got.it);
            // Records come in an order of their own; the search had the better one.
            let place = |id: Option<&String>| some.iter().position(|it| Some(it) == id);
            records.sort_by_key(|it| place(it.as_ref().and_then(|it| it.pmid.as_ref())));
            let count = records.len();
            gathered.add(&got, records);
            if count < some.len() {
                let lost = u32::try_from(some.len() - count).unwrap_or(u32::MAX);
                gathered.found.skipped += lost;
            }
        }
        gathered.found.kept = kept && (ids.is_empty() || gathered.found.kept);
        gathered.found.total = Some(total);
        if !query.categories.is_empty() {
            gathered.found.ignored.push("categories");
        }
        gathered.done(limit, &self.records).await
    }

    /// The ids that a search finds, how many there are in all, and whether that was kept.
    async fn ids(
        &self,
        term: String,
        limit: usize,
        order: &str,
    ) -> Result<(Vec<String>, u64, bool), WebError> {
        let query = [
            ("db", "pubmed".to_owned()),
            ("term", term),
            ("retmax", limit.to_string()),
            ("retmode", "json".to_owned()),
            ("sort", order.to_owned()),
            ("tool", "deliberate".to_owned()),
        ];
        let got = self.ids.json(&["esearch.fcgi"], &query).await?;
        if json::raw(&got.it, "/esearchresult/ERROR").is_some() {
            return Err(self.ids.refused(&got, "the search failed").await);
        }
        let ids = self.ids.list(&got, "/esearchresult/idlist").await?;
        let fine = |it: &String| it.len() < 12 && it.bytes().all(|it| it.is_ascii_digit());
        let ids: Vec<String> = ids
            .iter()
            .filter_map(|it| json::raw(it, ""))
            .filter(fine)
            .collect();
        let total = json::number(&got.it, "/esearchresult/count");
        let total = total.unwrap_or(ids.len() as u64);
        Ok((ids.into_iter().take(limit).collect(), total, got.kept))
    }

    async fn set(&self, ids: &[String]) -> Result<Got<Element>, WebError> {
        let query = [
            ("db", "pubmed".to_owned()),
            ("id", ids.join(",")),
            ("retmode", "xml".to_owned()),
            ("tool", "deliberate".to_owned()),
        ];
        let got = self.records.xml(&["efetch.fcgi"], &query).await?;
        if got.it.name == "PubmedArticleSet" {
            return Ok(got);
        }
        let said = got
            .it
            .line(&["ERROR"])
            .unwrap_or_else(|| "it is no set of papers".to_owned());
        let nothing = serde_json::Value::Null;
        let said = unmarked(&said);
        Err((self.records.disowned(&[&got.request], &nothing, &said)).await)
    }

    /// The set with the one paper of that name.
    async fn one(&self, id: &PaperId) -> Result<Option<Element>, WebError> {
        let ids = match id {
            PaperId::Pubmed(id) => vec![id.clone()],
            PaperId::Doi(doi) => {
                let doi = doi.as_str().replace('"', " ");
                let term = format!("\"{doi}\"[AID]");
                self.ids(term, 2, "relevance").await?.0
            }
            PaperId::Pmc(id) => self.ids(format!("{id}[PMCID]"), 2, "relevance").await?.0,
            PaperId::Arxiv(_) | PaperId::SemanticScholar(_) | PaperId::OpenAlex(_) => Vec::new(),
        };
        if ids.is_empty() {
            return Ok(None);
        }
        Ok(or_none(self.set(&ids).await)?.map(|it| it.it))
    }
}

/// The question in `PubMed`'s own language.
fn term(query: &PaperQuery, asked: &Asked) -> String {
    let telling = asked.telling();
    let join = if telling.len() > ALL_OF {
        " OR "
    } else {
        " AND "
    };
    let either = |all: Vec<String>| match all.len() {
        0 | 1 => all.concat(),
        _ => format!("({})", all.join(" OR ")),
    };
    let phrases = asked
        .phrases
        .iter()
        .map(|it| format!("\"{it}\"[Title/Abstract]"));
    let mut parts = Vec::new();
    if !telling.is_empty() {
        parts.push(format!("({})", telling.join(join)));
    }
    parts.push(either(phrases.collect()));
    parts.extend(
        asked
            .authors
            .iter()
            .map(|it| format!("{}[Author]", short_name(it))),
    );
    parts.extend(asked.venue.as_ref().map(|it| format!("\"{it}\"[Journal]")));
    if query.from.is_some() || query.to.is_some() {
        let slashed = |it: String| it.replace('-', "/");
        let from = query
            .from
            .map_or("1800/01/01".to_owned(), |it| slashed(first_day(it)));
        let to = query
            .to
            .map_or("3000/12/31".to_owned(), |it| slashed(last_day(it)));
        parts.push(format!(
            "(\"{from}\"[Date - Publication] : \"{to}\"[Date - Publication])"
        ));
    }
    parts.retain(|it| !it.is_empty());
    parts.join(" AND ")
}

/// What is not found as a whole is searched for in parts, so not everything found is meant.
fn is_named(article: &Article, id: &PaperId) -> bool {
    match id {
        PaperId::Doi(doi) => article.doi.as_ref() == Some(doi),
        PaperId::Pmc(id) => article.pmcid.as_ref() == Some(id),
        PaperId::Pubmed(id) => article.pmid.as_ref() == Some(id),
        PaperId::Arxiv(_) | PaperId::SemanticScholar(_) | PaperId::OpenAlex(_) => false,
    }
}

/// `Doe JA`, as `PubMed` writes names.
fn short_name(author: &Author) -> String {
    let given = author.given.as_deref().unwrap_or_default();
    let initials = given
        .split([' ', '-', '.'])
        .filter_map(|it| it.chars().next());
    let initials: String = initials.flat_map(char::to_uppercase).collect();
    format!("{} {initials}", author.family).trim().to_owned()
}

impl Source for Pubmed {
    fn about(&self) -> SourceAbout {
        SourceAbout {
            name: "pubmed".to_owned(),
            title: "PubMed".to_owned(),
            description: "Medicine and the life sciences, with abstracts and subject headings"
                .to_owned(),
            by_words: true,
            has_key: self.ids.has_key(),
            key_hint: Some("a free key gives ten requests a second in place of three".to_owned()),
        }
    }

    fn search<'a>(&'a self, query: &'a PaperQuery) -> SourceFuture<'a, SourceFound> {
        Box::pin(self.find(query))
    }

    fn look_up<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Option<Article>> {
        Box::pin(async move {
            let set = self.one(id).await?.unwrap_or_default();
            let mut found = read::records(&set).into_iter().flatten();
            Ok(found.find(|it| is_named(it, id)))
        })
    }

    fn notices<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Option<Vec<Notice>>> {
        Box::pin(async move {
            let set = self.one(id).await?.unwrap_or_default();
            Ok(read::notices(&set, |it| is_named(it, id)))
        })
    }
}
