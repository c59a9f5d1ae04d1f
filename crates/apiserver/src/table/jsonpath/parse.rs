//! From text to steps, as `jsonpath.Parser` reads it.

use structural_schema::Value;

use super::{End, Filter, JsonPath, Malformed, Slice, Step};

pub(super) fn path(text: &str) -> Result<JsonPath, Malformed> {
    let mut parser = Parser {
        rest: text,
        steps: Vec::new(),
    };
    while !parser.rest.is_empty() {
        parser.step()?;
    }
    Ok(JsonPath(parser.steps))
}

struct Parser<'a> {
    rest: &'a str,
    steps: Vec<Step>,
}

impl<'a> Parser<'a> {
    fn step(&mut self) -> Result<(), Malformed> {
        if self.eat("[?(") {
            return self.filter();
        }
        if self.eat("..") {
            return self.recursive();
        }
        let next = self.rest.chars().next().ok_or(Malformed)?;
        match next {
            ' ' | '@' | '$' => self.skip(1),
            '.' => {
                self.skip(1);
                self.field();
            }
            '[' => {
                let inside = self.until("]").ok_or(Malformed)?;
                self.array(&inside[1..])?;
            }
            '"' | '\'' => self.quote(next)?,
            '+' | '-' => self.number()?,
            digit if digit.is_numeric() => self.number()?,
            letter if is_word(letter) => self.word(),
            _ => return Err(Malformed),
        }
        Ok(())
    }

    fn eat(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    /// What comes before `end` on this line; takes `end` too.
    fn until(&mut self, end: &str) -> Option<&'a str> {
        let at = self.rest.find(end)?;
        let taken = self.take(at);
        self.skip(end.len());
        (!taken.contains('\n')).then_some(taken)
    }

    fn recursive(&mut self) -> Result<(), Malformed> {
        if self.steps.last() == Some(&Step::Recursive) {
            return Err(Malformed);
        }
        self.steps.push(Step::Recursive);
        if self.rest.starts_with(is_word) {
            self.field();
        }
        Ok(())
    }

    /// A field up to what ends it; a backslash takes away the meaning of what follows.
    fn field(&mut self) {
        let mut escaped = false;
        let end = self.rest.find(|c| {
            if escaped || c == '\\' {
                escaped = !escaped;
                return false;
            }
            is_terminator(c)
        });
        let name = self.take(end.unwrap_or(self.rest.len()));
        self.steps.push(match name {
            "*" => Step::Wildcard,
            _ => Step::Field(name.replace('\\', "").into()),
        });
    }

    fn word(&mut self) {
        let word = self.take(self.rest.find(is_terminator).unwrap_or(self.rest.len()));
        self.steps.push(match word {
            "true" | "false" => Step::Literal(Value::Bool(word == "true")),
            _ => Step::Keyword,
        });
    }

    fn number(&mut self) -> Result<(), Malformed> {
        let sign = usize::from(self.rest.starts_with(['+', '-']));
        let digits = self.rest[sign..].find(|c: char| c != '.' && !c.is_numeric());
        let text = self.take(digits.map_or(self.rest.len(), |digits| sign + digits));
        let float = || {
            text.parse::<f64>()
                .ok()
                .filter(|float| float.is_finite())
                .map(Value::Float)
        };
        let number = text.parse().ok().map(Value::Int).or_else(float).ok_or(Malformed)?;
        self.steps.push(Step::Literal(number));
        Ok(())
    }

    fn quote(&mut self, quote: char) -> Result<(), Malformed> {
        self.skip(1);
        let mut text = String::new();
        loop {
            let next = self.rest.chars().next().ok_or(Malformed)?;
            self.skip(next.len_utf8());
            match next {
                '\n' => return Err(Malformed),
                '\\' => text.push(self.escape(quote)?),
                _ if next == quote => break,
                _ => text.push(next),
            }
        }
        self.steps.push(Step::Text(text.into()));
        Ok(())
    }

