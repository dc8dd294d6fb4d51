//! One look and one answer: passages are found, a model answers from them, the answer is checked,
//! and if too little of it holds it is asked for once more, or withheld.

use deliberate_thinker::ThinkError;
use deliberate_toolkit::{Call, ToolError};

use super::{
    draft::{self, Draft},
    judged::Judged,
    pool::Pool,
    said,
    shelf::{Retrieves, look, looked_for, scope},
    shown::{self, SentenceShown, SourceShown, Status, relevance_of},
};
use crate::{FoundPassage, Retrieval, Retrieved, collect::mode_name};

/// What is asked.
pub(crate) struct Asked {
    pub(crate) question: String,
    pub(crate) max_sources: usize,
    pub(crate) min_relevance: f64,
    /// Whether what is said names the places; the data does in any case.
    pub(crate) include_citations: bool,
    pub(crate) scope: String,
}

/// What came of it.
pub(crate) struct Answered {
    pub(crate) said: String,
    pub(crate) status: Status,
    pub(crate) sentences: Vec<SentenceShown>,
    pub(crate) support: Option<f64>,
    pub(crate) sources: Vec<SourceShown>,
    pub(crate) mode: &'static str,
    pub(crate) notes: Vec<String>,
}

/// Passages of one paper.
const PER_ARTICLE: usize = 4;

/// Passages of one answer.
const MOST_PASSAGES: usize = 40;

/// Answers a question from the collection.
pub(crate) async fn answer<R: Retrieves>(
    shelf: &R,
    call: &Call,
    asked: &Asked,
) -> Result<Answered, ToolError> {
    let question = looked_for(call, "question", &asked.question)?;
    let wanted = Retrieval {
        question: question.to_owned(),
        k: (asked.max_sources * 2).clamp(4, MOST_PASSAGES),
        scope: scope(&asked.scope)?,
        rerank: true,
        per_article: Some(PER_ARTICLE),
        ..Retrieval::default()
    };
    call.progress(10.0, Some(100.0), "searching the collection");
    let found = look(shelf, call, "retrieved", &wanted).await?;
    let mut work = Work::new(question, asked, found);
    if work.used.is_empty() {
        return Ok(work.nothing());
    }
    let (shown, used) = work.pool.shown(&work.used);
    call.progress(
        40.0,
        Some(100.0),
        &format!("answering from {} passages", used.len()),
    );
    let least = shelf.answers().support;
    let Some(first) = work.draft(call, "answer", &shown, &[]).await? else {
        return Ok(work.withheld(&Judged::default(), least));
    };
    let mut judged = Judged::of(first.claims(), &work.pool).await?;
    if !judged.stands(least) && judged.claims() > 0 {
        call.progress(70.0, Some(100.0), "answering again, closer to the passages");
        let problems = judged.problems();
        if let Some(again) = work.draft(call, "answer/again", &shown, &problems).await? {
            let again = Judged::of(again.claims(), &work.pool).await?;
            let note = if again.support() >= judged.support() {
                judged = again;
                "The first answer did not hold; this is the second."
            } else {
                "A second answer held no better; this is the first."
            };
            work.notes.push(note.to_owned());
        }
    }
    call.progress(95.0, Some(100.0), "checked");
    Ok(work.done(&judged, least))
}

/// A question at work.
struct Work<'a> {
    question: &'a str,
    asked: &'a Asked,
    pool: Pool,
    /// Passages that are relevant enough, of no more papers than were asked for.
    used: Vec<usize>,
    looked_at: usize,
    best: f64,
    mode: &'static str,
    notes: Vec<String>,
}

impl<'a> Work<'a> {
    fn new(question: &'a str, asked: &'a Asked, found: Retrieved) -> Self {
        let mut work = Self {
            question,
            asked,
            pool: Pool::default(),
            used: Vec::new(),
            looked_at: found.passages.len(),
            best: 0.0,
            mode: mode_name(found.mode),
            notes: found.notes,
        };
        let relevant = work.relevant(found.passages);
        work.used = work.pool.add(relevant);
        work
    }

