//! Text utilities of the verifier: tokens, stems, character folding, lines.

pub(crate) mod char_folding;
pub(crate) mod lexicon;
pub(crate) mod markdown_lines;
pub(crate) mod stemmer;
pub(crate) mod tokenizer;
