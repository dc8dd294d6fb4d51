//! Looking back on a piece of reasoning to judge it and to make it better.

mod evaluate;
mod measures;
mod subject;

use std::{collections::BTreeSet, sync::LazyLock};

use deliberate_core::{
    Change, Mode, Percent, Score, SessionId, Thought, ThoughtId, approximate_tokens,
};
use deliberate_thinker::Ask;
use deliberate_toolkit::{About, Annotations, Call, Limits, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    context::Past,
    given::listed,
    prompt::{Asking, Freedom},
    said::{Sure, any_text, gist, some_things, something},
    session::{Home, metadata, open},
};
pub use evaluate::ReflectionEvaluate;
use subject::Subject;

/// `reasoning_reflection`.
pub struct Reflection;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Content to reflect on (if not using `thought_id`)
    content: Option<String>,
    /// Thought to evaluate
    thought_id: Option<ThoughtId>,
    /// Session for context; alone: reflect on its latest thought
    session_id: Option<SessionId>,
    /// Areas to focus on
    #[schemars(length(max = 20))]
    focus_areas: Option<Vec<String>>,
    /// Default: 1
    #[schemars(range(min = 1, max = 5))]
    max_iterations: Option<u8>,
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The thought that holds the judgement
    thought_id: ThoughtId,
    /// Pass it to go on in this session
    session_id: SessionId,
    /// The judgement, in a few sentences
    content: String,
    /// How sure the model is of its judgement
    confidence: Score,
    /// What is good about the subject
    strengths: Vec<String>,
    /// What is wrong with it
    weaknesses: Vec<String>,
    /// What would make it better
    recommendations: Vec<String>,
    /// The subject, written anew; null if that was no better
    improved_reasoning: Option<String>,
    /// The thought that holds `improved_reasoning`
    improved_thought_id: Option<ThoughtId>,
    /// The thought that was reflected on; null for a given text
    reflected_thought_id: Option<ThoughtId>,
    /// How good the subject is; null if not rated
    quality_before: Option<Score>,
    /// How good `improved_reasoning` is; null without one, or if not rated
    quality_after: Option<Score>,
    /// How many rounds of reflection there were
    iterations: usize,
    /// Said if only the beginning of the subject was looked at
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

/// What the model is asked for.
#[derive(Debug, Deserialize, JsonSchema)]
// All is asked for, though an answer without some of it can be used.
#[schemars(extend("required" = [
    "analysis", "strengths", "weaknesses", "recommendations", "quality_percent",
    "improved_reasoning", "improved_quality_percent", "confidence_percent", "weakest_point"
]))]
struct Judgement {
    /// The judgement, in a few sentences
    #[schemars(length(min = 1))]
    #[serde(deserialize_with = "something")]
    analysis: String,
    #[serde(default, deserialize_with = "some_things")]
    strengths: Vec<String>,
    #[serde(default, deserialize_with = "some_things")]
    weaknesses: Vec<String>,
    #[serde(default, deserialize_with = "some_things")]
    recommendations: Vec<String>,
    /// How good the subject is
    #[serde(default, deserialize_with = "Percent::or_none")]
    #[schemars(with = "Percent")]
    quality_percent: Option<Percent>,
    /// The subject, written anew
    #[serde(default, deserialize_with = "any_text")]
    #[schemars(with = "String")]
    improved_reasoning: Option<String>,
    /// How good that is
    #[serde(default, deserialize_with = "Percent::or_none")]
    #[schemars(with = "Percent")]
    improved_quality_percent: Option<Percent>,
    #[serde(flatten)]
    sure: Sure,
    /// Where the judgement is most likely to be wrong
    #[serde(default, deserialize_with = "any_text")]
    #[schemars(with = "String", length(max = 300))]
    weakest_point: Option<String>,
}

/// What the ask shows.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    past: &'a Past,
    focus: &'a [String],
    subject: &'a str,
}

/// Limits as in the pipes of the original server.
const FREEDOM: Freedom = Freedom {
    max_tokens: 2_500,
    temperature: 0.6,
};

/// The subject is written anew, so a long one needs more room; this much at the most.
const MOST_ROOM: usize = 6_000;