    fn relevant(&mut self, found: Vec<FoundPassage>) -> Vec<FoundPassage> {
        let mut papers: Vec<String> = Vec::new();
        let mut kept = Vec::new();
        for passage in found {
            let fits = relevance_of(self.question, &passage);
            self.best = self.best.max(fits);
            let known = papers.contains(&passage.kept.id);
            if fits < self.asked.min_relevance || (!known && papers.len() >= self.asked.max_sources)
            {
                continue;
            }
            if !known {
                papers.push(passage.kept.id.clone());
            }
            kept.push(passage);
        }
        kept
    }

    /// What a model answers; nothing if none could be asked.
    async fn draft(
        &mut self,
        call: &Call,
        key: &str,
        passages: &str,
        problems: &[String],
    ) -> Result<Option<Draft>, ToolError> {
        let ask = draft::ask(key.to_owned(), self.question, passages, problems);
        match call.think::<Draft>(ask, None).await {
            Ok(thinking) => {
                self.notes.extend(thinking.value.note());
                Ok(Some(thinking.value))
            }
            Err(ToolError::Think(error)) if error != ThinkError::Pending => {
                self.notes.push(match &error {
                    ThinkError::InvalidResponse { .. } => format!("There is no answer: {error}."),
                    _ => format!("No model could be asked: {error}."),
                });
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn sources(&self) -> Vec<SourceShown> {
        shown::sources(self.question, &self.pool, &self.used)
    }

    fn nothing(self) -> Answered {
        let looked = match self.looked_at {
            0 => "The search found no passages".to_owned(),
            count => format!(
                "The search found {count} passages, the best with a relevance of {:.2}, below \
                 {:.2}",
                self.best, self.asked.min_relevance
            ),
        };
        let said = format!(
            "Nothing in the collection answers this.\n\n{looked} (question: “{}”, scope: {}, mode: \
             {}). Add papers with search_papers and process_pdf, put it in other words, or lower \
             `min_relevance`.{}",
            said::inline(self.question),
            said::inline(&self.asked.scope),
            self.mode,
            said::notes(&self.notes)
        );
        Answered {
            said,
            status: Status::NothingFound,
            sentences: Vec::new(),
            support: None,
            sources: Vec::new(),
            mode: self.mode,
            notes: self.notes,
        }
    }

    fn done(self, judged: &Judged, least: f64) -> Answered {
        if judged.claims() > 0 && !judged.stands(least) {
            return self.withheld(judged, least);
        }
        let sources = self.sources();
        let sentences = shown::sentences(judged, &self.pool, &sources);
        let status = if judged.claims() == 0 {
            Status::NothingFound
        } else {
            Status::Answered
        };
        let mut text = said::answer(&sentences, &sources, self.asked.include_citations);
        if status == Status::NothingFound {
            text = format!(
                "The passages found do not answer this.\n\n{text}{}",
                said::passages(&sources)
            );
        }
        Answered {
            said: format!("{text}{}", said::notes(&self.notes)),
            status,
            sentences,
            support: judged.support(),
            sources,
            mode: self.mode,
            notes: self.notes,
        }
    }

    fn withheld(self, judged: &Judged, least: f64) -> Answered {
        let sources = self.sources();
        let sentences = shown::sentences(judged, &self.pool, &sources);
        let said = withheld_text(judged, least, &sources, &self.notes);
        Answered {
            said,
            // Where nobody answered there is nothing to distrust.
            status: match judged.support() {
                Some(_) => Status::Withheld,
                None => Status::Partial,
            },
            sentences,
            support: judged.support(),
            sources,
            mode: self.mode,
            notes: self.notes,
        }
    }
}

/// Why an answer is not given, and what there is instead.
pub(super) fn withheld_text(
    judged: &Judged,
    least: f64,
    sources: &[SourceShown],
    notes: &[String],
) -> String {
    let why = match judged.support() {
        Some(support) => format!(
            "The answer is withheld: {:.0} % of its claims are supported by the passages, and \
             {:.0} % is the least.",
            support * 100.0,
            least * 100.0
        ),
        None => "There is no answer; what was found is below.".to_owned(),
    };
    let reasons: Vec<String> = judged
        .problems()
        .iter()
        .map(|it| format!("- {}", said::inline(it)))
        .collect();
    let reasons = if reasons.is_empty() {
        String::new()
    } else {
        format!("\n\n{}", reasons.join("\n"))
    };
    format!(
        "{why}{reasons}{}{}",
        said::passages(sources),
        said::notes(notes)
    )
}
