//! bioRxiv and medRxiv: preprints of biology and of medicine. They can't be searched by words: a
//! window of days is read, the newest pages first and not too many of them, and sifted here.

use std::time::Duration;

use deliberate_core::{Article, Author, PartialDate, WorkKind};
use serde_json::Value;

use crate::web::{Pace, Web, WebError};

use super::{
    PaperId, PaperQuery, PdfPlace, Source, SourceAbout, SourceFound, SourceFuture, SourceSettings,
    reading::{
        ask::{Api, Got, bounded, or_none},
        clean, finish,
        fold::folded,
        gather::Gathered,
        json, names, sift,
        words::{Asked, first_day, last_day},
    },
};

/// How many pages are read for one question.
const PAGES: usize = 12;
/// How long pages are read for one question: what was found by then is more than nothing.
const TIME: Duration = Duration::from_secs(20);
/// How many days are looked back if nothing is said.
const DAYS: i64 = 30;

/// bioRxiv or medRxiv.
pub struct Biorxiv {
    api: Api,
    name: &'static str,
    title: &'static str,
}

impl Biorxiv {
    /// bioRxiv as the settings say.
    pub fn new(web: Web, settings: SourceSettings) -> Self {
        Self::named(web, settings, "biorxiv", "bioRxiv")
    }

    /// medRxiv as the settings say.
    pub fn medicine(web: Web, settings: SourceSettings) -> Self {
        Self::named(web, settings, "medrxiv", "medRxiv")
    }

    fn named(web: Web, settings: SourceSettings, name: &'static str, title: &'static str) -> Self {
        // One machine serves both.
        let pace = Pace::new("biorxiv", Duration::from_millis(500));
        let api = Api::new(web, settings, "https://api.biorxiv.org", pace);
        Self { api, name, title }
    }

    async fn find(&self, query: &PaperQuery) -> Result<SourceFound, WebError> {
        let asked = asked(query)?;
        let limit = bounded(query.limit);
        let window = window(query);
        let mut gathered = Gathered::of(limit, limit);
        let begun = tokio::time::Instant::now();
        let (first, total, count) = self.page(&window, 0, &mut gathered).await?;
        // The oldest come first; so the first page only tells where the newest are.
        let pages = if count == 0 { 0 } else { total.div_ceil(count) };
        let (mut papers, mut read) = (Vec::new(), 1);
        for page in (1..pages).rev().take(PAGES - 1) {
            if begun.elapsed() > TIME {
                break;
            }
            let cursor = page.saturating_mul(count);
            papers.extend(self.page(&window, cursor, &mut gathered).await?.0);
            read += 1;
        }
        papers.extend(first);
        if papers.is_empty() && (gathered.found.skipped > 0 || total > 0) {
            let reason = "none of its records can be read";
            return Err(gathered.refused(&self.api, reason).await);
        }
        let mut found = gathered.found;
        // What it holds in the window is no answer to how many fit, so no total is told.
        found.articles = sifted(newest_versions(papers), query, &asked, limit);
        if pages > read {
            found.ignored.push("older days of the window");
        }
        if query.from.is_none() {
            found.ignored.push("papers older than 30 days");
        }
        Ok(found)
    }

    /// A page from a place on, how many there are in all, and how many are on it.
    async fn page(
        &self,
        window: &(String, String),
        cursor: usize,
        gathered: &mut Gathered,
    ) -> Result<(Vec<Paper>, usize, usize), WebError> {
        let cursor = cursor.to_string();
        let path = ["details", self.name, &window.0, &window.1, &cursor, "json"];
        let got = self.api.json(&path, &[]).await?;
        gathered.note(&got);
        let count = |name: &str| {
            let number = json::number(&got.it, &format!("/messages/0/{name}"));
            number.and_then(|it| usize::try_from(it).ok())
        };
        let records = self.records(&got).await?;
        let papers: Vec<Paper> = records.iter().filter_map(|it| self.read(it)).collect();
        let skipped = u32::try_from(records.len() - papers.len()).unwrap_or(u32::MAX);
        gathered.found.skipped += skipped;
        let total = count("total").unwrap_or(records.len());
        Ok((papers, total, records.len()))
    }

