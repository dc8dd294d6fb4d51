//! Articles by their addresses: `knowledge://articles` is the list, `knowledge://{id}` an article
//! with its outline, `knowledge://{id}/page/{n}` a page, `knowledge://{id}/section/{name}` a section.
//! An id is the article's own or its citation key. Everything is read through the tools, so that
//! limits, scopes and records hold for it.

use std::sync::Arc;

use deliberate_core::{Change, SessionId, cut_to_chars};
use deliberate_store::{ItemFilter, KeyMatch, Page};
use deliberate_toolkit::{
    Body, Choices, Contents, Desk, Event, Kind, Listed, Listener, Resource, Resources, Template,
    ToolError, Touched, Typed,
};
use futures::future::BoxFuture;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Value, json};

use crate::{
    Lab,
    collect::{ARTICLE, Library, TEXT, harmless, sections::titles},
};

/// What every address begins with.
const ROOT: &str = "knowledge://";

/// The list.
const ALL: &str = "knowledge://articles";

/// The tool everything is read with.
const TOOL: &str = "read_article";

/// No id or name in an address is longer.
const LONGEST: usize = 512;

/// How many articles the list shows.
const MOST_LISTED: u32 = 100;

/// How many an argument may be completed to.
const MOST_CHOICES: usize = 50;

const MARKDOWN: &str = "text/markdown";

/// All but what RFC 3986 calls unreserved.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Articles by their addresses.
pub struct KnowledgePages;

/// Where an address leads.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Address {
    All,
    Article(String),
    Page(String, String),
    Section(String, String),
}

impl Address {
    fn parse(uri: &str) -> Option<Self> {
        let path = uri.strip_prefix(ROOT)?;
        if path == "articles" {
            return Some(Self::All);
        }
        let decoded = |it: &str| {
            let text = percent_decode_str(it).decode_utf8().ok()?.into_owned();
            let fits = !text.is_empty() && text.len() <= LONGEST && !text.contains('\0');
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
            Self::All => json!({ "limit": MOST_LISTED }),
            Self::Article(id) => json!({ "article_identifier": id }),
            Self::Page(id, page) => json!({ "article_identifier": id, "pages": page }),
            Self::Section(id, name) => json!({ "article_identifier": id, "section": name }),
        }
    }
}

fn address_of(id: &str) -> String {
    format!("{ROOT}{}", utf8_percent_encode(id, ENCODED))
}

impl Resources for KnowledgePages {
    fn needs(&self) -> Option<&'static str> {
        Some(TOOL)
    }

    fn knows(&self, uri: &str) -> bool {
        Address::parse(uri).is_some()
    }

    fn templates(&self) -> Vec<Template> {
        let template = |end: &str, name: &str, title: &str, description: &str| Template {
            uri: format!("{ROOT}{{id}}{end}"),
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
        desk: Desk<'a>,
    ) -> BoxFuture<'a, Result<Listed, ToolError>> {
        Box::pin(list(after, limit, desk))
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        desk: Desk<'a>,
    ) -> BoxFuture<'a, Option<Result<Vec<Contents>, ToolError>>> {
        Box::pin(async move {
            let address = Address::parse(uri)?;
            Some(read(uri, &address, desk).await)
        })
    }

    fn complete<'a>(
        &'a self,
        template: &'a str,
        typed: Typed<'a>,
        desk: Desk<'a>,
    ) -> BoxFuture<'a, Option<Result<Choices, ToolError>>> {
        Box::pin(async move {
            let ours = self.templates().iter().any(|it| it.uri == template);
            ours.then_some(())?;
            Some(match typed.argument {
                "id" => ids(typed.text, desk).await,
                "section" | "page" => parts(typed, desk).await,
                _ => Ok(Choices::default()),
            })
        })
    }

    fn touched(&self, change: &Change, _: Option<&SessionId>) -> Vec<Touched> {
        let (kind, id, is_new) = match change {
            Change::PutItem { item, .. } => (&item.kind, &item.id, item.version == 0),
            Change::DropItem { kind, id, .. } => (kind, id, true),
            _ => return Vec::new(),
        };
        if kind != ARTICLE && kind != TEXT {
            return Vec::new();
        }
        let mut touched = vec![Touched::Resource(ALL.to_owned())];
        for address in [Some(address_of(id)), by_key(change)].into_iter().flatten() {
            touched.push(Touched::Under(format!("{address}/")));
            touched.push(Touched::Resource(address));
        }
        touched.extend((is_new && kind == ARTICLE).then_some(Touched::List));
        touched
    }
}

