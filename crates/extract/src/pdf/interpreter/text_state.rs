//! The graphics and text state of one content stream, and the effect of each operator. Every glyph is
//! added to the page output with its position. Knows no font internals and no forms.

use std::rc::Rc;

use lopdf::Object;

use super::lexer::PdfToken;
use crate::{
    layout::{Glyph, Rotation},
    pdf::fonts::Font,
};

/// A matrix as PDF writes it: `a b c d e f`.
pub(crate) type Matrix = [f64; 6];

/// The output of the current page.
#[derive(Default)]
pub(crate) struct PageOutput {
    pub(crate) glyphs: Vec<Glyph>,
    pub(crate) bounds: [f64; 4],
    pub(crate) has_image: bool,
    /// The number of glyphs that the fonts do not map to text.
    pub(crate) unmapped_glyphs: usize,
    /// The number of glyphs and images shown, also outside the page.
    pub(crate) draw_count: usize,
    /// Whether the page exceeded the work limit.
    pub(crate) hit_work_limit: bool,
}

const MAX_PAGE_GLYPHS: usize = 400_000;
/// The longest string, in bytes; a glyph takes at most four.
const MAX_STRING_BYTES: usize = 4 * MAX_PAGE_GLYPHS;

impl PageOutput {
    pub(crate) const fn is_full(&self) -> bool {
        self.glyphs.len() > MAX_PAGE_GLYPHS
    }

    pub(crate) const fn add_image(&mut self) {
        self.has_image = true;
        self.draw_count += 1;
    }
}

#[derive(Clone)]
pub(crate) struct GraphicsState {
    pub(crate) ctm: Matrix,
    pub(crate) font: Option<Rc<Font>>,
    pub(crate) size: f64,
    letter_space: f64,
    word_space: f64,
    scale: f64,
    leading: f64,
    rise: f64,
}

/// The replacement text of marked content, and its position.
type MarkedContent = Option<(String, Option<Glyph>)>;

pub(crate) fn multiply(left: &Matrix, right: &Matrix) -> Matrix {
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

pub(crate) const IDENTITY: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];

pub(crate) struct TextState {
    pub(crate) state: GraphicsState,
    saved: Vec<GraphicsState>,
    /// The text matrix and the start of its line.
    tm: Matrix,
    line_matrix: Matrix,
    marked_content: Vec<MarkedContent>,
}

