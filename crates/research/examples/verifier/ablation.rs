//! The ablation: what each heuristic brings, as recall and false alarms without it.

use super::{FAITHFUL, PRESERVED, VerdictCounts, check_planted, held_out, share, sum_errors};
use deliberate_research::answer::verifier::{Heuristic, HeuristicSet};

/// Prints a row for all heuristics and one for each that is off.
pub(crate) fn print_table() {
    println!(
        "Per set: errors flagged, errors marked as supported, faithful claims flagged, in %.\n"
    );
    println!("| without | planted | free wording | held out | untuned |");
    println!("|---|---|---|---|---|");
    print_row("(none: all on)", HeuristicSet::all());
    for heuristic in Heuristic::ALL {
        let name = format!("{heuristic:?}");
        print_row(&name, HeuristicSet::all().without(heuristic));
    }
    print_row("(all off)", HeuristicSet::none());
}

fn print_row(name: &str, heuristics: HeuristicSet) {
    let [one, other] = check_planted(heuristics, false);
    let mut planted = one;
    for (kind, count) in other {
        let all = planted.entry(kind).or_default();
        all.total += count.total;
        all.flagged += count.flagged;
        all.supported += count.supported;
    }
    let set = |written: &str| held_out::check_set(written, heuristics, false).counts;
    println!(
        "| {name} | {} | {} | {} | {} |",
        cell(&planted),
        cell(&set(held_out::FREE_PARAPHRASES)),
        cell(&set(held_out::HELD_OUT)),
        cell(&set(held_out::UNTUNED)),
    );
}

fn cell(counts: &VerdictCounts) -> String {
    let errors = sum_errors(counts);
    let (mut alarms, mut faithful) = (0, 0);
    for kind in [FAITHFUL, PRESERVED] {
        let count = counts.get(kind).copied().unwrap_or_default();
        alarms += count.flagged;
        faithful += count.total;
    }
    format!(
        "{:.1} / {:.1} / {:.1}",
        100.0 * share(errors.flagged, errors.total),
        100.0 * share(errors.supported, errors.total),
        100.0 * share(alarms, faithful)
    )
}