/// The address that an article has by its citation key. Whatever touches its text writes the article
/// too, and who deletes it writes it first.
fn by_key(change: &Change) -> Option<String> {
    let Change::PutItem { item, .. } = change else {
        return None;
    };
    let key = item.body.get("cite_key")?.as_str()?;
    Some(address_of(key)).filter(|_| item.kind == ARTICLE)
}

async fn read(uri: &str, address: &Address, desk: Desk<'_>) -> Result<Vec<Contents>, ToolError> {
    let tool = match address {
        Address::All => "list_articles",
        _ => TOOL,
    };
    let output = match desk.call(tool, address.arguments()).await {
        Ok(output) => output,
        Err(ToolError::Told { code, .. }) if is_missing(&code) => return Err(nothing_at(uri)),
        Err(ToolError::Invalid(_)) => return Err(nothing_at(uri)),
        Err(error) => return Err(error),
    };
    let said = output.get("said").and_then(Value::as_str);
    Ok(vec![Contents {
        uri: uri.to_owned(),
        mime_type: Some(MARKDOWN.to_owned()),
        body: Body::Text(said.unwrap_or_default().to_owned()),
    }])
}

fn is_missing(code: &str) -> bool {
    matches!(code, "ArticleNotFound" | "SectionNotFound" | "NoText")
}

fn nothing_at(uri: &str) -> ToolError {
    ToolError::NotFound {
        what: Kind::Resource,
        id: cut_to_chars(uri, 200),
    }
}

/// The list itself first, then the articles, the newest first.
async fn list(after: Option<&str>, limit: usize, desk: Desk<'_>) -> Result<Listed, ToolError> {
    let offset: u32 = match after.map(str::parse) {
        None => 0,
        Some(Ok(offset)) => offset,
        Some(Err(_)) => return Ok(Listed::default()),
    };
    let limit = u32::try_from(limit)
        .unwrap_or(u32::MAX)
        .clamp(1, MOST_LISTED);
    let arguments = json!({ "limit": limit, "offset": offset });
    let output = match desk.call("list_articles", arguments).await {
        Ok(output) => output,
        // Who may read articles but not list them sees none, and everything else that there is.
        Err(ToolError::Forbidden { .. }) => return Ok(Listed::default()),
        Err(error) => return Err(error),
    };
    let articles = output.get("articles").and_then(Value::as_array);
    let mut resources: Vec<Resource> = Vec::new();
    if offset == 0 {
        resources.push(Resource {
            uri: ALL.to_owned(),
            name: "articles".to_owned(),
            title: Some("Articles".to_owned()),
            description: Some("The articles of the collection, the newest first.".to_owned()),
            mime_type: Some(MARKDOWN.to_owned()),
            size: None,
        });
    }
    resources.extend(articles.into_iter().flatten().filter_map(resource));
    let next = output.get("next_offset").and_then(Value::as_u64);
    Ok(Listed {
        resources,
        next: next.map(|it| it.to_string()),
    })
}

fn resource(article: &Value) -> Option<Resource> {
    let field = |name: &str| article.get(name).and_then(Value::as_str);
    let names = article.get("authors").and_then(Value::as_array);
    let first = names.and_then(|it| it.first()).and_then(Value::as_str);
    let about = [first, field("date")]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ");
    Some(Resource {
        uri: address_of(field("article_id")?),
        name: field("cite_key")?.to_owned(),
        title: field("title").map(|it| harmless(&cut_to_chars(it, 200))),
        description: Some(about).filter(|it| !it.is_empty()),
        mime_type: Some(MARKDOWN.to_owned()),
        size: None,
    })
}

