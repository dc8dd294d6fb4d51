//! Articles as resources: `knowledge://articles` is the list, `knowledge://{id}` an article with
//! its outline, `knowledge://{id}/page/{n}` a page, `knowledge://{id}/section/{name}` a section. An
//! ID is the article's own or its citation key. Everything is read through the tools, so that
//! limits, scopes and the invocation log apply.

use std::sync::Arc;

use deliberate_core::{Change, SessionId, truncate_chars};
use deliberate_store::{DocumentFilter, KeyMatch, Pagination};
use deliberate_toolkit::{
    CallEvent, CallListener, CompletionRequest, CompletionValues, EntityKind, ErrorCode,
    ResourceBody, ResourceChange, ResourceContext, ResourceData, ResourceInfo, ResourcePage,
    ResourceProvider, ToolError, UriTemplate,
};
use futures::future::BoxFuture;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Value, json};

use super::{
    articles::{ARTICLE, ArticleRepository, FULL_TEXT, sections::section_titles},
    prompt_fence::disarm_passage_tags,
};
use crate::ResearchServices;

const URI_PREFIX: &str = "knowledge://";

/// The URI of the list.
const ARTICLES_URI: &str = "knowledge://articles";

/// The tool that reads the resources.
const READ_TOOL: &str = "read_article";

/// The tool that lists articles.
const LIST_TOOL: &str = "list_articles";

/// The longest ID or name in a URI.
const MAX_SEGMENT_CHARS: usize = 512;

/// The most articles on the list.
const MAX_LISTED: u32 = 100;

/// The most completions of an argument.
const MAX_COMPLETIONS: usize = 50;

const MARKDOWN: &str = "text/markdown";

/// All characters except the unreserved ones of RFC 3986.
const URI_ENCODE_SET: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The articles as resources.
pub struct ArticleResources;

/// A parsed resource URI.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ArticleUri {
    All,
    Article(String),
    Page(String, String),
    Section(String, String),
}

impl ArticleUri {
    fn parse(uri: &str) -> Option<Self> {
        let path = uri.strip_prefix(URI_PREFIX)?;
        if path == "articles" {
            return Some(Self::All);
        }
        let decoded = |it: &str| {
            let text = percent_decode_str(it).decode_utf8().ok()?.into_owned();
            let fits = !text.is_empty() && text.len() <= MAX_SEGMENT_CHARS && !text.contains('\0');
            fits.then_some(text)
        };
        let parts: Vec<&str> = path.split('/').collect();
        match parts.as_slice() {
            [id] => Some(Self::Article(decoded(id)?)),
            [id, "page", page] => Some(Self::Page(decoded(id)?, decoded(page)?)),
            [id, "section", name] => Some(Self::Section(decoded(id)?, decoded(name)?)),
            _ => None,
        }
    }

    fn arguments(&self) -> Value {
        match self {
            Self::All => json!({ "limit": MAX_LISTED }),
            Self::Article(id) => json!({ "article_identifier": id }),
            Self::Page(id, page) => json!({ "article_identifier": id, "pages": page }),
            Self::Section(id, name) => json!({ "article_identifier": id, "section": name }),
        }
    }
}

fn article_uri(id: &str) -> String {
    format!("{URI_PREFIX}{}", utf8_percent_encode(id, URI_ENCODE_SET))
}

impl ResourceProvider for ArticleResources {
    fn required_scope(&self) -> Option<&'static str> {
        Some(READ_TOOL)
    }

    fn matches(&self, uri: &str) -> bool {
        ArticleUri::parse(uri).is_some()
    }

    fn templates(&self) -> Vec<UriTemplate> {
        let template = |end: &str, name: &str, title: &str, description: &str| UriTemplate {
            uri: format!("{URI_PREFIX}{{id}}{end}"),
            name: name.to_owned(),
            title: title.to_owned(),
            description: description.to_owned(),
            mime_type: Some(MARKDOWN.to_owned()),
        };
        vec![
            template(
                "",
                "article",
                "An article",
                "Its record, abstract and outline.",
            ),
            template(
                "/page/{page}",
                "article_page",
                "A page of an article",
                "Its text.",
            ),
            template(
                "/section/{section}",
                "article_section",
                "A section of an article",
                "Its text with the sections below it, by heading or number.",
            ),
        ]
    }

    fn list<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: usize,
        context: ResourceContext<'a>,
    ) -> BoxFuture<'a, Result<ResourcePage, ToolError>> {
        Box::pin(list(after, limit, context))
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        context: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<Vec<ResourceData>, ToolError>>> {
        Box::pin(async move {
            let address = ArticleUri::parse(uri)?;
            Some(read(uri, &address, context).await)
        })
    }

    fn complete<'a>(
        &'a self,
        template: &'a str,
        typed: CompletionRequest<'a>,
        context: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<CompletionValues, ToolError>>> {
        Box::pin(async move {
            let ours = self.templates().iter().any(|it| it.uri == template);
            ours.then_some(())?;
            Some(match typed.argument {
                "id" => complete_ids(typed.text, context).await,
                "section" | "page" => complete_pages_or_sections(typed, context).await,
                _ => Ok(CompletionValues::default()),
            })
        })
    }

    fn changes_for(&self, change: &Change, _: Option<&SessionId>) -> Vec<ResourceChange> {
        let (kind, id, is_new) = match change {
            Change::PutDocument { item, .. } => (&item.kind, &item.id, item.version == 0),
            Change::DeleteDocument { kind, id, .. } => (kind, id, true),
            _ => return Vec::new(),
        };
        if kind != ARTICLE && kind != FULL_TEXT {
            return Vec::new();
        }
        let mut touched = vec![ResourceChange::Resource(ARTICLES_URI.to_owned())];
        for address in [Some(article_uri(id)), cite_key_uri(change)]
            .into_iter()
            .flatten()
        {
            touched.push(ResourceChange::Prefix(format!("{address}/")));
            touched.push(ResourceChange::Resource(address));
        }
        touched.extend((is_new && kind == ARTICLE).then_some(ResourceChange::ListChanged));
        touched
    }
}

