//! Every sentence against the passages: in code first, and by a model only where a claim is merely
//! put in other words. A model must show the words; what it can't is not supported, and what only
//! it vouches for is told apart.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;

use super::state::{Desk, State, Stop};
use crate::answer::{
    asks::{Kind, tagged},
    judged::{Judged, beside},
    shelf::Retrieves,
    verify::{Claim, Verdict, Verifier},
};

/// More opinions than there are claims are not read.
const MOST_OPINIONS: usize = 24;

#[derive(Debug, Deserialize, JsonSchema)]
struct Opinions {
    #[schemars(length(max = 12))]
    claims: Vec<Opinion>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Opinion {
    number: usize,
    supported: bool,
    #[serde(default)]
    #[schemars(length(max = 8))]
    passage: Option<String>,
    #[serde(default)]
    #[schemars(length(max = 400))]
    quote: Option<String>,
}

const CHECK: Kind = Kind {
    purpose: "check",
    text: include_str!("../asks/check.md"),
    max_tokens: 1_500,
    temperature: 0.0,
};

pub(super) async fn run<R: Retrieves>(
    state: &mut State,
    desk: &Desk<'_, R>,
) -> Result<String, Stop> {
    let Some(draft) = state.draft.take() else {
        return Ok("nothing to check".to_owned());
    };
    let mut judged = Judged::of(draft.claims(), &state.pool).await?;
    let open = judged.open();
    let mut second = 0;
    let standing = judged.stands(desk.shelf.answers().support);
    if !open.is_empty() && !standing && !state.budget.is_scarce() {
        // What can't be asked for stays unsupported; the answer is kept either way.
        match ask(state, desk, &judged, &open).await {
            Ok(Some(opinions)) => {
                (judged, second) = settle(state, judged, open, opinions).await?;
            }
            Ok(None) => {}
            Err(Stop::Spent(what)) => state.leave_out(format!("check by a model: {what}")),
            Err(stop) => return Err(stop),
        }
    }
    state.problems = judged.problems();
    let support = judged.support();
    let better = state
        .judged
        .as_ref()
        .is_none_or(|it| support >= it.support());
    let claims = judged.claims();
    if better {
        state.judged = Some(judged);
    }
    Ok(match support {
        Some(support) => format!(
            "{:.0} % of {claims} claims supported{}",
            support * 100.0,
            if second > 0 {
                format!(", {second} of them by words a model pointed at")
            } else {
                String::new()
            }
        ),
        None => "it claims nothing".to_owned(),
    })
}

async fn ask<R: Retrieves>(
    state: &mut State,
    desk: &Desk<'_, R>,
    judged: &Judged,
    open: &[usize],
) -> Result<Option<Opinions>, Stop> {
    let claims: Vec<&Claim> = open
        .iter()
        .filter_map(|&at| judged.sentences.get(at))
        .map(|(claim, _)| claim)
        .collect();
    let cited: BTreeSet<usize> = claims
        .iter()
        .flat_map(|it| &it.cited)
        .filter_map(|id| id.strip_prefix('p')?.parse::<usize>().ok()?.checked_sub(1))
        .collect();
    let cited: Vec<usize> = cited.into_iter().collect();
    let (passages, _) = state.pool.shown(&cited);
    let listed: Vec<String> = claims
        .iter()
        .enumerate()
        .map(|(at, it)| format!("Claim {}:\n{}", at + 1, tagged("claim", &it.text)))
        .collect();
    let ask = CHECK.ask::<Opinions>(
        format!("check/{}", state.rounds),
        &[("passages", &passages), ("claims", &listed.join("\n"))],
    );
    state.ask(desk.call, ask).await
}

/// Takes over what the model could show, and how many claims that is.
async fn settle(
    state: &State,
    mut judged: Judged,
    open: Vec<usize>,
    opinions: Opinions,
) -> Result<(Judged, usize), Stop> {
    let sources = state.pool.sources();
    let settled = beside(move || {
        let verifier = Verifier::new(&sources);
        let mut settled = 0;
        let opinions = opinions.claims.iter().take(MOST_OPINIONS);
        for opinion in opinions.filter(|it| it.supported) {
            let place = opinion.number.checked_sub(1).and_then(|it| open.get(it));
            let sentence = place.and_then(|&at| Some((at, judged.sentences.get_mut(at)?)));
            let Some((at, (claim, checked))) = sentence else {
                continue;
            };
            let (Some(passage), Some(quote)) = (&opinion.passage, &opinion.quote) else {
                continue;
            };
            if checked.verdict == Verdict::Supported || !claim.cited.contains(passage) {
                continue;
            }
            if let Some(found) = verifier.pointed_at(claim, passage, quote) {
                checked.verdict = Verdict::Supported;
                checked.problems.clear();
                checked.evidence = vec![found];
                judged.by_model.insert(at);
                settled += 1;
            }
        }
        (judged, settled)
    });
    Ok(settled.await?)
}
