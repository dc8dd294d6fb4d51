//! Where a call stands in its client's trace: W3C trace context, checked and kept as text.
//! Nothing here knows who collects traces; the spans of a call carry it as plain fields.

/// The target of a call's span. Off unless someone collects traces.
pub const CALL_SPAN: &str = "deliberate::call";

/// The target of the span of one ask of a model.
pub const ASK_SPAN: &str = "deliberate::ask";

/// The length of a `traceparent` of the first version; later ones may only add to it.
const PARENT_BYTES: usize = 55;

/// What the specification asks everyone to carry at least; more is not carried.
const STATE_BYTES: usize = 512;

/// Reads from a span where it stands in a trace, if someone collects traces.
pub type SpanReader = fn(&tracing::Span) -> Option<TraceContext>;

/// A place in a trace: where its client says that a call stands, or where the call itself does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    parent: Box<str>,
    state: Option<Box<str>>,
}

impl TraceContext {
    /// Reads a `traceparent` and, if there is one, a `tracestate`. `None` if the first is not
    /// well-formed: a trace that can't be continued is begun anew. A state that can't be used is
    /// left out.
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

    /// The `traceparent`.
    pub fn parent(&self) -> &str {
        &self.parent
    }

    /// The `tracestate`.
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