/// The URI of a changed article by its citation key. A change of the full text also writes the
/// article, and a deletion writes it first.
fn cite_key_uri(change: &Change) -> Option<String> {
    let Change::PutDocument { item, .. } = change else {
        return None;
    };
    let key = item.body.get("cite_key")?.as_str()?;
    Some(article_uri(key)).filter(|_| item.kind == ARTICLE)
}

async fn read(
    uri: &str,
    address: &ArticleUri,
    context: ResourceContext<'_>,
) -> Result<Vec<ResourceData>, ToolError> {
    let tool = match address {
        ArticleUri::All => LIST_TOOL,
        _ => READ_TOOL,
    };
    let output = match context.call(tool, address.arguments()).await {
        Ok(output) => output,
        Err(ToolError::Custom { code, .. }) if is_missing(code) => {
            return Err(not_found_error(uri));
        }
        Err(ToolError::Invalid(_)) => return Err(not_found_error(uri)),
        Err(error) => return Err(error),
    };
    let said = output.get("said").and_then(Value::as_str);
    Ok(vec![ResourceData {
        uri: uri.to_owned(),
        mime_type: Some(MARKDOWN.to_owned()),
        body: ResourceBody::Text(said.unwrap_or_default().to_owned()),
        meta: None,
    }])
}

fn is_missing(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::ArticleNotFound | ErrorCode::SectionNotFound | ErrorCode::NoText
    )
}

fn not_found_error(uri: &str) -> ToolError {
    ToolError::NotFound {
        what: EntityKind::RESOURCE,
        id: truncate_chars(uri, 200),
    }
}

/// The list itself first, then the articles, the newest first.
async fn list(
    after: Option<&str>,
    limit: usize,
    context: ResourceContext<'_>,
) -> Result<ResourcePage, ToolError> {
    let offset: u32 = match after.map(str::parse) {
        None => 0,
        Some(Ok(offset)) => offset,
        Some(Err(_)) => return Ok(ResourcePage::default()),
    };
    let limit = u32::try_from(limit)
        .unwrap_or(u32::MAX)
        .clamp(1, MAX_LISTED);
    let arguments = json!({ "limit": limit, "offset": offset });
    let output = match context.call(LIST_TOOL, arguments).await {
        Ok(output) => output,
        // A principal that may read but not list articles sees none here, and all other resources.
        Err(ToolError::Forbidden { .. }) => return Ok(ResourcePage::default()),
        Err(error) => return Err(error),
    };
    let articles = output.get("articles").and_then(Value::as_array);
    let mut resources: Vec<ResourceInfo> = Vec::new();
    if offset == 0 {
        resources.push(ResourceInfo {
            uri: ARTICLES_URI.to_owned(),
            name: "articles".to_owned(),
            title: Some("Articles".to_owned()),
            description: Some("The articles of the collection, the newest first.".to_owned()),
            mime_type: Some(MARKDOWN.to_owned()),
            size: None,
        });
    }
    resources.extend(articles.into_iter().flatten().filter_map(to_resource));
    let next = output.get("next_offset").and_then(Value::as_u64);
    Ok(ResourcePage {
        resources,
        next: next.map(|it| it.to_string()),
    })
}

fn to_resource(article: &Value) -> Option<ResourceInfo> {
    let field = |name: &str| article.get(name).and_then(Value::as_str);
    let names = article.get("authors").and_then(Value::as_array);
    let first = names.and_then(|it| it.first()).and_then(Value::as_str);
    let about = [first, field("date")]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ");
    Some(ResourceInfo {
        uri: article_uri(field("article_id")?),
        name: field("cite_key")?.to_owned(),
        title: field("title").map(|it| disarm_passage_tags(&truncate_chars(it, 200))),
        description: Some(about).filter(|it| !it.is_empty()),
        mime_type: Some(MARKDOWN.to_owned()),
        size: None,
    })
}

