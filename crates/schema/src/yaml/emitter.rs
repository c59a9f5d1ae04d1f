//! Writes scalars and indicators, as go-yaml's `emitterc.go` does for the styles that its encoder uses.

/// Column after which a line is folded at the next space.
const BEST_WIDTH: usize = 80;
/// Columns of one level of indentation.
const BEST_INDENT: usize = 2;

pub(super) struct Emitter<'a> {
    out: &'a mut Vec<u8>,
    /// Characters on the current line.
    column: usize,
    /// Columns that the current block is indented; none outside of any.
    indent: Option<usize>,
    /// Whether a space comes last.
    whitespace: bool,
    /// Whether there is only indentation, or indicators that count as such, on the current line.
    indention: bool,
    /// Bytes of indentation written.
    indentation: usize,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
}

impl<'a> Emitter<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self {
            out,
            column: 0,
            indent: None,
            whitespace: true,
            indention: true,
            indentation: 0,
        }
    }

    pub(super) fn indentation(&self) -> usize {
        self.indentation
    }

    /// Whether nothing but indentation is on the current line.
    pub(super) fn is_indention(&self) -> bool {
        self.indention
    }

    /// Indents a block by one level more, and returns what it was before.
    pub(super) fn increase_indent(&mut self, is_indentless: bool) -> Option<usize> {
        let before = self.indent;
        self.indent = match before {
            None => Some(0),
            Some(indent) if is_indentless => Some(indent),
            Some(indent) => Some(indent + BEST_INDENT),
        };
        before
    }

    pub(super) fn restore_indent(&mut self, before: Option<usize>) {
        self.indent = before;
    }

    /// Begins a line, unless one has begun that is indented enough.
    pub(super) fn line(&mut self) {
        let indent = self.indent.unwrap_or(0);
        if !self.indention || self.column > indent || self.column == indent && !self.whitespace {
            self.put_break();
        }
        if self.column < indent {
            self.indentation += indent - self.column;
            self.out.resize(self.out.len() + indent - self.column, b' ');
            self.column = indent;
        }
        self.whitespace = true;
        self.indention = true;
    }

    /// Writes `-` or `?`, or the `:` after a key that has a line of its own: more may follow on the line.
    pub(super) fn block_indicator(&mut self, indicator: u8) {
        self.space();
        self.put(indicator);
        self.whitespace = false;
    }

    /// Writes what does not count as indentation.
    pub(super) fn indicator(&mut self, indicator: &str) {
        for byte in indicator.bytes() {
            self.put(byte);
        }
        self.whitespace = false;
        self.indention = false;
    }

    /// Writes a space, unless one comes last.
    pub(super) fn space(&mut self) {
        if !self.whitespace {
            self.put(b' ');
        }
    }

    /// Writes a scalar. One that is a key stays on one line.
    pub(super) fn scalar(&mut self, text: &str, style: Style, is_simple_key: bool) {
        let before = self.indent;
        self.indent = Some(before.map_or(BEST_INDENT, |indent| indent + BEST_INDENT));
        let may_fold = !is_simple_key;
        match style {
            Style::Plain => self.plain(text, may_fold),
            Style::SingleQuoted => self.single_quoted(text, may_fold),
            Style::DoubleQuoted => self.double_quoted(text, may_fold),
            Style::Literal => self.literal(text),
        }
        self.indent = before;
    }

    fn plain(&mut self, text: &str, may_fold: bool) {
        self.space();
        self.folded(text, may_fold, |_, _| true);
        self.whitespace = false;
        self.indention = false;
    }

    fn single_quoted(&mut self, text: &str, may_fold: bool) {
        self.space();
        self.indicator("'");
        let last = text.len().saturating_sub(1);
        self.folded(text, may_fold, |_, at| at > 0 && at < last);
        self.indicator("'");
    }

    /// Writes a text that only folds: at a single space beyond the width, and a line feed as an empty line.
    fn folded(&mut self, text: &str, may_fold: bool, may_fold_at: impl Fn(&str, usize) -> bool) {
        let is_quoted = self.out.last() == Some(&b'\'') && !self.whitespace;
        let mut after_space = false;
        let mut after_break = false;
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let next = chars.peek().map(|(_, next)| *next);
            if c == ' ' {
                let folds = may_fold && !after_space && self.column > BEST_WIDTH && may_fold_at(text, at);
                if folds && next != Some(' ') {
                    self.line();
                } else {
                    self.write(c);
                }
                after_space = true;
            } else if is_break(c) {
                if !after_break && c == '\n' {
                    self.put_break();
                }
                self.write_break(c);
                self.indention = true;
                after_break = true;
            } else {
                if after_break {
                    self.line();
                }
                if is_quoted && c == '\'' {
                    self.put(b'\'');
                }
                self.write(c);
                self.indention = false;
                after_space = false;
                after_break = false;
            }
        }
    }

    fn double_quoted(&mut self, text: &str, may_fold: bool) {
        self.space();
        self.indicator("\"");
        let last = text.len().saturating_sub(1);
        // go-yaml means to escape this character, but looks for it only at the beginning, and then escapes all.
        let escapes_all = text.starts_with('\u{feff}');
        let mut after_space = false;
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if escapes_all || !is_printable(c) || is_break(c) || c == '"' || c == '\\' {
                self.escape(c);
                after_space = false;
            } else if c == ' ' {
                let folds = may_fold && !after_space && self.column > BEST_WIDTH && at > 0 && at < last;
                if folds {
                    self.line();
                    if chars.peek().is_some_and(|(_, next)| *next == ' ') {
                        self.put(b'\\');
                    }
                } else {
                    self.write(c);
                }
                after_space = true;
            } else {
                self.write(c);
                after_space = false;
            }
        }
        self.indicator("\"");
    }

    fn escape(&mut self, c: char) {
        let letter = match c {
            '\0' => '0',
            '\u{7}' => 'a',
            '\u{8}' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\u{b}' => 'v',
            '\u{c}' => 'f',
            '\r' => 'r',
            '\u{1b}' => 'e',
            '"' | '\\' => c,
            '\u{85}' => 'N',
            '\u{a0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ => {
                let code = u32::from(c);
                let escaped = match code {
                    0..0x100 => format!("\\x{code:02X}"),
                    0x100..0x1_0000 => format!("\\u{code:04X}"),
                    _ => format!("\\U{code:08X}"),
                };
                self.column += escaped.len();
                self.out.extend_from_slice(escaped.as_bytes());
                return;
            }
        };
        self.put(b'\\');
        self.write(letter);
    }

    fn literal(&mut self, text: &str) {
        self.space();
        self.indicator("|");
        if text.starts_with(|c| c == ' ' || is_break(c)) {
            self.indicator("2");
        }
        let mut from_end = text.chars().rev();
        match (from_end.next(), from_end.next()) {
            (Some(last), _) if !is_break(last) => self.indicator("-"),
            (None, _) => self.indicator("-"),
            (Some(_), None) => self.indicator("+"),
            (Some(_), Some(before)) if is_break(before) => self.indicator("+"),
            _ => {}
        }
        self.put_break();
        self.indention = true;
        self.whitespace = true;
        let mut after_break = true;
        for c in text.chars() {
            if is_break(c) {
                self.write_break(c);
                self.indention = true;
                after_break = true;
            } else {
                if after_break {
                    self.line();
                }
                self.write(c);
                self.indention = false;
                after_break = false;
            }
        }
    }

    fn put(&mut self, byte: u8) {
        self.out.push(byte);
        self.column += 1;
    }

    fn write(&mut self, c: char) {
        self.out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        self.column += 1;
    }

    fn write_break(&mut self, c: char) {
        if c == '\n' {
            self.put_break();
        } else {
            self.write(c);
            self.column = 0;
        }
    }

    fn put_break(&mut self) {
        self.out.push(b'\n');
        self.column = 0;
    }
}

pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// What go-yaml writes without an escape; nothing beyond the basic plane.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}
