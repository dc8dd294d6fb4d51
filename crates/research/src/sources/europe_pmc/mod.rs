//! Europe PMC: the life sciences, `PubMed` and preprints included, with full texts, citations and
//! references.

mod read;

use std::time::Duration;

use deliberate_core::Article;
use serde_json::Value;

use crate::web::{Pace, Web, WebError};

use super::{
    Direction, Link, Notice, PaperId, PaperQuery, PdfPlace, Source, SourceAbout, SourceFound,
    SourceFuture, SourceSettings,
    reading::{
        ask::{Api, Got, bounded},
        gather::Gathered,
        json,
        words::{Asked, first_day, last_day},
    },
};
use read::read;

/// The most of one page that is asked for.
const PAGE: usize = 100;
/// More words than that are seldom all in one paper; then any will do, and the best come first.
const ALL_OF: usize = 6;

/// Europe PMC.
pub struct EuropePmc {
    api: Api,
}

impl EuropePmc {
    /// Europe PMC as the settings say.
    pub fn new(web: Web, settings: SourceSettings) -> Self {
        let pace = Pace::new("europe_pmc", Duration::from_millis(200)).at_once(2);
        let usual = "https://www.ebi.ac.uk/europepmc/webservices/rest";
        let api = Api::new(web, settings, usual, pace);
        Self {
            api: api.with_contact("email"),
        }
    }

    async fn find(&self, query: &PaperQuery) -> Result<SourceFound, WebError> {
        let asked = Asked::something(query)?;
        let limit = bounded(query.limit);
        let mut gathered = self
            .pages(&question(query, &asked), asked.newest, limit)
            .await?;
        if !query.categories.is_empty() {
            gathered.found.ignored.push("categories");
        }
        gathered.done(limit, &self.api).await
    }

    async fn pages(
        &self,
        question: &str,
        newest: bool,
        limit: usize,
    ) -> Result<Gathered, WebError> {
        let mut gathered = Gathered::of(limit, PAGE);
        let mut mark = "*".to_owned();
        while let Some(many) = gathered.next_page() {
            let got = self.search_page(question, newest, many, &mark).await?;
            gathered.found.total = json::number(&got.it, "/hitCount");
            let records = self.api.list(&got, "/resultList/result").await?;
            gathered.add(&got, records.iter().map(read));
            match json::raw(&got.it, "/nextCursorMark") {
                Some(next) if next != mark && records.len() == many => mark = next,
                _ => gathered.end(),
            }
        }
        Ok(gathered)
    }

    async fn search_page(
        &self,
        question: &str,
        newest: bool,
        many: usize,
        mark: &str,
    ) -> Result<Got<Value>, WebError> {
        let mut query = vec![
            ("query", question.to_owned()),
            ("format", "json".to_owned()),
            ("resultType", "core".to_owned()),
            ("pageSize", many.to_string()),
            ("cursorMark", mark.to_owned()),
        ];
        if newest {
            query.push(("sort", "P_PDATE_D desc".to_owned()));
        }
        self.api.json(&["search"], &query).await
    }

    /// The record of that name.
    async fn one(&self, id: &PaperId) -> Result<Option<Value>, WebError> {
        let Some(question) = name_of(id) else {
            return Ok(None);
        };
        let got = self.search_page(&question, false, 5, "*").await?;
        let records = self.api.list(&got, "/resultList/result").await?;
        Ok(records.iter().find(|it| is_named(it, id)).cloned())
    }

    async fn links(
        &self,
        id: &PaperId,
        direction: Direction,
        limit: usize,
    ) -> Result<Option<Vec<Link>>, WebError> {
        let record = match id {
            PaperId::Pubmed(id) => Some(("MED".to_owned(), id.clone())),
            _ => self.one(id).await?.and_then(|it| read::place(&it)),
        };
        let Some((source, id)) = record else {
            return Ok(None);
        };
        let (list, pointer) = match direction {
            Direction::Citing => ("citations", "/citationList/citation"),
            Direction::Cited => ("references", "/referenceList/reference"),
        };
        let query = [
            ("page", "1".to_owned()),
            ("pageSize", bounded(limit).to_string()),
            ("format", "json".to_owned()),
        ];
        let got = self.api.json(&[&source, &id, list], &query).await?;
        // None are told without a list.
        let none = json::number(&got.it, "/hitCount") == Some(0);
        let records = if none {
            &[]
        } else {
            self.api.list(&got, pointer).await?
        };
        let links = records.iter().filter_map(read::short).map(|article| Link {
            article,
            contexts: Vec::new(),
            influential: None,
        });
        Ok(Some(links.take(bounded(limit)).collect()))
    }
}

