//! Reading the text character by character.

use super::Error;
use super::scanner::Scanner;

impl Scanner<'_> {
    /// Makes sure that so many characters can be read; there are any number of NULs after the end.
    #[inline]
    pub(super) fn need(&self, count: usize) -> Result<(), Error> {
        match self.source.fault {
            Some(fault) if self.source.text[self.at..].chars().take(count).count() < count => {
                Err(Error::without_line(fault))
            }
            _ => Ok(()),
        }
    }

    /// The byte at so many bytes from here; NUL after the end.
    #[inline]
    pub(super) fn byte(&self, offset: usize) -> u8 {
        self.bytes.get(self.at + offset).copied().unwrap_or(0)
    }

    pub(super) fn is_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    #[inline]
    pub(super) fn is_blank(&self, offset: usize) -> bool {
        matches!(self.byte(offset), b' ' | b'\t')
    }

    #[inline]
    pub(super) fn is_break(&self, offset: usize) -> bool {
        match self.byte(offset) {
            b'\r' | b'\n' => true,
            0xc2 => self.byte(offset + 1) == 0x85,
            0xe2 => self.byte(offset + 1) == 0x80 && matches!(self.byte(offset + 2), 0xa8 | 0xa9),
            _ => false,
        }
    }

    #[inline]
    pub(super) fn is_breakz(&self, offset: usize) -> bool {
        self.byte(offset) == 0 || self.is_break(offset)
    }

    #[inline]
    pub(super) fn is_blankz(&self, offset: usize) -> bool {
        self.is_blank(offset) || self.is_breakz(offset)
    }

    /// A letter, a digit, `_` or `-`.
    pub(super) fn is_word(&self) -> bool {
        matches!(self.byte(0), b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'-')
    }

    /// Goes past a character.
    #[inline]
    pub(super) fn skip(&mut self) {
        self.at += self.width();
        self.mark.index += 1;
        self.mark.column += 1;
    }

    pub(super) fn skip_many(&mut self, count: usize) {
        for _ in 0..count {
            self.skip();
        }
    }

    /// Goes past a line break.
    pub(super) fn skip_line(&mut self) {
        self.read_line(&mut String::new());
    }

    /// Appends a character and goes past it.
    #[inline]
    pub(super) fn read(&mut self, out: &mut String) {
        let width = self.width();
        out.push_str(&self.source.text[self.at..self.at + width]);
        self.skip();
    }

    /// Appends a line break and goes past it, if one is here. All but U+2028 and U+2029 become a line feed.
    pub(super) fn read_line(&mut self, out: &mut String) {
        let width = match (self.byte(0), self.byte(1)) {
            (b'\r', b'\n') => {
                self.mark.index += 1;
                2
            }
            _ if !self.is_break(0) => return,
            _ => self.width(),
        };
        match width {
            3 => out.push_str(&self.source.text[self.at..self.at + width]),
            _ => out.push('\n'),
        }
        self.at += width;
        self.mark.index += 1;
        self.mark.line += 1;
        self.mark.column = 0;
    }

    /// Width of the next character, bytes; nothing after the end.
    #[inline]
    fn width(&self) -> usize {
        match self.bytes.get(self.at) {
            None => 0,
            Some(0..0xc0) => 1,
            Some(0xc0..0xe0) => 2,
            Some(0xe0..0xf0) => 3,
            Some(0xf0..) => 4,
        }
    }
}