/// What is said of a subject too long for an ask.
const CUT: &str = "The thought is longer than an ask may be; only its beginning was looked at.";

static ASK: LazyLock<Asking> =
    LazyLock::new(|| Asking::new::<Judgement>("reflection", include_str!("reflect.md"), FREEDOM));

impl Tool for Reflection {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        About {
            name: "reasoning_reflection",
            title: "Reflect on a thought",
            description: "Meta-cognitive reasoning: evaluates strengths and weaknesses of a thought \
                          or text, gives recommendations and an improved version.",
            annotations: Annotations::THINKS,
            thinks: true,
            limits: Limits::default(),
        }
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let subject = Subject::of(
            input.content,
            input.thought_id.as_ref(),
            input.session_id.as_ref(),
            call,
        )
        .await?;
        let focus = listed("focus_areas", input.focus_areas, call)?;
        reflect(subject, focus, input.max_iterations.unwrap_or(1), call).await
    }
}

/// Reflects on `content`, in a session of any mode or in a new one.
pub(crate) async fn reflect_on(
    content: String,
    session: Option<deliberate_core::Session>,
    call: &Call,
) -> Result<Outcome<Output>, ToolError> {
    let subject = Subject::given(content, session, call).await?;
    reflect(subject, Vec::new(), 1, call).await
}

async fn reflect(
    subject: Subject,
    focus: Vec<String>,
    most: u8,
    call: &Call,
) -> Result<Outcome<Output>, ToolError> {
    let reflected = Rounds::go(&subject, &focus, most, call).await?;
    Ok(outcome(subject, focus, reflected, call))
}

/// What the rounds came to.
struct Rounds {
    /// The judgement that is answered.
    best: Judgement,
    /// The text it improved, if it did, and how good that is.
    improved: Option<Improved>,
    quality_before: Option<Score>,
    count: usize,
}

struct Improved {
    text: String,
    quality: Option<Score>,
}

impl Rounds {
    /// Reflects on the subject, then on what became of it, for as long as it gets better. No text
    /// is reflected on twice, and a model that gives no numbers is asked once. How good a text is,
    /// the next round says; who wrote it only claims it.
    async fn go(
        subject: &Subject,
        focus: &[String],
        most: u8,
        call: &Call,
    ) -> Result<Self, ToolError> {
        let mut rounds = Self::first(subject, focus, most, call).await?;
        let mut seen = BTreeSet::from([gist(&subject.text)]);
        let mut floor = rounds.quality_before;
        // What to fall back on if the latest turns out to be no better.
        let mut earlier: Option<(Judgement, Improved)> = None;
        while rounds.count < usize::from(most) {
            let (Some(latest), Some(to_beat)) = (&mut rounds.improved, floor) else {
                break;
            };
            let Some(claimed) = latest.quality else { break };
            seen.insert(gist(&latest.text));
            let number = rounds.count + 1;
            let next = judge(subject, focus, &latest.text, (number, most), call).await?;
            rounds.count = number;
            let judged = next.quality_percent.map_or(claimed, |percent| percent.0);
            if judged <= to_beat {
                match earlier.take() {
                    Some((best, improved)) => {
                        rounds.best = best;
                        rounds.improved = Some(improved);
                    }
                    None => rounds.improved = None,
                }
                break;
            }
            latest.quality = Some(judged);
            floor = Some(judged);
            let quality = next.improved_quality();
            let text = next.improvement().filter(|it| !seen.contains(&gist(it)));
            let Some(text) = text.filter(|_| quality.is_some_and(|it| it > judged)) else {
                break;
            };
            let better = Some(Improved { text, quality });
            let before = std::mem::replace(&mut rounds.improved, better);
            let judgement = std::mem::replace(&mut rounds.best, next);
            earlier = before.map(|improved| (judgement, improved));
        }
        Ok(rounds)
    }

