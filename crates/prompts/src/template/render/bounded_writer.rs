//! Takes what a rendering writes, up to a bound, and counts it where the rendering can see the
//! count. Knows nothing of templates.

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

/// The name of the count. No template can write a name with a blank in it.
pub(crate) const BYTE_COUNT_VARIABLE: &str = "bytes written";

/// How many bytes were written.
#[derive(Debug, Default)]
struct RenderedByteCount(AtomicUsize);

impl Object for RenderedByteCount {}

/// Takes so many bytes and no more.
pub(crate) struct BoundedWriter {
    bytes: Vec<u8>,
    max_bytes: usize,
    overflowed: bool,
    count: Arc<RenderedByteCount>,
}

impl BoundedWriter {
    /// For about so many bytes, and at most as many as a prompt may have.
    pub(crate) fn new(limits: &EngineLimits, about: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(about.min(limits.rendered_bytes)),
            max_bytes: limits.rendered_bytes,
            overflowed: false,
            count: Arc::default(),
        }
    }

    /// The count, to be given to the rendering.
    pub(crate) fn count(&self) -> Value {
        Value::from_dyn_object(DynObject::new(Arc::clone(&self.count)))
    }

    /// Whether there was more than it takes.
    pub(crate) fn has_overflowed(&self) -> bool {
        self.overflowed
    }

    /// What was written.
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

/// How many bytes a rendering has written so far.
pub(crate) fn bytes_written(state: &State<'_, '_>) -> usize {
    state.lookup(BYTE_COUNT_VARIABLE).map_or(0, |count| {
        let count = count.downcast_object_ref::<RenderedByteCount>();
        count.map_or(0, |count| count.0.load(Ordering::Relaxed))
    })
}
