//! From Go's syntax to the engine's (`regexp/syntax`, flags `Perl`).

use std::fmt::Write;

use super::class;

/// `maxHeight` of `regexp/syntax`.
const MAX_HEIGHT: usize = 1_000;
/// `maxRepeat`: the copies that counted repetitions, nested ones multiplied, may ask for.
const MAX_REPEAT: u32 = 1_000;

/// What Go's parser says about a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: `{expression}`")]
pub(crate) struct SyntaxError {
    code: &'static str,
    expression: String,
}

impl SyntaxError {
    pub(super) fn new(code: &'static str, expression: &str) -> Self {
        Self {
            code,
            expression: expression.to_owned(),
        }
    }
}

/// The flags that a group may change.
#[derive(Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the syntax")]
pub(super) struct Flags {
    pub(super) fold_case: bool,
    multi_line: bool,
    dot_newline: bool,
    swap_greed: bool,
}

/// One thing that a repetition can apply to.
struct Item {
    text: String,
    /// Copies of the innermost thing that counted repetition makes.
    copies: u32,
    /// Whether the text ends in a repetition operator.
    repeated: bool,
    /// Levels of nesting.
    height: usize,
}

/// A group that is being read.
struct Group {
    /// The flags to go back to.
    outer: Flags,
    /// The alternatives read so far.
    alternatives: Vec<Vec<Item>>,
    /// The alternative that is being read.
    items: Vec<Item>,
}

impl Group {
    fn new(outer: Flags) -> Self {
        Self {
            outer,
            alternatives: Vec::new(),
            items: Vec::new(),
        }
    }

    /// The text of the whole group, its copies and its height.
    fn close(mut self) -> (String, u32, usize) {
        self.alternatives.push(self.items);
        let mut text = String::new();
        for (i, alternative) in self.alternatives.iter().enumerate() {
            if i > 0 {
                text.push('|');
            }
            text.extend(alternative.iter().map(|item| item.text.as_str()));
        }
        let items = || self.alternatives.iter().flatten();
        let copies = items().map(|item| item.copies).max().unwrap_or(1);
        (text, copies, items().map(|item| item.height).max().unwrap_or(0))
    }
}

struct Translator<'p> {
    pattern: &'p str,
    rest: &'p str,
    flags: Flags,
    groups: Vec<Group>,
}

/// Rewrites a pattern of Go's syntax for the engine.
pub(super) fn translate(pattern: &str) -> Result<String, SyntaxError> {
    let mut translator = Translator {
        pattern,
        rest: pattern,
        flags: Flags::default(),
        groups: vec![Group::new(Flags::default())],
    };
    translator.run()
}

impl<'p> Translator<'p> {
    fn run(&mut self) -> Result<String, SyntaxError> {
        // Where the repetition that was just read began; a second one must not follow it.
        let mut last_repeat: Option<&'p str> = None;
        while let Some(c) = self.rest.chars().next() {
            let before = self.rest;
            let repeated = self.step(c, last_repeat)?;
            last_repeat = repeated.then_some(last_repeat.unwrap_or(before));
        }
        if self.groups.len() > 1 {
            return Err(SyntaxError::new("missing closing )", self.pattern));
        }
        let whole = self.groups.pop().expect("the outermost group is never closed");
        let (text, _, height) = whole.close();
        self.check_height(height)?;
        Ok(text)
    }

    /// Reads one element; says whether it was a repetition.
    fn step(&mut self, c: char, last_repeat: Option<&'p str>) -> Result<bool, SyntaxError> {
        match c {
            '(' if self.rest.starts_with("(?") => self.perl_group()?,
            '(' => {
                self.advance(1);
                self.open(self.flags);
            }
            '|' => {
                self.advance(1);
                let group = self.group();
                let items = std::mem::take(&mut group.items);
                group.alternatives.push(items);
            }
            ')' => self.close()?,
            '^' => self.assertion(1, if self.flags.multi_line { "(?m:^)" } else { r"\A" }),
            '$' => self.assertion(1, if self.flags.multi_line { "(?m:$)" } else { r"\z" }),
            '.' => self.assertion(1, if self.flags.dot_newline { "(?s:.)" } else { "." }),
            '[' => {
                let (text, rest) = class::bracketed(self.rest, self.flags)?;
                self.rest = rest;
                self.push(text);
            }
            '*' | '+' | '?' => {
                let before = self.rest;
                self.advance(1);
                self.repeat(&before[..1], Copies::Unchanged, before, last_repeat)?;
                return Ok(true);
            }
            '{' => {
                let Some((low, high, rest)) = counted(self.rest) else {
                    self.advance(1);
                    self.literal('{');
                    return Ok(false);
                };
                let before = self.rest;
                self.rest = rest;
                let operator = &before[..before.len() - rest.len()];
                self.repeat_counted(operator, low, high, before, last_repeat)?;
                return Ok(true);
            }
            '\\' => self.escape()?,
            c => {
                self.advance(c.len_utf8());
                self.literal(c);
            }
        }
        Ok(false)
    }

