//! Ids that a person may mean, found among the latest by how they begin or by the words of their
//! titles.

use deliberate_core::SessionId;
use deliberate_store::{Page, Store, StoreError, Which};
use deliberate_toolkit::{Choices, Desk, ToolError, Typed};

use super::address::What;

/// Values in one answer.
const MOST: usize = 100;

/// Sessions that are looked at for a session.
const SESSIONS: u32 = 500;

/// Sessions that are looked into for what belongs to them, where no session is given.
const LOOKED_INTO: u32 = 20;

/// Things of one session that are looked at.
const OF_ONE: u32 = 100;

/// Ids for the variable of a template.
pub(super) async fn ids(
    what: What,
    typed: Typed<'_>,
    desk: Desk<'_>,
) -> Result<Choices, ToolError> {
    if typed.argument != what.variable() {
        return Ok(Choices::default());
    }
    if what == What::Session {
        return sessions(typed.text, desk).await;
    }
    let store = desk.registry.store().as_ref();
    let given = typed.given.get(What::Session.variable());
    let sessions: Vec<SessionId> = if let Some(id) = given {
        vec![SessionId::from(id.as_str())]
    } else {
        let latest = store.sessions(Page::first(LOOKED_INTO)).await?;
        latest.into_iter().map(|entry| entry.session.id).collect()
    };
    let mut found = Found::new(typed.text);
    for session in &sessions {
        for (id, words) in of_session(what, session, store).await? {
            found.look_at(&id, words.as_deref());
        }
        if found.is_full() {
            break;
        }
    }
    // Older sessions were not looked into.
    let unseen = given.is_none() && sessions.len() >= LOOKED_INTO as usize;
    Ok(found.choices(unseen))
}

/// Sessions whose id begins so, then those whose title has all the words.
pub(crate) async fn sessions(text: &str, desk: Desk<'_>) -> Result<Choices, ToolError> {
    let store = desk.registry.store().as_ref();
    let entries = store.sessions(Page::first(SESSIONS)).await?;
    let unseen = entries.len() >= SESSIONS as usize;
    let mut found = Found::new(text);
    for entry in &entries {
        found.look_at(entry.session.id.as_str(), entry.session.title.as_deref());
    }
    Ok(found.choices(unseen))
}

/// Ids of what belongs to a session, newest first where the store can, and the words it goes by.
async fn of_session(
    what: What,
    session: &SessionId,
    store: &dyn Store,
) -> Result<Vec<(String, Option<String>)>, StoreError> {
    let page = Page::first(OF_ONE);
    Ok(match what {
        What::Session => vec![(session.to_string(), None)],
        What::Graph => {
            let graphs = store.graphs(session, Which::Current, page).await?;
            let named = graphs.into_iter().map(|it| (it.id.to_string(), it.problem));
            named.collect()
        }
        What::Branch => {
            let branches = store.branches(session, Which::Current, page).await?;
            let named = branches.into_iter().map(|it| it.branch);
            named.map(|it| (it.id.to_string(), it.name)).collect()
        }
        What::Thought => {
            let thoughts = store.latest_thoughts(session, OF_ONE).await?;
            let named = thoughts.into_iter().map(|it| (it.id.to_string(), it.input));
            named.collect()
        }
    })
}

/// What was found so far.
struct Found<'a> {
    text: &'a str,
    words: Vec<String>,
    by_id: Vec<String>,
    by_words: Vec<String>,
}

impl<'a> Found<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            words: text.split_whitespace().map(str::to_lowercase).collect(),
            by_id: Vec::new(),
            by_words: Vec::new(),
        }
    }

    fn look_at(&mut self, id: &str, name: Option<&str>) {
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
        self.by_id.len() > MOST
    }

    fn choices(self, unseen: bool) -> Choices {
        let mut values = self.by_id;
        values.extend(self.by_words);
        let more = unseen || values.len() > MOST;
        values.truncate(MOST);
        Choices { values, more }
    }
}
