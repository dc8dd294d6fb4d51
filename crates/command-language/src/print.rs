//! Prints a tree as text that parses to the same tree.
//!
//! This holds for parsed trees and for trees built with [`StepArgs::from_json`],
//! [`StepArgs::from_pairs`] and [`StepArgs::from_text`]: raw text is printed unchanged.

use std::fmt::{self, Display, Formatter, Write as _};

use super::{
    ast::{
        Arrow, CommandAnnotations, CommandStep, CommandTree, GateAnnotation, ShellVerify,
        StageKind, StepArgs,
    },
    lexer::{TokenKind, tokenize_arguments},
};
use crate::quote::{QUOTE_CHARS, quote_with};

impl Display for CommandTree {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let mut printer = CommandPrinter {
            words: Vec::new(),
            open_quotes: Vec::new(),
        };
        printer.print_annotations(&self.whole);
        for (number, stage) in self.stages.iter().enumerate() {
            printer.words.extend(match stage.arrow {
                Arrow::First => None,
                Arrow::Chain => Some("-->".to_owned()),
                Arrow::Delegate => Some("==>".to_owned()),
            });
            match &stage.kind {
                StageKind::Group(steps) => printer.print_group(steps, number == 0, false),
                StageKind::Conditional {
                    condition,
                    then,
                    otherwise,
                } => {
                    let condition = printer.quote_text(&condition.value);
                    printer.words.push(format!("? {condition} :"));
                    printer.print_group(then, false, false);
                    if !otherwise.is_empty() {
                        printer.push_word(":");
                        printer.print_group(otherwise, false, true);
                    }
                }
            }
        }
        out.write_str(&printer.words.join(" "))
    }
}

struct CommandPrinter {
    words: Vec<String>,
    /// Quotes that are open in the printed text: the next one of the kind would close them.
    open_quotes: Vec<char>,
}

impl CommandPrinter {
    fn push_word(&mut self, word: &str) {
        self.words.push(word.to_owned());
    }

    fn quote_text(&self, text: &str) -> String {
        let free = QUOTE_CHARS
            .into_iter()
            .find(|mark| !self.open_quotes.contains(mark));
        quote_with(text, free.unwrap_or('"'))
    }

    /// `leads`: the group starts the command. `bare`: the preceding text requires `>>` after it.
    fn print_group(&mut self, steps: &[CommandStep], leads: bool, bare: bool) {
        for (number, step) in steps.iter().enumerate() {
            if number > 0 {
                self.push_word("+");
            }
            self.print_step(step, leads && number == 0, bare || number > 0);
        }
    }

    /// Prints a step with its annotations before it. The first step of the command has them after
    /// its id, because annotations before it apply to the whole command.
    fn print_step(&mut self, step: &CommandStep, leads: bool, bare: bool) {
        if !leads {
            if bare && !step.marks.gates.is_empty() {
                self.push_word(">>");
            }
            self.print_annotations(&step.marks);
        }
        self.words.push(format!(">>{}", step.id.value));
        if let Some(repeat) = &step.repeat {
            self.words.push(format!("* {}", repeat.value));
        }
        match &step.args {
            StepArgs::None => {}
            StepArgs::Json { raw, .. } => self.push_word(&raw.value),
            StepArgs::Text { raw, .. } => {
                self.push_word(&raw.value);
                self.track_open_quotes(&raw.value);
            }
        }
        if leads {
            self.print_annotations(&step.marks);
        }
    }

    fn track_open_quotes(&mut self, raw: &str) {
        let mut value_starts = true;
        for token in tokenize_arguments(raw) {
            let first = token.span.slice(raw).chars().next();
            if value_starts
                && token.kind != TokenKind::Quoted
                && let Some(mark) = first.filter(|first| QUOTE_CHARS.contains(first))
            {
                self.open_quotes.push(mark);
            }
            value_starts = matches!(token.kind, TokenKind::Blank | TokenKind::Sign)
                || token.span.slice(raw) == "?";
        }
    }

    fn print_annotations(&mut self, annotations: &CommandAnnotations) {
        if let Some(modifier) = &annotations.modifier {
            self.words.push(format!("%{}", modifier.value.name()));
        }
        if let Some(framework) = &annotations.framework {
            self.words.push(format!("@{}", framework.value));
        }
        if let Some(style) = &annotations.style {
            self.words.push(format!("#{}", style.value));
        }
        for gate in &annotations.gates {
            let written = self.format_gate(&gate.value);
            self.words.push(written);
        }
    }

    fn format_gate(&self, gate: &GateAnnotation) -> String {
        match gate {
            GateAnnotation::Word(word) => format!(":: {word}"),
            GateAnnotation::Named { name, text } => format!(":: {name}:{}", self.quote_text(text)),
            GateAnnotation::Criteria(criteria) => {
                let quoted: Vec<_> = criteria
                    .iter()
                    .map(|criterion| self.quote_text(&criterion.value))
                    .collect();
                format!(":: {}", quoted.join(", "))
            }
            GateAnnotation::Verify(verify) => self.format_verify(verify),
        }
    }

    fn format_verify(&self, verify: &ShellVerify) -> String {
        let mut written = format!(":: verify:{}", self.quote_text(&verify.command));
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
