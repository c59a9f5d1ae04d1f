//! Scalars: plain, quoted and block.

use super::Error;
use super::scanner::Scanner;
use super::tag::hex;
use super::token::{Kind, Token};

/// Breaks and blanks between two words of a scalar, until it is known what becomes of them.
#[derive(Default)]
struct Gap {
    blanks: String,
    first_break: String,
    more_breaks: String,
}

impl Gap {
    /// Appends what the gap stands for: one line feed is a space, more are one less, blanks without any stay.
    fn fold_into(&mut self, out: &mut String) {
        if self.first_break.is_empty() {
            out.push_str(&self.blanks);
            self.blanks.clear();
            return;
        }
        if self.first_break == "\n" && self.more_breaks.is_empty() {
            out.push(' ');
        } else {
            if self.first_break != "\n" {
                out.push_str(&self.first_break);
            }
            out.push_str(&self.more_breaks);
        }
        self.blanks.clear();
        self.first_break.clear();
        self.more_breaks.clear();
    }
}

impl Scanner<'_> {
    pub(super) fn scan_plain(&mut self) -> Result<Token, Error> {
        let start = self.mark();
        let indent = self.indent + 1;
        let mut end = start;
        let mut value = String::new();
        let mut gap = Gap::default();
        let mut after_break = false;
        loop {
            self.need(4)?;
            if self.mark().column == 0 && self.document_indicator().is_some() || self.byte(0) == b'#' {
                break;
            }
            while !self.is_blankz(0) && !self.ends_plain() {
                gap.fold_into(&mut value);
                after_break = false;
                self.read(&mut value);
                end = self.mark();
                self.need(2)?;
            }
            if !self.is_blank(0) && !self.is_break(0) {
                break;
            }
            self.scan_gap(&mut gap, &mut after_break, indent)?;
            if self.flow_level == 0 && self.column() < indent {
                break;
            }
        }
        if after_break {
            self.simple_key_allowed = true;
        }
        Ok(Token {
            kind: Kind::Scalar { value, plain: true },
            start: start.line,
            end: end.line,
        })
    }

    /// Whether an indicator ends a plain scalar here.
    fn ends_plain(&self) -> bool {
        match self.byte(0) {
            b':' => self.is_blankz(1),
            b',' | b'?' | b'[' | b']' | b'{' | b'}' => self.flow_level > 0,
            _ => false,
        }
    }

    /// Reads blanks and breaks. At the beginning of a line, a tab may not stand for the indentation of `indent`.
    fn scan_gap(&mut self, gap: &mut Gap, after_break: &mut bool, indent: isize) -> Result<(), Error> {
        self.need(1)?;
        loop {
            if self.is_blank(0) {
                if *after_break && self.column() < indent && self.byte(0) == b'\t' {
                    return Err(self.error("found a tab character that violates indentation"));
                }
                if *after_break {
                    self.skip();
                } else {
                    self.read(&mut gap.blanks);
                }
            } else if self.is_break(0) {
                self.need(2)?;
                if *after_break {
                    self.read_line(&mut gap.more_breaks);
                } else {
                    gap.blanks.clear();
                    self.read_line(&mut gap.first_break);
                    *after_break = true;
                }
            } else {
                return Ok(());
            }
            self.need(1)?;
        }
    }

    fn column(&self) -> isize {
        isize::try_from(self.mark().column).unwrap_or(isize::MAX)
    }

    pub(super) fn scan_quoted(&mut self, single: bool) -> Result<Token, Error> {
        let quote = if single { b'\'' } else { b'"' };
        let start = self.mark();
        self.skip();
        let mut value = String::new();
        loop {
            self.need(4)?;
            if self.mark().column == 0 && self.document_indicator().is_some() {
                return Err(self.error("found unexpected document indicator"));
            }
            if self.is_end() {
                return Err(self.error("found unexpected end of stream"));
            }
            let mut after_break = self.scan_quoted_word(single, &mut value)?;
            self.need(1)?;
            if self.byte(0) == quote {
                break;
            }
            let mut gap = Gap::default();
            let escaped_break = after_break;
            self.scan_gap(&mut gap, &mut after_break, 0)?;
            if escaped_break {
                // An escaped break stands for nothing, those that follow it for themselves.
                value.push_str(&gap.more_breaks);
            } else {
                gap.fold_into(&mut value);
            }
        }
        self.skip();
        Ok(self.token(Kind::Scalar { value, plain: false }, start))
    }

    /// Reads up to a blank, a break or the closing quotation mark. Says whether it ended with an escaped break.
    fn scan_quoted_word(&mut self, single: bool, value: &mut String) -> Result<bool, Error> {
        while !self.is_blankz(0) {
            match self.byte(0) {
                b'\'' if single && self.byte(1) == b'\'' => {
                    value.push('\'');
                    self.skip_many(2);
                }
                b'\'' if single => break,
                b'"' if !single => break,
                b'\\' if !single && self.is_break(1) => {
                    self.need(3)?;
                    self.skip();
                    self.skip_line();
                    return Ok(true);
                }
                b'\\' if !single => value.push(self.scan_escape()?),
                _ => self.read(value),
            }
            self.need(2)?;
        }
        Ok(false)
    }

    fn scan_escape(&mut self) -> Result<char, Error> {
        let code_length = match self.byte(1) {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            letter => {
                let Some(c) = named_escape(letter) else {
                    return Err(self.error("found unknown escape character"));
                };
                self.skip_many(2);
                return Ok(c);
            }
        };
        self.skip_many(2);
        self.need(code_length)?;
        let mut code = 0;
        for offset in 0..code_length {
            let Some(digit) = hex(self.byte(offset)) else {
                return Err(self.error("did not find expected hexdecimal number"));
            };
            code = code << 4 | u32::from(digit);
        }
        let Some(c) = char::from_u32(code) else {
            return Err(self.error("found invalid Unicode character escape code"));
        };
        self.skip_many(code_length);
        Ok(c)
    }

    pub(super) fn scan_block_scalar(&mut self, literal: bool) -> Result<Token, Error> {
        let start = self.mark();
        self.skip();
        let (chomping, increment) = self.scan_block_header()?;
        self.skip_rest_of_line()?;
        let mut indent = increment.map(|increment| self.indent.max(0) + increment);
        let mut value = String::new();
        let mut first_break = String::new();
        let mut more_breaks = String::new();
        let mut after_blank = false;
        let mut end = self.scan_block_breaks(&mut indent, &mut more_breaks)?;
        self.need(1)?;
        while Some(self.column()) == indent && !self.is_end() {
            let at_blank = self.is_blank(0);
            if !literal && !after_blank && !at_blank && first_break.starts_with('\n') {
                if more_breaks.is_empty() {
                    value.push(' ');
                }
            } else {
                value.push_str(&first_break);
            }
            first_break.clear();
            value.push_str(&more_breaks);
            more_breaks.clear();
            after_blank = at_blank;
            while !self.is_breakz(0) {
                self.read(&mut value);
                self.need(1)?;
            }
            self.need(2)?;
            self.read_line(&mut first_break);
            end = self.scan_block_breaks(&mut indent, &mut more_breaks)?;
        }
        if chomping != Chomping::Strip {
            value.push_str(&first_break);
        }
        if chomping == Chomping::Keep {
            value.push_str(&more_breaks);
        }
        Ok(Token {
            kind: Kind::Scalar { value, plain: false },
            start: start.line,
            end,
        })
    }

    /// Reads the indicators for the end and the indentation, in either order.
    fn scan_block_header(&mut self) -> Result<(Chomping, Option<isize>), Error> {
        self.need(1)?;
        if let Some(chomping) = self.scan_chomping() {
            self.need(1)?;
            let increment = self.scan_increment()?;
            return Ok((chomping, increment));
        }
        let increment = self.scan_increment()?;
        if increment.is_none() {
            return Ok((Chomping::Clip, None));
        }
        self.need(1)?;
        Ok((self.scan_chomping().unwrap_or(Chomping::Clip), increment))
    }

    fn scan_chomping(&mut self) -> Option<Chomping> {
        let chomping = match self.byte(0) {
            b'+' => Chomping::Keep,
            b'-' => Chomping::Strip,
            _ => return None,
        };
        self.skip();
        Some(chomping)
    }

    fn scan_increment(&mut self) -> Result<Option<isize>, Error> {
        match self.byte(0) {
            b'0' => Err(self.error("found an indentation indicator equal to 0")),
            digit @ b'1'..=b'9' => {
                self.skip();
                Ok(Some(isize::from(i16::from(digit - b'0'))))
            }
            _ => Ok(None),
        }
    }

    /// Reads indentation and breaks, and finds out the indentation if it is not known. Returns the line of the end.
    fn scan_block_breaks(&mut self, indent: &mut Option<isize>, breaks: &mut String) -> Result<usize, Error> {
        let mut end = self.mark().line;
        let mut max_indent = 0;
        loop {
            self.need(1)?;
            while self.is_before(*indent) && self.byte(0) == b' ' {
                self.skip();
                self.need(1)?;
            }
            max_indent = max_indent.max(self.column());
            if self.is_before(*indent) && self.byte(0) == b'\t' {
                return Err(self.error("found a tab character where an indentation space is expected"));
            }
            if !self.is_break(0) {
                break;
            }
            self.need(2)?;
            self.read_line(breaks);
            end = self.mark().line;
        }
        indent.get_or_insert(max_indent.max(self.indent + 1).max(1));
        Ok(end)
    }

    fn is_before(&self, indent: Option<isize>) -> bool {
        indent.is_none_or(|indent| self.column() < indent)
    }
}

/// What becomes of the breaks at the end of a block scalar.
#[derive(Clone, Copy, PartialEq)]
enum Chomping {
    Strip,
    Clip,
    Keep,
}

fn named_escape(letter: u8) -> Option<char> {
    Some(match letter {
        b'0' => '\0',
        b'a' => '\u{7}',
        b'b' => '\u{8}',
        b't' | b'\t' => '\t',
        b'n' => '\n',
        b'v' => '\u{b}',
        b'f' => '\u{c}',
        b'r' => '\r',
        b'e' => '\u{1b}',
        b' ' | b'"' | b'\'' | b'\\' => char::from(letter),
        b'N' => '\u{85}',
        b'_' => '\u{a0}',
        b'L' => '\u{2028}',
        b'P' => '\u{2029}',
        _ => return None,
    })
}
