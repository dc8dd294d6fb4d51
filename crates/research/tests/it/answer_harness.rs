//! Harness for the answer tools, with fixed passages and a scripted model.

use std::{
    ops::Deref,
    sync::{Arc, Mutex},
};

use deliberate_core::{Article, Author, PartialDate, Timestamp};
use deliberate_index::{Passage, SearchMode};
use deliberate_llm::ModelRequest;
use deliberate_research::{
    AnswerOptions, RetrievalQuery, RetrievalResult, RetrievedPassage,
    answer::Retriever,
    articles::{ArticleCategory, ArticleRecord, Provenance, TextSpan},
    tools::answers::{AgenticResearchQuestion, AnswerResearchQuestion, EvaluateArticle},
};
use deliberate_testkit::fixtures::{
    RegistryBuilder, RegistryFixture, ScriptedModel, expect_done, progress_caller,
};
use deliberate_toolkit::{
    CallOutcome, CallProgress, CallerContext, NeedsReply, ToolContext, ToolError,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};

/// A retriever that returns its passages in order for every query that shares a word with them.
pub(crate) struct FixedRetriever {
    pub(crate) passages: Vec<RetrievedPassage>,
    pub(crate) options: AnswerOptions,
    pub(crate) queries: Mutex<Vec<RetrievalQuery>>,
    pub(crate) fails: bool,
}

impl Retriever for FixedRetriever {
    fn answer_options(&self) -> &AnswerOptions {
        &self.options
    }

    fn uses_llm_reranker(&self) -> bool {
        false
    }

    fn retrieve<'a>(
        &'a self,
        _: &'a ToolContext,
        query: &'a RetrievalQuery,
    ) -> BoxFuture<'a, Result<RetrievalResult, ToolError>> {
        self.queries.lock().unwrap().push(query.clone());
        Box::pin(async move {
            if self.fails {
                return Err(ToolError::Internal);
            }
            let words: Vec<String> = query
                .question
                .to_lowercase()
                .split(|it: char| !it.is_alphanumeric())
                .filter(|it| it.len() > 3)
                .map(str::to_owned)
                .collect();
            let fits = |it: &&RetrievedPassage| {
                let text = it.passage.text.to_lowercase();
                let year = it.kept.article.date;
                words.iter().any(|word| text.contains(word))
                    && query.filter.date_from.is_none_or(|from| year >= Some(from))
            };
            let found = self.passages.iter().filter(fits).take(query.k).cloned();
            Ok(RetrievalResult {
                passages: found.collect(),
                mode: SearchMode::Text,
                notes: Vec::new(),
            })
        })
    }
}

/// A passage on a page of a paper.
pub(crate) fn passage(
    paper: &str,
    family: &str,
    year: i32,
    page: u32,
    text: &str,
) -> RetrievedPassage {
    let start = 100;
    let end = start + u32::try_from(text.chars().count()).unwrap();
    RetrievedPassage {
        kept: ArticleRecord {
            id: format!("id-{paper}"),
            cite_key: format!("{}{year}{paper}", family.to_lowercase()),
            article: Article {
                title: format!("On {paper}"),
                authors: vec![Author::person(family, "A.")],
                date: PartialDate::new(year, None, None),
                ..Article::default()
            },
            category: ArticleCategory::default(),
            provenance: Provenance::default(),
            collections: Vec::new(),
            tags: Vec::new(),
            file: None,
            other_files: Vec::new(),
            pages: 10,
            chars: 10_000,
            added_at: Timestamp::parse("2026-01-01T00:00:00Z").unwrap(),
        },
        passage: Passage {
            number: page,
            text: text.to_owned(),
            page,
            end_page: page,
            ..Passage::default()
        },
        place: TextSpan {
            page,
            start,
            end_page: page,
            end,
        },
        score: 1.0,
        text_score: Some(1.0),
        similarity: None,
        rerank_score: None,
    }
}

pub(crate) struct AnswerHarness {
    fixture: RegistryFixture,
    pub(crate) retriever: Arc<FixedRetriever>,
    caller: CallerContext,
    pub(crate) progress: Arc<Mutex<Vec<CallProgress>>>,
}

