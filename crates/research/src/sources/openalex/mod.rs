//! `OpenAlex`: works of all fields with their citations, free and open. Since 2026 a free key gives
//! most of its allowance; without one pages are counted, as cursors want a key.

mod read;

use std::time::Duration;

use deliberate_core::Article;
use serde_json::Value;

use crate::web::{Pace, Web, WebError};

use super::{
    Direction, Link, Notice, NoticeKind, PaperId, PaperQuery, PdfPlace, Source, SourceAbout,
    SourceFound, SourceFuture, SourceSettings,
    reading::{
        ask::{Api, KeyPlace, bounded, or_none},
        gather::Gathered,
        json, sift,
        words::{Asked, first_day, last_day},
    },
};
use read::read;

const FIELDS: &str = "id,doi,display_name,publication_year,publication_date,ids,language,type,\
                      primary_location,best_oa_location,open_access,authorships,cited_by_count,\
                      biblio,is_retracted,keywords,abstract_inverted_index";
/// The most of one page, and of one filter with several values.
const PAGE: usize = 100;

/// `OpenAlex`.
pub struct OpenAlex {
    api: Api,
}

impl OpenAlex {
    /// `OpenAlex` as the settings say.
    pub fn new(web: Web, settings: SourceSettings) -> Self {
        let pace = Pace::new("openalex", Duration::from_millis(200)).at_once(2);
        let api = Api::new(web, settings, "https://api.openalex.org", pace);
        Self {
            api: api.with_key(KeyPlace::Query("api_key")),
        }
    }

    async fn find(&self, query: &PaperQuery) -> Result<SourceFound, WebError> {
        let asked = Asked::something(query)?;
        let limit = bounded(query.limit);
        let wanted = sift::wanted(limit, asked.venue.is_some());
        let mut gathered = self.pages(&question(query, &asked), wanted).await?;
        if !query.categories.is_empty() {
            gathered.found.ignored.push("categories");
        }
        let mut found = gathered.done(wanted, &self.api).await?;
        found.articles.retain(|it| sift::has_venue(it, &asked));
        found.articles.truncate(limit);
        Ok(found)
    }

    /// Pages of a list until there are enough.
    async fn pages(
        &self,
        question: &[(&str, String)],
        wanted: usize,
    ) -> Result<Gathered, WebError> {
        let by_cursor = self.api.has_key();
        let (by, first) = if by_cursor {
            ("cursor", "*")
        } else {
            ("page", "1")
        };
        let mut place = first.to_owned();
        let mut page = 1_usize;
        // Where a page begins follows from its number, so all are of one size.
        let size = wanted.clamp(1, PAGE);
        let mut gathered = Gathered::of(wanted, size);
        while gathered.next_page().is_some() {
            let mut query = question.to_vec();
            query.push(("select", FIELDS.to_owned()));
            query.push(("per-page", size.to_string()));
            query.push((by, place.clone()));
            let got = self.api.json(&["works"], &query).await?;
            gathered.found.total = json::number(&got.it, "/meta/count");
            let records = self.api.list(&got, "/results").await?;
            gathered.add(&got, records.iter().map(read));
            page += 1;
            match json::raw(&got.it, "/meta/next_cursor") {
                _ if records.len() < PAGE => gathered.end(),
                _ if !by_cursor => place = page.to_string(),
                Some(next) => place = next,
                None => gathered.end(),
            }
        }
        Ok(gathered)
    }

    async fn one(&self, id: &PaperId, fields: &str) -> Result<Option<Value>, WebError> {
        let Some(name) = name_of(id) else {
            return Ok(None);
        };
        let path: Vec<&str> = ["works"].into_iter().chain(name.split('/')).collect();
        let got = self.api.json(&path, &[("select", fields.to_owned())]).await;
        let Some(got) = or_none(got)? else {
            return Ok(None);
        };
        if got.it.get("id").is_none() {
            return Err(self.api.refused(&got, "there is no work in it").await);
        }
        Ok(Some(got.it))
    }

