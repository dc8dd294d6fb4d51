//! Converts LaTeX values to plain text: accents, letters, escapes, dashes and quotes. Commands
//! such as `\emph` are removed and their argument stays. One pass, whatever the nesting.

use unicode_normalization::char::compose;

pub(super) fn decode(value: &str) -> String {
    let mut decoder = LatexDecoder {
        rest: value,
        out: String::with_capacity(value.len()),
        math: false,
    };
    while let Some(it) = decoder.next() {
        decoder.push_char(it);
    }
    decoder.out
}

/// Decodes a URL: only braces and escapes are removed; dashes and quotes stay.
pub(super) fn decode_url(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars().peekable();
    while let Some(it) = chars.next() {
        let escapes = it == '\\'
            && chars
                .peek()
                .is_some_and(|it| matches!(it, '_' | '%' | '&' | '#' | '$' | '~' | '{' | '}'));
        if !escapes && !matches!(it, '{' | '}') {
            out.push(it);
        }
    }
    let bare = out.trim();
    bare.strip_prefix("\\url").unwrap_or(bare).trim().to_owned()
}

struct LatexDecoder<'a> {
    rest: &'a str,
    out: String,
    math: bool,
}

impl LatexDecoder<'_> {
    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        next
    }

    fn eat(&mut self, wanted: &str) -> bool {
        let rest = self.rest.strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn push_char(&mut self, it: char) {
        match it {
            '\\' => self.command(),
            '{' | '}' => {}
            '$' => self.math = !self.math,
            '~' => self.out.push(' '),
            '-' if self.math => self.out.push('-'),
            '-' if self.eat("--") => self.out.push('—'),
            '-' if self.eat("-") => self.out.push('–'),
            '`' if self.eat("`") => self.out.push('“'),
            '\'' if self.eat("'") => self.out.push('”'),
            _ => self.out.push(it),
        }
    }

    fn command(&mut self) {
        let letters = self
            .rest
            .find(|it: char| !it.is_ascii_alphabetic())
            .unwrap_or(self.rest.len());
        let (name, rest) = self
            .rest
            .split_at_checked(letters)
            .unwrap_or((self.rest, ""));
        if name.is_empty() {
            if let Some(sign) = self.next() {
                self.push_sign(sign);
            }
            return;
        }
        // White space after a command's name ends the name and is not printed.
        self.rest = rest.trim_start();
        if let Some(text) = letter(name).or_else(|| symbol(name)) {
            self.out.push_str(text);
        } else if let Some(mark) = accent(name) {
            self.push_accented(mark, None);
        } else if self.math {
            self.out.push('\\');
            self.out.push_str(name);
            self.out.push(' ');
        }
    }

    fn push_sign(&mut self, sign: char) {
        let alone = match sign {
            '^' => Some('^'),
            '~' => Some('~'),
            _ => None,
        };
        let mut of = [0; 4];
        match accent(sign.encode_utf8(&mut of)) {
            Some(mark) => self.push_accented(mark, alone),
            None => match sign {
                ',' | ';' | ':' | ' ' | '\n' | '\\' => self.out.push(' '),
                '-' | '/' | '!' | '(' | ')' => {}
                _ => self.out.push(sign),
            },
        }
    }

    /// Adds the next letter with an accent; `alone` is the accent without a letter.
    fn push_accented(&mut self, mark: char, alone: Option<char>) {
        self.rest = self.rest.trim_start();
        let group = self.eat("{");
        self.rest = self.rest.trim_start();
        if group && self.eat("}") || self.rest.is_empty() {
            self.out.extend(alone);
            return;
        }
        // The dotless letters exist only for their accents.
        let base = if self.eat("\\i") {
            Some('i')
        } else if self.eat("\\j") {
            Some('j')
        } else if self.rest.starts_with(['\\', '{', '}']) {
            None
        } else {
            self.next()
        };
        let Some(base) = base else { return };
        match compose(base, mark) {
            Some(whole) => self.out.push(whole),
            None => self.out.extend([base, mark]),
        }
    }
}

fn accent(name: &str) -> Option<char> {
    Some(match name {
        "`" => '\u{300}',
        "'" => '\u{301}',
        "^" => '\u{302}',
        "~" => '\u{303}',
        "=" => '\u{304}',
        "u" => '\u{306}',
        "." => '\u{307}',
        "\"" => '\u{308}',
        "r" => '\u{30A}',
        "H" => '\u{30B}',
        "v" => '\u{30C}',
        "d" => '\u{323}',
        "c" => '\u{327}',
        "k" => '\u{328}',
        "b" => '\u{331}',
        "t" => '\u{361}',
        _ => return None,
    })
}

