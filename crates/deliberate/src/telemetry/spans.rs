//! Converts the spans of calls and model requests, which the dispatcher opens, to spans of a trace.
//!
//! The dispatcher does not know traces: it writes plain fields. Two of them, `traceparent` and
//! `tracestate`, name the parent, and `otel.kind` the kind; the others are attributes.

use std::{fmt, str::FromStr as _};

use deliberate_toolkit::{CALL_SPAN, MODEL_SPAN, TraceContext};
use opentelemetry::{
    Context, KeyValue, Value,
    trace::{
        Span as _, SpanBuilder, SpanContext, SpanId, SpanKind, Status, TraceContextExt as _,
        TraceFlags, TraceId, TraceState, Tracer as _,
    },
};
use opentelemetry_sdk::trace::{SdkTracer, Span};
use tracing::{
    Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
    span,
};
use tracing_subscriber::{
    Layer, filter::Targets, layer::Context as LayerContext, registry::LookupSpan,
};

/// The bit of the trace flags that marks a sampled trace.
const SAMPLED_FLAG: u8 = 1;

/// Converts spans of the program to spans of a trace.
pub(crate) struct SpanLayer {
    tracer: SdkTracer,
}

/// A span that has not ended.
struct OpenSpan(Span);

impl SpanLayer {
    pub(super) fn new(tracer: SdkTracer) -> Self {
        Self { tracer }
    }

    /// Returns the filter for the spans that are converted.
    pub(crate) fn targets() -> Targets {
        Targets::new()
            .with_default(LevelFilter::OFF)
            .with_target(CALL_SPAN, LevelFilter::INFO)
            .with_target(MODEL_SPAN, LevelFilter::INFO)
    }
}

impl<S> Layer<S> for SpanLayer
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
{
    fn on_new_span(
        &self,
        attributes: &span::Attributes<'_>,
        id: &span::Id,
        context: LayerContext<'_, S>,
    ) {
        let Some(span) = context.span(id) else {
            return;
        };
        let mut fields = SpanFields::default();
        attributes.record(&mut fields);
        let around = || {
            let parent = span.parent()?;
            let extensions = parent.extensions();
            let open = extensions.get::<OpenSpan>()?;
            Some(open.0.span_context().clone())
        };
        let parent = match fields.remote_parent().or_else(around) {
            Some(parent) => Context::new().with_remote_span_context(parent),
            None => Context::new(),
        };
        let name = match &fields.tool {
            Some(tool) => format!("{} {tool}", span.name()),
            None => span.name().to_owned(),
        };
        let builder = SpanBuilder::from_name(name)
            .with_kind(fields.kind.unwrap_or(SpanKind::Internal))
            .with_attributes(fields.attributes);
        let open = self.tracer.build_with_context(builder, &parent);
        span.extensions_mut().insert(OpenSpan(open));
    }

    fn on_record(&self, id: &span::Id, values: &span::Record<'_>, context: LayerContext<'_, S>) {
        let Some(span) = context.span(id) else {
            return;
        };
        let mut fields = SpanFields::default();
        values.record(&mut fields);
        if let Some(open) = span.extensions_mut().get_mut::<OpenSpan>() {
            if let Some(error) = fields.error {
                open.0.set_status(Status::error(error));
            }
            open.0.set_attributes(fields.attributes);
        }
    }

    fn on_close(&self, id: span::Id, context: LayerContext<'_, S>) {
        let Some(span) = context.span(&id) else {
            return;
        };
        let open = span.extensions_mut().remove::<OpenSpan>();
        if let Some(mut open) = open {
            open.0.end();
        }
    }
}

/// Returns the trace context of a span, for work done elsewhere on its behalf. Returns `None` if no
/// traces are collected.
pub(crate) fn trace_context(span: &tracing::Span) -> Option<TraceContext> {
    let context = span.with_subscriber(|(id, dispatch)| {
        let spans = dispatch.downcast_ref::<tracing_subscriber::Registry>()?;
        let mut around = spans.span(id)?.scope();
        around.find_map(|span| {
            let extensions = span.extensions();
            let open = extensions.get::<OpenSpan>()?;
            to_trace_context(open.0.span_context())
        })
    });
    context.flatten()
}

fn to_trace_context(place: &SpanContext) -> Option<TraceContext> {
    let (trace, span) = (place.trace_id(), place.span_id());
    let parent = format!("00-{trace}-{span}-{:02x}", place.trace_flags().to_u8());
    TraceContext::parse(&parent, Some(&place.trace_state().header()))
}

/// The fields of a span.
#[derive(Default)]
struct SpanFields {
    attributes: Vec<KeyValue>,
    kind: Option<SpanKind>,
    tool: Option<String>,
    error: Option<String>,
    traceparent: Option<String>,
    tracestate: Option<String>,
}

impl SpanFields {
    /// Returns the span in another program that this one continues.
    fn remote_parent(&self) -> Option<SpanContext> {
        let mut parts = self.traceparent.as_deref()?.split('-').skip(1);
        let trace = TraceId::from_hex(parts.next()?).ok()?;
        let span = SpanId::from_hex(parts.next()?).ok()?;
        let flags = u8::from_str_radix(parts.next()?, 16).ok()?;
        let state = self
            .tracestate
            .as_deref()
            .and_then(|state| TraceState::from_str(state).ok());
        let context = SpanContext::new(
            trace,
            span,
            TraceFlags::new(flags & SAMPLED_FLAG),
            true,
            state.unwrap_or_default(),
        );
        context.is_valid().then_some(context)
    }

    fn add(&mut self, field: &Field, value: impl Into<Value>) {
        self.attributes.push(KeyValue::new(field.name(), value));
    }
}

impl Visit for SpanFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        let owned = || Some(value.to_owned());
        match field.name() {
            "traceparent" => self.traceparent = owned(),
            "tracestate" => self.tracestate = owned(),
            "otel.kind" => self.kind = parse_span_kind(value),
            name => {
                match name {
                    "gen_ai.tool.name" => self.tool = owned(),
                    "error.type" => self.error = owned(),
                    _ => {}
                }
                self.add(field, value.to_owned());
            }
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, i64::try_from(value).unwrap_or(i64::MAX));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value);
    }

    /// Values that are not plain may contain anything, so they are left out.
    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}

fn parse_span_kind(word: &str) -> Option<SpanKind> {
    match word {
        "server" => Some(SpanKind::Server),
        "client" => Some(SpanKind::Client),
        _ => None,
    }
}
