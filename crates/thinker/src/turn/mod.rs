//! One turn of a conversation in which a model may call functions: it calls some, or it answers.
//!
//! Who has functions of their own is asked in their form, everybody else in words; either way the
//! same comes out. What it calls is checked and mended here, and run by whoever asked.

mod calls;
mod read;
mod words;

#[cfg(test)]
mod tests;

use tokio::time::Instant;

use crate::{
    Answer, Ask, Failed, Finish, FunctionCall, Listening, Message, Piece, Reply, ThinkError,
    Thinker, answer::unusable, shorten::shortened,
};

pub(crate) use words::in_words;

/// The most functions a model can call in one turn; what it calls beyond that is left out.
pub const MOST_CALLS: usize = 16;

/// How much of a bad turn the model is shown again.
const MAX_SHOWN_CHARS: usize = 2_000;

/// What a model said and what it wants called.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Turn {
    /// Its answer, if it calls nothing; else what it said to its calls, often nothing.
    pub text: String,
    /// What it calls: functions of the ask, each with an object and an id of its own.
    pub calls: Vec<FunctionCall>,
}

impl Turn {
    /// The turn as a message of the conversation that goes on.
    pub fn message(&self) -> Message {
        Message::calling(self.text.clone(), self.calls.clone())
    }
}

/// Asks for one turn. A turn that can't be used is asked for once more, with what was wrong.
pub async fn ask_turn(
    thinker: &dyn Thinker,
    ask: Ask,
    deadline: Instant,
) -> Result<Answer<Turn>, Failed> {
    take(thinker, ask, deadline, None).await
}

/// The same, telling `on` the text as it comes. Of a model that is asked in words only the answer
/// is told, when it is there.
pub async fn ask_turn_streaming(
    thinker: &dyn Thinker,
    ask: Ask,
    deadline: Instant,
    on: Listening<'_>,
) -> Result<Answer<Turn>, Failed> {
    take(thinker, ask, deadline, Some(on)).await
}

/// Why an attempt gave no turn.
enum Unmet {
    /// No reply came.
    NoReply(ThinkError),
    /// A reply came, and this is wrong with it.
    Unusable(String),
}

/// Which attempt it is: the last has to make do with what came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    First,
    Last,
}

async fn take(
    thinker: &dyn Thinker,
    ask: Ask,
    deadline: Instant,
    on: Option<Listening<'_>>,
) -> Result<Answer<Turn>, Failed> {
    let mut replies = Vec::with_capacity(1);
    let first = attempt(thinker, &ask, Attempt::First, deadline, on, &mut replies).await;
    let result = match (first, replies.last()) {
        // Who refuses once refuses again.
        (Err(Unmet::Unusable(reason)), Some(reply)) if reply.finish != Finish::Refusal => {
            tracing::debug!(provider = thinker.name(), ask = ask.key, "asking again");
            // The reason quotes what was said.
            tracing::debug!(target: "deliberate::content", reason, "a turn can't be used");
            if let Some(on) = on {
                on(Piece::Again);
            }
            let ask = again(ask, reply, &reason);
            attempt(thinker, &ask, Attempt::Last, deadline, on, &mut replies).await
        }
        (first, _) => first,
    };
    let error = match result {
        Ok(value) => return Ok(Answer { value, replies }),
        Err(Unmet::NoReply(error)) => error,
        Err(Unmet::Unusable(reason)) => unusable(thinker.name(), reason, &replies),
    };
    Err(Failed { error, replies })
}

async fn attempt(
    thinker: &dyn Thinker,
    ask: &Ask,
    which: Attempt,
    deadline: Instant,
    on: Option<Listening<'_>>,
    replies: &mut Vec<Reply>,
) -> Result<Turn, Unmet> {
    let reply = match (thinker.calls_functions(), on) {
        (true, Some(on)) => thinker.think_streaming(ask, deadline, on).await,
        (true, None) => thinker.think(ask, deadline).await,
        (false, _) => thinker
            .think(&in_words(ask), deadline)
            .await
            .map(|reply| Reply {
                described: true,
                ..reply
            }),
    };
    let reply = reply.map_err(Unmet::NoReply)?;
    let turn = read::turn(&reply, ask, which);
    if let (Ok(turn), Some(on), true) = (&turn, on, reply.described)
        && !turn.text.is_empty()
    {
        on(Piece::Text(turn.text.clone()));
    }
    replies.push(reply);
    turn.map_err(Unmet::Unusable)
}

/// The second ask: the same, with what was wrong. In plain words, for who called wrongly can't be
/// given results.
fn again(mut ask: Ask, reply: &Reply, reason: &str) -> Ask {
    ask.key.push_str("/again");
    let mut shown = reply.text.trim().to_owned();
    if shown.is_empty() && !reply.calls.is_empty() {
        shown = words::called(&reply.calls);
    }
    let shown = shortened(&shown, MAX_SHOWN_CHARS);
    if !shown.is_empty() {
        ask.messages.push(Message::assistant(shown));
    }
    let cut = if reply.finish == Finish::Length {
        format!(
            " It was cut off at the limit of {} tokens: say less at once.",
            ask.max_tokens
        )
    } else {
        String::new()
    };
    let wanted = if calls::may_call(&ask) {
        "Call the functions you need rightly, or answer."
    } else {
        "Answer now, from what you have; nothing can be called any more."
    };
    ask.messages.push(Message::user(format!(
        "Your last turn can't be used: {reason}.{cut} {wanted}"
    )));
    ask
}