fn question(query: &PaperQuery, asked: &Asked) -> String {
    let telling = asked.telling();
    let join = if telling.len() > ALL_OF {
        " OR "
    } else {
        " AND "
    };
    let phrases: Vec<String> = asked
        .phrases
        .iter()
        .map(|it| format!("TITLE_ABS:\"{it}\""))
        .collect();
    let mut parts = Vec::new();
    if !telling.is_empty() {
        let words: Vec<String> = telling.iter().map(|it| format!("\"{it}\"")).collect();
        parts.push(format!("({})", words.join(join)));
    }
    if !phrases.is_empty() {
        parts.push(format!("({})", phrases.join(" OR ")));
    }
    let name = |it: &deliberate_core::Author| {
        let initial = it.given.as_deref().and_then(|it| it.chars().next());
        let initial = initial.map(|it| format!(" {it}")).unwrap_or_default();
        format!("AUTH:\"{}{initial}\"", it.family)
    };
    parts.extend(asked.authors.iter().map(name));
    parts.extend(asked.venue.as_ref().map(|it| format!("JOURNAL:\"{it}\"")));
    if query.from.is_some() || query.to.is_some() {
        let from = query.from.map_or("1800-01-01".to_owned(), first_day);
        let to = query.to.map_or("3000-12-31".to_owned(), last_day);
        parts.push(format!("FIRST_PDATE:[{from} TO {to}]"));
    }
    parts.join(" AND ")
}

fn name_of(id: &PaperId) -> Option<String> {
    match id {
        PaperId::Doi(doi) => Some(format!("DOI:\"{doi}\"")),
        PaperId::Arxiv(id) => Some(format!("DOI:\"{}\"", id.doi())),
        PaperId::Pubmed(id) => Some(format!("EXT_ID:{id} AND SRC:MED")),
        PaperId::Pmc(id) => Some(format!("PMCID:{id}")),
        PaperId::SemanticScholar(_) | PaperId::OpenAlex(_) => None,
    }
}

fn is_named(record: &Value, id: &PaperId) -> bool {
    match id {
        PaperId::Doi(doi) => json::doi(record, "/doi").as_ref() == Some(doi),
        PaperId::Arxiv(id) => json::doi(record, "/doi") == Some(id.doi()),
        PaperId::Pubmed(id) => json::text(record, "/pmid").as_ref() == Some(id),
        PaperId::Pmc(id) => json::text(record, "/pmcid").as_ref() == Some(id),
        PaperId::SemanticScholar(_) | PaperId::OpenAlex(_) => false,
    }
}

impl Source for EuropePmc {
    fn about(&self) -> SourceAbout {
        SourceAbout {
            name: "europe_pmc".to_owned(),
            title: "Europe PMC".to_owned(),
            description: "The life sciences, preprints included, searched in full texts".to_owned(),
            by_words: true,
            has_key: false,
            key_hint: None,
        }
    }

    fn search<'a>(&'a self, query: &'a PaperQuery) -> SourceFuture<'a, SourceFound> {
        Box::pin(self.find(query))
    }

    fn look_up<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Option<Article>> {
        Box::pin(async move { Ok(self.one(id).await?.as_ref().and_then(read)) })
    }

    fn linked<'a>(
        &'a self,
        id: &'a PaperId,
        direction: Direction,
        limit: usize,
    ) -> SourceFuture<'a, Option<Vec<Link>>> {
        Box::pin(self.links(id, direction, limit))
    }

    fn notices<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Option<Vec<Notice>>> {
        Box::pin(async move { Ok(self.one(id).await?.as_ref().map(read::notices)) })
    }

    fn open_pdfs<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Vec<PdfPlace>> {
        Box::pin(async move {
            let record = self.one(id).await?;
            Ok(record.as_ref().map(read::pdfs).unwrap_or_default())
        })
    }
}
