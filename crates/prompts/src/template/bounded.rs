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

use crate::Limits;

/// The name of the count. No template can write a name with a blank in it.
pub(super) const COUNT: &str = "bytes written";

/// How many bytes were written.
#[derive(Debug, Default)]
struct Count(AtomicUsize);

impl Object for Count {}

/// Takes so many bytes and no more.
pub(super) struct Bounded {
    bytes: Vec<u8>,
    most: usize,
    over: bool,
    count: Arc<Count>,
}

impl Bounded {
    /// For about so many bytes, and at most as many as a prompt may have.
    pub(super) fn new(limits: &Limits, about: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(about.min(limits.rendered_bytes)),
            most: limits.rendered_bytes,
            over: false,
            count: Arc::default(),
        }
    }

    /// The count, to be given to the rendering.
    pub(super) fn count(&self) -> Value {
        Value::from_dyn_object(DynObject::new(Arc::clone(&self.count)))
    }

    /// Whether there was more than it takes.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// What was written.
    pub(super) fn into_text(self) -> String {
        String::from_utf8(self.bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

impl io::Write for &mut Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.most {
            self.over = true;
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
pub(super) fn written(state: &State<'_, '_>) -> usize {
    state.lookup(COUNT).map_or(0, |count| {
        let count = count.downcast_object_ref::<Count>();
        count.map_or(0, |count| count.0.load(Ordering::Relaxed))
    })
}