fn letter(name: &str) -> Option<&'static str> {
    Some(match name {
        "aa" => "å",
        "AA" => "Å",
        "ae" => "æ",
        "AE" => "Æ",
        "oe" => "œ",
        "OE" => "Œ",
        "o" => "ø",
        "O" => "Ø",
        "l" => "ł",
        "L" => "Ł",
        "ss" => "ß",
        "i" => "ı",
        "j" => "ȷ",
        "dh" => "ð",
        "DH" => "Ð",
        "dj" => "đ",
        "DJ" => "Đ",
        "th" => "þ",
        "TH" => "Þ",
        "ng" => "ŋ",
        "NG" => "Ŋ",
        "alpha" => "α",
        "beta" => "β",
        "gamma" => "γ",
        "Gamma" => "Γ",
        "delta" => "δ",
        "Delta" => "Δ",
        "epsilon" | "varepsilon" => "ε",
        "eta" => "η",
        "theta" => "θ",
        "kappa" => "κ",
        "lambda" => "λ",
        "Lambda" => "Λ",
        "mu" | "textmu" => "μ",
        "nu" => "ν",
        "pi" => "π",
        "rho" => "ρ",
        "sigma" => "σ",
        "Sigma" => "Σ",
        "tau" => "τ",
        "phi" | "varphi" => "φ",
        "chi" => "χ",
        "psi" => "ψ",
        "omega" => "ω",
        "Omega" => "Ω",
        _ => return None,
    })
}

fn symbol(name: &str) -> Option<&'static str> {
    Some(match name {
        "textendash" => "–",
        "textemdash" => "—",
        "textquoteleft" => "‘",
        "textquoteright" => "’",
        "textquotedblleft" => "“",
        "textquotedblright" => "”",
        "textquotesingle" => "'",
        "textquotedbl" => "\"",
        "textasciicircum" => "^",
        "textasciitilde" | "sim" => "~",
        "textasciigrave" => "`",
        "textbackslash" | "backslash" => "\\",
        "textbraceleft" | "lbrace" => "{",
        "textbraceright" | "rbrace" => "}",
        "textbar" => "|",
        "textless" => "<",
        "textgreater" => ">",
        "textunderscore" => "_",
        "textdollar" => "$",
        "textdegree" | "degree" => "°",
        "textregistered" => "®",
        "texttrademark" => "™",
        "copyright" | "textcopyright" => "©",
        "textellipsis" | "ldots" | "dots" => "…",
        "textbullet" => "•",
        "pm" | "textpm" => "±",
        "times" | "texttimes" => "×",
        "cdot" | "textperiodcentered" => "·",
        "leq" | "le" => "≤",
        "geq" | "ge" => "≥",
        "infty" => "∞",
        "rightarrow" | "to" => "→",
        "guillemotleft" => "«",
        "guillemotright" => "»",
        "S" => "§",
        "P" => "¶",
        "pounds" => "£",
        "euro" | "texteuro" => "€",
        "LaTeX" => "LaTeX",
        "TeX" => "TeX",
        "newline" | "par" | "quad" | "qquad" | "space" => " ",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_letters_and_escapes_are_read() {
        for (written, meant) in [
            (
                r#"G{\"o}del, {\'E}douard, Erd\H{o}s, \v{C}ech, \c{c}a"#,
                "Gödel, Édouard, Erdős, Čech, ça",
            ),
            (
                r#"M\"uller, \'{\i}, \^\i, na\"{\i}ve"#,
                "Müller, í, î, naïve",
            ),
            (
                r"{\O}rsted and \L ukasz, stra{\ss}e",
                "Ørsted and Łukasz, straße",
            ),
            (r"A \& B, 50\%, \$5, \#1, a\_b", "A & B, 50%, $5, #1, a_b"),
            (
                r"{\textbraceleft}x{\textbackslash}y{\textasciitilde}{\textasciicircum}",
                r"{x\y~^",
            ),
            (r"a--b---c ``q'' -{}-", "a–b—c “q” --"),
            (r"The \emph{very} {GPU}~case", "The very GPU case"),
            (r"$\alpha$-helix of $x_1 \leq 2$", "α-helix of x_1 ≤2"),
            (r"\~{}x\^{}", "~x^"),
            (r"end\", "end"),
            (r"\'", ""),
        ] {
            assert_eq!(decode(written), meant, "{written}");
        }
    }

    #[test]
    fn addresses_lose_their_escapes_only() {
        assert_eq!(
            decode_url(r"\url{https://a.b/c\_d--e\%20f}"),
            "https://a.b/c_d--e%20f"
        );
    }
}
