//! The W3C trace context of a call, validated and kept as text. The module does not know who
//! collects traces; a call's spans carry the context as plain fields.

/// The target of a call's span. It is off unless traces are collected.
pub const CALL_SPAN: &str = "deliberate::call";

/// The target of a model request's span.
pub const MODEL_SPAN: &str = "deliberate::ask";

/// The length of a `traceparent` of the first version; later versions may only append to it.
const PARENT_BYTES: usize = 55;

/// The length that the specification requires to be propagated; longer values are dropped.
const STATE_BYTES: usize = 512;

/// Reads a span's trace context, if traces are collected.
pub type SpanReader = fn(&tracing::Span) -> Option<TraceContext>;

/// A trace context: the one that a client sent, or the call's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    parent: Box<str>,
    state: Option<Box<str>>,
}

impl TraceContext {
    /// Parses a `traceparent` and an optional `tracestate`. The result is `None` if the first is
    /// malformed: a trace that can't be continued starts anew. An unusable `tracestate` is dropped.
    pub fn parse(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let parent = traceparent.get(..PARENT_BYTES)?;
        let rest = traceparent.get(PARENT_BYTES..)?;
        let mut parts = parent.split('-');
        let (version, trace) = (parts.next()?, parts.next()?);
        let (span, flags) = (parts.next()?, parts.next()?);
        let well_formed = parts.next().is_none()
            && is_hex(version, 2)
            && is_id(trace, 32)
            && is_id(span, 16)
            && is_hex(flags, 2)
            && version != "ff"
            && (rest.is_empty() || (version != "00" && rest.starts_with('-')));
        well_formed.then(|| Self {
            parent: parent.into(),
            state: tracestate.filter(|state| is_state(state)).map(Into::into),
        })
    }

    /// Returns the `traceparent`.
    pub fn parent(&self) -> &str {
        &self.parent
    }

    /// Returns the `tracestate`.
    pub fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length
        && text
            .bytes()
            .all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_id(text: &str, length: usize) -> bool {
    is_hex(text, length) && text.bytes().any(|it| it != b'0')
}

fn is_state(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= STATE_BYTES
        && text.bytes().all(|it| matches!(it, b' '..=b'~'))
}
