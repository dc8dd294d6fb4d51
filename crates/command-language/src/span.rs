//! Locations in the source.

use std::ops::Range;

use serde::Serialize;

/// A half-open range of byte offsets into the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// Returns the span from the start of this one to the end of the other.
    pub fn join(self, other: Self) -> Self {
        Self::new(self.start, other.end)
    }

    /// Returns the text of the span; an empty text if the span is out of range.
    pub fn slice(self, source: &str) -> &str {
        source.get(self.range()).unwrap_or_default()
    }

    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// A value and its location. Two of them are equal when their values are, so that a tree equals
/// the tree parsed from its printed form.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Spanned<T> {
    pub value: T,
    pub span: Span,
}

impl<T> Spanned<T> {
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}
