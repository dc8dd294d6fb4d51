//! Limits on the size of one command.

/// Limits that are checked before any step is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandLimits {
    /// The largest N of one `* N`.
    pub repetitions: u32,
    /// The maximum number of steps in the command, every repetition counted.
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
