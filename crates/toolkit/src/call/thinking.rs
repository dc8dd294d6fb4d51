//! How a call asks: whom, what it costs, and what is left open if it is the client who thinks.

use std::sync::{Arc, PoisonError};

use deliberate_core::Spent;
use deliberate_thinker::{
    Ask, ClientDriven, Failed, Reply, ThinkError, Thinker, Turn, ask_for, ask_turn,
};
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tracing::{Instrument as _, Span};

use super::Journal;
use crate::{
    Call, Event, ToolError,
    bill::{Bill, note_answer, span, total},
};

/// Who thinks in this call.
pub(super) enum Mind {
    /// A model that can be asked now.
    Model(Arc<dyn Thinker>),
    /// The client, between calls.
    Client(Arc<ClientDriven>),
}

/// An ask that is under way.
struct Asking<'c> {
    thinker: &'c dyn Thinker,
    span: Span,
    at: Instant,
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Thinking<T> {
    /// What was asked for.
    pub value: T,
    /// The provider's conversation, to continue it.
    pub thread: Option<String>,
    /// What it took: one exchange, or two if the first answer could not be used.
    pub spent: Spent,
}

impl Call {
    /// Asks the model for a `T`. `from_plain` makes one of an answer that is plain text.
    pub async fn think<T: DeserializeOwned>(
        &self,
        ask: Ask,
        from_plain: Option<fn(String) -> T>,
    ) -> Result<Thinking<T>, ToolError> {
        let (ask, asking) = self.asking(ask).await;
        let answer = ask_for(asking.thinker, ask, from_plain, self.whole.deadline)
            .instrument(asking.span.clone())
            .await;
        self.settled(&asking, answer)
    }

    /// The same for one turn of a conversation in which the model may call functions.
    pub async fn think_turn(&self, ask: Ask) -> Result<Thinking<Turn>, ToolError> {
        let (ask, asking) = self.asking(ask).await;
        let answer = ask_turn(asking.thinker, ask, self.whole.deadline)
            .instrument(asking.span.clone())
            .await;
        self.settled(&asking, answer)
    }

    /// The ask as the whole call knows it, and whom it goes to.
    async fn asking(&self, ask: Ask) -> (Ask, Asking<'_>) {
        let ask = Ask {
            key: self.named(&ask.key),
            ..ask
        };
        let mind = self.mind().await;
        let thinker: &dyn Thinker = match mind {
            Mind::Model(model) => model.as_ref(),
            Mind::Client(client) => client.as_ref(),
        };
        let span = match mind {
            Mind::Model(_) => span(thinker.name()),
            Mind::Client(_) => Span::none(),
        };
        let at = Instant::now();
        (ask, Asking { thinker, span, at })
    }

    /// What came of an ask, once it is written down and charged.
    fn settled<T>(
        &self,
        asking: &Asking<'_>,
        answer: Result<deliberate_thinker::Answer<T>, Failed>,
    ) -> Result<Thinking<T>, ToolError> {
        note_answer(&asking.span, &answer);
        let provider = asking.thinker.name();
        match answer {
            Ok(answer) => {
                self.charge(|bill| bill.add(provider, &answer.replies));
                self.asked(provider, asking.at, None, &answer.replies);
                let thread = answer
                    .replies
                    .iter()
                    .rev()
                    .find_map(|reply| reply.thread.clone());
                Ok(Thinking {
                    value: answer.value,
                    thread,
                    spent: total(&answer.replies),
                })
            }
            Err(failed) => {
                self.charge(|bill| {
                    bill.add(provider, &failed.replies);
                    bill.add_unanswered(provider, &failed.error);
                });
                let code = failed.error.code();
                self.asked(provider, asking.at, Some(code), &failed.replies);
                Err(failed.error.into())
            }
        }
    }

    /// Asks several things that do not depend on each other, all at once. Each has its own
    /// outcome, in their order; if the client has to think, all are put before it together.
    pub async fn think_all<T: DeserializeOwned>(
        &self,
        asks: Vec<Ask>,
    ) -> Result<Vec<Result<Thinking<T>, ToolError>>, ToolError> {
        // Not `try_join_all`: the first that waits for the client must not hide the others.
        let all = asks.into_iter().map(|ask| self.think(ask, None));
        let outcomes = futures::future::join_all(all).await;
        let pending = |outcome: &Result<_, ToolError>| {
            matches!(outcome, Err(ToolError::Think(ThinkError::Pending)))
        };
        if outcomes.iter().any(pending) {
            return Err(ThinkError::Pending.into());
        }
        Ok(outcomes)
    }

    /// Whether a model can be asked during the call. If not, thinking suspends it.
    pub async fn has_model(&self) -> bool {
        matches!(self.mind().await, Mind::Model(_))
    }

    /// How often someone was asked to think so far.
    pub(crate) fn asks(&self) -> i64 {
        self.bill().spent.model_calls
    }

    async fn mind(&self) -> &Mind {
        self.whole
            .mind
            .get_or_init(|| async {
                match self
                    .whole
                    .scene
                    .parts
                    .minds
                    .choose(self.whole.scene.caller.mind.clone())
                    .await
                {
                    Some(model) => Mind::Model(model),
                    None => Mind::Client(Arc::default()),
                }
            })
            .await
    }

    /// What the client has to think about, and what to keep until it has, if it is the client who
    /// thinks.
    pub(crate) fn waits_for(&self) -> Option<(Vec<Ask>, Journal)> {
        let Mind::Client(client) = self.whole.mind.get()? else {
            return None;
        };
        let notes = self
            .whole
            .notes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let journal = Journal {
            replies: client.replies().clone(),
            notes: notes.clone(),
            called_with: None,
        };
        Some((client.pending(), journal))
    }

    /// Tells the listeners that a model was asked. A client that thinks between calls was not.
    fn asked(&self, provider: &str, at: Instant, error: Option<&str>, replies: &[Reply]) {
        if matches!(self.whole.mind.get(), Some(Mind::Client(_)) | None) {
            return;
        }
        let spent = total(replies);
        self.whole.scene.listeners.tell(Event::Asked {
            provider,
            took: at.elapsed(),
            error,
            spent: &spent,
        });
    }

    fn charge(&self, write: impl FnOnce(&mut Bill)) {
        let bill = self.whole.bill.lock();
        write(&mut bill.unwrap_or_else(PoisonError::into_inner));
    }

    pub(crate) fn bill(&self) -> Bill {
        self.whole
            .bill
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