    /// The records of an answer. None are told by a status that says so.
    async fn records<'a>(&self, got: &'a Got<Value>) -> Result<&'a [Value], WebError> {
        let status = json::text(&got.it, "/messages/0/status").unwrap_or_default();
        if status.to_lowercase().starts_with("no posts found") {
            return Ok(&[]);
        }
        self.api.list(got, "/collection").await
    }

    async fn one(&self, id: &PaperId) -> Result<Option<Paper>, WebError> {
        let PaperId::Doi(doi) = id else {
            return Ok(None);
        };
        // Its own, and those of the foundation that runs it now.
        if !["10.1101/", "10.64898/"]
            .iter()
            .any(|it| doi.as_str().starts_with(it))
        {
            return Ok(None);
        }
        let mut path = vec!["details", self.name];
        path.extend(doi.as_str().split('/'));
        path.extend(["na", "json"]);
        let Some(got) = or_none(self.api.json(&path, &[]).await)? else {
            return Ok(None);
        };
        let records = self.records(&got).await?;
        let papers = records.iter().filter_map(|it| self.read(it));
        Ok(papers.max_by_key(|it| it.version))
    }

    fn read(&self, record: &Value) -> Option<Paper> {
        let text = |pointer: &str| json::text(record, pointer);
        let doi = json::doi(record, "/doi");
        let version = json::number(record, "/version").unwrap_or(1);
        let page = doi
            .as_ref()
            .map(|doi| format!("https://www.{}.org/content/{doi}v{version}", self.name));
        let kind = text("/type").unwrap_or_default().to_lowercase();
        let article = Article {
            title: json::title(record, "/title")?,
            authors: authors(&json::raw(record, "/authors").unwrap_or_default()),
            kind: WorkKind::Preprint,
            summary: json::summary(record, "/abstract"),
            date: json::date(record, "/date"),
            venue: Some(self.title.to_owned()),
            publisher: Some("Cold Spring Harbor Laboratory".to_owned()),
            pdf_url: page.as_ref().map(|it| format!("{it}.full.pdf")),
            url: page,
            doi,
            keywords: json::texts(record, "/category", ""),
            open_access: Some(true),
            retracted: kind.contains("withdraw").then_some(true),
            ..Article::default()
        };
        Some(Paper {
            article: finish(article, self.name)?,
            version,
            licence: text("/license"),
        })
    }
}

/// A version of a preprint.
struct Paper {
    article: Article,
    version: u64,
    licence: Option<String>,
}

impl Source for Biorxiv {
    fn about(&self) -> SourceAbout {
        let of = if self.name == "medrxiv" {
            "medicine"
        } else {
            "biology"
        };
        SourceAbout {
            name: self.name.to_owned(),
            title: self.title.to_owned(),
            description: format!("Preprints of {of}; read by dates and sifted here"),
            by_words: false,
            has_key: false,
            key_hint: None,
        }
    }

    fn search<'a>(&'a self, query: &'a PaperQuery) -> SourceFuture<'a, SourceFound> {
        Box::pin(self.find(query))
    }

    fn look_up<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Option<Article>> {
        Box::pin(async move { Ok(self.one(id).await?.map(|it| it.article)) })
    }

    fn open_pdfs<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Vec<PdfPlace>> {
        Box::pin(async move {
            let place = |paper: Paper| {
                Some(PdfPlace {
                    url: paper.article.pdf_url?,
                    source: self.name.to_owned(),
                    version: Some("submitted".to_owned()),
                    licence: paper.licence,
                })
            };
            Ok(self.one(id).await?.and_then(place).into_iter().collect())
        })
    }
}

