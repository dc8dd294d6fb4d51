//! The lexer of content streams and character maps: numbers, strings, names, operators. It never
//! fails and skips what it cannot read. Knows no meanings.

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PdfToken<'a> {
    Number(f64),
    Text(Vec<u8>),
    Name(&'a [u8]),
    Operator(&'a [u8]),
    ArrayStart,
    ArrayEnd,
    DictStart,
    DictEnd,
}

#[derive(Debug, Clone)]
pub(crate) struct PdfLexer<'a> {
    bytes: &'a [u8],
    position: usize,
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, 0 | 9 | 10 | 12 | 13 | 32)
}

const fn is_delimiter(byte: u8) -> bool {
    matches!(
        byte,
        b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%'
    )
}

impl<'a> PdfLexer<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.position + ahead).copied()
    }

    fn skip_space(&mut self) {
        while let Some(byte) = self.peek(0) {
            if byte == b'%' {
                while self.peek(0).is_some_and(|byte| byte != 10 && byte != 13) {
                    self.position += 1;
                }
            } else if is_space(byte) {
                self.position += 1;
            } else {
                break;
            }
        }
    }

    fn read_regular(&mut self) -> &'a [u8] {
        let start = self.position;
        while self
            .peek(0)
            .is_some_and(|byte| !is_space(byte) && !is_delimiter(byte))
        {
            self.position += 1;
        }
        self.bytes.get(start..self.position).unwrap_or_default()
    }

    fn read_literal_string(&mut self) -> Vec<u8> {
        let mut text = Vec::new();
        let mut depth = 1_u32;
        while let Some(byte) = self.peek(0) {
            self.position += 1;
            match byte {
                b'\\' => self.read_escape(&mut text),
                b'(' => {
                    depth += 1;
                    text.push(byte);
                }
                b')' => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                    text.push(byte);
                }
                _ => text.push(byte),
            }
        }
        text
    }

    fn read_escape(&mut self, text: &mut Vec<u8>) {
        let Some(byte) = self.peek(0) else { return };
        self.position += 1;
        match byte {
            b'n' => text.push(b'\n'),
            b'r' => text.push(b'\r'),
            b't' => text.push(b'\t'),
            b'b' => text.push(8),
            b'f' => text.push(12),
            b'\r' => {
                if self.peek(0) == Some(b'\n') {
                    self.position += 1;
                }
            }
            b'\n' => {}
            b'0'..=b'7' => {
                let mut code = u32::from(byte - b'0');
                for _ in 0..2 {
                    let Some(digit @ b'0'..=b'7') = self.peek(0) else {
                        break;
                    };
                    code = code * 8 + u32::from(digit - b'0');
                    self.position += 1;
                }
                text.push((code & 0xff) as u8);
            }
            other => text.push(other),
        }
    }

    fn read_hex_string(&mut self) -> Vec<u8> {
        let mut text = Vec::new();
        let mut high = None;
        while let Some(byte) = self.peek(0) {
            self.position += 1;
            if byte == b'>' {
                break;
            }
            let Some(digit) = (byte as char).to_digit(16) else {
                continue;
            };
            let digit = digit as u8;
            match high.take() {
                None => high = Some(digit << 4),
                Some(high) => text.push(high | digit),
            }
        }
        text.extend(high);
        text
    }

    /// Skips the data of an inline image, including its `EI`.
    pub(crate) fn skip_image(&mut self) {
        let data = self.bytes.get(self.position..).unwrap_or_default();
        let end = data.windows(4).position(|window| match *window {
            [before, b'E', b'I', after] => is_space(before) && is_space(after),
            _ => false,
        });
        self.position += end.map_or(data.len(), |end| end + 3);
    }
}

impl<'a> Iterator for PdfLexer<'a> {
    type Item = PdfToken<'a>;

    fn next(&mut self) -> Option<PdfToken<'a>> {
        loop {
            self.skip_space();
            let byte = self.peek(0)?;
            match byte {
                b'(' => {
                    self.position += 1;
                    return Some(PdfToken::Text(self.read_literal_string()));
                }
                b'<' if self.peek(1) == Some(b'<') => {
                    self.position += 2;
                    return Some(PdfToken::DictStart);
                }
                b'>' if self.peek(1) == Some(b'>') => {
                    self.position += 2;
                    return Some(PdfToken::DictEnd);
                }
                b'<' => {
                    self.position += 1;
                    return Some(PdfToken::Text(self.read_hex_string()));
                }
                b'[' => {
                    self.position += 1;
                    return Some(PdfToken::ArrayStart);
                }
                b']' => {
                    self.position += 1;
                    return Some(PdfToken::ArrayEnd);
                }
                b'/' => {
                    self.position += 1;
                    return Some(PdfToken::Name(self.read_regular()));
                }
                b')' | b'>' | b'{' | b'}' => self.position += 1,
                _ => {
                    let word = self.read_regular();
                    return Some(
                        parse_number(word).map_or(PdfToken::Operator(word), PdfToken::Number),
                    );
                }
            }
        }
    }
}

/// Parses a number. Some writers double the sign or leave out the digits; a lone sign or point is
/// zero, as in other readers.
fn parse_number(word: &[u8]) -> Option<f64> {
    let first = *word.first()?;
    if !(first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'.')) {
        return None;
    }
    let mut whole = 0.0_f64;
    let mut scale = 0.0_f64;
    let mut negative = false;
    for (at, &byte) in word.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                let digit = f64::from(byte - b'0');
                if scale > 0.0 {
                    whole += digit * scale;
                    scale /= 10.0;
                } else {
                    whole = whole * 10.0 + digit;
                }
            }
            b'.' if scale == 0.0 => scale = 0.1,
            b'-' if at == 0 => negative = true,
            b'+' if at == 0 => {}
            b'-' => break,
            _ => return None,
        }
    }
    Some(if negative { -whole } else { whole })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_apart() {
        let words: Vec<_> =
            PdfLexer::new(b"/F1 9.5 Tf [(a\\051\\n) -20 <4142>] TJ % note\n-.5 --3").collect();
        assert_eq!(
            words,
            [
                PdfToken::Name(b"F1"),
                PdfToken::Number(9.5),
                PdfToken::Operator(b"Tf"),
                PdfToken::ArrayStart,
                PdfToken::Text(b"a)\n".to_vec()),
                PdfToken::Number(-20.0),
                PdfToken::Text(b"AB".to_vec()),
                PdfToken::ArrayEnd,
                PdfToken::Operator(b"TJ"),
                PdfToken::Number(-0.5),
                PdfToken::Number(0.0),
            ]
        );
    }

    #[test]
    fn an_open_string_ends_with_the_stream() {
        let words: Vec<_> = PdfLexer::new(b"(never ( closed").collect();
        assert_eq!(words, [PdfToken::Text(b"never ( closed".to_vec())]);
    }

    #[test]
    fn an_inline_image_is_stepped_over() {
        let mut scanner = PdfLexer::new(b"ID \x00(\xff)EIx EI Q");
        assert_eq!(scanner.next(), Some(PdfToken::Operator(b"ID")));
        scanner.skip_image();
        assert_eq!(scanner.next(), Some(PdfToken::Operator(b"Q")));
    }
}
