//! A server that is a child process: started, spoken to line by line through its standard input and
//! output, and terminated with all its descendants. The transport does not know what lines mean.

use std::{fmt, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use tokio::{
    process::ChildStdin,
    sync::watch,
    time::{Instant, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    Connector, DeliveryStatus, IncomingSink, McpTransport, NegotiatedProtocol, OutgoingMessage,
    TransportError,
};
use crate::{
    config::{ServerLimits, StdioConfig},
    jsonrpc::RequestId,
};
use program::StdioProgram;
use stderr_log::StderrLog;
use stdin_writer::StdinWriter;
use supervisor::ProcessStage;

mod environment;
mod launcher;
mod output_lines;
mod oversized_response_id;
mod program;
#[cfg(any(windows, test))]
mod program_resolver;
mod stderr_log;
mod stdin_writer;
mod stdout_reader;
mod supervisor;

/// The time to wait for the reason why a program accepts no more input.
const REASON_WAIT: Duration = Duration::from_millis(500);

/// Starts a program for each connection.
#[derive(Debug)]
pub struct StdioConnector {
    config: StdioConfig,
    message_bytes: usize,
    connect_timeout: Duration,
    write_timeout: Duration,
}

impl StdioConnector {
    /// Creates a connector for a program, with these limits.
    pub fn new(config: StdioConfig, limits: &ServerLimits) -> Self {
        Self {
            config,
            message_bytes: limits.message_bytes,
            connect_timeout: limits.connect_timeout,
            write_timeout: limits.response_timeout,
        }
    }

    async fn start_process(
        &self,
        inbox: IncomingSink,
    ) -> Result<Arc<dyn McpTransport>, TransportError> {
        let mut child = launcher::launch(&self.config).await?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let program = StdioProgram::new(child);
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(TransportError::NotStarted {
                command: self.config.command.clone(),
                reason: "the program has no pipes".to_owned(),
            });
        };
        let writer = Arc::new(StdinWriter::new(stdin, self.write_timeout));
        let notes = Arc::new(StderrLog::default());
        let asked = CancellationToken::new();
        let (stage, watched) = watch::channel(ProcessStage::Open);
        let reading = tokio::spawn(stdout_reader::read_stdout(
            stdout,
            self.message_bytes,
            inbox.clone(),
        ));
        tokio::spawn({
            let notes = Arc::clone(&notes);
            async move { notes.drain(stderr).await }
        });
        tokio::spawn({
            let writer = Arc::clone(&writer);
            async move { writer.write_queue().await }
        });
        let process_supervisor = supervisor::ProcessSupervisor {
            process: program,
            writer: Arc::clone(&writer),
            reader: reading,
            incoming: inbox,
            stop: asked.clone(),
            stage,
        };
        tokio::spawn(process_supervisor.supervise());
        Ok(Arc::new(StdioClientTransport {
            writer,
            stderr_log: notes,
            stop: asked,
            stage: watched,
        }))
    }
}

impl Connector for StdioConnector {
    fn open(
        &self,
        inbox: IncomingSink,
        deadline: Instant,
    ) -> BoxFuture<'_, Result<Arc<dyn McpTransport>, TransportError>> {
        Box::pin(async move {
            timeout_at(deadline, self.start_process(inbox))
                .await
                .unwrap_or(Err(TransportError::ConnectTimeout {
                    after: self.connect_timeout,
                }))
        })
    }

    /// Returns the program without its arguments, which may contain secrets.
    fn display_address(&self) -> String {
        self.config.command.clone()
    }
}

/// A running program. It is terminated when this is dropped.
struct StdioClientTransport {
    writer: Arc<StdinWriter<ChildStdin>>,
    stderr_log: Arc<StderrLog>,
    stop: CancellationToken,
    stage: watch::Receiver<ProcessStage>,
}

impl StdioClientTransport {
    async fn write(&self, outgoing: OutgoingMessage) -> Result<(), TransportError> {
        if outgoing.body.contains(&b'\n') {
            return Err(TransportError::Unsendable {
                reason: "a message must not contain a line break".to_owned(),
            });
        }
        match self.writer.send(outgoing.body).await {
            Err(TransportError::Closed { reason, sent }) if !self.writer.is_open() => {
                Err(self.close_reason(reason, sent).await)
            }
            other => other,
        }
    }

    /// Returns the reason of a broken pipe, which becomes known a moment after the write fails.
    async fn close_reason(&self, reason: String, sent: DeliveryStatus) -> TransportError {
        let mut stage = self.stage.clone();
        let closed = timeout(
            REASON_WAIT,
            stage.wait_for(|stage| *stage != ProcessStage::Open),
        )
        .await;
        let reason = match closed {
            Ok(Ok(stage)) => match &*stage {
                ProcessStage::Closed(better) => better.clone(),
                _ => reason,
            },
            _ => reason,
        };
        TransportError::Closed { reason, sent }
    }
}

impl McpTransport for StdioClientTransport {
    fn send(&self, outgoing: OutgoingMessage) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(self.write(outgoing))
    }

    fn set_protocol(&self, _: &NegotiatedProtocol) {}

    fn abandon(&self, _: RequestId) -> bool {
        false
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.stop.cancel();
            // An error means that the supervisor has ended, and the program with it.
            let _ = self
                .stage
                .clone()
                .wait_for(|stage| *stage == ProcessStage::Gone)
                .await;
        })
    }

    fn diagnosis(&self) -> Option<String> {
        self.stderr_log.text()
    }
}

impl Drop for StdioClientTransport {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl fmt::Debug for StdioClientTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StdioClientTransport")
    }
}
