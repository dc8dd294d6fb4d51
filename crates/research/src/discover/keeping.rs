//! What is kept of a run of a question: papers, each once, and that they fit. Asks no source.

use std::collections::{BTreeMap, BTreeSet};

use deliberate_core::{Article, Change, Timestamp};
use deliberate_toolkit::{Call, ToolError};

use super::{KeptMatch, Match, Question, search::keys_of};
use crate::{
    answer::{By, Relevance},
    collect::{Kept, Library, Provenance, Version, ingest::without_taken_ids},
};

/// What is being kept of a run.
pub(super) struct Keeping<'a> {
    call: &'a Call,
    question: &'a Question,
    judged_by: String,
    now: Timestamp,
    /// Citation keys that this run gives out.
    cite_keys: BTreeSet<String>,
    /// What the papers of this run are known by, and which article each is.
    names: BTreeMap<String, String>,
    /// Articles that were dealt with.
    done: BTreeSet<String>,
    pub(super) changes: Vec<Change>,
    pub(super) matches: Vec<Match>,
    /// Articles whose PDFs are wanted, with how relevant they are.
    wanted: Vec<(String, f64)>,
    pub(super) new: u32,
}

impl<'a> Keeping<'a> {
    pub(super) fn new(call: &'a Call, question: &'a Question) -> Self {
        Self {
            call,
            question,
            judged_by: question.judged_by(),
            now: call.now(),
            cite_keys: BTreeSet::new(),
            names: BTreeMap::new(),
            done: BTreeSet::new(),
            changes: Vec::new(),
            matches: Vec::new(),
            wanted: Vec::new(),
            new: 0,
        }
    }

    /// Which papers have to be scored, by their places: those that fitted before, judged by the
    /// same, fit now.
    pub(super) async fn open(&self, articles: &[Article]) -> Result<Vec<usize>, ToolError> {
        let mut open = Vec::new();
        for (at, article) in articles.iter().enumerate() {
            if self.earlier(article).await?.is_none() {
                open.push(at);
            }
        }
        Ok(open)
    }

    /// Notes a paper that fitted before.
    pub(super) async fn again(&mut self, article: &Article) -> Result<(), ToolError> {
        if let Some((version, kept)) = self.earlier(article).await?
            && self.done.insert(version.kept.id.clone())
        {
            self.want_file(&version.kept, kept.found.score);
            self.matches.push(kept.found);
        }
        Ok(())
    }

    async fn earlier(&self, article: &Article) -> Result<Option<(Version, KeptMatch)>, ToolError> {
        let store = self.call.store();
        let Some(known) = Library(store).known(article).await? else {
            return Ok(None);
        };
        let kept = Match::kept(store, &self.question.id, &known.kept.id).await?;
        let fits = |it: &KeptMatch| it.holds(&self.judged_by, self.question.min_relevance);
        Ok(kept.filter(fits).map(|kept| (known, kept)))
    }

    /// Keeps a paper and its match, if it is relevant enough.
    pub(super) async fn judge(
        &mut self,
        article: &Article,
        score: &Relevance,
    ) -> Result<(), ToolError> {
        if score.score < self.question.min_relevance {
            return Ok(());
        }
        let Some(version) = self.admitted(article).await? else {
            return Ok(());
        };
        let store = self.call.store();
        let before = Match::kept(store, &self.question.id, &version.kept.id).await?;
        let first_found = before.as_ref().map(|it| it.found.first_found.clone());
        let found = Match {
            question_id: self.question.id.clone(),
            article_id: version.kept.id.clone(),
            title: article.title.clone(),
            score: score.score,
            matched_keywords: score.matched_keywords.clone(),
            reasoning: score.reasoning.clone(),
            scored_by: match score.by {
                By::Model => "model",
                By::Words => "words",
            }
            .to_owned(),
            sources: article.sources.clone(),
            first_found: first_found.unwrap_or_else(|| self.now.to_string()),
        };
        self.new += u32::from(before.is_none());
        self.want_file(&version.kept, score.score);
        let version = before.map_or(0, |it| it.version);
        self.changes
            .push(found.put(version, &self.judged_by, self.now));
        self.matches.push(found);
        Ok(())
    }

    fn want_file(&mut self, kept: &Kept, score: f64) {
        let wanted = self.question.download_from;
        if kept.pages == 0 && wanted.is_some_and(|from| score >= from) {
            self.wanted.push((kept.id.clone(), score));
        }
    }

    /// The paper as an article of the collection; none if this run dealt with it by another record.
    async fn admitted(&mut self, article: &Article) -> Result<Option<Version>, ToolError> {
        let library = Library(self.call.store());
        let version = match library.known(article).await? {
            Some(known) => self.joined(known, article).await?,
            None => self.fresh(article).await?,
        };
        let Some(version) = version else {
            return Ok(None);
        };
        self.done.insert(version.kept.id.clone());
        for name in keys_of(&version.kept.article) {
            self.names.insert(name, version.kept.id.clone());
        }
        Ok(Some(version))
    }

    /// An article that is there, with what this record knows beyond it.
    async fn joined(
        &mut self,
        before: Version,
        article: &Article,
    ) -> Result<Option<Version>, ToolError> {
        if self.done.contains(&before.kept.id) {
            return Ok(None);
        }
        let mut version = before.clone();
        deliberate_citations::merge(&mut version.kept.article, article);
        // An id belongs to one article, whether it was there before or came a moment ago.
        let library = Library(self.call.store());
        without_taken_ids(library, &mut version.kept, &mut Vec::new()).await?;
        let own = &version.kept.id;
        let taken = |name: &String| self.names.get(name).is_some_and(|id| id != own);
        if keys_of(&version.kept.article).iter().any(taken) {
            version = before.clone();
        }
        if version != before {
            self.changes.push(version.put(self.now));
        }
        Ok(Some(version))
    }

    /// An article that was not here.
    async fn fresh(&mut self, article: &Article) -> Result<Option<Version>, ToolError> {
        let names = keys_of(article);
        if names.iter().any(|it| self.names.contains_key(it)) {
            return Ok(None);
        }
        let cite_key = Library(self.call.store())
            .free_cite_key_beside(&deliberate_citations::key_for(article), &self.cite_keys)
            .await?;
        self.cite_keys.insert(cite_key.to_lowercase());
        let version = Version::new(Kept {
            id: self.call.fresh::<String>(),
            cite_key,
            article: article.clone(),
            provenance: Provenance::Discovered,
            ..Kept::empty(self.now)
        });
        self.changes.push(version.put(self.now));
        Ok(Some(version))
    }

    /// Articles whose PDFs are fetched, the most relevant first, at most so many.
    pub(super) fn fetched_next(&mut self, most: usize) -> Vec<String> {
        self.wanted.sort_by(|one, other| other.1.total_cmp(&one.1));
        self.wanted.truncate(most);
        self.wanted.drain(..).map(|it| it.0).collect()
    }
}
