//! Interprets a page's content and records every glyph with its position. Draws nothing and knows no
//! lines or words. Nested forms, operators and glyphs are bounded; a page that exceeds a limit is
//! marked.

pub(crate) mod lexer;
pub(crate) mod text_state;
pub(crate) mod work_budget;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use lopdf::{Dictionary, Document, Object, Stream};

use super::{
    fonts::Font,
    object_access::{dict_at, get, name_at, numbers_at, stream_at},
    stream_decoder::decode_stream,
};
use crate::ExtractError;
use crate::layout::Glyph;
use crate::limits::Deadline;
use lexer::{PdfLexer, PdfToken};
use text_state::{GraphicsState, IDENTITY, Matrix, PageOutput, TextState, multiply};
use work_budget::WorkBudget;

/// Nesting depth of forms.
const MAX_FORM_DEPTH: usize = 24;
/// Operands before one operator.
const MAX_OPERANDS: usize = 200_000;

/// Collects the glyphs of pages and caches fonts between them.
pub(super) struct ContentInterpreter<'f> {
    file: &'f Document,
    fonts: HashMap<usize, Rc<Font>>,
    deadline: Deadline,
    max_unpacked_bytes: u64,
    page: PageOutput,
    budget: WorkBudget,
    /// The forms that are being drawn, the outermost first.
    form_stack: Vec<FormKey>,
    /// The number of recursive forms that were skipped.
    skipped_cycles: usize,
    /// Forms that show neither glyphs nor images.
    empty_forms: HashSet<FormKey>,
}

/// A form and its resources, by their addresses in memory.
type FormKey = (usize, usize);

/// The content of a page.
pub(super) struct PageGlyphs {
    pub(super) glyphs: Vec<Glyph>,
    pub(super) has_image: bool,
    /// The number of glyphs that the fonts do not map to text.
    pub(super) unmapped_glyphs: usize,
    /// Whether the page exceeded the work limit.
    pub(super) hit_work_limit: bool,
}

impl<'f> ContentInterpreter<'f> {
    pub(super) fn new(file: &'f Document, deadline: Deadline, max_unpacked_bytes: u64) -> Self {
        Self {
            file,
            fonts: HashMap::new(),
            deadline,
            max_unpacked_bytes,
            page: PageOutput::default(),
            budget: WorkBudget::default(),
            form_stack: Vec::new(),
            skipped_cycles: 0,
            empty_forms: HashSet::new(),
        }
    }

    /// Whether the budget of the document is spent.
    pub(super) const fn is_budget_spent(&self) -> bool {
        self.budget.is_document_exhausted()
    }

    /// Interprets one page.
    pub(super) fn interpret_page(
        &mut self,
        content: &[u8],
        resources: &'f Dictionary,
        bounds: [f64; 4],
    ) -> Result<PageGlyphs, ExtractError> {
        self.page = PageOutput {
            bounds,
            ..PageOutput::default()
        };
        self.budget.start_page();
        self.form_stack.clear();
        self.run_content(content, resources, IDENTITY)?;
        let page = std::mem::take(&mut self.page);
        Ok(PageGlyphs {
            glyphs: page.glyphs,
            has_image: page.has_image,
            unmapped_glyphs: page.unmapped_glyphs,
            hit_work_limit: page.hit_work_limit,
        })
    }

