//! How much one review may look at in all: time grows with the patterns times the text, and both
//! are others' work.

/// The most patterns and words of one review.
const MAX_PATTERNS: usize = 500;

/// The most bytes that are looked through in one review, a text counted as often as it is.
const MAX_BYTES: usize = 64 << 20;

/// What is left of it.
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
    /// Takes what looking once through a text costs, or tells that too little is left. Nothing is
    /// looked at from then on, so that what is checked is what comes first.
    pub(super) fn take(&mut self, text: &str) -> Result<(), String> {
        let patterns = self.patterns.checked_sub(1);
        let bytes = self.bytes.checked_sub(text.len());
        if let (Some(patterns), Some(bytes)) = (patterns, bytes) {
            *self = Self { patterns, bytes };
            return Ok(());
        }
        self.patterns = 0;
        Err(format!(
            "too much to check at once: one review looks for at most {MAX_PATTERNS} patterns and \
             through {} MiB of text in all; ask for fewer gates or answer shorter",
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
