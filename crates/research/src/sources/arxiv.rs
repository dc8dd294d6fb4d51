//! arXiv: preprints in physics, mathematics, computer science and related fields. Its API returns
//! Atom feeds and allows one request every three seconds on one connection.

use std::{sync::Arc, time::Duration};

use deliberate_core::{Article, ArxivId, Doi, PartialDate, WorkKind, first_chars};

use super::{
    PaperId, PaperQuery, PaperSource, PdfLocation, SourceDefinition, SourceFuture, SourceInfo,
    SourceResult, SourceSettings,
    api::{
        author_names,
        client::{ApiResponse, SourceApiClient, clamp_limit},
        finish_article,
        pagination::PagedResults,
        query_terms::{QueryTerms, first_day, last_day},
        text_cleanup,
        xml::XmlElement,
    },
};
use crate::{
    http::{HttpClient, HttpClientError, SourceRateLimit},
    prompt_fence::strip_markup_chars,
};

/// The most words that an abstract must contain all of. With more words any of them suffices, and
/// the best match comes first.
const MAX_REQUIRED_WORDS: usize = 4;

const ATOM_NAMESPACE: &str = "http://www.w3.org/2005/Atom";

const ARCHIVES: &[&str] = &[
    "astro-ph", "cond-mat", "cs", "econ", "eess", "gr-qc", "hep-ex", "hep-lat", "hep-ph", "hep-th",
    "math", "math-ph", "nlin", "nucl-ex", "nucl-th", "physics", "q-bio", "q-fin", "quant-ph",
    "stat",
];

pub(crate) const DEFINITION: SourceDefinition = SourceDefinition {
    has_categories: true,
    ..SourceDefinition::new(
        "arxiv",
        "https://export.arxiv.org/api",
        |http_client, settings| Arc::new(Arxiv::new(http_client, settings)),
    )
};

/// The source arXiv.
pub struct Arxiv {
    api: SourceApiClient,
}

impl Arxiv {
    pub fn new(web: HttpClient, settings: SourceSettings) -> Self {
        let api = SourceApiClient::new(web, settings, DEFINITION.default_url, rate_limit());
        Self {
            api: api.for_xml(&[406]),
        }
    }

    async fn find(&self, query: &PaperQuery) -> Result<SourceResult, HttpClientError> {
        let asked = QueryTerms::from_query(query);
        let (question, ignored) = build_query(query, &asked);
        if question.is_empty() {
            QueryTerms::from_non_empty_query(query)?;
        }
        let limit = clamp_limit(query.limit);
        let order = if asked.newest_first {
            "submittedDate"
        } else {
            "relevance"
        };
        let got = self
            .fetch_feed(&[
                ("search_query", question),
                ("start", "0".to_owned()),
                ("max_results", limit.to_string()),
                ("sortBy", order.to_owned()),
                ("sortOrder", "descending".to_owned()),
            ])
            .await?;
        let mut gathered = PagedResults::new(limit, limit);
        gathered.add_page(&got, got.body.children_named("entry").map(parse_entry));
        let total = got.body.line_at(&["totalResults"]);
        gathered.result.total = total.and_then(|it| it.parse().ok());
        gathered.result.ignored = ignored;
        gathered.into_result(limit, &self.api).await
    }

    async fn fetch_by_id(&self, id: &ArxivId) -> Result<Option<Article>, HttpClientError> {
        let query = [("id_list", id.to_string()), ("max_results", "1".to_owned())];
        let feed = self.fetch_feed(&query).await?.body;
        let mut found = feed.children_named("entry").filter_map(parse_entry);
        Ok(found.find(|it| it.arxiv_id.as_ref() == Some(id)))
    }