    async fn links(
        &self,
        id: &PaperId,
        direction: Direction,
        limit: usize,
    ) -> Result<Option<Vec<Link>>, WebError> {
        let limit = bounded(limit);
        let Some(work) = self.one(id, "id,referenced_works").await? else {
            return Ok(None);
        };
        let mut articles = Vec::new();
        match direction {
            Direction::Citing => {
                let Some(own) = read::own_id(&work, "/id") else {
                    return Ok(None);
                };
                let filter = format!("cites:{own}");
                let most_cited = "cited_by_count:desc".to_owned();
                let question = [("filter", filter), ("sort", most_cited)];
                let found = self.pages(&question, limit).await?;
                articles = found.done(limit, &self.api).await?.articles;
            }
            Direction::Cited => {
                let cited = json::list(&work, "/referenced_works").iter();
                let cited: Vec<String> = cited.filter_map(|it| read::own_id(it, "")).collect();
                let cited = cited.get(..limit.min(cited.len())).unwrap_or_default();
                for some in cited.chunks(PAGE) {
                    let filter = format!("openalex:{}", some.join("|"));
                    let found = self.pages(&[("filter", filter)], some.len()).await?;
                    articles.extend(found.done(PAGE, &self.api).await?.articles);
                }
                // The answer comes in an order of its own; references have one too.
                let place = |it: &Article| {
                    let id = it.openalex_id.as_ref();
                    cited.iter().position(|cited| Some(cited) == id)
                };
                articles.sort_by_key(place);
            }
        }
        articles.truncate(limit);
        let link = |article| Link {
            article,
            contexts: Vec::new(),
            influential: None,
        };
        Ok(Some(articles.into_iter().map(link).collect()))
    }
}

fn question(query: &PaperQuery, asked: &Asked) -> Vec<(&'static str, String)> {
    let mut filters = Vec::new();
    let edge = |name: &str, day: Option<String>| day.map(|day| format!("{name}:{day}"));
    filters.extend(edge("from_publication_date", query.from.map(first_day)));
    filters.extend(edge("to_publication_date", query.to.map(last_day)));
    // A comma or a bar would begin another filter; they are not in bare names.
    let names = asked.authors.iter().map(deliberate_core::Author::full_name);
    filters.extend(names.map(|it| format!("raw_author_name.search:{it}")));
    let words = asked.boolean();
    let order = match (asked.newest, words.is_empty()) {
        (true, _) => "publication_date:desc",
        (false, false) => "relevance_score:desc",
        // Without words there is no relevance, and asking for it is an error.
        (false, true) => "cited_by_count:desc",
    };
    let mut question = vec![("sort", order.to_owned())];
    if !words.is_empty() {
        question.push(("search", words));
    }
    if !filters.is_empty() {
        question.push(("filter", filters.join(",")));
    }
    question
}

fn name_of(id: &PaperId) -> Option<String> {
    match id {
        PaperId::Doi(doi) => Some(format!("doi:{doi}")),
        PaperId::Arxiv(id) => Some(format!("doi:{}", id.doi())),
        PaperId::Pubmed(id) => Some(format!("pmid:{id}")),
        PaperId::Pmc(id) => Some(format!("pmcid:{id}")),
        PaperId::OpenAlex(id) => Some(id.clone()),
        PaperId::SemanticScholar(_) => None,
    }
}

impl Source for OpenAlex {
    fn about(&self) -> SourceAbout {
        SourceAbout {
            name: "openalex".to_owned(),
            title: "OpenAlex".to_owned(),
            description: "Works of all fields with citations, open access and retractions"
                .to_owned(),
            by_words: true,
            has_key: self.api.has_key(),
            key_hint: Some(
                "a free key gives about a thousand searches a day; without one it is a tenth"
                    .to_owned(),
            ),
        }
    }

    fn search<'a>(&'a self, query: &'a PaperQuery) -> SourceFuture<'a, SourceFound> {
        Box::pin(self.find(query))
    }

    fn look_up<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Option<Article>> {
        Box::pin(async move { Ok(self.one(id, FIELDS).await?.as_ref().and_then(read)) })
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
        Box::pin(async move {
            let Some(work) = self.one(id, "id,is_retracted").await? else {
                return Ok(None);
            };
            let notice = Notice {
                kind: NoticeKind::Retraction,
                date: None,
                doi: None,
                source: "openalex".to_owned(),
            };
            let retracted = json::flag(&work, "/is_retracted");
            Ok(retracted.map(|it| if it { vec![notice] } else { Vec::new() }))
        })
    }

    fn open_pdfs<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Vec<PdfPlace>> {
        Box::pin(async move {
            let work = self.one(id, "id,best_oa_location,locations").await?;
            Ok(work.as_ref().map(read::pdfs).unwrap_or_default())
        })
    }
}
