//! Fuses the result lists of several sources: finds records of the same paper (transitively: a
//! preprint with its arXiv ID, a version with both IDs, a record with the DOI alone), merges them,
//! and ranks the papers by reciprocal rank. The order of the sources does not matter.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use deliberate_citations::merge_all;
use deliberate_core::Article;

use super::{RankedPaper, dedup_keys::dedup_keys};

/// The records of one paper.
struct PaperGroup {
    records: Vec<Article>,
    keys: BTreeSet<String>,
    ranks: BTreeMap<String, u32>,
}

/// Fuses the lists into one, best first.
pub fn fuse(mut lists: Vec<(String, Vec<Article>)>, constant: f64) -> Vec<RankedPaper> {
    lists.sort_by(|a, b| a.0.cmp(&b.0));
    let mut groups: Vec<PaperGroup> = Vec::new();
    for (source, articles) in lists {
        for (article, rank) in articles.into_iter().zip(1_u32..) {
            groups.push(PaperGroup {
                keys: dedup_keys(&article).into_iter().collect(),
                records: vec![article],
                ranks: BTreeMap::from([(source.clone(), rank)]),
            });
        }
    }
    let mut papers: Vec<RankedPaper> = merge_groups(groups)
        .into_iter()
        .map(|it| fuse_group(&it, constant))
        .collect();
    papers.sort_by(|a, b| {
        let name = |it: &RankedPaper| (it.article.title.clone(), it.article.doi.clone());
        let sources = |it: &RankedPaper| Reverse(it.ranks.len());
        b.score
            .total_cmp(&a.score)
            .then_with(|| sources(a).cmp(&sources(b)))
            .then_with(|| a.ranks.cmp(&b.ranks))
            .then_with(|| name(a).cmp(&name(b)))
    });
    papers
}

fn fuse_group(group: &PaperGroup, constant: f64) -> RankedPaper {
    let constant = if constant.is_finite() {
        constant.max(0.0)
    } else {
        60.0
    };
    let score = group
        .ranks
        .values()
        .map(|it| 1.0 / (constant + f64::from(*it)));
    RankedPaper {
        article: merge_all(&group.records),
        score: score.sum(),
        ranks: group.ranks.clone(),
        duplicates: u32::try_from(group.records.len().saturating_sub(1)).unwrap_or(u32::MAX),
    }
}

/// Merges groups that share a key. A merged record may have a key that none of its parts had (the
/// title of one, the author of another), so merging repeats until nothing changes.
fn merge_groups(mut groups: Vec<PaperGroup>) -> Vec<PaperGroup> {
    loop {
        let before = groups.len();
        groups = merge_groups_once(groups);
        if groups.len() == before {
            return groups;
        }
        for group in groups.iter_mut().filter(|it| it.records.len() > 1) {
            group.keys.extend(dedup_keys(&merge_all(&group.records)));
        }
    }
}

fn merge_groups_once(groups: Vec<PaperGroup>) -> Vec<PaperGroup> {
    let mut parents: Vec<usize> = (0..groups.len()).collect();
    let mut owner: HashMap<&str, usize> = HashMap::new();
    for (at, group) in groups.iter().enumerate() {
        for key in &group.keys {
            let other = *owner.entry(key).or_insert(at);
            let (a, b) = (find_root(&mut parents, at), find_root(&mut parents, other));
            if let Some(parent) = parents.get_mut(a.max(b)) {
                *parent = a.min(b);
            }
        }
    }
    let mut joined: BTreeMap<usize, PaperGroup> = BTreeMap::new();
    for (at, group) in groups.into_iter().enumerate() {
        match joined.entry(find_root(&mut parents, at)) {
            std::collections::btree_map::Entry::Vacant(place) => {
                place.insert(group);
            }
            std::collections::btree_map::Entry::Occupied(mut place) => {
                add_group(place.get_mut(), group);
            }
        }
    }
    joined.into_values().collect()
}

fn add_group(to: &mut PaperGroup, more: PaperGroup) {
    to.records.extend(more.records);
    to.keys.extend(more.keys);
    for (source, rank) in more.ranks {
        let best = to.ranks.entry(source).or_insert(rank);
        *best = rank.min(*best);
    }
}

/// Finds the root of a union-find tree and shortens the path to it.
fn find_root(parents: &mut [usize], mut at: usize) -> usize {
    loop {
        let parent = parents.get(at).copied().unwrap_or(at);
        if parent == at {
            return at;
        }
        let above = parents.get(parent).copied().unwrap_or(parent);
        if let Some(it) = parents.get_mut(at) {
            *it = above;
        }
        at = parent;
    }
}
