//! The interface through which answers retrieve passages.

use std::sync::Mutex;

use deliberate_toolkit::{ArgumentIssue, ToolContext, ToolError};
use futures::future::BoxFuture;

use crate::{
    AnswerOptions, RerankOptions, ResearchServices, RetrievalQuery, RetrievalResult,
    RetrievalScope,
    articles::collections::{self, CustomIndex, KnowledgeCollection},
};

/// Finds passages for a question.
pub trait Retriever: Send + Sync + 'static {
    fn answer_options(&self) -> &AnswerOptions;

    /// Whether a model reranks the passages.
    fn uses_llm_reranker(&self) -> bool;

    fn retrieve<'a>(
        &'a self,
        call: &'a ToolContext,
        query: &'a RetrievalQuery,
    ) -> BoxFuture<'a, Result<RetrievalResult, ToolError>>;

    /// Rejects a scope that does not exist, before a model is asked.
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
        query: &'a RetrievalQuery,
    ) -> BoxFuture<'a, Result<RetrievalResult, ToolError>> {
        Box::pin(Self::retrieve(self, call, query))
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

/// Retrieves once per call, however often the call is replayed: a model that replies between two
/// runs has seen the passages of the first run.
pub(crate) async fn retrieve_memoized<R: Retriever>(
    shelf: &R,
    call: &ToolContext,
    key: &str,
    query: &RetrievalQuery,
) -> Result<RetrievalResult, ToolError> {
    let failed = Mutex::new(None);
    let found: Option<RetrievalResult> = call
        .memoize_async(key, async {
            match shelf.retrieve(call, query).await {
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

/// Checks a search text: it must contain a word.
pub(crate) fn check_query<'a>(
    call: &ToolContext,
    field: &str,
    text: &'a str,
) -> Result<&'a str, ToolError> {
    let text = call.check_content(field, text)?;
    if !text.chars().any(char::is_alphanumeric) {
        let rule = "must contain at least one word";
        let issue = ArgumentIssue::new(field, rule).with_value(&text.into());
        return Err(ToolError::Invalid(vec![issue]));
    }
    Ok(text)
}

/// Parses a `scope` argument.
pub(super) fn parse_scope(text: &str) -> Result<RetrievalScope, ToolError> {
    RetrievalScope::parse(text).ok_or_else(|| {
        let rule = "must be all, papers_only, external, collection:<name> or index:<name>";
        ToolError::Invalid(vec![
            ArgumentIssue::new("scope", rule).with_value(&text.into()),
        ])
    })
}
