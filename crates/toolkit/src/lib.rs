//! What a tool is, and the one gate every call goes through.
//!
//! A [`Tool`] has a name, a typed input and output, and a `run` that returns its output
//! **together with its changes**; it writes nothing itself. [`Registry::call`] is the gate: it
//! checks the arguments, holds the limits, stops what is cancelled, catches what panics, and
//! commits the changes with the record of the call in one transaction. Because nothing is
//! written before the end, a call can be run again from its start: that is how a call waits
//! for its client's model (`suspend`).
//!
//! The crate knows nothing of MCP, SQL or HTTP.

mod acting;
mod answer;
mod bill;
mod call;
mod caller;
mod error;
mod event;
mod far;
mod find;
mod gate;
mod guests;
mod hands;
mod held;
mod left;
mod leg;
mod menu;
mod nested;
mod principal;
mod record;
mod registry;
mod resource;
mod schema;
mod signs;
mod stopping;
mod suspend;
mod tool;
mod trace;
mod waits;

pub use acting::{Acted, Acting, Evidence, Hand, Stopped};
pub use answer::{Answer, AskForClient, NeedsReply};
pub use call::{Call, Thinking};
pub use caller::{Caller, ClientRefused, ClientRequests, ClientSide, Minds, OneMind, Progress};
pub use error::{Issue, Kind, ToolError};
pub use event::{Event, Listener, Running};
pub use far::Far;
pub use guests::{Again, Guest, Guests, HANDED_ON, StandsFor};
pub use held::{StillRunning, Within};
pub use left::{Left, LeftCall};
pub use menu::{Argument, Dish, Menu, Said, Served, Speaker, Utterance};
pub use principal::{Principal, Scope, fits};
pub use registry::{Bounds, Listing, Parts, Registry};
pub use resource::{
    Body, Choices, Contents, Desk, Listed, Resource, Resources, Template, Touched, Typed,
};
pub use schema::answer_schema;
pub use suspend::RESUME;
pub use tool::{About, Annotations, LEG, Limits, Outcome, SAID, Tool};
pub use trace::{ASK_SPAN, CALL_SPAN, SpanReader, TraceContext};
pub use waits::Waits;
