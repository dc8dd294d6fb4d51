//! Watches over a program from its start to its end: notices how it ends, says so once, and leaves
//! nothing of it behind.

use std::{io, process::ExitStatus, sync::Arc, time::Duration};

use tokio::{
    process::ChildStdin,
    sync::watch,
    task::{JoinError, JoinHandle},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{family::Family, writer::Writer};
use crate::transport::{Inbox, Incoming, Sent, TransportError};

/// How long a program's last words are waited for once it is gone, or its end once it is silent.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How far a connection has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stage {
    /// It is open.
    Open,
    /// Nothing more will come, for this reason; the program may be there still.
    Closed(String),
    /// The program is gone.
    Gone,
}

type Reading = JoinHandle<Result<(), TransportError>>;

/// What it takes to watch over a program.
pub(super) struct Keeper {
    pub(super) family: Family,
    pub(super) writer: Arc<Writer<ChildStdin>>,
    pub(super) reading: Reading,
    pub(super) inbox: Inbox,
    /// Somebody wants the end.
    pub(super) asked: CancellationToken,
    pub(super) stage: watch::Sender<Stage>,
}

enum Event {
    Asked,
    Exited(io::Result<ExitStatus>),
    Silent(Result<Result<(), TransportError>, JoinError>),
}

impl Keeper {
    pub(super) async fn keep(mut self) {
        let event = tokio::select! {
            () = self.asked.cancelled() => Event::Asked,
            status = self.family.exit() => Event::Exited(status),
            read = &mut self.reading => Event::Silent(read),
        };
        match event {
            Event::Asked => {
                self.writer.close("it was closed");
                self.family.end().await;
                self.last_words().await;
                self.say_closed(None);
            }
            Event::Exited(status) => {
                self.last_words().await;
                self.say_closed(Some(ended(&described(status))));
                self.family.end_rest().await;
            }
            Event::Silent(read) => {
                let error = match read {
                    Ok(Ok(())) => self.how_it_ended().await,
                    Ok(Err(error)) => error,
                    Err(_) => ended("its output could not be read"),
                };
                self.say_closed(Some(error));
                self.family.end().await;
            }
        }
        self.stage.send_replace(Stage::Gone);
    }

    /// Lets the reader come to the end of what is in the pipe. Somebody the program left behind
    /// may hold it open for ever.
    async fn last_words(&mut self) {
        if timeout(LAST_WORDS, &mut self.reading).await.is_err() {
            self.reading.abort();
            // Nothing may come after the word that nothing comes.
            let _ = (&mut self.reading).await;
        }
    }

    async fn how_it_ended(&mut self) -> TransportError {
        match timeout(LAST_WORDS, self.family.exit()).await {
            Ok(status) => ended(&described(status)),
            Err(_) => ended("the program closed its output"),
        }
    }

    fn say_closed(&self, error: Option<TransportError>) {
        let reason = error
            .as_ref()
            .map_or_else(|| "it was closed".to_owned(), reason_of);
        self.writer.close(&reason);
        self.stage.send_replace(Stage::Closed(reason));
        self.inbox.put(Incoming::Closed(error));
    }
}

fn reason_of(error: &TransportError) -> String {
    match error {
        TransportError::Closed { reason, .. } => reason.clone(),
        other => other.to_string(),
    }
}

/// What was sent may have been read before the end.
fn ended(reason: &str) -> TransportError {
    TransportError::Closed {
        reason: reason.to_owned(),
        sent: Sent::Maybe,
    }
}

fn described(status: io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => format!("the program ended, {status}"),
        Err(error) => format!("the program can't be watched ({error})"),
    }
}
