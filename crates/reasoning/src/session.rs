//! Sessions: finding the one a call is about, beginning one, keeping its conversation.

use deliberate_core::{BranchId, Change, Mode, Requirement, Session, SessionId, cut_to_chars};
use deliberate_toolkit::{Call, ToolError};
use serde_json::Value;

/// A title is read in a list.
const TITLE_CHARS: usize = 80;

/// Which sessions a tool works on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WorksOn {
    /// Those of its own mode.
    Mode(Mode),
    /// All; where mixing is the point.
    Any,
}

/// The session of that id, if the tool works on it. A session is never begun by an id.
pub(crate) async fn known(
    id: &SessionId,
    works_on: WorksOn,
    call: &Call,
) -> Result<Session, ToolError> {
    let session = call.session(id).await?;
    match works_on {
        WorksOn::Mode(wanted) if session.mode != wanted => Err(ToolError::WrongMode {
            id: session.id.to_string(),
            mode: session.mode,
            wanted,
        }),
        _ => Ok(session),
    }
}

/// The same, where a call that names none begins one.
pub(crate) async fn known_if_named(
    id: Option<&SessionId>,
    works_on: WorksOn,
    call: &Call,
) -> Result<Option<Session>, ToolError> {
    match id {
        Some(id) => Ok(Some(known(id, works_on, call).await?)),
        None => Ok(None),
    }
}

/// The session a step belongs to.
pub(crate) struct Home {
    pub(crate) session: Session,
    /// Whether it begins with this step.
    is_new: bool,
}

impl Home {
    /// The session that is known, or a new one about `content`.
    pub(crate) fn of(known: Option<Session>, mode: Mode, content: &str, call: &Call) -> Self {
        let is_new = known.is_none();
        let session = known.unwrap_or_else(|| begin(mode, content, call));
        Self { session, is_new }
    }

    pub(crate) fn id(&self) -> SessionId {
        self.session.id.clone()
    }

    /// What has to be done before a step can be added.
    pub(crate) fn changes(&self) -> Vec<Change> {
        let begins = self
            .is_new
            .then(|| Change::AddSession(self.session.clone()));
        Vec::from_iter(begins)
    }

    /// The same, and the provider's conversation is kept if it is another one.
    pub(crate) fn changes_with(&self, thread: Option<String>) -> Vec<Change> {
        let mut changes = self.changes();
        if thread.is_some() && thread != thread_of(&self.session) {
            changes.push(Change::KeepThread {
                session_id: self.id(),
                thread,
            });
        }
        changes
    }
}

fn begin(mode: Mode, content: &str, call: &Call) -> Session {
    let now = call.now();
    let words: Vec<&str> = content.split_whitespace().collect();
    Session {
        id: call.fresh(),
        mode,
        title: Some(cut_to_chars(&words.join(" "), TITLE_CHARS)),
        created_at: now,
        updated_at: now,
        active_branch_id: None,
        metadata: None,
    }
}

/// A branch that a step is added to must be open by then, too.
pub(crate) fn open(branch: Option<&BranchId>) -> Option<Change> {
    branch.map(|id| Change::Require(Requirement::OpenBranch(id.clone())))
}

/// The provider's conversation that this session continues.
pub(crate) fn thread_of(session: &Session) -> Option<String> {
    let thread = session.metadata.as_ref()?.get("thread")?;
    thread.as_str().map(str::to_owned)
}

/// Fields worth keeping beside a row: those that say something. `None` if none does.
pub(crate) fn metadata<const N: usize>(fields: [(&str, Value); N]) -> Option<Value> {
    let says = |value: &Value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    };
    let kept: serde_json::Map<String, Value> = fields
        .into_iter()
        .filter(|(_, value)| says(value))
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    (!kept.is_empty()).then_some(Value::Object(kept))
}
