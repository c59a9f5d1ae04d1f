use std::borrow::Cow;

use super::Error;

/// Reads the tokens of a JSON text. Every error is the one that Go's scanner gives at this place.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    /// The same text where all of it is UTF-8, so that strings are cut out of it without a look at them.
    text: Option<&'a str>,
    /// Offset of the next byte.
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            text: std::str::from_utf8(bytes).ok(),
            at: 0,
        }
    }

    /// Number of bytes read.
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    /// The next byte that is no space.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            match self.bytes.get(self.at) {
                Some(b' ' | b'\n' | b'\t' | b'\r') => self.at += 1,
                other => return other.copied(),
            }
        }
    }

    /// Goes past the byte that [`peek`](Self::peek) returned.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

    /// The error for the next byte, outside a literal.
    #[cold]
    pub(super) fn unexpected(&self, context: &'static str) -> Error {
        match self.bytes.get(self.at) {
            Some(&byte) => Error::UnexpectedByte {
                byte,
                context,
                offset: self.at + 1,
            },
            None => Error::UnexpectedEnd { offset: self.at },
        }
    }

    /// The error for the next byte within a literal; Go ends a text with a space there.
    #[cold]
    fn unexpected_in_literal(&self, context: &'static str) -> Error {
        Error::UnexpectedByte {
            byte: self.bytes.get(self.at).copied().unwrap_or(b' '),
            context,
            offset: self.bytes.len().min(self.at + 1),
        }
    }

    /// Reads `true`, `false` or `null`, of which `contexts` says Go's words for each byte after the first.
    pub(super) fn literal(&mut self, word: &[u8], contexts: &[&'static str]) -> Result<(), Error> {
        self.at += 1;
        for (&byte, context) in word[1..].iter().zip(contexts) {
            if self.bytes.get(self.at) != Some(&byte) {
                return Err(self.unexpected_in_literal(context));
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Reads a number; the next byte is a minus sign or a digit.
    pub(super) fn number(&mut self) -> Result<&'a str, Error> {
        let start = self.at;
        if self.bytes[self.at] == b'-' {
            self.at += 1;
        }
        match self.bytes.get(self.at) {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits("")?,
            _ => return Err(self.unexpected_in_literal("in numeric literal")),
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits("after decimal point in numeric literal")?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            self.digits("in exponent of numeric literal")?;
        }
        Ok(std::str::from_utf8(&self.bytes[start..self.at]).expect("a number is ASCII"))
    }

    /// Reads one digit or more.
    fn digits(&mut self, context: &'static str) -> Result<(), Error> {
        let rest = &self.bytes[self.at..];
        match rest
            .iter()
            .position(|byte| !byte.is_ascii_digit())
            .unwrap_or(rest.len())
        {
            0 => Err(self.unexpected_in_literal(context)),
            count => {
                self.at += count;
                Ok(())
            }
        }
    }

    /// Reads a string; the next byte is its opening quotation mark.
    #[inline]
    pub(super) fn string(&mut self) -> Result<Cow<'a, str>, Error> {
        self.at += 1;
        let start = self.at;
        self.at += plain_len(&self.bytes[start..]);
        if self.bytes.get(self.at) == Some(&b'"') {
            let plain = self.piece(start);
            self.at += 1;
            return Ok(plain);
        }
        self.escaped_string(start).map(Cow::Owned)
    }

    /// Reads on after the first byte of a string that does not stand for itself.
    fn escaped_string(&mut self, start: usize) -> Result<String, Error> {
        let mut string = self.piece(start).into_owned();
        loop {
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(string);
                }
                Some(b'\\') => {
                    self.at += 1;
                    string.push(self.escape()?);
                }
                Some(0..0x20) => return Err(self.unexpected("in string literal")),
                Some(_) => {
                    let start = self.at;
                    self.at += plain_len(&self.bytes[start..]);
                    string.push_str(&self.piece(start));
                }
                None => return Err(Error::UnexpectedEnd { offset: self.at }),
            }
        }
    }

    /// Reads what follows a backslash.
    fn escape(&mut self) -> Result<char, Error> {
        let c = match self.bytes.get(self.at) {
            Some(b'u') => {
                self.at += 1;
                return self.unicode_escape();
            }
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(&byte @ (b'\\' | b'/' | b'"')) => char::from(byte),
            _ => return Err(self.unexpected_in_literal("in string escape code")),
        };
        self.at += 1;
        Ok(c)
    }

    /// Reads what follows `\u`, and the second half of a surrogate pair. A surrogate without its other half becomes
    /// U+FFFD, and what follows it is read for itself, as Go's `unquote` does.
    fn unicode_escape(&mut self) -> Result<char, Error> {
        let unit = self.hex4()?;
        if let Some(c) = char::from_u32(u32::from(unit)) {
            return Ok(c);
        }
        let after_first = self.at;
        if self.bytes[self.at..].starts_with(b"\\u") {
            self.at += 2;
            let pair = [unit, self.hex4()?];
            if let Some(Ok(c)) = char::decode_utf16(pair).next() {
                return Ok(c);
            }
            self.at = after_first;
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex4(&mut self) -> Result<u16, Error> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = match self.bytes.get(self.at) {
                Some(digit @ b'0'..=b'9') => digit - b'0',
                Some(digit @ b'a'..=b'f') => digit - b'a' + 10,
                Some(digit @ b'A'..=b'F') => digit - b'A' + 10,
                _ => return Err(self.unexpected_in_literal("in \\u hexadecimal character escape")),
            };
            unit = unit << 4 | u16::from(digit);
            self.at += 1;
        }
        Ok(unit)
    }

    /// The text from `start` to the next byte, both within a string. Each byte that is no UTF-8 becomes U+FFFD.
    #[inline]
    fn piece(&self, start: usize) -> Cow<'a, str> {
        match self.text {
            Some(text) => Cow::Borrowed(&text[start..self.at]),
            None => replace_invalid(&self.bytes[start..self.at]),
        }
    }
}

