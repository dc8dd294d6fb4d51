//! Runs a page's content and notes every letter with its place. It draws nothing and knows
//! nothing of lines or words. Forms inside forms, operators and letters are all bounded.

use std::collections::HashMap;
use std::rc::Rc;

use pdf_extract::{Dictionary, Document, Object};

use super::font::Font;
use super::object::{dict_at, get, name_at, numbers_at, stream_at};
use super::pen::{IDENTITY, Matrix, Pen, Sheet, State, times};
use super::scan::{Scanner, Token};
use super::stream::unpacked;
use crate::ExtractError;
use crate::layout::Glyph;
use crate::limits::Deadline;

/// Forms may hold forms, this deep.
const DEEPEST: usize = 12;
/// The most forms one page may call for.
const MOST_FORMS: usize = 4_000;
/// The most letters on one page.
const MOST_GLYPHS: usize = 400_000;
/// The most operands before one operator.
const MOST_OPERANDS: usize = 200_000;

/// Collects the letters of pages, keeping the fonts between them.
pub(super) struct Painter<'f> {
    file: &'f Document,
    fonts: HashMap<usize, Rc<Font>>,
    deadline: Deadline,
    unpacked: u64,
    page: Sheet,
}

/// What a page gave.
pub(super) struct Painted {
    pub(super) glyphs: Vec<Glyph>,
    /// Whether a picture is drawn on it.
    pub(super) has_image: bool,
    /// How many of its letters the fonts could not name.
    pub(super) unknown: usize,
}

impl<'f> Painter<'f> {
    pub(super) fn new(file: &'f Document, deadline: Deadline, unpacked: u64) -> Self {
        Self {
            file,
            fonts: HashMap::new(),
            deadline,
            unpacked,
            page: Sheet::default(),
        }
    }

    /// The letters of one page.
    pub(super) fn page(
        &mut self,
        content: &[u8],
        resources: &'f Dictionary,
        bounds: [f64; 4],
    ) -> Result<Painted, ExtractError> {
        self.page = Sheet {
            bounds,
            ..Sheet::default()
        };
        self.run(content, resources, IDENTITY, 0)?;
        let page = std::mem::take(&mut self.page);
        Ok(Painted {
            glyphs: page.glyphs,
            has_image: page.has_image,
            unknown: page.unknown,
        })
    }

    fn run(
        &mut self,
        content: &[u8],
        resources: &'f Dictionary,
        ctm: Matrix,
        depth: usize,
    ) -> Result<(), ExtractError> {
        let mut pen = Pen::new(ctm);
        let mut operands: Vec<Token<'_>> = Vec::new();
        let mut scanner = Scanner::new(content);
        while let Some(token) = scanner.next() {
            let Token::Operator(operator) = token else {
                if operands.len() < MOST_OPERANDS {
                    operands.push(token);
                }
                continue;
            };
            self.page.steps += 1;
            if self.page.steps.is_multiple_of(4096) {
                self.deadline.check()?;
            }
            match operator {
                b"ID" => scanner.skip_image(),
                b"Tf" => self.set_font(&mut pen.state, resources, &operands),
                b"Do" => self.call(&pen.state.ctm, resources, &operands, depth)?,
                _ => pen.step(operator, &operands, &mut self.page),
            }
            operands.clear();
            if self.page.glyphs.len() > MOST_GLYPHS {
                break;
            }
        }
        Ok(())
    }

    fn set_font(&mut self, state: &mut State, resources: &'f Dictionary, operands: &[Token<'_>]) {
        let [.., Token::Name(name), Token::Number(size)] = operands else {
            return;
        };
        state.size = *size;
        let found = dict_at(self.file, resources, b"Font")
            .and_then(|fonts| dict_at(self.file, fonts, name));
        let Some(dict) = found else {
            state.font = None;
            return;
        };
        let key = std::ptr::from_ref(dict).addr();
        let file = self.file;
        let font = self
            .fonts
            .entry(key)
            .or_insert_with(|| Rc::new(Font::read(file, dict)));
        state.font = Some(Rc::clone(font));
    }

    fn call(
        &mut self,
        ctm: &Matrix,
        resources: &'f Dictionary,
        operands: &[Token<'_>],
        depth: usize,
    ) -> Result<(), ExtractError> {
        let [.., Token::Name(name)] = operands else {
            return Ok(());
        };
        let Some(form) = dict_at(self.file, resources, b"XObject")
            .and_then(|all| stream_at(self.file, all, name))
        else {
            return Ok(());
        };
        if name_at(self.file, &form.dict, b"Subtype") != Some(b"Form") {
            self.page.has_image = true;
            return Ok(());
        }
        self.page.forms += 1;
        if depth >= DEEPEST || self.page.forms > MOST_FORMS {
            return Ok(());
        }
        self.deadline.check()?;
        let Some(content) = unpacked(self.file, form, self.unpacked) else {
            return Ok(());
        };
        let matrix = numbers_at::<6>(self.file, &form.dict, b"Matrix").unwrap_or(IDENTITY);
        let own = match get(self.file, &form.dict, b"Resources") {
            Some(Object::Dictionary(own)) => own,
            _ => resources,
        };
        self.run(&content, own, times(&matrix, ctm), depth + 1)
    }
}
