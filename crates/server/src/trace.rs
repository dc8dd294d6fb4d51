//! The trace context and the protocol revision of a request.

use deliberate_toolkit::TraceContext;
use http::{HeaderMap, request::Parts};
use rmcp::{RoleServer, model::ProtocolVersion, service::RequestContext};

/// The client's trace context: from the message, else from the HTTP request. The message takes
/// precedence, because a proxy may have written the header.
pub(crate) fn trace_context(context: &RequestContext<RoleServer>) -> Option<TraceContext> {
    let meta = &context.meta;
    if let Some(parent) = meta.get_traceparent() {
        return TraceContext::parse(parent, meta.get_tracestate());
    }
    let headers = &context.extensions.get::<Parts>()?.headers;
    TraceContext::parse(
        header_text(headers, "traceparent")?,
        header_text(headers, "tracestate"),
    )
}

/// The protocol revision, if it is a known one.
pub(crate) fn protocol_version(context: &RequestContext<RoleServer>) -> Option<&'static str> {
    let spoken = context.protocol_version()?;
    ProtocolVersion::KNOWN_VERSIONS
        .iter()
        .find(|known| **known == spoken)
        .map(ProtocolVersion::as_str)
}

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
