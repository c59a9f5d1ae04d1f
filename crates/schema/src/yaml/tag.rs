//! Directives, anchors and tags, which all are words that a limited alphabet spells.

use super::Error;
use super::scanner::Scanner;
use super::token::{Kind, Mark, Token};

/// Digits of a number in a `%YAML` directive.
const MAX_NUMBER_LENGTH: usize = 2;

impl Scanner<'_> {
    pub(super) fn scan_directive(&mut self) -> Result<Token, Error> {
        let start = self.mark();
        self.skip();
        let token = match self.scan_directive_name()?.as_str() {
            "YAML" => self.scan_version(start)?,
            "TAG" => self.scan_tag_directive(start)?,
            _ => return Err(self.error("found unknown directive name")),
        };
        self.skip_rest_of_line()?;
        Ok(token)
    }

    fn scan_directive_name(&mut self) -> Result<String, Error> {
        let name = self.scan_word()?;
        if name.is_empty() {
            return Err(self.error("could not find expected directive name"));
        }
        if !self.is_blankz(0) {
            return Err(self.error("found unexpected non-alphabetical character"));
        }
        Ok(name)
    }

    fn scan_version(&mut self, start: Mark) -> Result<Token, Error> {
        self.skip_blanks()?;
        let major = self.scan_version_number()?;
        if self.byte(0) != b'.' {
            return Err(self.error("did not find expected digit or '.' character"));
        }
        self.skip();
        let minor = self.scan_version_number()?;
        Ok(self.token(Kind::Version { major, minor }, start))
    }

    fn scan_version_number(&mut self) -> Result<u8, Error> {
        self.need(1)?;
        let mut value = 0;
        let mut length = 0;
        while self.byte(0).is_ascii_digit() {
            length += 1;
            if length > MAX_NUMBER_LENGTH {
                return Err(self.error("found extremely long version number"));
            }
            value = value * 10 + (self.byte(0) - b'0');
            self.skip();
            self.need(1)?;
        }
        if length == 0 {
            return Err(self.error("did not find expected version number"));
        }
        Ok(value)
    }

    fn scan_tag_directive(&mut self, start: Mark) -> Result<Token, Error> {
        self.skip_blanks()?;
        let handle = self.scan_tag_handle(true)?;
        self.need(1)?;
        if !self.is_blank(0) {
            return Err(self.error("did not find expected whitespace"));
        }
        self.skip_blanks()?;
        let prefix = self.scan_tag_uri("")?;
        self.need(1)?;
        if !self.is_blankz(0) {
            return Err(self.error("did not find expected whitespace or line break"));
        }
        Ok(self.token(Kind::TagDirective { handle, prefix }, start))
    }

    /// Reads an anchor or an alias.
    pub(super) fn scan_anchor(&mut self, kind: fn(String) -> Kind) -> Result<Token, Error> {
        let start = self.mark();
        self.skip();
        let name = self.scan_word()?;
        let is_delimited =
            self.is_blankz(0) || matches!(self.byte(0), b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
        if name.is_empty() || !is_delimited {
            return Err(self.error("did not find expected alphabetic or numeric character"));
        }
        Ok(self.token(kind(name), start))
    }

    fn scan_word(&mut self) -> Result<String, Error> {
        let mut word = String::new();
        self.need(1)?;
        while self.is_word() {
            self.read(&mut word);
            self.need(1)?;
        }
        Ok(word)
    }

    pub(super) fn scan_tag(&mut self) -> Result<Token, Error> {
        let start = self.mark();
        self.need(2)?;
        let (handle, suffix) = if self.byte(1) == b'<' {
            self.skip_many(2);
            let suffix = self.scan_tag_uri("")?;
            if self.byte(0) != b'>' {
                return Err(self.error("did not find the expected '>'"));
            }
            self.skip();
            (String::new(), suffix)
        } else {
            self.scan_short_tag()?
        };
        self.need(1)?;
        if !self.is_blankz(0) {
            return Err(self.error("did not find expected whitespace or line break"));
        }
        Ok(self.token(Kind::Tag { handle, suffix }, start))
    }

    /// Reads `!suffix`, `!handle!suffix` or `!`, which has no handle.
    fn scan_short_tag(&mut self) -> Result<(String, String), Error> {
        let handle = self.scan_tag_handle(false)?;
        if handle.len() > 1 && handle.ends_with('!') {
            let suffix = self.scan_tag_uri("")?;
            return Ok((handle, suffix));
        }
        let suffix = self.scan_tag_uri(&handle)?;
        if suffix.is_empty() {
            return Ok((String::new(), "!".to_owned()));
        }
        Ok(("!".to_owned(), suffix))
    }

    fn scan_tag_handle(&mut self, in_directive: bool) -> Result<String, Error> {
        self.need(1)?;
        if self.byte(0) != b'!' {
            return Err(self.error("did not find expected '!'"));
        }
        let mut handle = String::new();
        self.read(&mut handle);
        handle.push_str(&self.scan_word()?);
        if self.byte(0) == b'!' {
            self.read(&mut handle);
        } else if in_directive && handle != "!" {
            return Err(self.error("did not find expected '!'"));
        }
        Ok(handle)
    }

    /// Reads the rest of a tag, of which `head` has been read as a handle.
    fn scan_tag_uri(&mut self, head: &str) -> Result<String, Error> {
        let mut uri = head.get(1..).unwrap_or_default().to_owned();
        let mut is_empty = head.is_empty();
        self.need(1)?;
        loop {
            match self.byte(0) {
                b'%' => self.scan_uri_escapes(&mut uri)?,
                b';' | b'/' | b'?' | b':' | b'@' | b'&' | b'=' | b'+' | b'$' | b',' | b'.' | b'!' | b'~' | b'*'
                | b'\'' | b'(' | b')' | b'[' | b']' => self.read(&mut uri),
                _ if self.is_word() => self.read(&mut uri),
                _ => break,
            }
            is_empty = false;
            self.need(1)?;
        }
        if is_empty {
            return Err(self.error("did not find expected tag URI"));
        }
        Ok(uri)
    }

    /// Reads the `%XX` that spell one character.
    fn scan_uri_escapes(&mut self, uri: &mut String) -> Result<(), Error> {
        let mut octets = Vec::with_capacity(4);
        loop {
            self.need(3)?;
            let (b'%', Some(high), Some(low)) = (self.byte(0), hex(self.byte(1)), hex(self.byte(2))) else {
                return Err(self.error("did not find URI escaped octet"));
            };
            let octet = high << 4 | low;
            if octets.is_empty() && matches!(octet, 0x80..0xc0 | 0xf8..) {
                return Err(self.error("found an incorrect leading UTF-8 octet"));
            }
            if !octets.is_empty() && octet & 0xc0 != 0x80 {
                return Err(self.error("found an incorrect trailing UTF-8 octet"));
            }
            octets.push(octet);
            self.skip_many(3);
            let width = match octets[0] {
                0..0xc0 => 1,
                0xc0..0xe0 => 2,
                0xe0..0xf0 => 3,
                _ => 4,
            };
            if octets.len() == width {
                uri.push_str(&String::from_utf8_lossy(&octets));
                return Ok(());
            }
        }
    }
}

/// The value of a hexadecimal digit.
pub(super) fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}
