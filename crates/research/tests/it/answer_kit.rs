//! The tools that answer, with a shelf of passages and a model that says what it is told.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex},
};

use deliberate_core::{Article, Author, PartialDate, Timestamp};
use deliberate_index::{Passage, SearchMode};
use deliberate_research::{
    AnswerOptions, FoundPassage, Retrieval, Retrieved,
    answer::Retrieves,
    answers::{AgenticResearchQuestion, AnswerResearchQuestion, EvaluateArticle},
    collect::{Category, Kept, Place, Provenance},
};
use deliberate_store::{
    Store,
    sqlite::{Durability, SqliteOptions, SqliteStore},
};
use deliberate_testkit::{CountingIds, FixedClock};
use deliberate_thinker::{Ask, Reply, ThinkError, Thinker};
use deliberate_toolkit::{
    Answer, Bounds, Call, Caller, OneMind, Parts, Progress, Registry, ToolError,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::Instant;

/// Finds what it was given, in its order, for every query that shares a word with it.
pub(crate) struct Shelf {
    pub(crate) passages: Vec<FoundPassage>,
    pub(crate) options: AnswerOptions,
    pub(crate) looked: Mutex<Vec<Retrieval>>,
    pub(crate) fails: bool,
}

impl Retrieves for Shelf {
    fn answers(&self) -> &AnswerOptions {
        &self.options
    }

    fn reranks_by_model(&self) -> bool {
        false
    }

    fn retrieve<'a>(
        &'a self,
        _: &'a Call,
        wanted: &'a Retrieval,
    ) -> BoxFuture<'a, Result<Retrieved, ToolError>> {
        self.looked.lock().unwrap().push(wanted.clone());
        Box::pin(async move {
            if self.fails {
                return Err(ToolError::Internal);
            }
            let words: Vec<String> = wanted
                .question
                .to_lowercase()
                .split(|it: char| !it.is_alphanumeric())
                .filter(|it| it.len() > 3)
                .map(str::to_owned)
                .collect();
            let fits = |it: &&FoundPassage| {
                let text = it.passage.text.to_lowercase();
                let year = it.kept.article.date;
                words.iter().any(|word| text.contains(word))
                    && wanted
                        .filter
                        .date_from
                        .is_none_or(|from| year >= Some(from))
            };
            let found = self.passages.iter().filter(fits).take(wanted.k).cloned();
            Ok(Retrieved {
                passages: found.collect(),
                mode: SearchMode::Text,
                notes: Vec::new(),
            })
        })
    }
}

