//! The pen of one content stream: its state, and what each operator does to it. Every letter it
//! shows is put on the sheet with its place. It knows nothing of fonts' insides or of forms.

use std::rc::Rc;

use pdf_extract::Object;

use super::font::Font;
use super::scan::Token;
use crate::layout::{Glyph, Turn};

/// A matrix as PDF writes it: `a b c d e f`.
pub(super) type Matrix = [f64; 6];

/// What is gathered of the page at hand.
#[derive(Default)]
pub(super) struct Sheet {
    pub(super) glyphs: Vec<Glyph>,
    pub(super) bounds: [f64; 4],
    pub(super) has_image: bool,
    /// How many letters the fonts could not name.
    pub(super) unknown: usize,
    /// How often letters or pictures were shown, wherever that was.
    pub(super) shown: usize,
    /// Whether more is drawn on it than was followed.
    pub(super) overdrawn: bool,
}

/// The most letters on one page.
const MOST_GLYPHS: usize = 400_000;
/// The longest string that is shown, in bytes; a letter takes at most four.
const LONGEST_STRING: usize = 4 * MOST_GLYPHS;

impl Sheet {
    /// Whether there is no room for more letters.
    pub(super) const fn is_full(&self) -> bool {
        self.glyphs.len() > MOST_GLYPHS
    }

    /// Notes that a picture is shown.
    pub(super) const fn shows_picture(&mut self) {
        self.has_image = true;
        self.shown += 1;
    }
}

#[derive(Clone)]
pub(super) struct State {
    pub(super) ctm: Matrix,
    pub(super) font: Option<Rc<Font>>,
    pub(super) size: f64,
    letter_space: f64,
    word_space: f64,
    scale: f64,
    leading: f64,
    rise: f64,
}

/// The text that stands for what is shown until the mark ends, and where it was shown.
type Marked = Option<(String, Option<Glyph>)>;

pub(super) fn times(left: &Matrix, right: &Matrix) -> Matrix {
    let [a, b, c, d, e, f] = *left;
    let [g, h, i, j, k, l] = *right;
    [
        a * g + b * i,
        a * h + b * j,
        c * g + d * i,
        c * h + d * j,
        e * g + f * i + k,
        e * h + f * j + l,
    ]
}

pub(super) const IDENTITY: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];

/// The state of one content stream.
pub(super) struct Pen {
    pub(super) state: State,
    saved: Vec<State>,
    /// The text matrix and the start of its line.
    tm: Matrix,
    line: Matrix,
    marks: Vec<Marked>,
}

impl Pen {
    pub(super) fn new(ctm: Matrix) -> Self {
        Self {
            state: State {
                ctm,
                font: None,
                size: 0.0,
                letter_space: 0.0,
                word_space: 0.0,
                scale: 1.0,
                leading: 0.0,
                rise: 0.0,
            },
            saved: Vec::new(),
            tm: IDENTITY,
            line: IDENTITY,
            marks: Vec::new(),
        }
    }

