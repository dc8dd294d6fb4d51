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

use super::{process_group::ProcessGroup, stdin_writer::StdinWriter};
use crate::transport::{DeliveryStatus, IncomingEvent, IncomingSink, TransportError};

/// How long a program's last words are waited for once it is gone, or its end once it is silent.
const OUTPUT_GRACE: Duration = Duration::from_millis(500);

/// How far a connection has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProcessStage {
    /// It is open.
    Open,
    /// Nothing more will come, for this reason; the program may be there still.
    Closed(String),
    /// The program is gone.
    Gone,
}

type ReaderTask = JoinHandle<Result<(), TransportError>>;

/// What it takes to watch over a program.
pub(super) struct ProcessSupervisor {
    pub(super) process: ProcessGroup,
    pub(super) writer: Arc<StdinWriter<ChildStdin>>,
    pub(super) reader: ReaderTask,
    pub(super) incoming: IncomingSink,
    /// Somebody wants the end.
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
                self.writer.close("it was closed");
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
                    Err(_) => closed_error("its output could not be read"),
                };
                self.report_closed(Some(error));
                self.process.terminate().await;
            }
        }
        self.stage.send_replace(ProcessStage::Gone);
    }

    /// Lets the reader come to the end of what is in the pipe. Somebody the program left behind
    /// may hold it open for ever.
    async fn drain_output(&mut self) {
        if timeout(OUTPUT_GRACE, &mut self.reader).await.is_err() {
            self.reader.abort();
            // Nothing may come after the word that nothing comes.
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
            .map_or_else(|| "it was closed".to_owned(), error_reason);
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

/// What was sent may have been read before the end.
fn closed_error(reason: &str) -> TransportError {
    TransportError::Closed {
        reason: reason.to_owned(),
        sent: DeliveryStatus::Maybe,
    }
}

fn describe_exit(status: io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => format!("the program ended, {status}"),
        Err(error) => format!("the program can't be watched ({error})"),
    }
}