/// Citation keys that hold what was typed, those that begin so first; ids that are typed out.
async fn ids(text: &str, desk: Desk<'_>) -> Result<Choices, ToolError> {
    let library = Library(desk.registry.store().as_ref());
    let text = cut_to_chars(text.trim(), LONGEST).to_lowercase();
    let mut filter = ItemFilter::of(ARTICLE);
    if !text.is_empty() {
        filter.keys.push(KeyMatch::Holds {
            name: "cite_key".to_owned(),
            text: text.clone(),
        });
    }
    let found = library.list(&filter, Page::first(200)).await?;
    let more = found.len() > MOST_CHOICES;
    let mut keys: Vec<String> = found.into_iter().map(|it| it.kept.cite_key).collect();
    keys.sort_by_key(|it| (!it.to_lowercase().starts_with(&text), it.clone()));
    keys.truncate(MOST_CHOICES);
    if keys.is_empty() && library.get(&text).await?.is_some() {
        keys.push(text);
    }
    Ok(Choices { values: keys, more })
}

/// Pages or headings of the article that is named.
async fn parts(typed: Typed<'_>, desk: Desk<'_>) -> Result<Choices, ToolError> {
    let library = Library(desk.registry.store().as_ref());
    let Some(id) = typed.given.get("id") else {
        return Ok(Choices::default());
    };
    // Several of one title are none that is meant.
    let Ok(Some(found)) = library.look_up(id).await else {
        return Ok(Choices::default());
    };
    let all: Vec<String> = if typed.argument == "page" {
        (1..=found.kept.pages).map(|it| it.to_string()).collect()
    } else {
        let outline = library.outline(&found.kept.id).await?;
        titles(&outline.unwrap_or_default()).collect()
    };
    let start = typed.text.to_lowercase();
    let mut fitting = all
        .into_iter()
        .filter(|it| it.to_lowercase().starts_with(&start));
    let values: Vec<String> = fitting.by_ref().take(MOST_CHOICES).collect();
    Ok(Choices {
        values,
        more: fitting.next().is_some(),
    })
}

/// Hears that articles changed, and has the index follow.
pub(crate) struct Rings(pub(crate) Arc<Lab>);

impl Listener for Rings {
    fn hear(&self, event: Event<'_>) {
        let Event::Touched(touched) = event else {
            return;
        };
        let ours = |it: &Touched| match it {
            Touched::Resource(uri) | Touched::Under(uri) => uri.starts_with(ROOT),
            Touched::List => false,
        };
        if touched.iter().any(ours) {
            self.0.keeper().ring();
        }
    }
}

#[cfg(test)]
mod tests {
    use deliberate_core::Timestamp;

    use super::*;
    use crate::collect::{Kept, Version};

    #[test]
    fn addresses_lead_where_they_say() {
        let id = "a/b é";
        let address = address_of(id);
        assert_eq!(
            Address::parse(&address),
            Some(Address::Article(id.to_owned()))
        );
        let page = Address::parse(&format!("{address}/page/3"));
        assert_eq!(page, Some(Address::Page(id.to_owned(), "3".to_owned())));
        let section = Address::parse("knowledge://x/section/2%20Method");
        assert_eq!(
            section,
            Some(Address::Section("x".to_owned(), "2 Method".to_owned()))
        );
        assert_eq!(Address::parse(ALL), Some(Address::All));
        for other in [
            "knowledge://",
            "knowledge://a/b",
            "knowledge://a/page/",
            "file://a",
        ] {
            assert_eq!(Address::parse(other), None, "{other}");
        }
    }

    #[test]
    fn who_follows_an_article_by_its_key_is_told_too() {
        let now = Timestamp::from_micros(1);
        let mut kept = Kept::empty(now);
        "01-id".clone_into(&mut kept.id);
        "große2020".clone_into(&mut kept.cite_key);
        let touched = KnowledgePages.touched(&Version { kept, version: 3 }.put(now), None);
        for address in ["01-id", "große2020"].map(address_of) {
            assert!(touched.contains(&Touched::Under(format!("{address}/"))));
            assert!(touched.contains(&Touched::Resource(address)), "{touched:?}");
        }
    }
}
