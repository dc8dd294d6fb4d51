//! A registry with tools for tests, on a real store in a temporary folder.

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
};

use deliberate_core::Thought;
use deliberate_llm::ChatModel;
use deliberate_store::EpochFilter;
use deliberate_testkit::fixtures::{self, RegistryBuilder};
pub(crate) use deliberate_testkit::fixtures::{
    FULL_PAGE as ALL, expect_done, expect_needs_reply, registry_deps as deps, without_latency,
};
use deliberate_toolkit::{CallLimits, Registry};

use super::test_tools::{AskOnceTool, AskThriceTool, EchoTool, NoteTool, PanicTool};

pub(crate) struct RegistryFixture(fixtures::RegistryFixture);

impl Deref for RegistryFixture {
    type Target = fixtures::RegistryFixture;

    fn deref(&self) -> &fixtures::RegistryFixture {
        &self.0
    }
}

impl DerefMut for RegistryFixture {
    fn deref_mut(&mut self) -> &mut fixtures::RegistryFixture {
        &mut self.0
    }
}

impl RegistryFixture {
    /// Creates a registry without a model, so that the client's model has to reply.
    pub(crate) fn without_model() -> Self {
        Self::with_limits(None, CallLimits::default())
    }

    pub(crate) fn with_model(mind: Arc<dyn ChatModel>) -> Self {
        Self::with_limits(Some(mind), CallLimits::default())
    }

    pub(crate) fn with_limits(mind: Option<Arc<dyn ChatModel>>, bounds: CallLimits) -> Self {
        let parts = RegistryBuilder::new().model(mind).limits(bounds);
        Self(parts.build(with_test_tools))
    }

    /// Opens the same data as another process.
    pub(crate) async fn restart(self) -> Self {
        self.store.close().await;
        self.second_process(None)
    }

    /// Opens the same data as another process at the same time.
    pub(crate) fn second_process(&self, mind: Option<Arc<dyn ChatModel>>) -> Self {
        Self(self.0.second_process().model(mind).build(with_test_tools))
    }

    /// Returns all thoughts.
    pub(crate) async fn thoughts(&self) -> Vec<Thought> {
        self.0.thoughts(EpochFilter::Current).await
    }
}

fn with_test_tools(registry: Registry) -> Registry {
    registry
        .with(EchoTool)
        .with(NoteTool)
        .with(AskOnceTool)
        .with(AskThriceTool)
        .with(PanicTool)
}