    /// What stands behind a backslash in a quoted text: `strconv.UnquoteChar`.
    fn escape(&mut self, quote: char) -> Result<char, Malformed> {
        let kind = self.rest.chars().next().ok_or(Malformed)?;
        self.skip(kind.len_utf8());
        let (digits, radix) = match kind {
            'a' => return Ok('\x07'),
            'b' => return Ok('\x08'),
            'f' => return Ok('\x0c'),
            'n' => return Ok('\n'),
            'r' => return Ok('\r'),
            't' => return Ok('\t'),
            'v' => return Ok('\x0b'),
            '\\' => return Ok('\\'),
            _ if kind == quote => return Ok(quote),
            'x' => (2, 16),
            'u' => (4, 16),
            'U' => (8, 16),
            _ => return Err(Malformed),
        };
        let code = self.rest.get(..digits).ok_or(Malformed)?;
        self.skip(digits);
        u32::from_str_radix(code, radix)
            .ok()
            .and_then(char::from_u32)
            .ok_or(Malformed)
    }

    /// What stands between brackets.
    fn array(&mut self, inside: &str) -> Result<(), Malformed> {
        if inside.contains(',') {
            let paths = inside
                .split(',')
                .map(|part| path(&format!("[{}]", part.trim_matches(' '))));
            self.steps.push(Step::Union(paths.collect::<Result<_, _>>()?));
            return Ok(());
        }
        let key = inside
            .strip_prefix('\'')
            .and_then(|key| key.strip_suffix('\''))
            .filter(|key| !key.contains('\''));
        if let Some(key) = key {
            // Read as a path once more: dots in a key are escaped.
            self.steps.extend(path(&format!(".{key}"))?.0);
            return Ok(());
        }
        self.steps.push(Step::Slice(if inside == "*" {
            Slice::default()
        } else {
            slice(inside)?
        }));
        Ok(())
    }

    fn filter(&mut self) -> Result<(), Malformed> {
        let condition = self.condition()?;
        let is_operator = |c: char| "!<>=".contains(c);
        let parts = condition.find(is_operator).filter(|at| *at > 0).and_then(|at| {
            let (left, rest) = condition.split_at(at);
            // The operator leaves at least one character for what is behind it.
            let operator = rest.find(|c| !is_operator(c)).unwrap_or(rest.len() - 1);
            (operator > 0).then(|| (left, &rest[..operator], &rest[operator..]))
        });
        self.steps.push(Step::Filter(Box::new(match parts {
            Some((left, operator, right)) => Filter::Compare(path(left)?, operator.into(), path(right)?),
            None => Filter::Exists(path(condition)?),
        })));
        Ok(())
    }

    /// The condition up to the parenthesis that is outside of quotes, and the bracket behind it.
    fn condition(&mut self) -> Result<&'a str, Malformed> {
        let mut quote = None;
        let mut closed = false;
        let mut last = ' ';
        for (at, c) in self.rest.char_indices() {
            match c {
                '\n' => return Err(Malformed),
                '"' | '\'' if quote.is_none() => quote = Some(c),
                '"' | '\'' if last != '\\' && quote == Some(c) => closed = true,
                ')' if quote.is_some() == closed => {
                    let condition = self.take(at);
                    return if self.eat(")]") { Ok(condition) } else { Err(Malformed) };
                }
                _ => {}
            }
            last = c;
        }
        Err(Malformed)
    }
}

/// `start:end:step`, each of which may be left out.
fn slice(text: &str) -> Result<Slice, Malformed> {
    let mut parts = text.split(':');
    let mut number = || match parts.next() {
        None => Ok(None),
        Some("") => Ok(Some(None)),
        Some(part) if part.starts_with('+') => Err(Malformed),
        Some(part) => part.parse().map(|number| Some(Some(number))).map_err(|_| Malformed),
    };
    let (start, end, step) = (number()?, number()?, number()?);
    if parts.next().is_some() {
        return Err(Malformed);
    }
    Ok(Slice {
        start: start.flatten(),
        end: match end {
            None => End::AfterStart,
            Some(None) => End::Open,
            Some(Some(end)) => End::At(end),
        },
        step: step.flatten(),
    })
}

fn is_terminator(c: char) -> bool {
    " \t\r\n.,[]$@{}".contains(c)
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}
