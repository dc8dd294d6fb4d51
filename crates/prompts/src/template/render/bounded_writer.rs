//! A writer that accepts output up to a limit and exposes its byte count to the rendering. Knows
//! nothing of templates.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use minijinja::{
    State,
    value::{DynObject, Object, Value},
};

use crate::EngineLimits;

/// The variable that holds the byte count. No template can use a name with a blank in it.
pub(crate) const BYTE_COUNT_VARIABLE: &str = "bytes written";

/// The number of bytes written.
#[derive(Debug, Default)]
struct RenderedByteCount(AtomicUsize);

impl Object for RenderedByteCount {}

/// A writer that accepts at most a fixed number of bytes.
pub(crate) struct BoundedWriter {
    bytes: Vec<u8>,
    max_bytes: usize,
    overflowed: bool,
    count: Arc<RenderedByteCount>,
}

impl BoundedWriter {
    /// Creates a writer with an initial capacity of about `about` bytes, limited to the size of a
    /// rendered prompt.
    pub(crate) fn new(limits: &EngineLimits, about: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(about.min(limits.rendered_bytes)),
            max_bytes: limits.rendered_bytes,
            overflowed: false,
            count: Arc::default(),
        }
    }

    /// Returns the byte count as a value for the rendering.
    pub(crate) fn count(&self) -> Value {
        Value::from_dyn_object(DynObject::new(Arc::clone(&self.count)))
    }

    /// Returns whether the output exceeded the limit.
    pub(crate) fn has_overflowed(&self) -> bool {
        self.overflowed
    }

    /// Returns the written text.
    pub(crate) fn into_text(self) -> String {
        String::from_utf8(self.bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

impl io::Write for &mut BoundedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.max_bytes {
            self.overflowed = true;
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.bytes.extend_from_slice(bytes);
        self.count.0.store(self.bytes.len(), Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the number of bytes that a rendering has written so far.
pub(crate) fn bytes_written(state: &State<'_, '_>) -> usize {
    state.lookup(BYTE_COUNT_VARIABLE).map_or(0, |count| {
        let count = count.downcast_object_ref::<RenderedByteCount>();
        count.map_or(0, |count| count.0.load(Ordering::Relaxed))
    })
}
