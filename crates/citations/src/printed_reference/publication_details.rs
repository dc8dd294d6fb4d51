//! Parses the part after the title of a printed reference: venue, volume, issue, pages.

use super::patterns::{ISSUE, PAGES, VOLUME, VOLUME_ISSUE, VOLUME_PAGES, YEAR, captures, matches};
use crate::text_normalization;

#[derive(Default)]
pub(super) struct PublicationDetails {
    pub(super) venue: Option<String>,
    pub(super) volume: Option<String>,
    pub(super) issue: Option<String>,
    pub(super) pages: Option<String>,
}

pub(super) fn parse_details(text: &str) -> PublicationDetails {
    let mut tail = PublicationDetails::default();
    // The latest possible end of the venue's name.
    let mut end = text.len();
    let mut value = |pattern, groups: [Option<&mut Option<String>>; 3]| {
        let Some(found) = captures(pattern, text) else {
            return;
        };
        // `CVPR '19, 49-58`: an abbreviated year.
        let start = found.get(0).map_or(0, |it| it.start());
        let before = text.get(..start).unwrap_or_default();
        if before.ends_with(['\'', '’']) {
            return;
        }
        // `436–444 (2015)` is not a volume and issue.
        let is_year = |it: regex::Match<'_>| it.as_str().len() == 4 && matches(&YEAR, it.as_str());
        if found.get(2).is_some_and(is_year) && found.get(3).is_none() {
            return;
        }
        for (at, group) in groups.into_iter().enumerate() {
            if let (Some(field @ None), Some(group)) = (group, found.get(at + 1)) {
                *field = Some(group.as_str().to_owned());
            }
        }
        end = end.min(start);
    };
    value(&VOLUME, [Some(&mut tail.volume), None, None]);
    value(&ISSUE, [Some(&mut tail.issue), None, None]);
    value(&PAGES, [Some(&mut tail.pages), None, None]);
    value(
        &VOLUME_ISSUE,
        [
            Some(&mut tail.volume),
            Some(&mut tail.issue),
            Some(&mut tail.pages),
        ],
    );
    value(
        &VOLUME_PAGES,
        [Some(&mut tail.volume), Some(&mut tail.pages), None],
    );
    tail.pages = tail.pages.map(|it| {
        it.replace(['–', '—'], "-")
            .replace(' ', "")
            .replace("--", "-")
    });
    tail.venue = find_venue(text.get(..end).unwrap_or_default());
    tail
}

fn find_venue(text: &str) -> Option<String> {
    let text = text.trim_start_matches([' ', '.', ',', ';', ':', '”', '"']);
    let text = ["In: ", "In ", "in: ", "in "]
        .iter()
        .find_map(|it| text.strip_prefix(it))
        .unwrap_or(text);
    // A leading year may belong to the name, `2019 IEEE Conference`; a trailing one does not.
    let year = YEAR
        .as_ref()?
        .find_iter(text)
        .find(|it| it.start() > 0)
        .map_or(text.len(), |it| it.start());
    let text = text.get(..year)?;
    let text = text_normalization::single_line(text);
    let text = text.trim_matches([' ', '.', ',', ';', ':', '(', '[', ']']);
    let text = text
        .strip_suffix(')')
        .filter(|it| !it.contains('('))
        .unwrap_or(text);
    let lower = text.to_lowercase();
    let letters = text.chars().filter(|it| it.is_alphabetic()).count();
    let is_place = letters >= 2
        && text.chars().count() <= 200
        && !lower.starts_with("arxiv")
        && lower != "corr"
        && lower != "preprint";
    is_place.then(|| text.to_owned())
}