/// Completes citation keys that contain the typed text, matching prefixes first, and full IDs.
async fn complete_ids(
    text: &str,
    context: ResourceContext<'_>,
) -> Result<CompletionValues, ToolError> {
    // Who may only read articles must have been given an id.
    if !context.caller.principal.scope.allows(LIST_TOOL) {
        return Ok(CompletionValues::default());
    }
    let library = ArticleRepository(context.registry.store().as_ref());
    let text = truncate_chars(text.trim(), MAX_SEGMENT_CHARS).to_lowercase();
    let mut filter = DocumentFilter::of_kind(ARTICLE);
    if !text.is_empty() {
        filter.keys.push(KeyMatch::Contains {
            name: "cite_key".to_owned(),
            text: text.clone(),
        });
    }
    let found = library.list(&filter, Pagination::limit(200)).await?;
    let more = found.len() > MAX_COMPLETIONS;
    let mut keys: Vec<String> = found.into_iter().map(|it| it.record.cite_key).collect();
    keys.sort_by_key(|it| (!it.to_lowercase().starts_with(&text), it.clone()));
    keys.truncate(MAX_COMPLETIONS);
    if keys.is_empty() && library.get(&text).await?.is_some() {
        keys.push(text);
    }
    Ok(CompletionValues {
        values: keys,
        has_more: more,
    })
}

/// Completes pages or headings of the named article.
async fn complete_pages_or_sections(
    typed: CompletionRequest<'_>,
    context: ResourceContext<'_>,
) -> Result<CompletionValues, ToolError> {
    let library = ArticleRepository(context.registry.store().as_ref());
    let Some(id) = typed.arguments.get("id") else {
        return Ok(CompletionValues::default());
    };
    // An ambiguous title gives no completions.
    let Ok(Some(found)) = library.look_up(id).await else {
        return Ok(CompletionValues::default());
    };
    let all: Vec<String> = if typed.argument == "page" {
        (1..=found.record.pages).map(|it| it.to_string()).collect()
    } else {
        let outline = library.outline(&found.record.id).await?;
        section_titles(&outline.unwrap_or_default()).collect()
    };
    let start = typed.text.to_lowercase();
    let mut fitting = all
        .into_iter()
        .filter(|it| it.to_lowercase().starts_with(&start));
    let values: Vec<String> = fitting.by_ref().take(MAX_COMPLETIONS).collect();
    Ok(CompletionValues {
        values,
        has_more: fitting.next().is_some(),
    })
}

/// Makes the index follow changes of articles.
pub(crate) struct IndexChangeListener(pub(crate) Arc<ResearchServices>);

impl CallListener for IndexChangeListener {
    fn on_event(&self, event: CallEvent<'_>) {
        let CallEvent::ResourcesChanged(touched) = event else {
            return;
        };
        let ours = |it: &ResourceChange| match it {
            ResourceChange::Resource(uri) | ResourceChange::Prefix(uri) => {
                uri.starts_with(URI_PREFIX)
            }
            ResourceChange::ListChanged => false,
        };
        if touched.iter().any(ours) {
            self.0.index_sync().notify_change();
        }
    }
}

#[cfg(test)]
mod tests {
    use deliberate_core::Timestamp;

    use super::*;
    use crate::articles::{ArticleRecord, VersionedArticle};

    #[test]
    fn addresses_lead_where_they_say() {
        let id = "a/b é";
        let address = article_uri(id);
        assert_eq!(
            ArticleUri::parse(&address),
            Some(ArticleUri::Article(id.to_owned()))
        );
        let page = ArticleUri::parse(&format!("{address}/page/3"));
        assert_eq!(page, Some(ArticleUri::Page(id.to_owned(), "3".to_owned())));
        let section = ArticleUri::parse("knowledge://x/section/2%20Method");
        assert_eq!(
            section,
            Some(ArticleUri::Section("x".to_owned(), "2 Method".to_owned()))
        );
        assert_eq!(ArticleUri::parse(ARTICLES_URI), Some(ArticleUri::All));
        for other in [
            "knowledge://",
            "knowledge://a/b",
            "knowledge://a/page/",
            "file://a",
        ] {
            assert_eq!(ArticleUri::parse(other), None, "{other}");
        }
    }

    #[test]
    fn who_follows_an_article_by_its_key_is_told_too() {
        let now = Timestamp::from_micros(1);
        let mut kept = ArticleRecord::empty(now);
        "01-id".clone_into(&mut kept.id);
        "große2020".clone_into(&mut kept.cite_key);
        let touched = ArticleResources.changes_for(
            &VersionedArticle {
                record: kept,
                version: 3,
            }
            .put_change(now),
            None,
        );
        for address in ["01-id", "große2020"].map(article_uri) {
            assert!(touched.contains(&ResourceChange::Prefix(format!("{address}/"))));
            assert!(
                touched.contains(&ResourceChange::Resource(address)),
                "{touched:?}"
            );
        }
    }
}
