//! Where a request stands in its client's trace, and which revision of the protocol it speaks.

use deliberate_toolkit::TraceContext;
use http::{HeaderMap, request::Parts};
use rmcp::{RoleServer, model::ProtocolVersion, service::RequestContext};

/// The client's trace context: what the message says of itself, else what the HTTP request that
/// carried it says. The message is nearer to the call; a proxy may have written the header.
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

/// The revision, if it is one we know.
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
