//! Supervises a program from its start to its end: detects how it ends, reports that once, and
//! leaves no process behind.

use std::{io, process::ExitStatus, sync::Arc, time::Duration};

use tokio::{
    process::ChildStdin,
    sync::watch,
    task::{JoinError, JoinHandle},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{program::StdioProgram, stdin_writer::StdinWriter};
use crate::transport::{DeliveryStatus, IncomingEvent, IncomingSink, TransportError};

/// The time to wait for the last output of a program that is gone, or for the end of a program that
/// closed its output.
const OUTPUT_GRACE: Duration = Duration::from_millis(500);

/// The stage of a program's connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProcessStage {
    /// The connection is open.
    Open,
    /// Nothing more will arrive, for this reason; the program may still run.
    Closed(String),
    /// The program is gone.
    Gone,
}

type ReaderTask = JoinHandle<Result<(), TransportError>>;

/// Supervises a program.
pub(super) struct ProcessSupervisor {
    pub(super) process: StdioProgram,
    pub(super) writer: Arc<StdinWriter<ChildStdin>>,
    pub(super) reader: ReaderTask,
    pub(super) incoming: IncomingSink,
    /// Cancelled to request the end.
    pub(super) stop: CancellationToken,
    pub(super) stage: watch::Sender<ProcessStage>,
}

enum SupervisorEvent {
    StopRequested,
    Exited(io::Result<ExitStatus>),
    OutputClosed(Result<Result<(), TransportError>, JoinError>),
}

impl ProcessSupervisor {
    pub(super) async fn supervise(mut self) {
        let event = tokio::select! {
            () = self.stop.cancelled() => SupervisorEvent::StopRequested,
            status = self.process.wait() => SupervisorEvent::Exited(status),
            read = &mut self.reader => SupervisorEvent::OutputClosed(read),
        };
        match event {
            SupervisorEvent::StopRequested => {
                self.writer.close("the client closed it");
                self.process.terminate().await;
                self.drain_output().await;
                self.report_closed(None);
            }
            SupervisorEvent::Exited(status) => {
                self.drain_output().await;
                self.report_closed(Some(closed_error(&describe_exit(status))));
                self.process.terminate_descendants().await;
            }
            SupervisorEvent::OutputClosed(read) => {
                let error = match read {
                    Ok(Ok(())) => self.exit_error().await,
                    Ok(Err(error)) => error,
                    Err(_) => closed_error("the program's output could not be read"),
                };
                self.report_closed(Some(error));
                self.process.terminate().await;
            }
        }
        self.stage.send_replace(ProcessStage::Gone);
    }

    /// Lets the reader finish what is in the pipe. A descendant of the program may hold the pipe
    /// open forever.
    async fn drain_output(&mut self) {
        if timeout(OUTPUT_GRACE, &mut self.reader).await.is_err() {
            self.reader.abort();
            // No message may follow the event that reports the end.
            let _ = (&mut self.reader).await;
        }
    }

    async fn exit_error(&mut self) -> TransportError {
        match timeout(OUTPUT_GRACE, self.process.wait()).await {
            Ok(status) => closed_error(&describe_exit(status)),
            Err(_) => closed_error("the program closed its output"),
        }
    }

    fn report_closed(&self, error: Option<TransportError>) {
        let reason = error
            .as_ref()
            .map_or_else(|| "the client closed it".to_owned(), error_reason);
        self.writer.close(&reason);
        self.stage.send_replace(ProcessStage::Closed(reason));
        self.incoming.push(IncomingEvent::Closed(error));
    }
}

fn error_reason(error: &TransportError) -> String {
    match error {
        TransportError::Closed { reason, .. } => reason.clone(),
        other => other.to_string(),
    }
}

/// Creates the error of an ended program. What was sent may have been read before the end.
fn closed_error(reason: &str) -> TransportError {
    TransportError::Closed {
        reason: reason.to_owned(),
        sent: DeliveryStatus::Maybe,
    }
}

fn describe_exit(status: io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => format!("the program ended: {status}"),
        Err(error) => format!("the program's status cannot be read ({error})"),
    }
}
