//! Whether a text is a label selector, and if not, why, in the words of `labels.Parse`.
//!
//! What a selector selects is of no interest where there is nothing to select from.

use std::collections::BTreeSet;

use structural_schema::field::{self, Path};
use structural_schema::meta;

/// How Go prints the path of a key, which the parser gives none.
const NO_PATH: &str = "<nil>";

/// Why a text is no label selector.
#[derive(Debug, thiserror::Error)]
pub(super) enum LabelSelectorError {
    /// What begins like a requirement is none.
    #[error("unable to parse requirement: {0}")]
    Requirement(#[source] RequirementError),
    /// Something stands where it cannot stand.
    #[error("found '{found}', expected: {expected}")]
    Unexpected {
        /// What stands there.
        found: String,
        /// What could.
        expected: &'static str,
    },
}

/// Why a part of a label selector is no requirement.
#[derive(Debug, thiserror::Error)]
pub(super) enum RequirementError {
    /// Something stands where it cannot stand.
    #[error("found '{found}', expected: {expected}")]
    Unexpected {
        /// What stands there.
        found: String,
        /// What could.
        expected: &'static str,
    },
    /// No list after `in` or `notin`; Go's message has no comma.
    #[error("found '{0}' expected: '('")]
    NoList(String),
    /// A key or value that labels cannot have.
    #[error("{}", field::aggregate(.0))]
    Invalid(Vec<field::Error>),
}

/// Refuses what `labels.Parse` refuses.
pub(super) fn check(selector: &str) -> Result<(), LabelSelectorError> {
    let mut parser = Parser {
        tokens: Lexer { text: selector, at: 0 }.tokens(),
        at: 0,
    };
    loop {
        match parser.peek() {
            Token::End => return Ok(()),
            Token::Not | Token::Word(_) => parser.requirement().map_err(LabelSelectorError::Requirement)?,
            other => return Err(other.is_not("!, identifier, or 'end of string'")),
        }
        match parser.next() {
            Token::End => return Ok(()),
            Token::Comma if matches!(parser.peek(), Token::Not | Token::Word(_)) => {}
            Token::Comma => return Err(parser.peek().is_not("identifier after ','")),
            other => return Err(other.is_not("',' or 'end of string'")),
        }
    }
}

/// A piece of a selector. `in` and `notin` are words, and operators where an operator is expected.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Token<'a> {
    End,
    Open,
    Close,
    Comma,
    Not,
    Equals,
    DoubleEquals,
    NotEquals,
    Less,
    Greater,
    Word(&'a str),
}

impl<'a> Token<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::End => "",
            Self::Open => "(",
            Self::Close => ")",
            Self::Comma => ",",
            Self::Not => "!",
            Self::Equals => "=",
            Self::DoubleEquals => "==",
            Self::NotEquals => "!=",
            Self::Less => "<",
            Self::Greater => ">",
            Self::Word(word) => word,
        }
    }

    fn is_not(self, expected: &'static str) -> LabelSelectorError {
        LabelSelectorError::Unexpected {
            found: self.text().to_owned(),
            expected,
        }
    }

    fn cannot_be(self, expected: &'static str) -> RequirementError {
        RequirementError::Unexpected {
            found: self.text().to_owned(),
            expected,
        }
    }
}

/// `labels.Lexer`. A NUL ends a word or symbol and is lost with it; anywhere else it ends the selector.
struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    /// All tokens, the last of which is [`Token::End`].
    fn tokens(mut self) -> Vec<Token<'a>> {
        let mut tokens = Vec::new();
        loop {
            let token = self.token();
            tokens.push(token);
            if token == Token::End {
                return tokens;
            }
        }
    }

    fn token(&mut self) -> Token<'a> {
        let spaces = self.rest().bytes().take_while(|byte| is_space(*byte)).count();
        self.at += spaces;
        let token = match self.rest().as_bytes() {
            [] | [0, ..] => return Token::End,
            [b'(', ..] => Token::Open,
            [b')', ..] => Token::Close,
            [b',', ..] => Token::Comma,
            [b'!', b'=', ..] => Token::NotEquals,
            [b'!', ..] => Token::Not,
            [b'=', b'=', ..] => Token::DoubleEquals,
            [b'=', ..] => Token::Equals,
            [b'<', ..] => Token::Less,
            [b'>', ..] => Token::Greater,
            _ => self.word(),
        };
        self.at += token.text().len();
        if self.rest().starts_with('\0') {
            self.at += 1;
        }
        token
    }

    fn word(&self) -> Token<'a> {
        let rest = self.rest();
        let ends = |byte: u8| byte == 0 || is_space(byte) || b"=!(),><".contains(&byte);
        let end = rest.bytes().position(ends).unwrap_or(rest.len());
        Token::Word(&rest[..end])
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// How a requirement relates its key to its values.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Operator {
    OneOf,
    Equality,
    Comparison,
}

