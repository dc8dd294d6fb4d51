//! Runs a page's content and notes every letter with its place. It draws nothing and knows
//! nothing of lines or words. Forms inside forms, operators and letters are all bounded; a page
//! that goes over a bound says so.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use pdf_extract::{Dictionary, Document, Object, Stream};

use super::font::Font;
use super::object::{dict_at, get, name_at, numbers_at, stream_at};
use super::pen::{IDENTITY, Matrix, Pen, Sheet, State, times};
use super::purse::Purse;
use super::scan::{Scanner, Token};
use super::stream::unpacked;
use crate::ExtractError;
use crate::layout::Glyph;
use crate::limits::Deadline;

/// Forms may hold forms, this deep.
const DEEPEST: usize = 24;
/// The most operands before one operator.
const MOST_OPERANDS: usize = 200_000;

/// Collects the letters of pages, keeping the fonts between them.
pub(super) struct Painter<'f> {
    file: &'f Document,
    fonts: HashMap<usize, Rc<Font>>,
    deadline: Deadline,
    unpacked: u64,
    page: Sheet,
    purse: Purse,
    /// The forms that are being drawn, the outermost first.
    open: Vec<FormKey>,
    /// How often a form was left out because it is being drawn.
    loops: usize,
    /// Forms that show neither letters nor pictures, wherever they are drawn.
    silent: HashSet<FormKey>,
}

/// A form and the resources it draws with, by where they are in memory.
type FormKey = (usize, usize);

/// What a page gave.
pub(super) struct Painted {
    pub(super) glyphs: Vec<Glyph>,
    /// Whether a picture is drawn on it.
    pub(super) has_image: bool,
    /// How many of its letters the fonts could not name.
    pub(super) unknown: usize,
    /// Whether more is drawn on it than was followed.
    pub(super) overdrawn: bool,
}

impl<'f> Painter<'f> {
    pub(super) fn new(file: &'f Document, deadline: Deadline, unpacked: u64) -> Self {
        Self {
            file,
            fonts: HashMap::new(),
            deadline,
            unpacked,
            page: Sheet::default(),
            purse: Purse::default(),
            open: Vec::new(),
            loops: 0,
            silent: HashSet::new(),
        }
    }

    /// Whether no page can be drawn any more.
    pub(super) const fn is_spent(&self) -> bool {
        self.purse.is_over()
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
        self.purse.turn_page();
        self.open.clear();
        self.run(content, resources, IDENTITY)?;
        let page = std::mem::take(&mut self.page);
        Ok(Painted {
            glyphs: page.glyphs,
            has_image: page.has_image,
            unknown: page.unknown,
            overdrawn: page.overdrawn,
        })
    }

    fn run(
        &mut self,
        content: &[u8],
        resources: &'f Dictionary,
        ctm: Matrix,
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
            self.purse.step();
            if self.purse.is_due() {
                self.deadline.check()?;
            }
            match operator {
                b"ID" => scanner.skip_image(),
                b"Tf" => self.set_font(&mut pen.state, resources, &operands)?,
                b"Do" => self.call(&pen.state.ctm, resources, &operands)?,
                _ => pen.step(operator, &operands, &mut self.page),
            }
            operands.clear();
            self.page.overdrawn |= self.purse.is_empty() || self.page.is_full();
            if self.purse.is_empty() || self.page.is_full() {
                break;
            }
        }
        Ok(())
    }

    fn set_font(
        &mut self,
        state: &mut State,
        resources: &'f Dictionary,
        operands: &[Token<'_>],
    ) -> Result<(), ExtractError> {
        let [.., Token::Name(name), Token::Number(size)] = operands else {
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
        // A font may be large, and a page may call for many.
        self.deadline.check()?;
        let font = Rc::new(Font::read(self.file, dict));
        self.fonts.insert(key, Rc::clone(&font));
        state.font = Some(font);
        Ok(())
    }

    fn call(
        &mut self,
        ctm: &Matrix,
        resources: &'f Dictionary,
        operands: &[Token<'_>],
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
            self.page.shows_picture();
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
        if self.silent.contains(&key) {
            return Ok(());
        }
        // One that draws itself would never end.
        if self.open.contains(&key) {
            self.loops += 1;
            return Ok(());
        }
        if self.open.len() >= DEEPEST {
            self.page.overdrawn = true;
            return Ok(());
        }
        self.draw(form, own, ctm, key)
    }

    fn draw(
        &mut self,
        form: &'f Stream,
        resources: &'f Dictionary,
        ctm: &Matrix,
        key: FormKey,
    ) -> Result<(), ExtractError> {
        self.deadline.check()?;
        let Some(content) = unpacked(self.file, form, self.unpacked) else {
            return Ok(());
        };
        self.purse.form(content.len());
        self.page.overdrawn |= content.len() as u64 >= self.unpacked;
        let matrix = numbers_at::<6>(self.file, &form.dict, b"Matrix").unwrap_or(IDENTITY);
        let before = (self.page.shown, self.loops);
        self.open.push(key);
        let drawn = self.run(&content, resources, times(&matrix, ctm));
        self.open.pop();
        // What left something out may have more to show elsewhere.
        if before == (self.page.shown, self.loops) && !self.page.overdrawn {
            self.silent.insert(key);
        }
        drawn
    }
}
