//! The batches whose responses are not complete: the responses to a batch are written together, as
//! one array.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::{JsonRpcMessage, RequestId};

use crate::message::IncomingMessage;

/// Collects the responses of batches.
#[derive(Default)]
pub(super) struct OpenBatches(Mutex<Vec<OpenBatch>>);

struct OpenBatch {
    /// The ids of the requests without a response.
    awaited: Vec<RequestId>,
    responses: Vec<Vec<u8>>,
}

impl OpenBatch {
    fn into_line(self) -> Vec<u8> {
        let mut line = b"[".to_vec();
        line.extend(self.responses.join(&b','));
        line.extend(b"]\n");
        line
    }
}

impl OpenBatches {
    /// Adds a batch of these messages. One without requests gets no response.
    pub(super) fn add(&self, messages: &[IncomingMessage]) {
        let awaited: Vec<RequestId> = messages.iter().filter_map(answered_id).collect();
        if !awaited.is_empty() {
            self.lock().push(OpenBatch {
                awaited,
                responses: Vec::new(),
            });
        }
    }

    /// Takes a response and returns the line to write now: the response itself if it belongs to no
    /// batch, the array if it completes its batch.
    pub(super) fn collect(&self, id: Option<&RequestId>, response: Vec<u8>) -> Option<Vec<u8>> {
        self.settle(id, Some(response))
    }

    /// Stops waiting for a response, and returns the array if that completes the batch.
    pub(super) fn cancel(&self, id: &RequestId) -> Option<Vec<u8>> {
        self.settle(Some(id), None)
    }

    fn settle(&self, id: Option<&RequestId>, response: Option<Vec<u8>>) -> Option<Vec<u8>> {
        let mut batches = self.lock();
        let found = id.and_then(|id| {
            batches.iter_mut().enumerate().find_map(|(at, batch)| {
                let place = batch.awaited.iter().position(|awaited| awaited == id)?;
                Some((at, batch, place))
            })
        });
        let Some((at, batch, place)) = found else {
            return response;
        };
        batch.awaited.swap_remove(place);
        batch.responses.extend(response.map(|mut response| {
            response.truncate(response.trim_ascii_end().len());
            response
        }));
        if !batch.awaited.is_empty() {
            return None;
        }
        let batch = batches.remove(at);
        (!batch.responses.is_empty()).then(|| batch.into_line())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<OpenBatch>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The id of the response to a message, if it gets one that can be assigned to it.
fn answered_id(message: &IncomingMessage) -> Option<RequestId> {
    match message {
        IncomingMessage::Message { message, .. } => match message.as_ref() {
            JsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        },
        IncomingMessage::Rejected(rejection) => rejection.request_id(),
    }
}