/// `labels.Parser`.
struct Parser<'a> {
    /// Ends with [`Token::End`], behind which nothing is ever asked for.
    tokens: Vec<Token<'a>>,
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens.get(self.at).copied().unwrap_or(Token::End)
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn requirement(&mut self) -> Result<(), RequirementError> {
        let negated = self.peek() == Token::Not;
        if negated {
            self.next();
        }
        let key = match self.next() {
            Token::Word(key) => key,
            other => return Err(other.cannot_be("identifier")),
        };
        let faults = meta::qualified_name_faults(key);
        if !faults.is_empty() {
            let path = Path::root();
            let error = field::Error::invalid(&path.child(NO_PATH), key, faults.join("; "));
            return Err(RequirementError::Invalid(vec![error]));
        }
        if negated || matches!(self.peek(), Token::End | Token::Comma) {
            return Ok(());
        }
        let operator = self.operator()?;
        let values = match operator {
            Operator::OneOf => self.list()?,
            Operator::Equality | Operator::Comparison => [self.value()?].into(),
        };
        check_values(key, operator, &values)
    }

    fn operator(&mut self) -> Result<Operator, RequirementError> {
        match self.next() {
            Token::Word("in" | "notin") => Ok(Operator::OneOf),
            Token::Equals | Token::DoubleEquals | Token::NotEquals => Ok(Operator::Equality),
            Token::Less | Token::Greater => Ok(Operator::Comparison),
            other => Err(other.cannot_be("in, notin, =, ==, !=, gt, lt")),
        }
    }

    /// The value after `=`; none is the empty one.
    fn value(&mut self) -> Result<&'a str, RequirementError> {
        if matches!(self.peek(), Token::End | Token::Comma) {
            return Ok("");
        }
        match self.next() {
            Token::Word(value) => Ok(value),
            other => Err(other.cannot_be("identifier")),
        }
    }

    /// The values in parentheses after `in`; what is missing beside a comma is the empty one.
    fn list(&mut self) -> Result<BTreeSet<&'a str>, RequirementError> {
        match self.next() {
            Token::Open => {}
            other => return Err(RequirementError::NoList(other.text().to_owned())),
        }
        match self.peek() {
            Token::Close => {
                self.next();
                return Ok([""].into());
            }
            Token::Word(_) | Token::Comma => {}
            other => return Err(other.cannot_be("',', ')' or identifier")),
        }
        let mut values = BTreeSet::new();
        loop {
            match self.next() {
                Token::Word(value) => {
                    values.insert(value);
                    match self.peek() {
                        Token::Comma => {}
                        Token::Close => break,
                        other => return Err(other.cannot_be("',' or ')'")),
                    }
                }
                Token::Comma => {
                    if values.is_empty() || matches!(self.peek(), Token::Close | Token::Comma) {
                        values.insert("");
                    }
                    if self.peek() == Token::Close {
                        break;
                    }
                }
                other => return Err(other.cannot_be("',', or identifier")),
            }
        }
        self.next();
        Ok(values)
    }
}

/// As `NewRequirement`, in the order in which a set of strings gives its members.
fn check_values(key: &str, operator: Operator, values: &BTreeSet<&str>) -> Result<(), RequirementError> {
    let root = Path::root();
    let path = root.child("values");
    let mut errors = Vec::new();
    for (index, value) in values.iter().enumerate() {
        if operator == Operator::Comparison && value.parse::<i64>().is_err() {
            let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
            errors.push(field::Error::invalid(&path.index(index), *value, detail));
        }
    }
    for (index, value) in values.iter().enumerate() {
        let faults = meta::label_value_faults(value);
        if !faults.is_empty() {
            let path = path.index(index);
            errors.push(field::Error::invalid(&path.key(key), *value, faults.join("; ")));
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(RequirementError::Invalid(errors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_read() {
        for selector in [
            "",
            "  ",
            "a",
            "!a",
            "a=b,c==d,e!=f,!g,h in (i, j),k notin ()",
            "a=",
            "a>1",
            "in in (notin,in)",
            "a in (,b,,)",
            "a\0",
            "\0!!",
            "a\tin\r\n(b)",
        ] {
            assert!(check(selector).is_ok(), "{selector:?}");
        }
    }

    #[test]
    fn what_is_none_is_refused_in_the_words_of_kubernetes() {
        let label = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
                     must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', \
                     regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
        let name = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
        for (selector, message) in [
            (
                "a b",
                "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
            ),
            ("a in b", "unable to parse requirement: found 'b' expected: '('"),
            (
                "a in (",
                "unable to parse requirement: found '', expected: ',', ')' or identifier",
            ),
            ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
            (
                "a in (b,",
                "unable to parse requirement: found '', expected: ',', or identifier",
            ),
            ("a=!b", "unable to parse requirement: found '!', expected: identifier"),
            ("a=b=c", "found '=', expected: ',' or 'end of string'"),
            ("!a=b", "found '=', expected: ',' or 'end of string'"),
            ("a,", "found '', expected: identifier after ','"),
            (",a", "found ',', expected: !, identifier, or 'end of string'"),
            ("!!", "unable to parse requirement: found '!', expected: identifier"),
            (
                "a\0b",
                "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
            ),
            (
                "a>x",
                "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must \
                 be an integer",
            ),
            (
                "-a",
                &format!("unable to parse requirement: <nil>: Invalid value: \"-a\": name part {name}"),
            ),
            (
                "a in (b/c,-d)",
                &format!(
                    "unable to parse requirement: [values[0][a]: Invalid value: \"-d\": {label}, values[1][a]: Invalid \
                     value: \"b/c\": {label}]"
                ),
            ),
        ] {
            assert_eq!(check(selector).unwrap_err().to_string(), message, "{selector:?}");
        }
    }
}