/// A text in which each byte that is no UTF-8 is U+FFFD.
pub(crate) fn replace_invalid(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(valid) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(valid);
    }
    let mut replaced = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        replaced.push_str(chunk.valid());
        replaced.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Cow::Owned(replaced)
}

/// Number of bytes before the first one that is a quotation mark, a backslash or a control character.
#[inline]
fn plain_len(bytes: &[u8]) -> usize {
    const STEP: usize = size_of::<u64>();
    let (chunks, _) = bytes.as_chunks::<STEP>();
    let mut len = 0;
    for chunk in chunks {
        let special = special_bytes(u64::from_le_bytes(*chunk));
        if special != 0 {
            return len + special.trailing_zeros() as usize / 8;
        }
        len += STEP;
    }
    let rest = &bytes[len..];
    len + rest
        .iter()
        .position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20)
        .unwrap_or(rest.len())
}

/// The high bit of the lowest byte that is special, and perhaps of bytes above it: all eight bytes are looked at
/// at once, and the borrow of a subtraction reaches only upwards.
#[inline]
fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    let zero_byte = |word: u64| word.wrapping_sub(ONES) & !word;
    let quote = zero_byte(word ^ (ONES * u64::from(b'"')));
    let backslash = zero_byte(word ^ (ONES * u64::from(b'\\')));
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (quote | backslash | control) & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_first_special_byte_at_every_place() {
        for special in 0..=u8::MAX {
            let is_special = special < 0x20 || special == b'"' || special == b'\\';
            for before in 0..20 {
                for filler in [b' ', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xff] {
                    let mut bytes = vec![filler; before];
                    bytes.push(special);
                    bytes.extend([filler, b'"', 0, filler]);
                    let expected = if is_special { before } else { before + 2 };
                    assert_eq!(plain_len(&bytes), expected, "{special} after {before} of {filler}");
                }
            }
        }
    }
}