    /// Requests a feed. arXiv reports errors as an entry, with a status that may be 200.
    async fn fetch_feed(
        &self,
        query: &[(&str, String)],
    ) -> Result<ApiResponse<XmlElement>, HttpClientError> {
        let got = self.api.get_xml(&["query"], query).await?;
        if got.body.name != "feed" || !got.body.declares_namespace(ATOM_NAMESPACE) {
            return Err(self.response_error(&got, "it is not an Atom feed").await);
        }
        let entry = got.body.find_path(&["entry"]);
        let failed = entry.filter(|it| {
            it.line_at(&["id"])
                .is_some_and(|id| id.contains("/api/errors"))
        });
        if let Some(entry) = failed {
            let said = entry.line_at(&["summary"]).unwrap_or_default();
            let said = strip_markup_chars(first_chars(&said, 200));
            return Err(self
                .response_error(&got, &format!("its message: {said}"))
                .await);
        }
        Ok(got)
    }

    async fn response_error(
        &self,
        response: &ApiResponse<XmlElement>,
        reason: &str,
    ) -> HttpClientError {
        let nothing = serde_json::Value::Null;
        self.api
            .discard_responses(&[&response.request], &nothing, reason)
            .await
    }
}

impl PaperSource for Arxiv {
    fn info(&self) -> SourceInfo {
        SourceInfo {
            name: DEFINITION.name.to_owned(),
            title: "arXiv".to_owned(),
            description: "Preprints in physics, mathematics, computer science, statistics, \
                          economics and quantitative biology"
                .to_owned(),
            by_words: DEFINITION.by_words,
            has_key: false,
            key_hint: None,
        }
    }

    fn search<'a>(&'a self, query: &'a PaperQuery) -> SourceFuture<'a, SourceResult> {
        Box::pin(self.find(query))
    }

    fn look_up<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Option<Article>> {
        Box::pin(async move {
            match arxiv_id(id) {
                Some(id) => self.fetch_by_id(&id).await,
                None => Ok(None),
            }
        })
    }

    fn open_pdfs<'a>(&'a self, id: &'a PaperId) -> SourceFuture<'a, Vec<PdfLocation>> {
        let place = |id: ArxivId| PdfLocation {
            url: id.pdf_url(),
            source: DEFINITION.name.to_owned(),
            version: Some("submitted".to_owned()),
            licence: None,
        };
        let places = arxiv_id(id).map(place).into_iter().collect();
        Box::pin(async { Ok(places) })
    }

    fn metadata_rank(&self, id: &PaperId) -> Option<u8> {
        match id {
            PaperId::Arxiv(_) => Some(0),
            _ => None,
        }
    }

    fn citation_check_rank(&self) -> Option<u8> {
        Some(3)
    }
}

/// The rate limit of arXiv's terms of use. It covers the API and the files together.
pub(crate) fn rate_limit() -> SourceRateLimit {
    SourceRateLimit::new(DEFINITION.name, Duration::from_secs(3))
}

fn arxiv_id(id: &PaperId) -> Option<ArxivId> {
    match id {
        PaperId::Arxiv(id) => Some(id.clone()),
        PaperId::Doi(doi) => doi.arxiv_id(),
        _ => None,
    }
}

/// Builds the query in arXiv's syntax and lists the criteria that it can't express.
fn build_query(query: &PaperQuery, terms: &QueryTerms) -> (String, Vec<&'static str>) {
    let any = |all: Vec<String>, join: &str| match all.len() {
        0 | 1 => all.concat(),
        _ => format!("({})", all.join(join)),
    };
    let words: Vec<String> = terms
        .content_words()
        .iter()
        .map(|it| format!("all:\"{it}\""))
        .collect();
    let join = if words.len() > MAX_REQUIRED_WORDS {
        " OR "
    } else {
        " AND "
    };
    let phrases = terms
        .phrases
        .iter()
        .map(|it| format!("(ti:\"{it}\" OR abs:\"{it}\")"));
    let authors = terms
        .authors
        .iter()
        .map(|it| format!("au:\"{}\"", it.full_name()));
    let known = query.categories.iter().filter(|it| is_category(it));
    let known: Vec<String> = known.map(|it| format!("cat:{it}")).collect();
    let unknown = known.len() < query.categories.len();

    let mut parts = vec![any(known, " OR "), any(words, join)];
    parts.push(any(phrases.collect(), " OR "));
    parts.extend(authors);
    parts.extend(terms.venue.as_ref().map(|it| format!("jr:\"{it}\"")));
    parts.retain(|it| !it.is_empty());
    if !parts.is_empty() {
        parts.extend(date_range(query));
    }
    let ignored = if unknown {
        vec!["categories"]
    } else {
        Vec::new()
    };
    (parts.join(" AND "), ignored)
}

