//! Crossref: what publishers say of their own works, and what became of them since. Who gives an
//! address to write to is served faster.

mod read;

use std::time::Duration;

use deliberate_core::{Article, Doi};
use serde_json::Value;

use crate::web::{Pace, Web, WebError};

use super::{
    Notice, PaperId, PaperQuery, PdfPlace, Source, SourceAbout, SourceFound, SourceFuture,
    SourceSettings,
    reading::{
        ask::{Api, KeyPlace, bounded, or_none},
        gather::Gathered,
        json, sift,
        words::Asked,
    },
};
use read::read;

/// Records are long: their references come with them.
const PAGE: usize = 100;

/// Crossref.
pub struct Crossref {
    api: Api,
}

impl Crossref {
    /// Crossref as the settings say.
    pub fn new(web: Web, settings: SourceSettings) -> Self {
        let pace = if settings.contact.is_some() {
            Pace::new("crossref", Duration::from_millis(120)).at_once(3)
        } else {
            Pace::new("crossref", Duration::from_millis(250))
        };
        let api = Api::new(web, settings, "https://api.crossref.org", pace);
        let place = KeyPlace::Header("crossref-plus-api-token", "Bearer ");
        let api = api.with_key(place);
        Self {
            api: api.with_contact("mailto"),
        }
    }

    async fn find(&self, query: &PaperQuery) -> Result<SourceFound, WebError> {
        let asked = Asked::something(query)?;
        let limit = bounded(query.limit);
        // It takes names of authors and journals for words, any of which will do.
        let wanted = sift::wanted(limit, !asked.authors.is_empty() || asked.venue.is_some());
        let mut gathered = Gathered::of(wanted, PAGE);
        while let Some(rows) = gathered.next_page() {
            let mut question = question(query, &asked);
            question.push(("rows", rows.to_string()));
            if gathered.seen() > 0 {
                question.push(("offset", gathered.seen().to_string()));
            }
            let got = self.api.json(&["works"], &question).await?;
            gathered.found.total = json::number(&got.it, "/message/total-results");
            let items = self.api.list(&got, "/message/items").await?;
            gathered.add(&got, items.iter().map(read));
            if items.len() < PAGE {
                gathered.end();
            }
        }
        if !query.categories.is_empty() {
            gathered.found.ignored.push("categories");
        }
        let mut found = gathered.done(wanted, &self.api).await?;
        let meant = |it: &Article| sift::has_authors(it, &asked) && sift::has_venue(it, &asked);
        found.articles.retain(meant);
        found.articles.truncate(limit);
        Ok(found)
    }

    async fn one(&self, doi: &Doi) -> Result<Option<Value>, WebError> {
        let path: Vec<&str> = ["works"]
            .into_iter()
            .chain(doi.as_str().split('/'))
            .collect();
        let Some(mut got) = or_none(self.api.json(&path, &[]).await)? else {
            return Ok(None);
        };
        match got.it.get_mut("message") {
            Some(work @ Value::Object(_)) => Ok(Some(work.take())),
            _ => Err(self.api.refused(&got, "there is no work in it").await),
        }
    }

    /// Both ways: what the work's own record says, and what notices say of the work. One alone
    /// misses some.
    async fn became(&self, doi: &Doi) -> Result<Option<Vec<Notice>>, WebError> {
        let Some(work) = self.one(doi).await? else {
            return Ok(None);
        };
        let mut notices = read::notices(&work);
        // A comma begins another filter, and there is no way to say that it does not.
        if doi.as_str().contains(',') {
            return Ok(Some(notices));
        }
        let query = [
            ("filter", format!("updates:{doi}")),
            ("rows", "50".to_owned()),
        ];
        let got = self.api.json(&["works"], &query).await?;
        for item in self.api.list(&got, "/message/items").await? {
            for notice in read::updates(item, doi) {
                let known = |it: &Notice| it.kind == notice.kind && it.doi == notice.doi;
                if !notices.iter().any(known) {
                    notices.push(notice);
                }
            }
        }
        Ok(Some(notices))
    }
}

fn question(query: &PaperQuery, asked: &Asked) -> Vec<(&'static str, String)> {
    let order = if asked.newest {
        "published"
    } else {
        "relevance"
    };
    let mut question = vec![("sort", order.to_owned()), ("order", "desc".to_owned())];
    let texts = [
        ("query.bibliographic", asked.line()),
        ("query.author", asked.author_line()),
        (
            "query.container-title",
            asked.venue.clone().unwrap_or_default(),
        ),
    ];
    question.extend(texts.into_iter().filter(|(_, it)| !it.is_empty()));
    let from = query.from.map(|it| format!("from-pub-date:{it}"));
    let to = query.to.map(|it| format!("until-pub-date:{it}"));
    let window: Vec<String> = from.into_iter().chain(to).collect();
    if !window.is_empty() {
        question.push(("filter", window.join(",")));
    }
    question
}

fn doi_of(id: &PaperId) -> Option<&Doi> {
    match id {
        // arXiv's own are registered elsewhere.
        PaperId::Doi(doi) if doi.arxiv_id().is_none() => Some(doi),
        _ => None,
    }
}

impl Source for Crossref {
    fn about(&self) -> SourceAbout {
        SourceAbout {
            name: "crossref".to_owned(),
            title: "Crossref".to_owned(),
            description: "What publishers say of their works: the record behind most DOIs, with \
                          corrections and retractions"
                .to_owned(),
            by_words: true,
            has_key: self.api.has_key(),
            key_hint: Some("only for those who pay for Metadata Plus; none is needed".to_owned()),
        }
    }

    fn search<'a>(&'a self, query: &'a PaperQuery) -> SourceFuture<'a, SourceFound> {
        Box::pin(self.find(query))
    }

    fn look_up<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Option<Article>> {
        Box::pin(async move {
            let Some(doi) = doi_of(id) else {
                return Ok(None);
            };
            Ok(self.one(doi).await?.as_ref().and_then(read))
        })
    }

    fn notices<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Option<Vec<Notice>>> {
        Box::pin(async move {
            match doi_of(id) {
                Some(doi) => self.became(doi).await,
                None => Ok(None),
            }
        })
    }

    fn open_pdfs<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Vec<PdfPlace>> {
        Box::pin(async move {
            let Some(doi) = doi_of(id) else {
                return Ok(Vec::new());
            };
            Ok(self
                .one(doi)
                .await?
                .as_ref()
                .map(read::pdfs)
                .unwrap_or_default())
        })
    }
}
