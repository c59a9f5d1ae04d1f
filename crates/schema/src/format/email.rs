//! Mail addresses as Go's `mail.ParseAddress` takes them: RFC 5322 with or without a display name, or a group of one.

use std::net::IpAddr;

/// One mail address.
pub(super) fn is_email(s: &str) -> bool {
    let mut parser = Parser { rest: s };
    parser.address(true) == Some(1) && parser.skip_comments().is_some() && parser.rest.is_empty()
}

/// Reads from the front; each method is `None` where Go's returns an error.
#[derive(Clone, Copy)]
struct Parser<'s> {
    rest: &'s str,
}

impl<'s> Parser<'s> {
    /// A mailbox or, where `group` says so, a group; the number of addresses read.
    fn address(&mut self, group: bool) -> Option<usize> {
        self.skip_space();
        if self.rest.is_empty() {
            return None;
        }
        if self.address_spec().is_some() {
            self.skip_space();
            if self.consume('(') {
                self.display_comment()?;
            }
            return Some(1);
        }
        if !self.rest.starts_with('<') {
            self.phrase()?;
        }
        self.skip_space();
        if group && self.consume(':') {
            return self.group();
        }
        self.require('<')?;
        self.address_spec()?;
        self.require('>')?;
        Some(1)
    }

    /// What follows the colon of a group.
    fn group(&mut self) -> Option<usize> {
        let mut addresses = 0;
        self.skip_space();
        if self.consume(';') {
            self.skip_comments()?;
            return Some(addresses);
        }
        loop {
            self.skip_space();
            addresses += self.address(false)?;
            self.skip_comments()?;
            if self.consume(';') {
                self.skip_comments()?;
                return Some(addresses);
            }
            self.require(',')?;
        }
    }

    /// `local@domain`; nothing is consumed where it is none.
    fn address_spec(&mut self) -> Option<()> {
        let mut ahead = *self;
        ahead.skip_space();
        if ahead.rest.starts_with('"') {
            if ahead.quoted_string()? == 0 {
                return None;
            }
        } else {
            check_dots(ahead.atom()?)?;
        }
        ahead.require('@')?;
        ahead.skip_space();
        if ahead.consume('[') {
            ahead.domain_literal()?;
        } else {
            check_dots(ahead.atom()?)?;
        }
        *self = ahead;
        Some(())
    }

    /// One or more words. What cannot be read after the first is left.
    fn phrase(&mut self) -> Option<()> {
        let mut words = 0;
        loop {
            if words > 0 {
                self.skip_comments()?;
            }
            self.skip_space();
            if self.rest.is_empty() {
                return Some(());
            }
            let word = if self.rest.starts_with('"') {
                self.quoted_string().map(|_| ())
            } else {
                self.atom().filter(|word| !has_unknown_charset(word)).map(|_| ())
            };
            if word.is_none() {
                return (words > 0).then_some(());
            }
            words += 1;
        }
    }

    /// The number of characters in a quoted string.
    fn quoted_string(&mut self) -> Option<usize> {
        let mut length = 0;
        let mut escaped = false;
        for (at, c) in self.rest.char_indices().skip(1) {
            match c {
                c if escaped => {
                    if !is_visible(c) && !is_space(c) {
                        return None;
                    }
                    escaped = false;
                    length += 1;
                }
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return Some(length);
                }
                '\\' => escaped = true,
                c if is_visible(c) || is_space(c) => length += 1,
                _ => return None,
            }
        }
        None
    }

    /// An atom, dots anywhere.
    fn atom(&mut self) -> Option<&'s str> {
        let end = self.rest.find(|c| !is_atom_char(c)).unwrap_or(self.rest.len());
        let (atom, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!atom.is_empty()).then_some(atom)
    }

    /// An address in brackets, after the first.
    fn domain_literal(&mut self) -> Option<()> {
        let (text, rest) = self.rest.split_once(']')?;
        self.rest = rest;
        text.parse::<IpAddr>().ok().map(|_| ())
    }

    /// The comment after an address, which is its display name.
    fn display_comment(&mut self) -> Option<()> {
        let comment = self.comment()?;
        let known = |word: &str| !has_unknown_charset(word);
        comment.split([' ', '\t']).all(known).then_some(())
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches(is_space);
    }

    fn skip_comments(&mut self) -> Option<()> {
        self.skip_space();
        while self.consume('(') {
            self.comment()?;
            self.skip_space();
        }
        Some(())
    }

    /// The text of a comment after its first parenthesis.
    fn comment(&mut self) -> Option<String> {
        let mut depth = 1_usize;
        let mut text = String::new();
        let mut chars = self.rest.chars();
        while depth > 0 {
            let mut c = chars.next()?;
            match c {
                '\\' => c = chars.next()?,
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth > 0 {
                text.push(c);
            }
        }
        self.rest = chars.as_str();
        Some(text)
    }

    fn consume(&mut self, c: char) -> bool {
        let rest = self.rest.strip_prefix(c);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn require(&mut self, c: char) -> Option<()> {
        self.consume(c).then_some(())
    }
}

/// Outside a phrase dots only join.
fn check_dots(atom: &str) -> Option<()> {
    (!atom.starts_with('.') && !atom.ends_with('.') && !atom.contains("..")).then_some(())
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

fn is_visible(c: char) -> bool {
    c.is_ascii_graphic() || !c.is_ascii()
}

fn is_atom_char(c: char) -> bool {
    is_visible(c) && !"()<>[]:;@\\,\"".contains(c)
}

/// Whether a word is encoded (RFC 2047) in a character set that Go's decoder does not know.
fn has_unknown_charset(word: &str) -> bool {
    let Some(inside) = word.strip_prefix("=?").and_then(|rest| rest.strip_suffix("?=")) else {
        return false;
    };
    let parts: Vec<_> = inside.split('?').collect();
    let [charset, "b" | "B" | "q" | "Q", _] = parts.as_slice() else {
        return false;
    };
    let known = ["utf-8", "iso-8859-1", "us-ascii"];
    !charset.is_empty() && !known.iter().any(|known| charset.eq_ignore_ascii_case(known))
}