/// What is asked. All papers of a window may be wanted, but not because what was typed holds no
/// word.
fn asked(query: &PaperQuery) -> Result<Asked, WebError> {
    let nothing_typed =
        query.words.trim().is_empty() && query.phrases.is_empty() && query.authors.is_empty();
    if nothing_typed {
        Ok(Asked::of(query))
    } else {
        Asked::something(query)
    }
}

/// From which day to which.
fn window(query: &PaperQuery) -> (String, String) {
    let today = jiff::Timestamp::now()
        .to_zoned(jiff::tz::TimeZone::UTC)
        .date();
    window_until(query, today)
}

/// The window as it is on that day. What ends later ends on it: nothing is there yet, and the days
/// before an end to come would all be empty.
fn window_until(query: &PaperQuery, today: jiff::civil::Date) -> (String, String) {
    let end = query.to.and_then(|it| last_day(it).parse().ok());
    let end: jiff::civil::Date = end.map_or(today, |end: jiff::civil::Date| end.min(today));
    let back = || {
        let day = end.checked_sub(jiff::Span::new().days(DAYS));
        day.unwrap_or(end).to_string()
    };
    let from = query.from.map_or_else(back, first_day);
    let to = end.to_string().max(from.clone());
    (from, to)
}

/// Each preprint once: its last version.
fn newest_versions(papers: Vec<Paper>) -> Vec<Article> {
    let mut last: Vec<Paper> = Vec::with_capacity(papers.len());
    let mut at = std::collections::HashMap::new();
    for paper in papers {
        let known = paper
            .article
            .doi
            .clone()
            .map(|doi| *at.entry(doi).or_insert(last.len()));
        match known.and_then(|at| last.get_mut(at)) {
            Some(it) if it.version < paper.version => *it = paper,
            Some(_) => {}
            None => last.push(paper),
        }
    }
    last.into_iter().map(|it| it.article).collect()
}

/// Those that fit, best first, or newest first.
fn sifted(papers: Vec<Article>, query: &PaperQuery, asked: &Asked, limit: usize) -> Vec<Article> {
    let in_class = |it: &Article| {
        let classes = it.keywords.iter().map(|it| folded(it));
        let wanted = |class: &String| query.categories.iter().any(|it| folded(it) == *class);
        query.categories.is_empty() || classes.into_iter().any(|it| wanted(&it))
    };
    let fits = |it: Article| Some((sift::fit(&it, asked), it)).filter(|(fit, _)| *fit > 0);
    let mut found: Vec<(usize, Article)> = papers
        .into_iter()
        .filter(|it| in_class(it) && sift::has_authors(it, asked) && sift::has_venue(it, asked))
        .filter_map(fits)
        .collect();
    let date = |it: &Article| it.date.map_or(0, PartialDate::as_number);
    found.sort_by(|(a_fit, a), (b_fit, b)| {
        let by_fit = if asked.newest {
            std::cmp::Ordering::Equal
        } else {
            b_fit.cmp(a_fit)
        };
        let by_name = || a.doi.cmp(&b.doi);
        by_fit
            .then_with(|| date(b).cmp(&date(a)))
            .then_with(by_name)
    });
    found.into_iter().map(|(_, it)| it).take(limit).collect()
}

/// `Smith, J. A.; Doe, J.`
fn authors(names: &str) -> Vec<Author> {
    let names = names.split(';').filter_map(names::whole);
    names.take(clean::AUTHORS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_ends_today_at_the_latest() {
        let today = jiff::civil::date(2026, 11, 16);
        let of = |from: &str, to: &str| {
            let query = PaperQuery {
                from: PartialDate::parse(from),
                to: PartialDate::parse(to),
                ..PaperQuery::default()
            };
            let (from, to) = window_until(&query, today);
            format!("{from} {to}")
        };
        assert_eq!(of("", ""), "2026-10-17 2026-11-16");
        assert_eq!(of("", "2026"), "2026-10-17 2026-11-16");
        assert_eq!(of("2026-11", "2027"), "2026-11-01 2026-11-16");
        assert_eq!(of("", "2024"), "2024-12-01 2024-12-31");
    }
}
