//! Finds the session of a call, begins a new one, and stores its provider thread.

use deliberate_core::{BranchId, Change, Mode, Precondition, Session, SessionId, truncate_chars};
use deliberate_toolkit::{ToolContext, ToolError};
use serde_json::Value;

/// The longest title, so that it fits a list.
const TITLE_CHARS: usize = 80;

/// Loads a session of any mode: sessions mix modes. An unknown id never begins a session.
pub(crate) async fn require_session(
    id: &SessionId,
    call: &ToolContext,
) -> Result<Session, ToolError> {
    crate::lookup::session(call, id).await
}

/// Like `require_session`, for tools that begin a new session if the call names none.
pub(crate) async fn optional_session(
    id: Option<&SessionId>,
    call: &ToolContext,
) -> Result<Option<Session>, ToolError> {
    match id {
        Some(id) => Ok(Some(require_session(id, call).await?)),
        None => Ok(None),
    }
}

/// The session that a step is added to.
pub(crate) struct TargetSession {
    pub(crate) session: Session,
    /// Whether this step begins the session.
    is_new: bool,
}

impl TargetSession {
    /// Takes the known session, or builds a new one with a title from `content`.
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

    /// The changes that must precede the new step.
    pub(crate) fn changes(&self) -> Vec<Change> {
        let begins = self
            .is_new
            .then(|| Change::AddSession(self.session.clone()));
        Vec::from_iter(begins)
    }

    /// Like `changes`, and stores the provider's thread if it is a new one.
    pub(crate) fn changes_with_thread(&self, thread: Option<String>) -> Vec<Change> {
        let mut changes = self.changes();
        if thread.is_some() && thread != provider_thread(&self.session) {
            changes.push(Change::SetProviderThread {
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

/// Requires that the branch is still open when the step is committed.
pub(crate) fn require_open_branch(branch: Option<&BranchId>) -> Option<Change> {
    branch.map(|id| Change::Check(Precondition::OpenBranch(id.clone())))
}

/// The provider's thread that this session continues.
pub(crate) fn provider_thread(session: &Session) -> Option<String> {
    let thread = session.metadata.as_ref()?.get("thread")?;
    thread.as_str().map(str::to_owned)
}

/// Builds the metadata of a row from the fields that are not empty. `None` if all of them are.
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
