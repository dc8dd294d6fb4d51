//! Where passages come from, as answers see it.

use std::sync::Mutex;

use deliberate_toolkit::{ArgumentIssue, ToolContext, ToolError};
use futures::future::BoxFuture;

use crate::{
    AnswerOptions, RerankOptions, ResearchServices, RetrievalQuery, RetrievalResult,
    RetrievalScope,
    articles::collections::{self, CustomIndex, KnowledgeCollection},
};

/// Something that passages are found in.
pub trait Retriever: Send + Sync + 'static {
    /// How answers are to be made.
    fn answer_options(&self) -> &AnswerOptions;

    /// Whether a model puts passages in their final order.
    fn uses_llm_reranker(&self) -> bool;

    /// Finds passages.
    fn retrieve<'a>(
        &'a self,
        call: &'a ToolContext,
        wanted: &'a RetrievalQuery,
    ) -> BoxFuture<'a, Result<RetrievalResult, ToolError>>;

    /// Refuses a scope that is not there, before anyone is asked to think.
    fn check_scope<'a>(
        &'a self,
        _call: &'a ToolContext,
        _scope: &'a RetrievalScope,
    ) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async { Ok(()) })
    }
}

impl Retriever for ResearchServices {
    fn answer_options(&self) -> &AnswerOptions {
        &self.options().answers
    }

    fn uses_llm_reranker(&self) -> bool {
        matches!(self.options().retrieval.rerank, RerankOptions::Model)
    }

    fn retrieve<'a>(
        &'a self,
        call: &'a ToolContext,
        wanted: &'a RetrievalQuery,
    ) -> BoxFuture<'a, Result<RetrievalResult, ToolError>> {
        Box::pin(Self::retrieve(self, call, wanted))
    }

    fn check_scope<'a>(
        &'a self,
        call: &'a ToolContext,
        scope: &'a RetrievalScope,
    ) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            match scope {
                RetrievalScope::All | RetrievalScope::PapersOnly | RetrievalScope::External => {}
                RetrievalScope::Collection(name) => {
                    let _: KnowledgeCollection = collections::find(call.store(), name).await?;
                }
                RetrievalScope::Index(name) => {
                    let _: CustomIndex = collections::find(call.store(), name).await?;
                }
            }
            Ok(())
        })
    }
}

/// What is found, once in a call however often that is run: a model that replies between two runs
/// has seen what the first one found.
pub(crate) async fn retrieve_memoized<R: Retriever>(
    shelf: &R,
    call: &ToolContext,
    key: &str,
    wanted: &RetrievalQuery,
) -> Result<RetrievalResult, ToolError> {
    let failed = Mutex::new(None);
    let found: Option<RetrievalResult> = call
        .memoize_async(key, async {
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
pub(crate) fn check_query<'a>(
    call: &ToolContext,
    field: &str,
    text: &'a str,
) -> Result<&'a str, ToolError> {
    let text = call.check_content(field, text)?;
    if !text.chars().any(char::is_alphanumeric) {
        let rule = "needs at least one word to look for";
        let issue = ArgumentIssue::new(field, rule).with_value(&text.into());
        return Err(ToolError::Invalid(vec![issue]));
    }
    Ok(text)
}

/// A scope as it is written.
pub(super) fn parse_scope(text: &str) -> Result<RetrievalScope, ToolError> {
    RetrievalScope::parse(text).ok_or_else(|| {
        let rule = "must be all, papers_only, external, collection:<name> or index:<name>";
        ToolError::Invalid(vec![
            ArgumentIssue::new("scope", rule).with_value(&text.into()),
        ])
    })
}