    fn advance(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    fn group(&mut self) -> &mut Group {
        self.groups.last_mut().expect("the outermost group is never closed")
    }

    fn push(&mut self, text: String) {
        self.group().items.push(Item {
            text,
            copies: 1,
            repeated: false,
            height: 1,
        });
    }

    fn assertion(&mut self, bytes: usize, text: &str) {
        self.advance(bytes);
        self.push(text.to_owned());
    }

    fn literal(&mut self, c: char) {
        let text = class::fold(class::literal(u32::from(c)), self.flags);
        self.push(text);
    }

    fn check_height(&self, height: usize) -> Result<(), SyntaxError> {
        if height > MAX_HEIGHT {
            return Err(SyntaxError::new("expression nests too deeply", self.pattern));
        }
        Ok(())
    }

    fn open(&mut self, flags: Flags) {
        self.groups.push(Group::new(self.flags));
        self.flags = flags;
    }

    fn close(&mut self) -> Result<(), SyntaxError> {
        if self.groups.len() == 1 {
            return Err(SyntaxError::new("unexpected )", self.pattern));
        }
        self.advance(1);
        let group = self.groups.pop().expect("more than one is open");
        self.flags = group.outer;
        let (text, copies, height) = group.close();
        self.check_height(height + 1)?;
        self.group().items.push(Item {
            text: format!("(?:{text})"),
            copies,
            repeated: false,
            height: height + 1,
        });
        Ok(())
    }

    /// `(?P<name>`, `(?<name>`, `(?flags:` or `(?flags)`.
    fn perl_group(&mut self) -> Result<(), SyntaxError> {
        let text = self.rest;
        let named = text.strip_prefix("(?P<").or_else(|| text.strip_prefix("(?<"));
        if let Some(after) = named.filter(|after| !after.is_empty()) {
            return self.named_group(text, after);
        }
        let mut flags = self.flags;
        let mut set = true;
        let mut seen = false;
        for (at, c) in text.char_indices().skip(2) {
            match c {
                'i' => flags.fold_case = set,
                'm' => flags.multi_line = set,
                's' => flags.dot_newline = set,
                'U' => flags.swap_greed = set,
                '-' if set => {
                    set = false;
                    seen = false;
                    continue;
                }
                ':' | ')' if set || seen => {
                    self.advance(at + 1);
                    if c == ':' {
                        self.open(flags);
                    } else {
                        self.flags = flags;
                    }
                    return Ok(());
                }
                _ => return Err(unsupported(&text[..at + c.len_utf8()])),
            }
            seen = true;
        }
        Err(unsupported(text))
    }

    fn named_group(&mut self, text: &'p str, after: &'p str) -> Result<(), SyntaxError> {
        let Some(end) = after.find('>') else {
            return Err(SyntaxError::new("invalid named capture", text));
        };
        let name = &after[..end];
        let valid = !name.is_empty() && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
        if !valid {
            let consumed = text.len() - after.len() + end + 1;
            return Err(SyntaxError::new("invalid named capture", &text[..consumed]));
        }
        self.rest = &after[end + 1..];
        self.open(self.flags);
        Ok(())
    }

    fn repeat_counted(
        &mut self,
        operator: &str,
        low: Option<u32>,
        high: High,
        before: &'p str,
        last_repeat: Option<&'p str>,
    ) -> Result<(), SyntaxError> {
        let wrong = || SyntaxError::new("invalid repeat count", operator);
        let low = low.filter(|low| *low <= MAX_REPEAT).ok_or_else(wrong)?;
        let (text, copies) = match high {
            High::Same => (format!("{{{low}}}"), low),
            High::Unbounded => (format!("{{{low},}}"), low),
            High::Bounded(high) if high >= low && high <= MAX_REPEAT => (format!("{{{low},{high}}}"), high),
            High::Bounded(_) => return Err(wrong()),
        };
        let checked = low >= 2 || copies >= 2;
        self.repeat(&text, Copies::Times { copies, checked }, before, last_repeat)
    }

    fn repeat(
        &mut self,
        operator: &str,
        times: Copies,
        before: &'p str,
        last_repeat: Option<&'p str>,
    ) -> Result<(), SyntaxError> {
        let mut lazy = self.flags.swap_greed;
        if self.rest.starts_with('?') {
            self.advance(1);
            lazy = !lazy;
        }
        let consumed = |from: &'p str, rest: &str| &from[..from.len() - rest.len()];
        let rest = self.rest;
        if let Some(last) = last_repeat {
            return Err(SyntaxError::new(
                "invalid nested repetition operator",
                consumed(last, rest),
            ));
        }
        let Some(item) = self.group().items.last_mut() else {
            let code = "missing argument to repetition operator";
            return Err(SyntaxError::new(code, consumed(before, rest)));
        };
        match times {
            Copies::Unchanged => {}
            // Nothing is copied, whatever is inside.
            Copies::Times { copies: 0, .. } => item.copies = 1,
            Copies::Times { copies, checked } => {
                item.copies = item.copies.saturating_mul(copies);
                if checked && item.copies > MAX_REPEAT {
                    return Err(SyntaxError::new("invalid repeat count", consumed(before, rest)));
                }
            }
        }
        if item.repeated {
            item.text = format!("(?:{})", item.text);
        }
        item.text.push_str(operator);
        if lazy {
            item.text.push('?');
        }
        item.repeated = true;
        item.height += 1;
        let height = item.height;
        self.check_height(height)
    }

    fn escape(&mut self) -> Result<(), SyntaxError> {
        match self.rest.as_bytes().get(1) {
            Some(b'A') => self.assertion(2, r"\A"),
            Some(b'z') => self.assertion(2, r"\z"),
            Some(b'b') => self.assertion(2, r"(?-u:\b)"),
            Some(b'B') => self.assertion(2, r"(?-u:\B)"),
            Some(b'Q') => {
                let quoted = &self.rest[2..];
                let (literal, rest) = quoted.split_once(r"\E").unwrap_or((quoted, ""));
                self.rest = rest;
                for c in literal.chars() {
                    self.literal(c);
                }
            }
            _ => {
                let (text, rest) = if let Some((class, rest)) = class::escaped(self.rest)? {
                    (format!("[{class}]"), rest)
                } else {
                    let (code, rest) = class::escape(self.rest)?;
                    (class::literal(code), rest)
                };
                self.rest = rest;
                let text = class::fold(text, self.flags);
                self.push(text);
            }
        }
        Ok(())
    }
}

/// What a repetition does to the number of copies.
#[derive(Clone, Copy)]
enum Copies {
    Unchanged,
    Times {
        copies: u32,
        /// Go looks at the product only when this repetition makes copies itself.
        checked: bool,
    },
}

/// The upper end of a counted repetition.
#[derive(Clone, Copy)]
enum High {
    Same,
    Unbounded,
    Bounded(u32),
}

/// Reads `{n}`, `{n,}` or `{n,m}`; a number too big to count is `None` or more than allowed.
fn counted(text: &str) -> Option<(Option<u32>, High, &str)> {
    let (low, rest) = number(text.strip_prefix('{')?)?;
    if let Some(rest) = rest.strip_prefix('}') {
        return Some((low, High::Same, rest));
    }
    let rest = rest.strip_prefix(',')?;
    if let Some(rest) = rest.strip_prefix('}') {
        return Some((low, High::Unbounded, rest));
    }
    let (high, rest) = number(rest)?;
    let rest = rest.strip_prefix('}')?;
    Some((low, High::Bounded(high.unwrap_or(u32::MAX)), rest))
}

/// Decimal digits without leading zeros.
fn number(text: &str) -> Option<(Option<u32>, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    Some((digits.parse().ok(), rest))
}

fn unsupported(expression: &str) -> SyntaxError {
    SyntaxError::new("invalid or unsupported Perl syntax", expression)
}

/// Writes a code point so that the engine takes it literally anywhere.
pub(super) fn write_code_point(code: u32, out: &mut String) {
    match char::from_u32(code) {
        Some(c) if c.is_ascii_alphanumeric() || !c.is_ascii() => out.push(c),
        _ => {
            let _ = write!(out, "\\x{{{code:x}}}");
        }
    }
}
