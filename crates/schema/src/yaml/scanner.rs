//! Turns the text into tokens, as go-yaml's `scannerc.go` does.

use std::collections::{HashMap, VecDeque};

use super::Error;
use super::reader::Source;
use super::token::{Kind, Mark, Token};

/// Brackets that may be open at once.
const MAX_FLOW_LEVEL: usize = 10_000;
/// Blocks that may be open at once.
const MAX_INDENTS: usize = 10_000;
/// Characters between the start of a key without `?` and its colon.
const MAX_SIMPLE_KEY: usize = 1024;

pub(super) struct Scanner<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) bytes: &'a [u8],
    /// Offset of the next character, bytes.
    pub(super) at: usize,
    pub(super) mark: Mark,
    tokens: VecDeque<Token>,
    /// Number of tokens taken out of the queue.
    tokens_parsed: usize,
    token_available: bool,
    started: bool,
    pub(super) flow_level: usize,
    /// Column of the innermost block, -1 outside of any.
    pub(super) indent: isize,
    indents: Vec<isize>,
    pub(super) simple_key_allowed: bool,
    /// The last place on each flow level where a key without `?` may have started.
    simple_keys: Vec<SimpleKey>,
    /// Index of a possible key by the number of its token: what keeps a look at the queue from costing a look at
    /// each level.
    simple_keys_by_token: HashMap<usize, usize>,
}

#[derive(Clone, Copy, Default)]
struct SimpleKey {
    possible: bool,
    required: bool,
    token_number: usize,
    mark: Mark,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(source: &'a Source<'a>) -> Self {
        Self {
            source,
            bytes: source.text.as_bytes(),
            at: 0,
            mark: Mark::default(),
            tokens: VecDeque::new(),
            tokens_parsed: 0,
            token_available: false,
            started: false,
            flow_level: 0,
            indent: -1,
            indents: Vec::new(),
            simple_key_allowed: true,
            simple_keys: vec![SimpleKey::default()],
            simple_keys_by_token: HashMap::new(),
        }
    }

    /// The next token, which stays in the queue.
    pub(super) fn peek(&mut self) -> Result<&mut Token, Error> {
        if !self.token_available {
            self.fetch_more_tokens()?;
        }
        Ok(self.tokens.front_mut().expect("a token has been fetched"))
    }

    /// Takes the next token out of the queue; `peek` has returned it.
    pub(super) fn skip_token(&mut self) {
        self.token_available = false;
        self.tokens_parsed += 1;
        self.tokens.pop_front();
    }

    fn fetch_more_tokens(&mut self) -> Result<(), Error> {
        loop {
            if !self.tokens.is_empty() {
                // The head of the queue may turn out to be a key, which goes behind a KEY token.
                match self.simple_keys_by_token.get(&self.tokens_parsed).copied() {
                    Some(level) if self.is_simple_key_valid(level)? => {}
                    _ => break,
                }
            }
            self.fetch_next_token()?;
        }
        self.token_available = true;
        Ok(())
    }

