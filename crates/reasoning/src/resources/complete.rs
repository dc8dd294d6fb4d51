//! Completes ids from the latest entities, by prefix or by the words of their titles.

use deliberate_core::SessionId;
use deliberate_store::{EpochFilter, Pagination, Store, StoreError};
use deliberate_toolkit::{CompletionRequest, CompletionValues, ResourceContext, ToolError};

use super::{may_list_sessions, uri::ReasoningResourceKind};

/// The largest number of values in one answer.
const MAX_VALUES: usize = 100;

/// Sessions examined to complete a session id.
const SESSIONS_TO_MATCH: u32 = 500;

/// Sessions whose entities are examined if no session is given.
const SESSIONS_TO_SCAN: u32 = 20;

/// Entities examined per session.
const ITEMS_PER_SESSION: u32 = 100;

/// Completes the variable of a URI template.
pub(super) async fn complete_ids(
    kind: ReasoningResourceKind,
    typed: CompletionRequest<'_>,
    context: ResourceContext<'_>,
) -> Result<CompletionValues, ToolError> {
    if typed.argument != kind.variable() {
        return Ok(CompletionValues::default());
    }
    if kind == ReasoningResourceKind::Session {
        return complete_sessions(typed.text, context).await;
    }
    let store = context.registry.store().as_ref();
    let given = typed
        .arguments
        .get(ReasoningResourceKind::Session.variable());
    let sessions: Vec<SessionId> = if let Some(id) = given {
        vec![SessionId::from(id.as_str())]
    } else if !may_list_sessions(context) {
        return Ok(CompletionValues::default());
    } else {
        let latest = store.sessions(Pagination::limit(SESSIONS_TO_SCAN)).await?;
        latest.into_iter().map(|entry| entry.session.id).collect()
    };
    let mut found = CompletionMatches::new(typed.text);
    for session in &sessions {
        for (id, words) in session_items(kind, session, store).await? {
            found.match_item(&id, words.as_deref());
        }
        if found.is_full() {
            break;
        }
    }
    // Older sessions were not examined.
    let unseen = given.is_none() && sessions.len() >= SESSIONS_TO_SCAN as usize;
    Ok(found.into_completion(unseen))
}

/// The sessions whose id has the prefix, then those whose title contains all the words.
pub(crate) async fn complete_sessions(
    text: &str,
    context: ResourceContext<'_>,
) -> Result<CompletionValues, ToolError> {
    if !may_list_sessions(context) {
        return Ok(CompletionValues::default());
    }
    let store = context.registry.store().as_ref();
    let entries = store.sessions(Pagination::limit(SESSIONS_TO_MATCH)).await?;
    let unseen = entries.len() >= SESSIONS_TO_MATCH as usize;
    let mut found = CompletionMatches::new(text);
    for entry in &entries {
        found.match_item(entry.session.id.as_str(), entry.session.title.as_deref());
    }
    Ok(found.into_completion(unseen))
}

/// The ids and titles of a session's entities, newest first if the store supports it.
async fn session_items(
    kind: ReasoningResourceKind,
    session: &SessionId,
    store: &dyn Store,
) -> Result<Vec<(String, Option<String>)>, StoreError> {
    let page = Pagination::limit(ITEMS_PER_SESSION);
    Ok(match kind {
        ReasoningResourceKind::Session => vec![(session.to_string(), None)],
        ReasoningResourceKind::Graph => {
            let graphs = store.graphs(session, EpochFilter::Current, page).await?;
            let named = graphs.into_iter().map(|it| (it.id.to_string(), it.problem));
            named.collect()
        }
        ReasoningResourceKind::Branch => {
            let branches = store.branches(session, EpochFilter::Current, page).await?;
            let named = branches.into_iter().map(|it| it.branch);
            named.map(|it| (it.id.to_string(), it.name)).collect()
        }
        ReasoningResourceKind::Thought => {
            let thoughts = store.latest_thoughts(session, ITEMS_PER_SESSION).await?;
            let named = thoughts.into_iter().map(|it| (it.id.to_string(), it.input));
            named.collect()
        }
    })
}

/// The matches so far.
struct CompletionMatches<'a> {
    text: &'a str,
    words: Vec<String>,
    by_id: Vec<String>,
    by_words: Vec<String>,
}

impl<'a> CompletionMatches<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            words: text.split_whitespace().map(str::to_lowercase).collect(),
            by_id: Vec::new(),
            by_words: Vec::new(),
        }
    }

    fn match_item(&mut self, id: &str, name: Option<&str>) {
        if id.starts_with(self.text) {
            self.by_id.push(id.to_owned());
        } else if let Some(name) = name.map(str::to_lowercase)
            && !self.words.is_empty()
            && self.words.iter().all(|word| name.contains(word))
        {
            self.by_words.push(id.to_owned());
        }
    }

    fn is_full(&self) -> bool {
        self.by_id.len() > MAX_VALUES
    }

    fn into_completion(self, unseen: bool) -> CompletionValues {
        let mut values = self.by_id;
        values.extend(self.by_words);
        let more = unseen || values.len() > MAX_VALUES;
        values.truncate(MAX_VALUES);
        CompletionValues {
            values,
            has_more: more,
        }
    }
}
