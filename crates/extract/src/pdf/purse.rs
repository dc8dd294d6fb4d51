//! What drawing may cost, page by page and in all. A few kilobytes of forms that draw each other
//! would keep a reader busy for hours; it stops here and says so. It knows nothing of PDFs.

/// The most forms drawn on one page, those that show nothing not counted again.
const PAGE_FORMS: usize = 10_000;
/// The most forms drawn in one document.
const ALL_FORMS: usize = 200_000;
/// The most operators run on one page.
const PAGE_STEPS: usize = 20_000_000;
/// The most operators run in one document.
const ALL_STEPS: usize = 200_000_000;
/// An operator takes about this many bytes: what is unpacked is paid for as well.
const STEP_BYTES: usize = 16;

/// What was spent.
#[derive(Debug, Default)]
pub(super) struct Purse {
    page: Spent,
    all: Spent,
    empty: bool,
}

#[derive(Debug, Default, Clone, Copy)]
struct Spent {
    forms: usize,
    steps: usize,
}

impl Purse {
    /// A new page has its own allowance; that of the document goes on.
    pub(super) fn turn_page(&mut self) {
        self.page = Spent::default();
        self.empty = false;
    }

    /// Pays for one operator.
    pub(super) const fn step(&mut self) {
        self.pay(0, 1);
    }

    /// Pays for one form with so many bytes of content.
    pub(super) const fn form(&mut self, bytes: usize) {
        self.pay(1, bytes / STEP_BYTES);
    }

    const fn pay(&mut self, forms: usize, steps: usize) {
        self.page.forms += forms;
        self.page.steps += steps;
        self.all.forms += forms;
        self.all.steps += steps;
        self.empty |=
            self.page.forms > PAGE_FORMS || self.page.steps > PAGE_STEPS || self.is_over();
    }

    /// Whether nothing more can be drawn on this page.
    pub(super) const fn is_empty(&self) -> bool {
        self.empty
    }

    /// Whether nothing more can be drawn in the document.
    pub(super) const fn is_over(&self) -> bool {
        self.all.forms > ALL_FORMS || self.all.steps > ALL_STEPS
    }

    /// Whether it is time to look at the clock.
    pub(super) const fn is_due(&self) -> bool {
        self.page.steps.is_multiple_of(4096)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_its_own_allowance_and_the_document_one_for_all() {
        let mut purse = Purse::default();
        for _ in 0..PAGE_FORMS {
            purse.form(0);
        }
        assert!(!purse.is_empty());
        purse.form(0);
        assert!(purse.is_empty());
        purse.turn_page();
        purse.step();
        assert!(!purse.is_empty());
        purse.form(PAGE_STEPS * STEP_BYTES);
        assert!(purse.is_empty());
        for _ in 0..ALL_FORMS / PAGE_FORMS {
            purse.turn_page();
            for _ in 0..PAGE_FORMS {
                purse.form(0);
            }
        }
        purse.turn_page();
        purse.form(0);
        assert!(purse.is_empty());
    }
}