    fn fetch_next_token(&mut self) -> Result<(), Error> {
        self.need(1)?;
        if !self.started {
            self.started = true;
            self.push(Kind::StreamStart, self.mark);
            return Ok(());
        }
        self.scan_to_next_token()?;
        self.unroll_indent(column(self.mark.column));
        self.need(4)?;
        if self.is_end() {
            return self.fetch_stream_end();
        }
        if self.mark.column == 0 {
            if self.byte(0) == b'%' {
                self.reset_block()?;
                let token = self.scan_directive()?;
                self.tokens.push_back(token);
                return Ok(());
            }
            if let Some(kind) = self.document_indicator() {
                return self.fetch_document_indicator(kind);
            }
        }
        match self.byte(0) {
            b'[' => self.fetch_flow_start(Kind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(Kind::FlowMappingStart),
            b']' => self.fetch_flow_end(Kind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(Kind::FlowMappingEnd),
            b',' => self.fetch_flow_entry(),
            b'-' if self.is_blankz(1) => self.fetch_block_entry(),
            b'?' if self.flow_level > 0 || self.is_blankz(1) => self.fetch_key(),
            b':' if self.flow_level > 0 || self.is_blankz(1) => self.fetch_value(),
            b'*' => self.fetch_scalar(|scanner| scanner.scan_anchor(Kind::Alias)),
            b'&' => self.fetch_scalar(|scanner| scanner.scan_anchor(Kind::Anchor)),
            b'!' => self.fetch_scalar(Self::scan_tag),
            b'|' if self.flow_level == 0 => self.fetch_block_scalar(true),
            b'>' if self.flow_level == 0 => self.fetch_block_scalar(false),
            b'\'' => self.fetch_scalar(|scanner| scanner.scan_quoted(true)),
            b'"' => self.fetch_scalar(|scanner| scanner.scan_quoted(false)),
            _ if self.is_plain_start() => self.fetch_scalar(Self::scan_plain),
            _ => Err(self.error("found character that cannot start any token")),
        }
    }

    fn is_plain_start(&self) -> bool {
        match self.byte(0) {
            b'-' => !self.is_blank(1),
            b'?' | b':' => self.flow_level == 0 && !self.is_blankz(1),
            b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"' | b'%' | b'@'
            | b'`' => false,
            _ => !self.is_blankz(0),
        }
    }

    fn is_simple_key_valid(&mut self, level: usize) -> Result<bool, Error> {
        let key = &mut self.simple_keys[level];
        if !key.possible {
            return Ok(false);
        }
        if key.mark.line < self.mark.line || key.mark.index + MAX_SIMPLE_KEY < self.mark.index {
            if key.required {
                return Err(self.error("could not find expected ':'"));
            }
            key.possible = false;
            return Ok(false);
        }
        Ok(true)
    }

    fn save_simple_key(&mut self) -> Result<(), Error> {
        if !self.simple_key_allowed {
            return Ok(());
        }
        let required = self.flow_level == 0 && self.indent == column(self.mark.column);
        let key = SimpleKey {
            possible: true,
            required,
            token_number: self.next_token_number(),
            mark: self.mark,
        };
        self.remove_simple_key()?;
        let level = self.simple_keys.len() - 1;
        self.simple_keys[level] = key;
        self.simple_keys_by_token.insert(key.token_number, level);
        Ok(())
    }

    fn remove_simple_key(&mut self) -> Result<(), Error> {
        let key = *self.simple_key();
        if key.possible {
            if key.required {
                return Err(self.error("could not find expected ':'"));
            }
            self.simple_key().possible = false;
            self.simple_keys_by_token.remove(&key.token_number);
        }
        Ok(())
    }

    /// The key of the innermost flow level.
    fn simple_key(&mut self) -> &mut SimpleKey {
        self.simple_keys.last_mut().expect("there is one for the block context")
    }

    fn next_token_number(&self) -> usize {
        self.tokens_parsed + self.tokens.len()
    }

    fn increase_flow_level(&mut self) -> Result<(), Error> {
        self.simple_keys.push(SimpleKey {
            token_number: self.next_token_number(),
            mark: self.mark,
            ..SimpleKey::default()
        });
        self.flow_level += 1;
        if self.flow_level > MAX_FLOW_LEVEL {
            return Err(self.error("exceeded max depth of 10000"));
        }
        Ok(())
    }

    fn decrease_flow_level(&mut self) {
        if self.flow_level > 0 {
            self.flow_level -= 1;
            if let Some(key) = self.simple_keys.pop() {
                self.simple_keys_by_token.remove(&key.token_number);
            }
        }
    }

    /// Opens a block at `column`, unless the innermost one is there, with a token at `number` or at the end.
    fn roll_indent(&mut self, column: isize, number: Option<usize>, kind: Kind, mark: Mark) -> Result<(), Error> {
        if self.flow_level > 0 || self.indent >= column {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = column;
        if self.indents.len() > MAX_INDENTS {
            return Err(self.error("exceeded max depth of 10000"));
        }
        self.insert(number, kind, mark);
        Ok(())
    }

    /// Closes the blocks that do not reach to `column`.
    fn unroll_indent(&mut self, column: isize) {
        if self.flow_level > 0 {
            return;
        }
        while self.indent > column {
            self.push(Kind::BlockEnd, self.mark);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    /// Closes all blocks, for what stands between documents.
    fn reset_block(&mut self) -> Result<(), Error> {
        self.unroll_indent(-1);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        Ok(())
    }

    fn fetch_stream_end(&mut self) -> Result<(), Error> {
        if self.mark.column != 0 {
            self.mark.column = 0;
            self.mark.line += 1;
        }
        self.reset_block()?;
        self.push(Kind::StreamEnd, self.mark);
        Ok(())
    }

    fn fetch_document_indicator(&mut self, kind: Kind) -> Result<(), Error> {
        self.reset_block()?;
        let start = self.mark;
        self.skip_many(3);
        self.push(kind, start);
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: Kind) -> Result<(), Error> {
        self.save_simple_key()?;
        self.increase_flow_level()?;
        self.simple_key_allowed = true;
        self.fetch_indicator(kind);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: Kind) -> Result<(), Error> {
        self.remove_simple_key()?;
        self.decrease_flow_level();
        self.simple_key_allowed = false;
        self.fetch_indicator(kind);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Result<(), Error> {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.fetch_indicator(Kind::FlowEntry);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Result<(), Error> {
        self.begin_block(
            Kind::BlockSequenceStart,
            "block sequence entries are not allowed in this context",
        )?;
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.fetch_indicator(Kind::BlockEntry);
        Ok(())
    }

    fn fetch_key(&mut self) -> Result<(), Error> {
        self.begin_block(Kind::BlockMappingStart, "mapping keys are not allowed in this context")?;
        self.remove_simple_key()?;
        self.simple_key_allowed = self.flow_level == 0;
        self.fetch_indicator(Kind::Key);
        Ok(())
    }

    fn fetch_value(&mut self) -> Result<(), Error> {
        let level = self.simple_keys.len() - 1;
        if self.is_simple_key_valid(level)? {
            let key = self.simple_keys[level];
            self.insert(Some(key.token_number), Kind::Key, key.mark);
            self.roll_indent(
                column(key.mark.column),
                Some(key.token_number),
                Kind::BlockMappingStart,
                key.mark,
            )?;
            self.simple_key().possible = false;
            self.simple_keys_by_token.remove(&key.token_number);
            self.simple_key_allowed = false;
        } else {
            self.begin_block(
                Kind::BlockMappingStart,
                "mapping values are not allowed in this context",
            )?;
            self.simple_key_allowed = self.flow_level == 0;
        }
        self.fetch_indicator(Kind::Value);
        Ok(())
    }

    /// Opens a block at an indicator, if that is in the block context.
    fn begin_block(&mut self, kind: Kind, not_allowed: &'static str) -> Result<(), Error> {
        if self.flow_level > 0 {
            return Ok(());
        }
        if !self.simple_key_allowed {
            return Err(self.error(not_allowed));
        }
        self.roll_indent(column(self.mark.column), None, kind, self.mark)
    }

    fn fetch_indicator(&mut self, kind: Kind) {
        let start = self.mark;
        self.skip();
        self.push(kind, start);
    }

    /// Reads what may be a key but cannot be followed by one.
    fn fetch_scalar(&mut self, scan: impl FnOnce(&mut Self) -> Result<Token, Error>) -> Result<(), Error> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let token = scan(self)?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn fetch_block_scalar(&mut self, literal: bool) -> Result<(), Error> {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        let token = self.scan_block_scalar(literal)?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn push(&mut self, kind: Kind, start: Mark) {
        let token = self.token(kind, start);
        self.tokens.push_back(token);
    }

    /// Puts a token where the one with this number is. If that has been taken out already, go-yaml puts it last.
    fn insert(&mut self, number: Option<usize>, kind: Kind, mark: Mark) {
        let token = Token {
            kind,
            start: mark.line,
            end: mark.line,
        };
        match number.and_then(|number| number.checked_sub(self.tokens_parsed)) {
            Some(place) => self.tokens.insert(place, token),
            None => self.tokens.push_back(token),
        }
    }

    fn scan_to_next_token(&mut self) -> Result<(), Error> {
        loop {
            self.need(1)?;
            // go-yaml means any line, but looks at the first character only.
            if self.at == 0 && self.bytes.starts_with(b"\xef\xbb\xbf") {
                self.skip();
                self.need(1)?;
            }
            while self.byte(0) == b' ' || self.byte(0) == b'\t' && (self.flow_level > 0 || !self.simple_key_allowed) {
                self.skip();
                self.need(1)?;
            }
            self.skip_comment()?;
            if !self.is_break(0) {
                return Ok(());
            }
            self.need(2)?;
            self.skip_line();
            if self.flow_level == 0 {
                self.simple_key_allowed = true;
            }
        }
    }

    /// Goes past a comment, to the end of its line.
    pub(super) fn skip_comment(&mut self) -> Result<(), Error> {
        if self.byte(0) == b'#' {
            while !self.is_breakz(0) {
                self.skip();
                self.need(1)?;
            }
        }
        Ok(())
    }

    pub(super) fn skip_blanks(&mut self) -> Result<(), Error> {
        self.need(1)?;
        while self.is_blank(0) {
            self.skip();
            self.need(1)?;
        }
        Ok(())
    }

    /// Goes past blanks, a comment and the break that must end the line.
    pub(super) fn skip_rest_of_line(&mut self) -> Result<(), Error> {
        self.skip_blanks()?;
        self.skip_comment()?;
        if !self.is_breakz(0) {
            return Err(self.error("did not find expected comment or line break"));
        }
        if self.is_break(0) {
            self.need(2)?;
            self.skip_line();
        }
        Ok(())
    }

    /// The indicator `---` or `...`, if it stands here.
    pub(super) fn document_indicator(&self) -> Option<Kind> {
        let kind = match self.bytes.get(self.at..self.at + 3)? {
            b"---" => Kind::DocumentStart,
            b"..." => Kind::DocumentEnd,
            _ => return None,
        };
        self.is_blankz(3).then_some(kind)
    }

    pub(super) fn mark(&self) -> Mark {
        self.mark
    }

    pub(super) fn token(&self, kind: Kind, start: Mark) -> Token {
        Token {
            kind,
            start: start.line,
            end: self.mark.line,
        }
    }

    /// The error of the scanner at this place.
    pub(super) fn error(&self, problem: &'static str) -> Error {
        match self.mark.line {
            0 => Error::without_line(problem),
            line => Error::at_line(line + 1, problem),
        }
    }
}

fn column(column: usize) -> isize {
    isize::try_from(column).expect("a text is shorter than half of the address space")
}
