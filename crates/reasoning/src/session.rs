//! Sessions: finding the one a call is about, beginning one, keeping its conversation.

use deliberate_core::{BranchId, Change, Mode, Precondition, Session, SessionId, truncate_chars};
use deliberate_toolkit::{ToolContext, ToolError};
use serde_json::Value;

/// A title is read in a list.
const TITLE_CHARS: usize = 80;

/// Which sessions a tool works on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ModeFilter {
    /// Those of its own mode.
    Mode(Mode),
    /// All; where mixing is the point.
    Any,
}

/// The session of that id, if the tool works on it. A session is never begun by an id.
pub(crate) async fn require_session(
    id: &SessionId,
    works_on: ModeFilter,
    call: &ToolContext,
) -> Result<Session, ToolError> {
    let session = call.session(id).await?;
    match works_on {
        ModeFilter::Mode(wanted) if session.mode != wanted => Err(ToolError::WrongMode {
            id: session.id.to_string(),
            mode: session.mode,
            wanted,
        }),
        _ => Ok(session),
    }
}

/// The same, where a call that names none begins one.
pub(crate) async fn optional_session(
    id: Option<&SessionId>,
    works_on: ModeFilter,
    call: &ToolContext,
) -> Result<Option<Session>, ToolError> {
    match id {
        Some(id) => Ok(Some(require_session(id, works_on, call).await?)),
        None => Ok(None),
    }
}

/// The session a step belongs to.
pub(crate) struct TargetSession {
    pub(crate) session: Session,
    /// Whether it begins with this step.
    is_new: bool,
}

impl TargetSession {
    /// The session that is known, or a new one about `content`.
    pub(crate) fn existing_or_new(
        known: Option<Session>,
        mode: Mode,
        content: &str,
        call: &ToolContext,
    ) -> Self {
        let is_new = known.is_none();
        let session = known.unwrap_or_else(|| new_session(mode, content, call));
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
    pub(crate) fn changes_with_thread(&self, thread: Option<String>) -> Vec<Change> {
        let mut changes = self.changes();
        if thread.is_some() && thread != provider_thread(&self.session) {
            changes.push(Change::KeepThread {
                session_id: self.id(),
                thread,
            });
        }
        changes
    }
}

fn new_session(mode: Mode, content: &str, call: &ToolContext) -> Session {
    let now = call.now();
    let words: Vec<&str> = content.split_whitespace().collect();
    Session {
        id: call.new_id(),
        mode,
        title: Some(truncate_chars(&words.join(" "), TITLE_CHARS)),
        created_at: now,
        updated_at: now,
        active_branch_id: None,
        metadata: None,
    }
}

/// A branch that a step is added to must be open by then, too.
pub(crate) fn require_open_branch(branch: Option<&BranchId>) -> Option<Change> {
    branch.map(|id| Change::Require(Precondition::OpenBranch(id.clone())))
}

/// The provider's conversation that this session continues.
pub(crate) fn provider_thread(session: &Session) -> Option<String> {
    let thread = session.metadata.as_ref()?.get("thread")?;
    thread.as_str().map(str::to_owned)
}

/// Fields worth keeping beside a row: those that say something. `None` if none does.
pub(crate) fn metadata_object<const N: usize>(fields: [(&str, Value); N]) -> Option<Value> {
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
