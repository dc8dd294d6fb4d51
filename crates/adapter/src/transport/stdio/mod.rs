//! A server that is a program of ours: started, spoken to line by line through its standard input
//! and output, and ended with all it started. What the lines mean is not known here.

use std::{fmt, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use tokio::{
    process::ChildStdin,
    sync::watch,
    time::{Instant, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

use self::{family::Family, keeper::Stage, notes::Notes, writer::Writer};
use super::{Agreed, Connector, Inbox, Link, Outgoing, Sent, TransportError};
use crate::{
    config::{ServerLimits, StdioConfig},
    wire::RequestId,
};

mod environment;
mod family;
mod keeper;
mod lines;
#[cfg(any(windows, test))]
mod lookup;
mod notes;
mod reader;
mod start;
mod whose;
mod writer;

/// How long is waited to learn why a program takes no more input.
const REASON: Duration = Duration::from_millis(500);

/// Starts a program for each connection.
#[derive(Debug)]
pub struct StdioConnector {
    config: StdioConfig,
    message_bytes: usize,
    connect: Duration,
    answer: Duration,
}

impl StdioConnector {
    /// Starts that program, and takes from it what the limits allow.
    pub fn new(config: StdioConfig, limits: &ServerLimits) -> Self {
        Self {
            config,
            message_bytes: limits.message_bytes,
            connect: limits.connect,
            answer: limits.answer,
        }
    }

    async fn started(&self, inbox: Inbox) -> Result<Arc<dyn Link>, TransportError> {
        let mut child = start::start(&self.config).await?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let family = Family::new(child);
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(TransportError::NotStarted {
                command: self.config.command.clone(),
                reason: "it has no pipes".to_owned(),
            });
        };
        let writer = Arc::new(Writer::new(stdin, self.answer));
        let notes = Arc::new(Notes::default());
        let asked = CancellationToken::new();
        let (stage, watched) = watch::channel(Stage::Open);
        let reading = tokio::spawn(reader::read(stdout, self.message_bytes, inbox.clone()));
        tokio::spawn({
            let notes = Arc::clone(&notes);
            async move { notes.drain(stderr).await }
        });
        tokio::spawn({
            let writer = Arc::clone(&writer);
            async move { writer.pump().await }
        });
        let keeper = keeper::Keeper {
            family,
            writer: Arc::clone(&writer),
            reading,
            inbox,
            asked: asked.clone(),
            stage,
        };
        tokio::spawn(keeper.keep());
        Ok(Arc::new(StdioLink {
            writer,
            notes,
            asked,
            stage: watched,
        }))
    }
}

impl Connector for StdioConnector {
    fn open(
        &self,
        inbox: Inbox,
        deadline: Instant,
    ) -> BoxFuture<'_, Result<Arc<dyn Link>, TransportError>> {
        Box::pin(async move {
            timeout_at(deadline, self.started(inbox))
                .await
                .unwrap_or(Err(TransportError::ConnectTimeout {
                    after: self.connect,
                }))
        })
    }

    /// The program. Its arguments may hold secrets.
    fn address(&self) -> String {
        self.config.command.clone()
    }
}

/// A program that runs. It is ended when this is dropped.
struct StdioLink {
    writer: Arc<Writer<ChildStdin>>,
    notes: Arc<Notes>,
    asked: CancellationToken,
    stage: watch::Receiver<Stage>,
}

impl StdioLink {
    async fn write(&self, outgoing: Outgoing) -> Result<(), TransportError> {
        if outgoing.body.contains(&b'\n') {
            return Err(TransportError::Unsendable {
                reason: "a message must not hold a line break".to_owned(),
            });
        }
        match self.writer.send(outgoing.body).await {
            Err(TransportError::Closed { reason, sent }) if !self.writer.is_open() => {
                Err(self.better_reason(reason, sent).await)
            }
            other => other,
        }
    }

    /// A broken pipe is noticed here first; why it broke, a moment later.
    async fn better_reason(&self, reason: String, sent: Sent) -> TransportError {
        let mut stage = self.stage.clone();
        let closed = timeout(REASON, stage.wait_for(|stage| *stage != Stage::Open)).await;
        let reason = match closed {
            Ok(Ok(stage)) => match &*stage {
                Stage::Closed(better) => better.clone(),
                _ => reason,
            },
            _ => reason,
        };
        TransportError::Closed { reason, sent }
    }
}

impl Link for StdioLink {
    fn send(&self, outgoing: Outgoing) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(self.write(outgoing))
    }

    fn agreed(&self, _: &Agreed) {}

    fn abandon(&self, _: RequestId) -> bool {
        false
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.asked.cancel();
            // An error means that who watches over the program is gone, and it with them.
            let _ = self
                .stage
                .clone()
                .wait_for(|stage| *stage == Stage::Gone)
                .await;
        })
    }

    fn diagnosis(&self) -> Option<String> {
        self.notes.text()
    }
}

impl Drop for StdioLink {
    fn drop(&mut self) {
        self.asked.cancel();
    }
}

impl fmt::Debug for StdioLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StdioLink")
    }
}
