//! Records the result of a question run: each paper once, and its match. It must not query sources.

use std::collections::{BTreeMap, BTreeSet};

use deliberate_core::{Article, Change, Timestamp};
use deliberate_toolkit::{ToolContext, ToolError};

use super::{QuestionMatch, ResearchQuestion, StoredMatch, search::dedup_keys};
use crate::{
    answer::{Relevance, ScoredBy},
    articles::{ArticleRecord, ArticleRepository, Provenance, VersionedArticle},
    ingest::remove_conflicting_ids,
};

/// The changes of one run that are still to be committed.
pub(super) struct MatchRecorder<'a> {
    call: &'a ToolContext,
    question: &'a ResearchQuestion,
    scoring_criteria: String,
    now: Timestamp,
    /// The citation keys assigned by this run.
    cite_keys: BTreeSet<String>,
    /// The article IDs of this run's papers by deduplication key.
    article_ids_by_key: BTreeMap<String, String>,
    /// The IDs of the articles already handled.
    processed: BTreeSet<String>,
    pub(super) changes: Vec<Change>,
    pub(super) matches: Vec<QuestionMatch>,
    /// The IDs of articles whose PDFs are wanted, with their relevance.
    pdf_candidates: Vec<(String, f64)>,
    pub(super) new_count: u32,
}

impl<'a> MatchRecorder<'a> {
    pub(super) fn new(call: &'a ToolContext, question: &'a ResearchQuestion) -> Self {
        Self {
            call,
            question,
            scoring_criteria: question.scoring_criteria(),
            now: call.now(),
            cite_keys: BTreeSet::new(),
            article_ids_by_key: BTreeMap::new(),
            processed: BTreeSet::new(),
            changes: Vec::new(),
            matches: Vec::new(),
            pdf_candidates: Vec::new(),
            new_count: 0,
        }
    }

    /// The positions of the papers that must be scored. Earlier matches that were scored by the
    /// same criteria keep their score.
    pub(super) async fn find_unscored(
        &self,
        articles: &[Article],
    ) -> Result<Vec<usize>, ToolError> {
        let mut open = Vec::new();
        for (at, article) in articles.iter().enumerate() {
            if self.find_earlier_match(article).await?.is_none() {
                open.push(at);
            }
        }
        Ok(open)
    }

    /// Records a paper that matched in an earlier run.
    pub(super) async fn record_earlier_match(
        &mut self,
        article: &Article,
    ) -> Result<(), ToolError> {
        if let Some((version, kept)) = self.find_earlier_match(article).await?
            && self.processed.insert(version.record.id.clone())
        {
            self.add_pdf_candidate(&version.record, kept.question_match.score);
            self.matches.push(kept.question_match);
        }
        Ok(())
    }

    async fn find_earlier_match(
        &self,
        article: &Article,
    ) -> Result<Option<(VersionedArticle, StoredMatch)>, ToolError> {
        let store = self.call.store();
        let Some(known) = ArticleRepository(store).find_same_work(article).await? else {
            return Ok(None);
        };
        let kept = QuestionMatch::load(store, &self.question.id, &known.record.id).await?;
        let fits =
            |it: &StoredMatch| it.is_current(&self.scoring_criteria, self.question.min_relevance);
        Ok(kept.filter(fits).map(|kept| (known, kept)))
    }

