//! The budget of one review. The time of a review grows with the patterns times the text, and both
//! are untrusted input.

/// The most patterns and keywords of one review.
const MAX_PATTERNS: usize = 500;

/// The most bytes that one review searches; a text counts once for each search.
const MAX_BYTES: usize = 64 << 20;

/// The remaining budget of a review.
#[derive(Debug)]
pub(crate) struct CheckBudget {
    patterns: usize,
    bytes: usize,
}

impl Default for CheckBudget {
    fn default() -> Self {
        Self {
            patterns: MAX_PATTERNS,
            bytes: MAX_BYTES,
        }
    }
}

impl CheckBudget {
    /// Takes the cost of one search through a text, or returns an error if the budget is too small.
    /// Nothing more is checked after that, so the criteria that come first are the ones that are
    /// checked.
    pub(super) fn take(&mut self, text: &str) -> Result<(), String> {
        let patterns = self.patterns.checked_sub(1);
        let bytes = self.bytes.checked_sub(text.len());
        if let (Some(patterns), Some(bytes)) = (patterns, bytes) {
            *self = Self { patterns, bytes };
            return Ok(());
        }
        self.patterns = 0;
        Err(format!(
            "too much to check at once: one review searches for at most {MAX_PATTERNS} patterns \
             and through {} MiB of text; use fewer gates or a shorter answer",
            MAX_BYTES >> 20
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_and_text_run_out_and_stay_so() {
        let mut many = CheckBudget::default();
        assert!((0..MAX_PATTERNS).all(|_| many.take("x").is_ok()));
        assert!(many.take("").is_err());
        let mut long = CheckBudget::default();
        let text = "x".repeat(MAX_BYTES / 4);
        assert!((0..4).all(|_| long.take(&text).is_ok()));
        assert!(long.take("x").is_err());
        assert!(long.take("").is_err());
    }
}