    pub(super) fn step(&mut self, operator: &[u8], operands: &[Token<'_>], page: &mut Sheet) {
        let last = |back: usize| match operands
            .len()
            .checked_sub(back + 1)
            .and_then(|at| operands.get(at))
        {
            Some(Token::Number(number)) => *number,
            _ => 0.0,
        };
        match operator {
            b"q" if self.saved.len() < 1_000 => self.saved.push(self.state.clone()),
            b"Q" => {
                if let Some(state) = self.saved.pop() {
                    self.state = state;
                }
            }
            b"cm" => {
                let matrix = [last(5), last(4), last(3), last(2), last(1), last(0)];
                self.state.ctm = times(&matrix, &self.state.ctm);
            }
            b"BT" => self.place(IDENTITY),
            b"Tc" => self.state.letter_space = last(0),
            b"Tw" => self.state.word_space = last(0),
            b"Tz" => self.state.scale = last(0) / 100.0,
            b"TL" => self.state.leading = last(0),
            b"Ts" => self.state.rise = last(0),
            b"Tm" => self.place([last(5), last(4), last(3), last(2), last(1), last(0)]),
            b"Td" => self.next_line(last(1), last(0)),
            b"TD" => {
                self.state.leading = -last(0);
                self.next_line(last(1), last(0));
            }
            b"T*" => self.next_line(0.0, -self.state.leading),
            b"Tj" | b"TJ" => self.show(operands, page),
            b"'" => {
                self.next_line(0.0, -self.state.leading);
                self.show(operands, page);
            }
            b"\"" => {
                self.state.word_space = last(2);
                self.state.letter_space = last(1);
                self.next_line(0.0, -self.state.leading);
                let string = operands.last().cloned();
                self.show(string.as_slice(), page);
            }
            b"BI" => page.shows_picture(),
            b"BMC" | b"BDC" if self.marks.len() < 1_000 => self.marks.push(actual_text(operands)),
            b"EMC" => {
                if let Some(Some((text, Some(place)))) = self.marks.pop() {
                    put(&text, &place, page);
                }
            }
            _ => {}
        }
    }

    fn place(&mut self, matrix: Matrix) {
        self.tm = matrix;
        self.line = matrix;
    }

    fn next_line(&mut self, across: f64, up: f64) {
        self.place(times(&[1.0, 0.0, 0.0, 1.0, across, up], &self.line));
    }

    fn advance(&mut self, across: f64) {
        self.tm = times(&[1.0, 0.0, 0.0, 1.0, across, 0.0], &self.tm);
    }

    fn show(&mut self, operands: &[Token<'_>], page: &mut Sheet) {
        page.shown += 1;
        for operand in operands {
            match operand {
                Token::Text(bytes) => self.show_string(bytes, page),
                Token::Number(number) => {
                    self.advance(-number / 1000.0 * self.state.size * self.state.scale);
                }
                _ => {}
            }
        }
    }

    fn show_string(&mut self, bytes: &[u8], page: &mut Sheet) {
        let Some(font) = self.state.font.clone() else {
            return;
        };
        let state = &self.state;
        let on_page = times(&self.tm, &state.ctm);
        let mut across = 0.0;
        let marked = self.marks.iter_mut().rev().find_map(Option::as_mut);
        let mut unknown = 0;
        let bytes = bytes
            .get(..bytes.len().min(LONGEST_STRING))
            .unwrap_or_default();
        let mut shown: Vec<(Glyph, &str)> = Vec::with_capacity(bytes.len());
        font.show(bytes, |code| {
            let width = code.width * state.size * state.scale;
            if let Some(glyph) = seen(&on_page, across, width, state, &font, page) {
                unknown += usize::from(code.text.is_empty() && code.width > 0.0);
                shown.push((glyph, code.text));
            }
            let extra = if code.is_space { state.word_space } else { 0.0 };
            across += width + (state.letter_space + extra) * state.scale;
        });
        page.unknown += if marked.is_some() { 0 } else { unknown };
        match marked {
            Some((_, place)) => {
                for (glyph, _) in shown {
                    match place {
                        None => *place = Some(glyph),
                        Some(place) => place.right = place.right.max(glyph.right),
                    }
                }
            }
            None => {
                for (glyph, text) in shown {
                    put(text, &glyph, page);
                }
            }
        }
        self.advance(across);
    }
}

/// The text that the writer says stands for what it shows.
fn actual_text(operands: &[Token<'_>]) -> Marked {
    let at = operands
        .iter()
        .position(|token| *token == Token::Name(b"ActualText"))?;
    let Some(Token::Text(bytes)) = operands.get(at + 1) else {
        return None;
    };
    let object = Object::string_literal(bytes.clone());
    Some((super::object::text(&object).unwrap_or_default(), None))
}

/// The place of a letter on the page; none if it stands outside, or nowhere at all.
fn seen(
    matrix: &Matrix,
    across: f64,
    width: f64,
    state: &State,
    font: &Font,
    page: &Sheet,
) -> Option<Glyph> {
    let [a, b, c, d, e, f] = *matrix;
    let x = a * across + c * state.rise + e;
    let y = b * across + d * state.rise + f;
    let size = state.size.abs() * c.hypot(d) * font.em;
    let [left, low, right, high] = page.bounds;
    if !(x.is_finite() && y.is_finite() && size > 0.01 && size < 5_000.0) {
        return None;
    }
    if x < left - size || x > right + size || y < low - size || y > high + size {
        return None;
    }
    let length = width * a.hypot(b);
    let (cos, sin) = direction(a * state.size.signum(), b * state.size.signum());
    let turn = match (cos, sin) {
        _ if sin.abs() < 0.05 && cos > 0.0 => Turn::Upright,
        _ if sin.abs() < 0.05 => Turn::Over,
        _ if cos.abs() < 0.05 && sin > 0.0 => Turn::Left,
        _ if cos.abs() < 0.05 => Turn::Right,
        _ => Turn::Aslant,
    };
    let (along, up) = (x * cos + y * sin, y * cos - x * sin);
    Some(Glyph {
        letter: ' ',
        left: along as f32,
        right: (along + length.abs()) as f32,
        base: up as f32,
        size: size as f32,
        bold: font.bold,
        turn,
    })
}

/// Which way the line of writing runs, as a step of length one.
fn direction(across: f64, up: f64) -> (f64, f64) {
    let length = across.hypot(up);
    if length > 0.0 {
        (across / length, up / length)
    } else {
        (1.0, 0.0)
    }
}

/// Adds the letters of `text` at a place, sharing its width.
fn put(text: &str, place: &Glyph, page: &mut Sheet) {
    let count = text.chars().count();
    if count == 0 {
        return;
    }
    let share = (place.right - place.left) / count as f32;
    for (at, letter) in text.chars().enumerate() {
        // One code may stand for a text of any length.
        if page.is_full() {
            return;
        }
        let left = place.left + share * at as f32;
        page.glyphs.push(Glyph {
            letter,
            left,
            right: left + share,
            ..*place
        });
    }
}
