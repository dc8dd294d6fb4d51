//! Lists the sessions as resources, the last changed first.

use deliberate_core::{SessionId, Timestamp, truncate_chars};
use deliberate_store::{Pagination, SessionEntry, Store, StoreError};
use deliberate_toolkit::{ArgumentIssue, ResourceContext, ResourceInfo, ResourcePage, ToolError};

use super::uri::{ReasoningResourceFormat, ReasoningResourceKind, SESSIONS_URI};

/// The longest name, in characters.
const NAME_CHARS: usize = 80;

/// Sessions per read.
const READ_PAGE: u32 = 200;

/// The largest number of reads for one page. Only thousands of sessions that were deleted or
/// changed since the previous page could need more.
const MAX_READS: u32 = 50;

/// The end of a page: its last session, and approximately how many came before.
#[derive(Debug, Clone, PartialEq)]
struct SessionListCursor {
    offset: u32,
    updated_at: Timestamp,
    id: SessionId,
}

pub(super) async fn list(
    after: Option<&str>,
    limit: usize,
    context: ResourceContext<'_>,
) -> Result<ResourcePage, ToolError> {
    let store = context.registry.store().as_ref();
    let mark = after.map(SessionListCursor::parse).transpose()?;
    let mut resources = Vec::new();
    if mark.is_none() {
        resources.push(session_list_resource());
    }
    let room = limit.saturating_sub(resources.len()).max(1);
    let (entries, next) = next_sessions(mark, room, store).await?;
    for entry in entries {
        resources.push(session_resource(entry, store).await?);
    }
    Ok(ResourcePage {
        resources,
        next: next.map(|mark| mark.to_string()),
    })
}

/// The sessions after the cursor. A session that changes in the meantime moves to the front and
/// shifts the others; so the cursor's session decides where to continue, and its offset only where
/// to look for it.
async fn next_sessions(
    cursor: Option<SessionListCursor>,
    room: usize,
    store: &dyn Store,
) -> Result<(Vec<SessionEntry>, Option<SessionListCursor>), StoreError> {
    let mut offset = cursor
        .as_ref()
        .map_or(0, |it| it.offset.saturating_sub(READ_PAGE / 2));
    let mut found: Vec<(u32, SessionEntry)> = Vec::new();
    let mut back = cursor.is_some();
    for _ in 0..MAX_READS {
        let page = Pagination {
            offset,
            limit: READ_PAGE,
        };
        let entries = store.sessions(page).await?;
        let last = entries.len() < READ_PAGE as usize;
        if let Some(mark) = &cursor
            && back
            && offset > 0
            && entries.first().is_none_or(|entry| mark.is_before(entry))
        {
            offset = offset.saturating_sub(READ_PAGE);
            continue;
        }
        back = false;
        let places = (offset..).zip(entries);
        found.extend(
            places.filter(|(_, entry)| cursor.as_ref().is_none_or(|it| it.is_before(entry))),
        );
        if last || found.len() > room {
            break;
        }
        offset = offset.saturating_add(READ_PAGE);
    }
    let more = found.len() > room;
    found.truncate(room);
    let next = found
        .last()
        .filter(|_| more)
        .map(|(place, entry)| SessionListCursor {
            offset: *place,
            updated_at: entry.session.updated_at,
            id: entry.session.id.clone(),
        });
    Ok((found.into_iter().map(|(_, entry)| entry).collect(), next))
}

impl SessionListCursor {
    fn parse(text: &str) -> Result<Self, ToolError> {
        let read = || {
            let (place, rest) = text.split_once(' ')?;
            let (changed, id) = rest.split_once(' ')?;
            Some(Self {
                offset: place.parse().ok()?,
                updated_at: Timestamp::parse(changed)?,
                id: SessionId::from(id),
            })
        };
        read().ok_or_else(|| {
            let issue = ArgumentIssue::new(
                "cursor",
                "is not a cursor of this list; list again without one",
            );
            ToolError::Invalid(vec![issue])
        })
    }

    /// Tells whether the session comes after the cursor.
    fn is_before(&self, entry: &SessionEntry) -> bool {
        (entry.session.updated_at, &entry.session.id) < (self.updated_at, &self.id)
    }
}

impl std::fmt::Display for SessionListCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.offset, self.updated_at, self.id)
    }
}

fn session_list_resource() -> ResourceInfo {
    ResourceInfo {
        uri: SESSIONS_URI.to_owned(),
        name: "Sessions".to_owned(),
        title: Some("All sessions".to_owned()),
        description: Some("The list of sessions as JSON, the last changed first".to_owned()),
        mime_type: Some(ReasoningResourceFormat::Json.mime_type().to_owned()),
        size: None,
    }
}

async fn session_resource(
    entry: SessionEntry,
    store: &dyn Store,
) -> Result<ResourceInfo, StoreError> {
    let session = entry.session;
    let nodes = match entry.nodes {
        0 => String::new(),
        nodes => format!(", {}", pluralize(nodes, "node")),
    };
    let description = format!(
        "{} session, {}{nodes}, last changed {}",
        session.mode,
        pluralize(entry.thoughts, "thought"),
        session.updated_at
    );
    let name = match session.title {
        Some(title) => truncate_words(&title),
        None => first_words(&session.id, store).await?,
    };
    let name = if name.is_empty() {
        "Untitled session".to_owned()
    } else {
        name
    };
    Ok(ResourceInfo {
        uri: ReasoningResourceKind::Session
            .uri(session.id.as_str(), ReasoningResourceFormat::Markdown),
        title: Some(name.clone()),
        name,
        description: Some(description),
        mime_type: Some(ReasoningResourceFormat::Markdown.mime_type().to_owned()),
        size: None,
    })
}

/// The first words of a session, as a name if it has no title.
async fn first_words(id: &SessionId, store: &dyn Store) -> Result<String, StoreError> {
    let thought = store.first_prompt(id).await?;
    Ok(thought.map_or_else(String::new, |thought| {
        truncate_words(thought.input.as_ref().unwrap_or(&thought.content))
    }))
}

fn truncate_words(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(NAME_CHARS).collect();
    let shown: String = words
        .join(" ")
        .chars()
        .filter(|it| !it.is_control())
        .collect();
    truncate_chars(&shown, NAME_CHARS)
}

fn pluralize(number: u64, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{ending}")
}
