//! How much one command may ask for.

/// Bounds that are checked before anything is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandLimits {
    /// The largest N of one `* N`.
    pub repetitions: u32,
    /// Steps in the whole command, with every repeat counted.
    pub steps: usize,
}

impl Default for CommandLimits {
    fn default() -> Self {
        Self {
            repetitions: 100,
            steps: 500,
        }
    }
}
