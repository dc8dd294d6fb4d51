//! The size budget of one answer, and reads that stay within it.

use deliberate_core::{CrossRef, Graph, GraphEdge, GraphNode, Thought};
use deliberate_store::{BranchEntry, Pagination, StoreError, StoreFuture};
use serde_json::Value;

/// The characters of text in one answer: about what a model can read at once. A single entity is
/// always returned completely.
const MAX_TEXT_CHARS: i64 = 60_000;

/// The part for the frame of the answer: branches, references, problems of graphs.
const MAX_FRAME_CHARS: i64 = MAX_TEXT_CHARS / 3;

/// The overhead of an item besides its text: ids, times, numbers.
const ITEM_CHARS: i64 = 150;

/// Items per read. They may be long, so this is less than the store allows.
const READ_PAGE: u32 = 100;

const MAX_EDGES: usize = 500;

/// The largest number of pages of edges scanned for one answer.
const MAX_EDGE_PAGES: u32 = 100;

/// The remaining size of an answer.
#[derive(Debug)]
pub(super) struct ResponseSizeBudget {
    remaining: i64,
    counts_boxes: bool,
    edges: usize,
    edge_pages: u32,
}

/// A page of a list: its offset and the offset of the next one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PageInfo {
    pub(super) offset: u32,
    pub(super) next: Option<u32>,
}

/// An item that counts against the budget.
pub(super) trait SizeEstimate {
    /// The boxes of the item in a diagram.
    const BOXES: i64 = 0;

    fn chars(&self) -> usize;
}

impl ResponseSizeBudget {
    /// The budget of a text answer.
    pub(super) fn for_text() -> Self {
        Self::with_budget(MAX_TEXT_CHARS, false)
    }

    /// The budget of a diagram of `most` boxes. A box shows only the first words of a text.
    pub(super) fn for_diagram(most: u32) -> Self {
        Self::with_budget(most.into(), true)
    }

    fn with_budget(remaining: i64, counts_boxes: bool) -> Self {
        Self {
            remaining,
            counts_boxes,
            edges: MAX_EDGES,
            edge_pages: MAX_EDGE_PAGES,
        }
    }

    /// Reserves the size of the frame until `release_frame`.
    pub(super) fn reserve_frame(&mut self) -> Self {
        let frame = if self.counts_boxes {
            0
        } else {
            MAX_FRAME_CHARS
        };
        self.remaining -= frame;
        Self::with_budget(frame, self.counts_boxes)
    }

    /// Returns the unused size of a frame, or deducts its excess.
    pub(super) fn release_frame(&mut self, frame: &Self) {
        self.remaining += frame.remaining;
    }

    /// Deducts an item if there is room for it, or in any case if `must` is set.
    pub(super) fn try_take<T: SizeEstimate>(&mut self, thing: &T, must: bool) -> bool {
        let cost = if self.counts_boxes {
            T::BOXES
        } else {
            ITEM_CHARS.saturating_add(i64::try_from(thing.chars()).unwrap_or(i64::MAX))
        };
        let fits = must || cost <= self.remaining;
        if fits {
            self.remaining = self.remaining.saturating_sub(cost);
        }
        fits
    }

    /// The largest number of items that may fit.
    fn max_items<T: SizeEstimate>(&self) -> u32 {
        let most = match (self.counts_boxes, T::BOXES) {
            (true, 0) => i64::MAX,
            (true, boxes) => self.remaining / boxes,
            (false, _) => self.remaining / ITEM_CHARS,
        };
        u32::try_from(most.max(0)).unwrap_or(u32::MAX)
    }

    /// Reads the items that fit; the first one in any case if `must` is set.
    pub(super) async fn read_page<'a, T: SizeEstimate>(
        &mut self,
        pagination: Pagination,
        must: bool,
        read: impl Fn(Pagination) -> StoreFuture<'a, Vec<T>>,
    ) -> Result<(Vec<T>, PageInfo), StoreError> {
        let mut given = Vec::new();
        let mut count = 0;
        let part = |next| PageInfo {
            offset: pagination.offset,
            next,
        };
        loop {
            let first = must && count == 0;
            let room = self.max_items::<T>().max(first.into());
            let offset = pagination.offset.saturating_add(count);
            // One item more shows whether another page follows.
            let limit = room
                .min(pagination.limit - count)
                .saturating_add(1)
                .min(READ_PAGE);
            let things = read(Pagination { offset, limit }).await?;
            let last = u32::try_from(things.len()).unwrap_or(u32::MAX) < limit;
            for thing in things {
                let first = must && count == 0;
                if count == pagination.limit || !self.try_take(&thing, first) {
                    let next = pagination.offset.saturating_add(count);
                    return Ok((given, part(Some(next))));
                }
                given.push(thing);
                count += 1;
            }
            if last {
                return Ok((given, part(None)));
            }
        }
    }

    /// Reads the edges for which `keep` holds, and whether there are more of them. Their positions
    /// are not known, so all pages are scanned.
    pub(super) async fn read_edges<'a>(
        &mut self,
        keep: impl Fn(&GraphEdge) -> bool,
        read: impl Fn(Pagination) -> StoreFuture<'a, Vec<GraphEdge>>,
    ) -> Result<(Vec<GraphEdge>, bool), StoreError> {
        let mut given = Vec::new();
        let mut offset = 0;
        while self.edge_pages > 0 {
            self.edge_pages -= 1;
            let limit = READ_PAGE;
            let edges = read(Pagination { offset, limit }).await?;
            let last = u32::try_from(edges.len()).unwrap_or(u32::MAX) < limit;
            for edge in edges.into_iter().filter(&keep) {
                let chars = if self.counts_boxes {
                    0
                } else {
                    metadata_chars(edge.metadata.as_ref())
                };
                let cost = i64::try_from(chars).unwrap_or(i64::MAX);
                if self.edges == 0 || (cost > 0 && cost > self.remaining) {
                    return Ok((given, true));
                }
                self.edges -= 1;
                self.remaining = self.remaining.saturating_sub(cost);
                given.push(edge);
            }
            if last {
                return Ok((given, false));
            }
            offset += limit;
        }
        Ok((given, true))
    }
}

/// The characters of an item's metadata.
fn metadata_chars(metadata: Option<&Value>) -> usize {
    metadata.map_or(0, |value| value.to_string().chars().count())
}

fn text_chars(text: Option<&String>) -> usize {
    text.map_or(0, |text| text.chars().count())
}

impl SizeEstimate for Thought {
    const BOXES: i64 = 1;

    fn chars(&self) -> usize {
        self.content.chars().count()
            + text_chars(self.input.as_ref())
            + metadata_chars(self.metadata.as_ref())
    }
}

impl SizeEstimate for GraphNode {
    const BOXES: i64 = 1;

    fn chars(&self) -> usize {
        self.content.chars().count() + metadata_chars(self.metadata.as_ref())
    }
}

impl SizeEstimate for Graph {
    fn chars(&self) -> usize {
        text_chars(self.problem.as_ref()) + metadata_chars(Some(&self.config))
    }
}

impl SizeEstimate for BranchEntry {
    fn chars(&self) -> usize {
        text_chars(self.branch.name.as_ref()) + metadata_chars(self.branch.metadata.as_ref())
    }
}

impl SizeEstimate for CrossRef {
    fn chars(&self) -> usize {
        text_chars(self.reason.as_ref())
    }
}