/// A passage on a page of a paper.
pub(crate) fn passage(paper: &str, family: &str, year: i32, page: u32, text: &str) -> FoundPassage {
    let start = 100;
    let end = start + u32::try_from(text.chars().count()).unwrap();
    FoundPassage {
        kept: Kept {
            id: format!("id-{paper}"),
            cite_key: format!("{}{year}{paper}", family.to_lowercase()),
            article: Article {
                title: format!("On {paper}"),
                authors: vec![Author::person(family, "A.")],
                date: PartialDate::new(year, None, None),
                ..Article::default()
            },
            category: Category::default(),
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
        place: Place {
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

/// Says what it is told, by what it is asked for; with nothing left to say it can't be reached.
#[derive(Default)]
pub(crate) struct Scripted {
    replies: Mutex<BTreeMap<String, VecDeque<String>>>,
    asked: Mutex<Vec<Ask>>,
    pub(crate) hangs: std::sync::atomic::AtomicBool,
}

impl Thinker for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn think<'a>(&'a self, ask: &'a Ask, _: Instant) -> BoxFuture<'a, Result<Reply, ThinkError>> {
        Box::pin(async move {
            self.asked.lock().unwrap().push(ask.clone());
            if self.hangs.load(std::sync::atomic::Ordering::Relaxed) {
                futures::future::pending::<()>().await;
            }
            let mut replies = self.replies.lock().unwrap();
            let next = replies
                .get_mut(ask.purpose.as_str())
                .and_then(VecDeque::pop_front);
            match next {
                Some(text) => Ok(Reply {
                    text,
                    ..Reply::default()
                }),
                None => Err(ThinkError::Unavailable {
                    provider: "scripted".to_owned(),
                    reason: "it has nothing to say".to_owned(),
                    attempts: 1,
                }),
            }
        })
    }
}

pub(crate) struct Room {
    pub(crate) registry: Registry,
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) model: Arc<Scripted>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) told: Arc<Mutex<Vec<Progress>>>,
    _folder: tempfile::TempDir,
}

impl Room {
    pub(crate) fn new(passages: Vec<FoundPassage>) -> Self {
        Self::with(passages, AnswerOptions::default(), true)
    }

    pub(crate) fn without_model(passages: Vec<FoundPassage>) -> Self {
        Self::with(passages, AnswerOptions::default(), false)
    }

    pub(crate) fn with(passages: Vec<FoundPassage>, options: AnswerOptions, model: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> = Arc::new(SqliteStore::new(SqliteOptions {
            path: folder.path().join("store.db"),
            readers: 2,
            durability: Durability::Relaxed,
        }));
        let thinker = Arc::<Scripted>::default();
        let mind: Option<Arc<dyn Thinker>> = if model { Some(thinker.clone()) } else { None };
        let shelf = Arc::new(Shelf {
            passages,
            options,
            looked: Mutex::default(),
            fails: false,
        });
        let registry = Registry::new(Parts {
            store: store.clone(),
            minds: Arc::new(OneMind(mind)),
            clock: Arc::new(FixedClock::new()),
            ids: Arc::new(CountingIds::new()),
            bounds: Bounds::default(),
        })
        .with(AnswerResearchQuestion(shelf.clone()))
        .with(AgenticResearchQuestion(shelf.clone()))
        .with(EvaluateArticle(shelf.clone()));
        Self {
            registry,
            shelf,
            model: thinker,
            store,
            told: Arc::default(),
            _folder: folder,
        }
    }

    /// What the model will say when it is asked for `purpose`.
    pub(crate) fn will_say(&self, purpose: &str, reply: &Value) {
        let mut replies = self.model.replies.lock().unwrap();
        let queue = replies.entry(purpose.to_owned()).or_default();
        queue.push_back(reply.to_string());
    }

    /// What the model was asked for, in order.
    pub(crate) fn purposes(&self) -> Vec<String> {
        let asked = self.model.asked.lock().unwrap();
        asked
            .iter()
            .map(|it| it.purpose.as_str().to_owned())
            .collect()
    }

    /// The text of the last ask for `purpose`.
    pub(crate) fn asked(&self, purpose: &str) -> String {
        let asked = self.model.asked.lock().unwrap();
        let last = asked.iter().rev().find(|it| it.purpose.as_str() == purpose);
        last.map(|it| it.messages[0].text.clone())
            .expect("it was asked")
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<Answer, ToolError> {
        let told = self.told.clone();
        let caller = Caller {
            progress: Some(Arc::new(move |it| told.lock().unwrap().push(it))),
            ..Caller::default()
        };
        self.registry.call(tool, arguments, caller).await
    }

    pub(crate) async fn done(&self, tool: &str, arguments: Value) -> Value {
        match self.call(tool, arguments).await {
            Ok(Answer::Done(output)) => output,
            other => panic!("{tool}: {other:?}"),
        }
    }

    /// Without a model: the client replies by the key of each ask, as `reply` says.
    pub(crate) async fn driven(
        &self,
        tool: &str,
        arguments: Value,
        reply: impl Fn(&str) -> Value,
    ) -> (Value, Vec<Vec<String>>) {
        let mut answer = self.call(tool, arguments).await;
        let mut asked = Vec::new();
        while let Ok(Answer::NeedsReply(needs)) = &answer {
            let keys: Vec<String> = needs.asks.iter().map(|it| it.key.clone()).collect();
            let replies: Vec<Value> = keys.iter().map(|it| reply(it)).collect();
            asked.push(keys);
            let resume = json!({ "id": needs.id, "replies": replies });
            answer = self.call("reasoning_resume", resume).await;
        }
        match answer {
            Ok(Answer::Done(output)) => (output, asked),
            other => panic!("{tool}: {other:?}"),
        }
    }
}

pub(crate) const SLEEP: &str = "Sixty-four students learned word pairs. Those who slept recalled \
    78% of the pairs, while those who stayed awake recalled 61%. Caffeine did not change recall.";

pub(crate) const NAPS: &str = "A nap of 20 minutes improved recall of word pairs by 9% in adults. \
    Longer naps had no further benefit.";

/// Two papers about sleep and memory.
pub(crate) fn sleep() -> Vec<FoundPassage> {
    vec![
        passage("sleep", "Petrov", 2021, 3, SLEEP),
        passage("naps", "Amara", 2019, 7, NAPS),
    ]
}

/// A draft of these sentences and what they cite.
pub(crate) fn draft(sentences: &[(&str, &[&str])]) -> Value {
    let all = sentences
        .iter()
        .map(|(text, passages)| json!({ "sentence": text, "passages": passages }));
    json!({ "sentences": all.collect::<Vec<_>>() })
}
