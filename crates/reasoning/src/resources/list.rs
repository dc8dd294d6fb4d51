//! The sessions to pick from, the last changed first.

use deliberate_core::{SessionId, Timestamp, cut_to_chars};
use deliberate_store::{Page, SessionEntry, Store, StoreError};
use deliberate_toolkit::{Desk, Issue, Listed, Resource, ToolError};

use super::address::{Form, SESSIONS, What};

/// Characters of a name.
const NAME_CHARS: usize = 80;

/// Sessions in one read.
const READ: u32 = 200;

/// Reads for one part of the list. Only thousands of sessions that were deleted or changed since
/// the part before could need more.
const READS: u32 = 50;

/// Where a part of the list ended: the session it ended with, and about how many came before.
#[derive(Debug, Clone, PartialEq)]
struct Mark {
    place: u32,
    changed: Timestamp,
    id: SessionId,
}

pub(super) async fn list(
    after: Option<&str>,
    limit: usize,
    desk: Desk<'_>,
) -> Result<Listed, ToolError> {
    let store = desk.registry.store().as_ref();
    let mark = after.map(Mark::parse).transpose()?;
    let mut resources = Vec::new();
    if mark.is_none() {
        resources.push(every_session());
    }
    let room = limit.saturating_sub(resources.len()).max(1);
    let (entries, next) = part(mark, room, store).await?;
    for entry in entries {
        resources.push(resource(entry, store).await?);
    }
    Ok(Listed {
        resources,
        next: next.map(|mark| mark.to_string()),
    })
}

/// The next sessions after the mark. A session that is worked on meanwhile moves to the front,
/// and the others move a place on; so it is the mark that says where to go on, and its place only
/// where to look for it.
async fn part(
    mark: Option<Mark>,
    room: usize,
    store: &dyn Store,
) -> Result<(Vec<SessionEntry>, Option<Mark>), StoreError> {
    let mut offset = mark
        .as_ref()
        .map_or(0, |it| it.place.saturating_sub(READ / 2));
    let mut found: Vec<(u32, SessionEntry)> = Vec::new();
    let mut back = mark.is_some();
    for _ in 0..READS {
        let page = Page {
            offset,
            limit: READ,
        };
        let entries = store.sessions(page).await?;
        let last = entries.len() < READ as usize;
        if let Some(mark) = &mark
            && back
            && offset > 0
            && entries.first().is_none_or(|entry| mark.is_before(entry))
        {
            offset = offset.saturating_sub(READ);
            continue;
        }
        back = false;
        let places = (offset..).zip(entries);
        found
            .extend(places.filter(|(_, entry)| mark.as_ref().is_none_or(|it| it.is_before(entry))));
        if last || found.len() > room {
            break;
        }
        offset = offset.saturating_add(READ);
    }
    let more = found.len() > room;
    found.truncate(room);
    let next = found.last().filter(|_| more).map(|(place, entry)| Mark {
        place: *place,
        changed: entry.session.updated_at,
        id: entry.session.id.clone(),
    });
    Ok((found.into_iter().map(|(_, entry)| entry).collect(), next))
}

impl Mark {
    fn parse(text: &str) -> Result<Self, ToolError> {
        let read = || {
            let (place, rest) = text.split_once(' ')?;
            let (changed, id) = rest.split_once(' ')?;
            Some(Self {
                place: place.parse().ok()?,
                changed: Timestamp::parse(changed)?,
                id: SessionId::from(id),
            })
        };
        read().ok_or_else(|| {
            let issue = Issue::new("cursor", "is not one that this list gave; begin it again");
            ToolError::Invalid(vec![issue])
        })
    }

    /// Whether the session comes later in the list.
    fn is_before(&self, entry: &SessionEntry) -> bool {
        (entry.session.updated_at, &entry.session.id) < (self.changed, &self.id)
    }
}

impl std::fmt::Display for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.place, self.changed, self.id)
    }
}

fn every_session() -> Resource {
    Resource {
        uri: SESSIONS.to_owned(),
        name: "Sessions".to_owned(),
        title: Some("All sessions".to_owned()),
        description: Some("The list of sessions as JSON, the last changed first".to_owned()),
        mime_type: Some(Form::Json.mime_type().to_owned()),
        size: None,
    }
}

async fn resource(entry: SessionEntry, store: &dyn Store) -> Result<Resource, StoreError> {
    let session = entry.session;
    let nodes = match entry.nodes {
        0 => String::new(),
        nodes => format!(", {}", count(nodes, "node")),
    };
    let description = format!(
        "{} session, {}{nodes}, last changed {}",
        session.mode,
        count(entry.thoughts, "thought"),
        session.updated_at
    );
    let name = match session.title {
        Some(title) => words(&title),
        None => opening(&session.id, store).await?,
    };
    let name = if name.is_empty() {
        "Untitled session".to_owned()
    } else {
        name
    };
    Ok(Resource {
        uri: What::Session.address(session.id.as_str(), Form::Markdown),
        title: Some(name.clone()),
        name,
        description: Some(description),
        mime_type: Some(Form::Markdown.mime_type().to_owned()),
        size: None,
    })
}

/// The first words of a session without a title.
async fn opening(id: &SessionId, store: &dyn Store) -> Result<String, StoreError> {
    let thought = store.opening(id).await?;
    Ok(thought.map_or_else(String::new, |thought| {
        words(thought.input.as_ref().unwrap_or(&thought.content))
    }))
}

fn words(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(NAME_CHARS).collect();
    let shown: String = words
        .join(" ")
        .chars()
        .filter(|it| !it.is_control())
        .collect();
    cut_to_chars(&shown, NAME_CHARS)
}

fn count(number: u64, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{ending}")
}
