//! The model of the tests.

pub(crate) use deliberate_testkit::fixtures::{ScriptedModel, reply, reply_with_cost};