    async fn first(
        subject: &Subject,
        focus: &[String],
        most: u8,
        call: &Call,
    ) -> Result<Self, ToolError> {
        let text = &subject.text;
        let first = judge(subject, focus, text, (1, most), call).await?;
        let quality_before = first.quality_percent.map(|percent| percent.0);
        let quality = first.improved_quality();
        let worse = match (quality_before, quality) {
            (Some(before), Some(after)) => after <= before,
            // Nobody says that it is worse, and it was offered as better.
            _ => false,
        };
        let improved = first.improvement();
        let improved = improved.filter(|it| !worse && gist(it) != gist(text));
        Ok(Self {
            improved: improved.map(|text| Improved { text, quality }),
            best: first,
            quality_before,
            count: 1,
        })
    }
}

impl Judgement {
    fn improved_quality(&self) -> Option<Score> {
        self.improved_quality_percent.map(|percent| percent.0)
    }

    fn improvement(&self) -> Option<String> {
        self.improved_reasoning.clone()
    }
}

async fn judge(
    subject: &Subject,
    focus: &[String],
    text: &str,
    (number, most): (usize, u8),
    call: &Call,
) -> Result<Judgement, ToolError> {
    call.progress((number - 1) as f64, Some(f64::from(most)), "reflecting");
    let ask = ASK.ask(Shown {
        past: &subject.past,
        focus,
        subject: text,
    })?;
    let room = approximate_tokens(text).min(MOST_ROOM);
    let ask = Ask {
        key: format!("reflection_{number}"),
        max_tokens: ask.max_tokens + u32::try_from(room).unwrap_or_default(),
        variables: [("content".to_owned(), text.to_owned())].into(),
        ..ask
    };
    Ok(call.think(ask, None).await?.value)
}

fn outcome(subject: Subject, focus: Vec<String>, rounds: Rounds, call: &Call) -> Outcome<Output> {
    let home = Home::of(subject.session, Mode::Reflection, &subject.text, call);
    let at = call.now();
    let branch_id = subject.branch;
    let reflected = subject.thought.map(|thought| thought.id);
    let thought = |input, content, confidence, parent_id, metadata| Thought {
        id: call.fresh(),
        session_id: home.id(),
        input,
        content,
        confidence,
        mode: Mode::Reflection,
        parent_id,
        branch_id: branch_id.clone(),
        set_aside: false,
        created_at: at,
        metadata,
    };
    let best = rounds.best;
    let quality_after = rounds.improved.as_ref().and_then(|it| it.quality);
    let confidence = best.sure.score();
    let reflection = thought(
        subject.given,
        best.analysis,
        confidence,
        subject.parent,
        metadata([
            ("kind", json!("reflection")),
            ("reflects_on", json!(subject.about)),
            ("strengths", json!(best.strengths)),
            ("weaknesses", json!(best.weaknesses)),
            ("recommendations", json!(best.recommendations)),
            ("quality_before", json!(rounds.quality_before)),
            ("quality_after", json!(quality_after)),
            ("iterations", json!(rounds.count)),
            ("focus_areas", Value::from(focus)),
            ("weakest_point", json!(best.weakest_point)),
        ]),
    );
    let improved = rounds.improved.map(|improved| {
        thought(
            None,
            improved.text,
            quality_after.unwrap_or(confidence),
            Some(reflection.id.clone()),
            metadata([
                ("kind", json!("improved")),
                ("improves", json!(subject.about)),
            ]),
        )
    });
    let output = Output {
        thought_id: reflection.id.clone(),
        session_id: home.id(),
        content: reflection.content.clone(),
        confidence,
        strengths: best.strengths,
        weaknesses: best.weaknesses,
        recommendations: best.recommendations,
        improved_reasoning: improved.as_ref().map(|it| it.content.clone()),
        improved_thought_id: improved.as_ref().map(|it| it.id.clone()),
        reflected_thought_id: reflected,
        quality_before: rounds.quality_before,
        quality_after,
        iterations: rounds.count,
        note: subject.cut.then_some(CUT),
    };
    let mut changes = home.changes();
    changes.extend(open(reflection.branch_id.as_ref()));
    changes.push(Change::AddThought(reflection));
    changes.extend(improved.map(Change::AddThought));
    Outcome {
        output,
        changes,
        session: Some(home.id()),
    }
}
