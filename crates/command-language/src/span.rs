//! Where in the source a thing stands.

use std::ops::Range;

use serde::Serialize;

/// Byte offsets into the source, the end not included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

impl Span {
    /// From one offset to another.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// From the start of this to the end of the other.
    pub fn join(self, other: Self) -> Self {
        Self::new(self.start, other.end)
    }

    /// The text it covers; nothing if it lies outside.
    pub fn slice(self, source: &str) -> &str {
        source.get(self.range()).unwrap_or_default()
    }

    /// As a range.
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// A value and its place. Two of them are equal when the values are, wherever they stand, so that
/// a tree compares with the tree of its own print.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Spanned<T> {
    /// What it is.
    pub value: T,
    /// Where it stands.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// A value at a place.
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}
