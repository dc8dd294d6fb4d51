//! Where passages come from, as answers see it.

use std::sync::Mutex;

use deliberate_toolkit::{Call, Issue, ToolError};
use futures::future::BoxFuture;

use crate::{
    AnswerOptions, Lab, Rerank, Retrieval, Retrieved, Scope,
    collect::groups::{self, CustomIndex, KnowledgeCollection},
};

/// Something that passages are found in.
pub trait Retrieves: Send + Sync + 'static {
    /// How answers are to be made.
    fn answers(&self) -> &AnswerOptions;

    /// Whether a model puts passages in their final order.
    fn reranks_by_model(&self) -> bool;

    /// Finds passages.
    fn retrieve<'a>(
        &'a self,
        call: &'a Call,
        wanted: &'a Retrieval,
    ) -> BoxFuture<'a, Result<Retrieved, ToolError>>;

    /// Refuses a scope that is not there, before anyone is asked to think.
    fn check_scope<'a>(
        &'a self,
        _call: &'a Call,
        _scope: &'a Scope,
    ) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async { Ok(()) })
    }
}

impl Retrieves for Lab {
    fn answers(&self) -> &AnswerOptions {
        &self.options().answers
    }

    fn reranks_by_model(&self) -> bool {
        matches!(self.options().retrieval.rerank, Rerank::Model)
    }

    fn retrieve<'a>(
        &'a self,
        call: &'a Call,
        wanted: &'a Retrieval,
    ) -> BoxFuture<'a, Result<Retrieved, ToolError>> {
        Box::pin(Self::retrieve(self, call, wanted))
    }

    fn check_scope<'a>(
        &'a self,
        call: &'a Call,
        scope: &'a Scope,
    ) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            match scope {
                Scope::All | Scope::PapersOnly | Scope::External => {}
                Scope::Collection(name) => {
                    let _: KnowledgeCollection = groups::find(call.store(), name).await?;
                }
                Scope::Index(name) => {
                    let _: CustomIndex = groups::find(call.store(), name).await?;
                }
            }
            Ok(())
        })
    }
}

/// What is found, once in a call however often that is run: a model that replies between two runs
/// has seen what the first one found.
pub(crate) async fn look<R: Retrieves>(
    shelf: &R,
    call: &Call,
    key: &str,
    wanted: &Retrieval,
) -> Result<Retrieved, ToolError> {
    let failed = Mutex::new(None);
    let found: Option<Retrieved> = call
        .outside(key, async {
            match shelf.retrieve(call, wanted).await {
                Ok(found) => Some(found),
                Err(error) => {
                    if let Ok(mut failed) = failed.lock() {
                        *failed = Some(error);
                    }
                    None
                }
            }
        })
        .await;
    let failed = failed.into_inner().ok().flatten();
    found.ok_or_else(|| failed.unwrap_or(ToolError::Internal))
}

/// A text that passages are looked for with: it must have a word.
pub(crate) fn looked_for<'a>(
    call: &Call,
    field: &str,
    text: &'a str,
) -> Result<&'a str, ToolError> {
    let text = call.checked_content(field, text)?;
    if !text.chars().any(char::is_alphanumeric) {
        let rule = "needs at least one word to look for";
        let issue = Issue::new(field, rule).given(&text.into());
        return Err(ToolError::Invalid(vec![issue]));
    }
    Ok(text)
}

/// A scope as it is written.
pub(super) fn scope(text: &str) -> Result<Scope, ToolError> {
    Scope::parse(text).ok_or_else(|| {
        let rule = "must be all, papers_only, external, collection:<name> or index:<name>";
        ToolError::Invalid(vec![Issue::new("scope", rule).given(&text.into())])
    })
}