impl TextState {
    pub(crate) fn new(ctm: Matrix) -> Self {
        Self {
            state: GraphicsState {
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
            line_matrix: IDENTITY,
            marked_content: Vec::new(),
        }
    }

    pub(crate) fn run_operator(
        &mut self,
        operator: &[u8],
        operands: &[PdfToken<'_>],
        page: &mut PageOutput,
    ) {
        let last = |back: usize| match operands
            .len()
            .checked_sub(back + 1)
            .and_then(|at| operands.get(at))
        {
            Some(PdfToken::Number(number)) => *number,
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
                self.state.ctm = multiply(&matrix, &self.state.ctm);
            }
            b"BT" => self.set_text_matrix(IDENTITY),
            b"Tc" => self.state.letter_space = last(0),
            b"Tw" => self.state.word_space = last(0),
            b"Tz" => self.state.scale = last(0) / 100.0,
            b"TL" => self.state.leading = last(0),
            b"Ts" => self.state.rise = last(0),
            b"Tm" => self.set_text_matrix([last(5), last(4), last(3), last(2), last(1), last(0)]),
            b"Td" => self.next_line(last(1), last(0)),
            b"TD" => {
                self.state.leading = -last(0);
                self.next_line(last(1), last(0));
            }
            b"T*" => self.next_line(0.0, -self.state.leading),
            b"Tj" | b"TJ" => self.show_strings(operands, page),
            b"'" => {
                self.next_line(0.0, -self.state.leading);
                self.show_strings(operands, page);
            }
            b"\"" => {
                self.state.word_space = last(2);
                self.state.letter_space = last(1);
                self.next_line(0.0, -self.state.leading);
                let string = operands.last().cloned();
                self.show_strings(string.as_slice(), page);
            }
            b"BI" => page.add_image(),
            b"BMC" | b"BDC" if self.marked_content.len() < 1_000 => {
                self.marked_content.push(actual_text(operands));
            }
            b"EMC" => {
                if let Some(Some((text, Some(glyph)))) = self.marked_content.pop() {
                    push_text(&text, &glyph, page);
                }
            }
            _ => {}
        }
    }

    fn set_text_matrix(&mut self, matrix: Matrix) {
        self.tm = matrix;
        self.line_matrix = matrix;
    }

    fn next_line(&mut self, across: f64, up: f64) {
        self.set_text_matrix(multiply(
            &[1.0, 0.0, 0.0, 1.0, across, up],
            &self.line_matrix,
        ));
    }

    fn advance(&mut self, across: f64) {
        self.tm = multiply(&[1.0, 0.0, 0.0, 1.0, across, 0.0], &self.tm);
    }

    fn show_strings(&mut self, operands: &[PdfToken<'_>], page: &mut PageOutput) {
        page.draw_count += 1;
        for operand in operands {
            match operand {
                PdfToken::Text(bytes) => self.show_string(bytes, page),
                PdfToken::Number(number) => {
                    self.advance(-number / 1000.0 * self.state.size * self.state.scale);
                }
                _ => {}
            }
        }
    }

    fn show_string(&mut self, bytes: &[u8], page: &mut PageOutput) {
        let Some(font) = self.state.font.clone() else {
            return;
        };
        let state = &self.state;
        let on_page = multiply(&self.tm, &state.ctm);
        let mut across = 0.0;
        let marked = self
            .marked_content
            .iter_mut()
            .rev()
            .find_map(Option::as_mut);
        let mut unknown = 0;
        let bytes = bytes
            .get(..bytes.len().min(MAX_STRING_BYTES))
            .unwrap_or_default();
        let mut shown: Vec<(Glyph, &str)> = Vec::with_capacity(bytes.len());
        font.decode(bytes, |code| {
            let width = code.width * state.size * state.scale;
            if let Some(glyph) = place_glyph(&on_page, across, width, state, &font, page) {
                unknown += usize::from(code.text.is_empty() && code.width > 0.0);
                shown.push((glyph, code.text));
            }
            let extra = if code.is_space { state.word_space } else { 0.0 };
            across += width + (state.letter_space + extra) * state.scale;
        });
        page.unmapped_glyphs += if marked.is_some() { 0 } else { unknown };
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
                    push_text(text, &glyph, page);
                }
            }
        }
        self.advance(across);
    }
}

/// The `ActualText` of marked content.
fn actual_text(operands: &[PdfToken<'_>]) -> MarkedContent {
    let at = operands
        .iter()
        .position(|token| *token == PdfToken::Name(b"ActualText"))?;
    let Some(PdfToken::Text(bytes)) = operands.get(at + 1) else {
        return None;
    };
    let object = Object::string_literal(bytes.clone());
    Some((
        crate::pdf::object_access::decode_text(&object).unwrap_or_default(),
        None,
    ))
}

/// The position of a glyph on the page; `None` if it is outside.
fn place_glyph(
    matrix: &Matrix,
    across: f64,
    width: f64,
    state: &GraphicsState,
    font: &Font,
    page: &PageOutput,
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
    let (cos, sin) = unit_vector(a * state.size.signum(), b * state.size.signum());
    let turn = match (cos, sin) {
        _ if sin.abs() < 0.05 && cos > 0.0 => Rotation::Upright,
        _ if sin.abs() < 0.05 => Rotation::UpsideDown,
        _ if cos.abs() < 0.05 && sin > 0.0 => Rotation::Left,
        _ if cos.abs() < 0.05 => Rotation::Right,
        _ => Rotation::Skewed,
    };
    let (along, up) = (x * cos + y * sin, y * cos - x * sin);
    Some(Glyph {
        letter: ' ',
        left: along as f32,
        right: (along + length.abs()) as f32,
        baseline: up as f32,
        size: size as f32,
        bold: font.bold,
        rotation: turn,
    })
}

/// The direction of the baseline as a unit vector.
fn unit_vector(across: f64, up: f64) -> (f64, f64) {
    let length = across.hypot(up);
    if length > 0.0 {
        (across / length, up / length)
    } else {
        (1.0, 0.0)
    }
}

/// Adds the characters of `text` at a position, dividing its width.
fn push_text(text: &str, glyph: &Glyph, page: &mut PageOutput) {
    let count = text.chars().count();
    if count == 0 {
        return;
    }
    let share = (glyph.right - glyph.left) / count as f32;
    for (at, letter) in text.chars().enumerate() {
        // One code may map to a text of any length.
        if page.is_full() {
            return;
        }
        let left = glyph.left + share * at as f32;
        page.glyphs.push(Glyph {
            letter,
            left,
            right: left + share,
            ..*glyph
        });
    }
}
