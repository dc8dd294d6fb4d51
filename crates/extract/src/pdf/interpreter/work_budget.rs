//! The work budget of the interpreter, per page and per document. A few kilobytes of forms that draw
//! each other would take hours; the budget stops them. Knows nothing of PDF.

/// Forms per page; forms without content are counted once.
const MAX_PAGE_FORMS: usize = 10_000;
const MAX_DOCUMENT_FORMS: usize = 200_000;
/// Operators per page.
const MAX_PAGE_STEPS: usize = 20_000_000;
/// Operators per document.
const MAX_DOCUMENT_STEPS: usize = 200_000_000;
/// Bytes that an operator takes, by which unpacked content is charged.
const BYTES_PER_STEP: usize = 16;

#[derive(Debug, Default)]
pub(crate) struct WorkBudget {
    page: WorkCount,
    document: WorkCount,
    page_exhausted: bool,
}

#[derive(Debug, Default, Clone, Copy)]
struct WorkCount {
    forms: usize,
    steps: usize,
}

impl WorkBudget {
    /// Resets the budget of the page; that of the document continues.
    pub(crate) fn start_page(&mut self) {
        self.page = WorkCount::default();
        self.page_exhausted = false;
    }

    pub(crate) const fn spend_step(&mut self) {
        self.spend(0, 1);
    }

    /// Charges one form and its content.
    pub(crate) const fn spend_form(&mut self, bytes: usize) {
        self.spend(1, bytes / BYTES_PER_STEP);
    }

    const fn spend(&mut self, forms: usize, steps: usize) {
        self.page.forms += forms;
        self.page.steps += steps;
        self.document.forms += forms;
        self.document.steps += steps;
        self.page_exhausted |= self.page.forms > MAX_PAGE_FORMS
            || self.page.steps > MAX_PAGE_STEPS
            || self.is_document_exhausted();
    }

    pub(crate) const fn is_page_exhausted(&self) -> bool {
        self.page_exhausted
    }

    pub(crate) const fn is_document_exhausted(&self) -> bool {
        self.document.forms > MAX_DOCUMENT_FORMS || self.document.steps > MAX_DOCUMENT_STEPS
    }

    /// Whether the deadline should be checked now.
    pub(crate) const fn is_deadline_check_due(&self) -> bool {
        self.page.steps.is_multiple_of(4096)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_its_own_allowance_and_the_document_one_for_all() {
        let mut budget = WorkBudget::default();
        for _ in 0..MAX_PAGE_FORMS {
            budget.spend_form(0);
        }
        assert!(!budget.is_page_exhausted());
        budget.spend_form(0);
        assert!(budget.is_page_exhausted());
        budget.start_page();
        budget.spend_step();
        assert!(!budget.is_page_exhausted());
        budget.spend_form(MAX_PAGE_STEPS * BYTES_PER_STEP);
        assert!(budget.is_page_exhausted());
        for _ in 0..MAX_DOCUMENT_FORMS / MAX_PAGE_FORMS {
            budget.start_page();
            for _ in 0..MAX_PAGE_FORMS {
                budget.spend_form(0);
            }
        }
        budget.start_page();
        budget.spend_form(0);
        assert!(budget.is_page_exhausted());
    }
}
