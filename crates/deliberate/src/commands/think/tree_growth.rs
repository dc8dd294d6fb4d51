//! The drawing of a tree while its approaches are worked out, from the progress of the call.

use crate::commands::table::one_line;

/// Longest line of the drawing.
const MAX_LINE_CHARS: usize = 100;

/// The question and the approaches that are worked out so far.
pub(super) struct TreeGrowth {
    question: String,
    approaches: Vec<String>,
}

impl TreeGrowth {
    pub(super) fn new(question: &str) -> Self {
        Self {
            question: one_line(question, MAX_LINE_CHARS),
            approaches: Vec::new(),
        }
    }

    /// Adds the approach of a progress message of `reasoning_tree` (`2 of 4 approaches: By rail (80
    /// %)`) and returns the drawing; `None` if the message says nothing new.
    pub(super) fn add(&mut self, message: &str) -> Option<String> {
        let (count, approach) = message.split_once(" approaches: ")?;
        count.split_once(" of ")?;
        let approach = one_line(approach, MAX_LINE_CHARS);
        if self.approaches.contains(&approach) {
            return None;
        }
        self.approaches.push(approach);
        let mut drawing = format!("{}\n", self.question);
        for approach in &self.approaches {
            // More may follow, so none is the last.
            drawing.extend(["├─ ", approach, "\n"]);
        }
        Some(drawing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_approach_is_drawn_once_below_the_question() {
        let mut growth = TreeGrowth::new("How to\ntravel?");
        assert_eq!(growth.add("exploring"), None);
        assert_eq!(
            growth.add("1 of 2 approaches: Train (80 %)").unwrap(),
            "How to travel?\n├─ Train (80 %)\n"
        );
        assert_eq!(growth.add("1 of 2 approaches: Train (80 %)"), None);
        assert_eq!(
            growth.add("2 of 2 approaches: Bus (60 %)").unwrap(),
            "How to travel?\n├─ Train (80 %)\n├─ Bus (60 %)\n"
        );
    }
}