    /// Records a paper and its match if it is relevant enough.
    pub(super) async fn record_match(
        &mut self,
        article: &Article,
        score: &Relevance,
    ) -> Result<(), ToolError> {
        if score.score < self.question.min_relevance {
            return Ok(());
        }
        let Some(version) = self.upsert_article(article).await? else {
            return Ok(());
        };
        let store = self.call.store();
        let before = QuestionMatch::load(store, &self.question.id, &version.record.id).await?;
        let first_found = before
            .as_ref()
            .map(|it| it.question_match.first_found.clone());
        let found = QuestionMatch {
            question_id: self.question.id.clone(),
            article_id: version.record.id.clone(),
            title: article.title.clone(),
            score: score.score,
            matched_keywords: score.matched_keywords.clone(),
            reasoning: score.reasoning.clone(),
            scored_by: match score.by {
                ScoredBy::Model => "model",
                ScoredBy::Words => "words",
            }
            .to_owned(),
            sources: article.sources.clone(),
            first_found: first_found.unwrap_or_else(|| self.now.to_string()),
        };
        self.new_count += u32::from(before.is_none());
        self.add_pdf_candidate(&version.record, score.score);
        let version = before.map_or(0, |it| it.version);
        self.changes
            .push(found.put_change(version, &self.scoring_criteria, self.now));
        self.matches.push(found);
        Ok(())
    }

    fn add_pdf_candidate(&mut self, record: &ArticleRecord, score: f64) {
        let wanted = self.question.download_from;
        if record.pages == 0 && wanted.is_some_and(|from| score >= from) {
            self.pdf_candidates.push((record.id.clone(), score));
        }
    }

    /// Adds or updates the article of a paper; `None` if this run handled it under another record.
    async fn upsert_article(
        &mut self,
        article: &Article,
    ) -> Result<Option<VersionedArticle>, ToolError> {
        let library = ArticleRepository(self.call.store());
        let version = match library.find_same_work(article).await? {
            Some(known) => self.merge_article(known, article).await?,
            None => self.add_article(article).await?,
        };
        let Some(version) = version else {
            return Ok(None);
        };
        self.processed.insert(version.record.id.clone());
        for name in dedup_keys(&version.record.article) {
            self.article_ids_by_key
                .insert(name, version.record.id.clone());
        }
        Ok(Some(version))
    }

    /// Adds what this record knows to an existing article.
    async fn merge_article(
        &mut self,
        before: VersionedArticle,
        article: &Article,
    ) -> Result<Option<VersionedArticle>, ToolError> {
        if self.processed.contains(&before.record.id) {
            return Ok(None);
        }
        let mut version = before.clone();
        deliberate_citations::merge(&mut version.record.article, article);
        // An identifier belongs to one article, whether that is stored or was added by this run.
        let library = ArticleRepository(self.call.store());
        remove_conflicting_ids(library, &mut version.record, &mut Vec::new()).await?;
        let own = &version.record.id;
        let taken = |name: &String| {
            self.article_ids_by_key
                .get(name)
                .is_some_and(|id| id != own)
        };
        if dedup_keys(&version.record.article).iter().any(taken) {
            version = before.clone();
        }
        if version != before {
            self.changes.push(version.put_change(self.now));
        }
        Ok(Some(version))
    }

    /// Adds a new article.
    async fn add_article(
        &mut self,
        article: &Article,
    ) -> Result<Option<VersionedArticle>, ToolError> {
        let names = dedup_keys(article);
        if names
            .iter()
            .any(|it| self.article_ids_by_key.contains_key(it))
        {
            return Ok(None);
        }
        let cite_key = ArticleRepository(self.call.store())
            .unused_cite_key_excluding(
                &deliberate_citations::citation_key(article),
                &self.cite_keys,
            )
            .await?;
        self.cite_keys.insert(cite_key.to_lowercase());
        let version = VersionedArticle::new(ArticleRecord {
            id: self.call.new_id::<String>(),
            cite_key,
            article: article.clone(),
            provenance: Provenance::Discovered,
            ..ArticleRecord::empty(self.now)
        });
        self.changes.push(version.put_change(self.now));
        Ok(Some(version))
    }

    /// The IDs of at most `most` articles whose PDFs are wanted, the most relevant first.
    pub(super) fn take_pdf_candidates(&mut self, most: usize) -> Vec<String> {
        self.pdf_candidates
            .sort_by(|one, other| other.1.total_cmp(&one.1));
        self.pdf_candidates.truncate(most);
        self.pdf_candidates.drain(..).map(|it| it.0).collect()
    }
}