/// Builds the date filter: `submittedDate:[202301010000 TO 202312312359]`.
fn date_range(query: &PaperQuery) -> Option<String> {
    if query.from.is_none() && query.to.is_none() {
        return None;
    }
    let from = query.from.map_or("1991-01-01".to_owned(), first_day);
    let to = query.to.map_or("2999-12-31".to_owned(), last_day);
    let bare = |it: String| it.replace('-', "");
    Some(format!(
        "submittedDate:[{}0000 TO {}2359]",
        bare(from),
        bare(to)
    ))
}

fn is_category(text: &str) -> bool {
    let (archive, class) = text.split_once('.').unwrap_or((text, "*"));
    let named = |it: &str| it.chars().all(|it| it.is_ascii_alphanumeric() || it == '-');
    ARCHIVES.contains(&archive) && !class.is_empty() && (class == "*" || named(class))
}

fn parse_entry(entry: &XmlElement) -> Option<Article> {
    let text = |path: &[&str], most| text_cleanup::clean_text(&entry.find_path(path)?.text(), most);
    let id = entry.line_at(&["id"]).and_then(|it| ArxivId::parse(&it));
    let doi = entry.line_at(&["doi"]).and_then(|it| Doi::parse(&it));
    let link = |title: &str| {
        let found = entry
            .children_named("link")
            .find(|it| it.attribute("title") == Some(title));
        found
            .and_then(|it| it.attribute("href"))
            .and_then(text_cleanup::clean_url)
    };
    let categories = entry
        .children_named("category")
        .filter_map(|it| it.attribute("term"));
    let article = Article {
        title: text(&["title"], text_cleanup::MAX_TITLE_CHARS)?,
        authors: entry
            .children_named("author")
            .filter_map(|it| author_names::parse_author(&it.line_at(&["name"])?))
            .take(text_cleanup::MAX_AUTHORS)
            .collect(),
        kind: WorkKind::Preprint,
        summary: text(&["summary"], text_cleanup::MAX_ABSTRACT_CHARS),
        date: entry
            .line_at(&["published"])
            .and_then(|it| PartialDate::parse(&it)),
        venue: entry.line_at(&["journal_ref"]).and_then(|it| journal(&it)),
        url: id.as_ref().map(ArxivId::url),
        pdf_url: id.as_ref().map(ArxivId::pdf_url).or_else(|| link("pdf")),
        keywords: categories
            .filter_map(|it| text_cleanup::clean_text(it, text_cleanup::MAX_LINE_CHARS))
            .take(text_cleanup::MAX_KEYWORDS)
            .collect(),
        open_access: Some(true),
        retracted: is_withdrawn(entry).then_some(true),
        arxiv_id: id,
        doi,
        ..Article::default()
    };
    finish_article(article, DEFINITION.name)
}

/// Whether the authors or arXiv withdrew the paper, which only its comment says.
fn is_withdrawn(entry: &XmlElement) -> bool {
    let comment = entry
        .line_at(&["comment"])
        .unwrap_or_default()
        .to_lowercase();
    [
        "has been withdrawn",
        "withdrawn by",
        "withdrawn due",
        "is withdrawn",
    ]
    .iter()
    .any(|it| comment.contains(it))
}

/// Extracts the journal's name from `Phys.Rev.D76:013009,2007`.
fn journal(reference: &str) -> Option<String> {
    let name = reference.split(|it: char| it.is_ascii_digit()).next()?;
    let name = name.trim_end_matches(|it: char| !it.is_alphabetic());
    // A capital letter at the end is the series: `Phys. Rev. D`.
    let name = name.strip_suffix([' ', '.']).unwrap_or(name).trim();
    (name.chars().count() >= 4).then(|| name.to_owned())
}
