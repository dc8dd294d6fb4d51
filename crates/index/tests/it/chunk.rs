//! Cutting texts: exact places, no heading crossed, nothing lost.

use deliberate_index::chunk::{ChunkOptions, SectionHeading, chunk};
use proptest::prelude::*;

fn heading(level: u8, title: &str, text: &str) -> SectionHeading {
    SectionHeading {
        level,
        title: title.to_owned(),
        start: text.find(title).unwrap(),
    }
}

proptest! {
    #[test]
    fn every_passage_is_its_place_and_no_word_is_lost(
        text in "([A-Za-zé漢.!?\" ]{0,30}\n{0,3}){0,30}",
        starts in prop::collection::vec((0_usize..600, 1_u8..4), 0..5),
        pages in prop::collection::btree_set(0_usize..600, 0..5),
        tokens in 1_usize..60,
        overlap in 0_usize..40,
    ) {
        let headings: Vec<SectionHeading> = starts
            .iter()
            .map(|(start, level)| SectionHeading { level: *level, title: format!("h{start}"), start: *start })
            .collect();
        let pages: Vec<usize> = pages.into_iter().collect();
        let passages = chunk(&text, &headings, &pages, ChunkOptions { tokens, overlap });
        let mut covered = vec![false; text.len()];
        for (number, passage) in (0..).zip(&passages) {
            let start = usize::try_from(passage.start).unwrap();
            let end = usize::try_from(passage.end).unwrap();
            prop_assert_eq!(text.get(start..end), Some(passage.text.as_str()));
            prop_assert_eq!(passage.text.trim(), passage.text.as_str());
            prop_assert_eq!(passage.number, number);
            prop_assert!(!passage.text.is_empty());
            prop_assert!(passage.page >= 1 && passage.page <= passage.end_page);
            for heading in &headings {
                let at = text.floor_char_boundary(heading.start);
                prop_assert!(heading.start >= text.len() || at <= start || at >= end);
            }
            covered[start..end].fill(true);
        }
        for (at, letter) in text.char_indices() {
            prop_assert!(covered[at] || letter.is_whitespace(), "{at} is in no passage");
        }
        let order: Vec<(u64, u64)> = passages.iter().map(|p| (p.start, p.end)).collect();
        prop_assert!(order.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1));
    }
}

const PAPER: &str = "A preface.\n\n# One\nFirst words here. More of them, as shown by Smith et al. in 2020. \
Fig. 3 shows it.\n\n## One point one\nDeep text.\n\n# Two\nLast text.";

#[test]
fn sections_and_pages_are_known() {
    let headings = [
        heading(1, "# One", PAPER),
        heading(2, "## One point one", PAPER),
        heading(1, "# Two", PAPER),
    ];
    let headings = headings.map(|mut heading| {
        heading.title = heading.title.trim_start_matches(['#', ' ']).to_owned();
        heading
    });
    let second_page = PAPER.find("Deep").unwrap();
    let passages = chunk(PAPER, &headings, &[0, second_page], ChunkOptions::default());
    let seen: Vec<(String, &str, u32)> = passages
        .iter()
        .map(|passage| {
            (
                passage.section.join(" > "),
                passage.text.as_str(),
                passage.page,
            )
        })
        .collect();
    let one = "First words here. More of them, as shown by Smith et al. in 2020. Fig. 3 shows it.";
    assert_eq!(
        seen,
        [
            (String::new(), "A preface.", 1),
            ("One".to_owned(), one, 1),
            ("One > One point one".to_owned(), "Deep text.", 2),
            ("Two".to_owned(), "Last text.", 2),
        ]
    );
}

#[test]
fn cuts_fall_between_sentences_and_overlap_in_whole_ones() {
    let sentences = (0..40).map(|number| format!("Sentence number {number} says little."));
    let text = sentences.collect::<Vec<_>>().join(" ");
    let options = ChunkOptions {
        tokens: 50,
        overlap: 12,
    };
    let passages = chunk(&text, &[], &[], options);
    assert!(passages.len() > 3);
    for passage in &passages {
        assert!(passage.text.starts_with("Sentence"), "{}", passage.text);
        assert!(passage.text.ends_with("little."), "{}", passage.text);
    }
    for pair in passages.windows(2) {
        assert!(pair[1].start < pair[0].end, "the next repeats some of it");
    }
}

#[test]
fn names_and_figures_do_not_end_a_sentence() {
    let text = "As J. Smith et al. wrote (see Fig. 2), it holds. Next one.";
    let options = ChunkOptions {
        tokens: 12,
        overlap: 0,
    };
    let passages = chunk(text, &[], &[], options);
    assert_eq!(
        passages[0].text,
        "As J. Smith et al. wrote (see Fig. 2), it holds."
    );
}

#[test]
fn a_word_without_end_is_cut() {
    let text = "x".repeat(100_000);
    let passages = chunk(&text, &[], &[], ChunkOptions::default());
    assert!(passages.len() > 10);
    assert!(passages.iter().all(|passage| passage.text.len() <= 350));
}

#[test]
fn sentences_without_spaces_between_them_are_not_cut_through() {
    let sentences = [
        "深度学习取得了进展。",
        "他说：「这很重要。」",
        "真的吗？！",
        "是的",
    ];
    let text = sentences.concat();
    let options = ChunkOptions {
        tokens: 11,
        overlap: 0,
    };
    let passages = chunk(&text, &[], &[], options);
    let texts: Vec<&str> = passages.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(texts, [sentences[0], sentences[1], "真的吗？！是的"]);
}
