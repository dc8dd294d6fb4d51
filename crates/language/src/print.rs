//! A tree back to text that reads as the same tree.
//!
//! Holds for trees that were read, and for those built of [`Args::json`], [`Args::pairs`] and
//! [`Args::quoted`]: raw text is written as it is.

use std::fmt::{self, Display, Formatter, Write as _};

use crate::{
    quote::{QUOTES, quote_with},
    scan::{TokenKind, data_tokens},
    tree::{Args, Arrow, Command, GateMark, Marks, StageKind, Step, Verify},
};

impl Display for Command {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let mut printer = Printer {
            words: Vec::new(),
            open: Vec::new(),
        };
        printer.marks(&self.whole);
        for (number, stage) in self.stages.iter().enumerate() {
            printer.words.extend(match stage.arrow {
                Arrow::First => None,
                Arrow::Chain => Some("-->".to_owned()),
                Arrow::Delegate => Some("==>".to_owned()),
            });
            match &stage.kind {
                StageKind::Group(steps) => printer.group(steps, number == 0, false),
                StageKind::Conditional {
                    condition,
                    then,
                    otherwise,
                } => {
                    let condition = printer.quoted(&condition.value);
                    printer.words.push(format!("? {condition} :"));
                    printer.group(then, false, false);
                    if !otherwise.is_empty() {
                        printer.word(":");
                        printer.group(otherwise, false, true);
                    }
                }
            }
        }
        out.write_str(&printer.words.join(" "))
    }
}

struct Printer {
    words: Vec<String>,
    /// Quote marks that stand open in text already written: the next of the kind would close it.
    open: Vec<char>,
}

impl Printer {
    fn word(&mut self, word: &str) {
        self.words.push(word.to_owned());
    }

    fn quoted(&self, text: &str) -> String {
        let free = QUOTES.into_iter().find(|mark| !self.open.contains(mark));
        quote_with(text, free.unwrap_or('"'))
    }

    /// `leads`: the group opens the command. `bare`: what stands before needs `>>` behind it.
    fn group(&mut self, steps: &[Step], leads: bool, bare: bool) {
        for (number, step) in steps.iter().enumerate() {
            if number > 0 {
                self.word("+");
            }
            self.step(step, leads && number == 0, bare || number > 0);
        }
    }

    /// The marks of a step stand before it, except for the first of the command, where that would
    /// be the place of marks for the whole.
    fn step(&mut self, step: &Step, leads: bool, bare: bool) {
        if !leads {
            if bare && !step.marks.gates.is_empty() {
                self.word(">>");
            }
            self.marks(&step.marks);
        }
        self.words.push(format!(">>{}", step.id.value));
        if let Some(repeat) = &step.repeat {
            self.words.push(format!("* {}", repeat.value));
        }
        match &step.args {
            Args::None => {}
            Args::Json { raw, .. } => self.word(&raw.value),
            Args::Text { raw, .. } => {
                self.word(&raw.value);
                self.note_open(&raw.value);
            }
        }
        if leads {
            self.marks(&step.marks);
        }
    }

    fn note_open(&mut self, raw: &str) {
        let mut value_starts = true;
        for token in data_tokens(raw) {
            let first = token.span.of(raw).chars().next();
            if value_starts
                && token.kind != TokenKind::Quoted
                && let Some(mark) = first.filter(|first| QUOTES.contains(first))
            {
                self.open.push(mark);
            }
            value_starts = matches!(token.kind, TokenKind::Blank | TokenKind::Sign)
                || token.span.of(raw) == "?";
        }
    }

    fn marks(&mut self, marks: &Marks) {
        if let Some(modifier) = &marks.modifier {
            self.words.push(format!("%{}", modifier.value.name()));
        }
        if let Some(framework) = &marks.framework {
            self.words.push(format!("@{}", framework.value));
        }
        if let Some(style) = &marks.style {
            self.words.push(format!("#{}", style.value));
        }
        for gate in &marks.gates {
            let written = self.gate(&gate.value);
            self.words.push(written);
        }
    }

    fn gate(&self, gate: &GateMark) -> String {
        match gate {
            GateMark::Word(word) => format!(":: {word}"),
            GateMark::Named { name, text } => format!(":: {name}:{}", self.quoted(text)),
            GateMark::Criteria(criteria) => {
                let quoted: Vec<_> = criteria
                    .iter()
                    .map(|criterion| self.quoted(&criterion.value))
                    .collect();
                format!(":: {}", quoted.join(", "))
            }
            GateMark::Verify(verify) => self.verify(verify),
        }
    }

    fn verify(&self, verify: &Verify) -> String {
        let mut written = format!(":: verify:{}", self.quoted(&verify.command));
        if let Some(preset) = verify.preset {
            let _ = write!(written, " :{}", preset.name());
        }
        if let Some(max) = verify.max {
            let _ = write!(written, " max:{max}");
        }
        if let Some(timeout) = verify.timeout {
            let _ = write!(written, " timeout:{timeout}");
        }
        if let Some(again) = verify.again {
            let _ = write!(written, " loop:{again}");
        }
        written
    }
}