    fn run_content(
        &mut self,
        content: &[u8],
        resources: &'f Dictionary,
        ctm: Matrix,
    ) -> Result<(), ExtractError> {
        let mut state = TextState::new(ctm);
        let mut operands: Vec<PdfToken<'_>> = Vec::new();
        let mut scanner = PdfLexer::new(content);
        while let Some(token) = scanner.next() {
            let PdfToken::Operator(operator) = token else {
                if operands.len() < MAX_OPERANDS {
                    operands.push(token);
                }
                continue;
            };
            self.budget.spend_step();
            if self.budget.is_deadline_check_due() {
                self.deadline.check()?;
            }
            match operator {
                b"ID" => scanner.skip_image(),
                b"Tf" => self.set_font(&mut state.state, resources, &operands)?,
                b"Do" => self.draw_xobject(&state.state.ctm, resources, &operands)?,
                _ => state.run_operator(operator, &operands, &mut self.page),
            }
            operands.clear();
            self.page.hit_work_limit |= self.budget.is_page_exhausted() || self.page.is_full();
            if self.budget.is_page_exhausted() || self.page.is_full() {
                break;
            }
        }
        Ok(())
    }

    fn set_font(
        &mut self,
        state: &mut GraphicsState,
        resources: &'f Dictionary,
        operands: &[PdfToken<'_>],
    ) -> Result<(), ExtractError> {
        let [.., PdfToken::Name(name), PdfToken::Number(size)] = operands else {
            return Ok(());
        };
        state.size = *size;
        let found = dict_at(self.file, resources, b"Font")
            .and_then(|fonts| dict_at(self.file, fonts, name));
        let Some(dict) = found else {
            state.font = None;
            return Ok(());
        };
        let key = std::ptr::from_ref(dict).addr();
        if let Some(font) = self.fonts.get(&key) {
            state.font = Some(Rc::clone(font));
            return Ok(());
        }
        // A font may be large, and a page may use many.
        self.deadline.check()?;
        let font = Rc::new(Font::read(self.file, dict));
        self.fonts.insert(key, Rc::clone(&font));
        state.font = Some(font);
        Ok(())
    }

    fn draw_xobject(
        &mut self,
        ctm: &Matrix,
        resources: &'f Dictionary,
        operands: &[PdfToken<'_>],
    ) -> Result<(), ExtractError> {
        let [.., PdfToken::Name(name)] = operands else {
            return Ok(());
        };
        let Some(form) = dict_at(self.file, resources, b"XObject")
            .and_then(|all| stream_at(self.file, all, name))
        else {
            return Ok(());
        };
        if name_at(self.file, &form.dict, b"Subtype") != Some(b"Form") {
            self.page.add_image();
            return Ok(());
        }
        let own = match get(self.file, &form.dict, b"Resources") {
            Some(Object::Dictionary(own)) => own,
            _ => resources,
        };
        let key = (
            std::ptr::from_ref(form).addr(),
            std::ptr::from_ref(own).addr(),
        );
        if self.empty_forms.contains(&key) {
            return Ok(());
        }
        // A form that draws itself would never end.
        if self.form_stack.contains(&key) {
            self.skipped_cycles += 1;
            return Ok(());
        }
        if self.form_stack.len() >= MAX_FORM_DEPTH {
            self.page.hit_work_limit = true;
            return Ok(());
        }
        self.draw_form(form, own, ctm, key)
    }

    fn draw_form(
        &mut self,
        form: &'f Stream,
        resources: &'f Dictionary,
        ctm: &Matrix,
        key: FormKey,
    ) -> Result<(), ExtractError> {
        self.deadline.check()?;
        let Some(content) = decode_stream(self.file, form, self.max_unpacked_bytes) else {
            return Ok(());
        };
        self.budget.spend_form(content.len());
        self.page.hit_work_limit |= content.len() as u64 >= self.max_unpacked_bytes;
        let matrix = numbers_at::<6>(self.file, &form.dict, b"Matrix").unwrap_or(IDENTITY);
        let before = (self.page.draw_count, self.skipped_cycles);
        self.form_stack.push(key);
        let drawn = self.run_content(&content, resources, multiply(&matrix, ctm));
        self.form_stack.pop();
        // A form in which something was skipped may show more elsewhere.
        if before == (self.page.draw_count, self.skipped_cycles) && !self.page.hit_work_limit {
            self.empty_forms.insert(key);
        }
        drawn
    }
}