impl Deref for AnswerHarness {
    type Target = RegistryFixture;

    fn deref(&self) -> &RegistryFixture {
        &self.fixture
    }
}

impl AnswerHarness {
    pub(crate) fn new(passages: Vec<RetrievedPassage>) -> Self {
        Self::with_options(passages, AnswerOptions::default(), true)
    }

    pub(crate) fn without_model(passages: Vec<RetrievedPassage>) -> Self {
        Self::with_options(passages, AnswerOptions::default(), false)
    }

    pub(crate) fn with_options(
        passages: Vec<RetrievedPassage>,
        options: AnswerOptions,
        model: bool,
    ) -> Self {
        let mut parts = RegistryBuilder::new();
        if model {
            parts = parts.scripted_model(ScriptedModel::unavailable());
        }
        let retriever = Arc::new(FixedRetriever {
            passages,
            options,
            queries: Mutex::default(),
            fails: false,
        });
        let fixture = parts.build(|registry| {
            registry
                .with(AnswerResearchQuestion(retriever.clone()))
                .with(AgenticResearchQuestion(retriever.clone()))
                .with(EvaluateArticle(retriever.clone()))
        });
        let (caller, progress) = progress_caller();
        Self {
            fixture,
            retriever,
            caller,
            progress,
        }
    }

    /// Adds a reply for the next request with this purpose.
    pub(crate) fn script_reply(&self, purpose: &str, reply: &Value) {
        self.model.script_reply_for(purpose, &reply.to_string());
    }

    /// Purposes of all requests, in order.
    pub(crate) fn purposes(&self) -> Vec<String> {
        let asked = self.requests();
        asked
            .iter()
            .map(|it| it.purpose.as_str().to_owned())
            .collect()
    }

    /// All requests, in order.
    pub(crate) fn requests(&self) -> Vec<ModelRequest> {
        self.model.requests()
    }

    /// Text of the last request with this purpose.
    pub(crate) fn last_prompt(&self, purpose: &str) -> String {
        let asked = self.requests();
        let last = asked.iter().rev().find(|it| it.purpose.as_str() == purpose);
        last.map(|it| it.messages[0].text.clone())
            .expect("it was asked")
    }

    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Value,
    ) -> Result<CallOutcome, ToolError> {
        let caller = self.caller.clone();
        self.registry.call(tool, arguments, caller).await
    }

    pub(crate) async fn call_ok(&self, tool: &str, arguments: Value) -> Value {
        expect_done(self.call(tool, arguments).await)
    }

    /// Runs a call without a model: the client replies to each request by its key.
    pub(crate) async fn call_with_client_replies(
        &self,
        tool: &str,
        arguments: Value,
        reply: impl Fn(&str) -> Value,
    ) -> (Value, Vec<Vec<String>>) {
        let mut asked = Vec::new();
        let rounds = |needs: &NeedsReply| {
            let keys: Vec<String> = needs.asks.iter().map(|it| it.key.clone()).collect();
            let replies = keys.iter().map(|it| reply(it)).collect();
            asked.push(keys);
            replies
        };
        let output = self.call_with_client(tool, arguments, rounds).await;
        (output, asked)
    }
}

pub(crate) const SLEEP: &str = "Sixty-four students learned word pairs. Those who slept recalled \
    78% of the pairs, while those who stayed awake recalled 61%. Caffeine did not change recall.";

pub(crate) const NAPS: &str = "A nap of 20 minutes improved recall of word pairs by 9% in adults. \
    Longer naps had no further benefit.";

/// Two papers about sleep and memory.
pub(crate) fn sleep_passages() -> Vec<RetrievedPassage> {
    vec![
        passage("sleep", "Petrov", 2021, 3, SLEEP),
        passage("naps", "Amara", 2019, 7, NAPS),
    ]
}

/// A draft with these sentences and citations.
pub(crate) fn draft_reply(sentences: &[(&str, &[&str])]) -> Value {
    let all = sentences
        .iter()
        .map(|(text, passages)| json!({ "sentence": text, "passages": passages }));
    json!({ "sentences": all.collect::<Vec<_>>() })
}
