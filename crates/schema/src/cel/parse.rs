//! From text to [`Ast`], with the `cel` crate's parser.
//!
//! The parser recurses over what it reads, and copies a call's target and arguments to see whether the call is a
//! macro. So [`measure`] reads the tokens first and refuses what would take much stack or time: all of it is far beyond
//! cel-go's own limits (100,000 characters, 250 levels), so nothing that an API server accepted is refused.

use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue};
use cel::parser::PrattParser;
use cel::parser::pratt_parser::{Lexer, TokenKind};

use super::ast::{Ast, Comprehension, Entry, FieldEntry, Node, NodeId};
use super::macros;
use super::value::Value;
use crate::value::deeper;

/// Characters of an expression: cel-go's `expressionSizeCodePointLimit`.
const MAX_CHARACTERS: usize = 100_000;
/// Levels of brackets: cel-go's `maxRecursionDepth`.
const MAX_BRACKETS: u16 = 250;
/// Levels of the expression as measured here, which counts more than cel-go does for its limit of 250.
const MAX_DEPTH: usize = 1_000;
/// Tokens times levels, which bounds what the parser copies.
const MAX_TOKENS_BY_DEPTH: usize = 5_000_000;
/// `existsOne` with one variable, which the parser expands like `exists_one`; Kubernetes has it with two only.
const EXISTS_ONE: &str = "existsOne";
/// Stack that the parser gets for [`MAX_DEPTH`] levels, bytes.
const STACK: usize = 64 << 20;

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Longer than an expression may be.
    #[error("expression code point size exceeds limit: size: {0}, limit {MAX_CHARACTERS}")]
    TooLong(usize),
    /// Nested deeper, or long and nested, than an expression may be.
    #[error("max recursion depth exceeded")]
    TooComplex,
    /// Not in the language.
    #[error("Syntax error: {0}")]
    Syntax(String),
    /// A macro of the parser that Kubernetes does not have.
    #[error("undeclared reference to '{0}' (in container '')")]
    Undeclared(&'static str),
}

/// Parses an expression and expands its macros.
pub(crate) fn parse(source: &str) -> Result<Ast, ParseError> {
    measure(source)?;
    stacker::grow(STACK, || {
        let parser = PrattParser::new()
            .max_recursion_depth(MAX_BRACKETS)
            .enable_optional_syntax(true)
            .enable_ident_escape_syntax(true);
        let parsed = parser.parse(source).map_err(|errors| {
            let message = errors.errors.first().map_or("cannot be parsed", |error| &error.msg);
            ParseError::Syntax(message.strip_prefix("Syntax error: ").unwrap_or(message).to_owned())
        })?;
        let mut ast = Ast::default();
        let root = lower(&mut ast, parsed)?;
        ast.set_root(root);
        Ok(ast)
    })
}

/// What was read of the innermost open bracket.
#[derive(Clone, Copy, Default)]
struct Level {
    /// Binary operators since the last `&&`, `||` or comma: each is a level of the expression to its left.
    operators: usize,
    /// Selections, indices and calls since the last operator.
    chain: usize,
    /// Conditionals since the last comma: each is a level of the expression to its right.
    conditionals: usize,
    /// Whether these are the arguments of [`EXISTS_ONE`].
    exists_one: bool,
    /// Commas.
    commas: usize,
}

impl Level {
    fn depth(self) -> usize {
        self.operators + self.chain + self.conditionals + 1
    }

    /// What follows a comma has nothing on it.
    fn comma(&mut self) {
        *self = Self {
            exists_one: self.exists_one,
            commas: self.commas + 1,
            ..Self::default()
        };
    }
}

/// Refuses texts whose parsing would take much stack, time or memory.
fn measure(source: &str) -> Result<(), ParseError> {
    if source.len() > MAX_CHARACTERS {
        let characters = source.chars().count();
        if characters > MAX_CHARACTERS {
            return Err(ParseError::TooLong(characters));
        }
    }
    let mut lexer = Lexer::new(source);
    let mut open: Vec<Level> = Vec::new();
    let mut outer = 0;
    let mut level = Level::default();
    let mut tokens = 0;
    let mut deepest = 0;
    // Whether the tokens before this one are `.existsOne`.
    let mut called = false;
    let mut after_dot = false;
    loop {
        let token = lexer.lex();
        tokens += 1;
        let exists_one = std::mem::replace(
            &mut called,
            after_dot && token.kind == TokenKind::TokIdent && source.get(token.start..token.end) == Some(EXISTS_ONE),
        );
        after_dot = token.kind == TokenKind::TokDot;
        match token.kind {
            TokenKind::TokEnd => break,
            TokenKind::TokError => {
                let message = lexer
                    .get_error()
                    .map_or("token recognition error", |error| &error.message);
                return Err(ParseError::Syntax(message.to_owned()));
            }
            TokenKind::TokLeftParen | TokenKind::TokLeftBracket | TokenKind::TokLeftBrace => {
                level.chain += 1;
                outer += level.depth();
                open.push(level);
                level = Level {
                    exists_one: exists_one && token.kind == TokenKind::TokLeftParen,
                    ..Level::default()
                };
            }
            TokenKind::TokRightParen | TokenKind::TokRightBracket | TokenKind::TokRightBrace => {
                if level.exists_one && level.commas == 1 {
                    return Err(ParseError::Undeclared(EXISTS_ONE));
                }
                level = open
                    .pop()
                    .ok_or_else(|| ParseError::Syntax(format!("unexpected '{}'", token.kind.as_str())))?;
                outer -= level.depth();
            }
            TokenKind::TokDot => level.chain += 1,
            TokenKind::TokComma => level.comma(),
            TokenKind::TokLogicalAnd | TokenKind::TokLogicalOr | TokenKind::TokColon => {
                level.operators = 0;
                level.chain = 0;
            }
            TokenKind::TokQuestion => {
                level.conditionals += 1;
                level.operators = 0;
                level.chain = 0;
            }
            TokenKind::TokMinus
            | TokenKind::TokPlus
            | TokenKind::TokAsterisk
            | TokenKind::TokSlash
            | TokenKind::TokPercent
            | TokenKind::TokEqualEqual
            | TokenKind::TokExclamationEqual
            | TokenKind::TokLess
            | TokenKind::TokLessEqual
            | TokenKind::TokGreater
            | TokenKind::TokGreaterEqual
            | TokenKind::TokIn => {
                level.operators += 1;
                level.chain = 0;
            }
            _ => {}
        }
        deepest = deepest.max(outer + level.depth());
        if deepest > MAX_DEPTH || open.len() > usize::from(MAX_BRACKETS) || tokens * deepest > MAX_TOKENS_BY_DEPTH {
            return Err(ParseError::TooComplex);
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(ParseError::Syntax(
            "mismatched input '<EOF>', a bracket is not closed".to_owned(),
        ))
    }
}

fn lower(ast: &mut Ast, expression: IdedExpr) -> Result<NodeId, ParseError> {
    deeper(|| match expression.expr {
        Expr::Unspecified => Err(ParseError::Syntax("cannot be parsed".to_owned())),
        Expr::Literal(literal) => Ok(ast.add(Node::Literal(constant(literal)))),
        Expr::Ident(name) => Ok(ast.add(Node::Ident(name.into()))),
        Expr::Select(select) => {
            let operand = lower(ast, *select.operand)?;
            Ok(ast.add(Node::Select {
                operand,
                field: select.field.into(),
                test_only: select.test,
            }))
        }
        Expr::Call(call) => {
            let target = call.target.map(|target| lower(ast, *target)).transpose()?;
            let args = lower_all(ast, call.args)?;
            if let Some(expanded) = target.and_then(|target| macros::expand(ast, target, &call.func_name, &args)) {
                return expanded.map_err(ParseError::Syntax);
            }
            Ok(ast.add(Node::Call {
                function: call.func_name.into(),
                target,
                args,
            }))
        }
        Expr::List(list) => {
            let optional: Vec<bool> = (0..list.elements.len())
                .map(|index| list.optional_indices.contains(&index))
                .collect();
            let items = lower_all(ast, list.elements)?.into_iter().zip(optional).collect();
            Ok(ast.add(Node::List { items }))
        }
        Expr::Map(map) => {
            let mut entries = Vec::with_capacity(map.entries.len());
            for entry in map.entries {
                if let EntryExpr::MapEntry(entry) = entry.expr {
                    entries.push(Entry {
                        key: lower(ast, entry.key)?,
                        value: lower(ast, entry.value)?,
                        optional: entry.optional,
                    });
                }
            }
            Ok(ast.add(Node::Map { entries }))
        }
        Expr::Struct(object) => {
            let mut fields = Vec::with_capacity(object.entries.len());
            for entry in object.entries {
                if let EntryExpr::StructField(entry) = entry.expr {
                    fields.push(FieldEntry {
                        field: entry.field.into(),
                        value: lower(ast, entry.value)?,
                        optional: entry.optional,
                    });
                }
            }
            Ok(ast.add(Node::Struct {
                type_name: object.type_name.into(),
                fields,
            }))
        }
        Expr::Comprehension(fold) => {
            let fold = Comprehension {
                range: lower(ast, fold.iter_range)?,
                variable: fold.iter_var.into(),
                second_variable: fold.iter_var2.map(Into::into),
                accumulator: fold.accu_var.into(),
                init: lower(ast, fold.accu_init)?,
                condition: lower(ast, fold.loop_cond)?,
                step: lower(ast, fold.loop_step)?,
                result: lower(ast, fold.result)?,
            };
            Ok(ast.add(Node::Comprehension(Box::new(fold))))
        }
    })
}

fn lower_all(ast: &mut Ast, expressions: Vec<IdedExpr>) -> Result<Vec<NodeId>, ParseError> {
    expressions
        .into_iter()
        .map(|expression| lower(ast, expression))
        .collect()
}

fn constant(literal: LiteralValue) -> Value<'static> {
    match literal {
        LiteralValue::Null => Value::Null,
        LiteralValue::Boolean(b) => Value::Bool(b.into_inner()),
        LiteralValue::Int(i) => Value::Int(i.into_inner()),
        LiteralValue::UInt(u) => Value::Uint(u.into_inner()),
        LiteralValue::Double(d) => Value::Double(d.into_inner()),
        LiteralValue::String(text) => Value::string(text.into_inner()),
        LiteralValue::Bytes(bytes) => Value::Bytes(bytes.into_inner().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_expression_is_refused() {
        for source in ["", "1 +", "(", ")", "a.", "'", "a b", "`a`", "[1", "{1}", "for"] {
            assert!(matches!(parse(source), Err(ParseError::Syntax(_))), "{source}");
        }
    }

    #[test]
    fn exists_one_of_two_words_takes_two_variables() {
        let undeclared = Some(ParseError::Undeclared("existsOne"));
        for source in [
            "self.existsOne(e, e > 1)",
            "'é' in a.existsOne( e , f(e, [1, 2]))",
            "[1].all(x, [x].existsOne(y, y == x))",
        ] {
            assert_eq!(parse(source).err(), undeclared, "{source}");
        }
        for source in [
            "self.existsOne(i, e, e > 1)",
            "self.exists_one(e, e > 1)",
            "existsOne(e, e > 1)",
            "self.existsOne[e][1]",
            "self.existsOne.f(1, 2)",
        ] {
            assert!(parse(source).is_ok(), "{source}");
        }
    }

    #[test]
    fn deep_and_long_texts_are_refused_quickly() {
        let deep = |open: &str, close: &str, n: usize| format!("{}1{}", open.repeat(n), close.repeat(n));
        for source in [
            deep("(", ")", 49_000),
            deep("[", "]", 49_000),
            deep("-(", ")", 24_000),
            deep("f(", ")", 24_000),
            format!("a{}", ".b".repeat(49_000)),
            format!("a{}", "[0]".repeat(30_000)),
            format!("a{}", ".f()".repeat(20_000)),
            format!("1{}", "+1".repeat(49_000)),
            format!("{}1", "true?1:".repeat(14_000)),
            format!("{}1{}", "true?".repeat(9_000), ":1".repeat(9_000)),
        ] {
            assert_eq!(parse(&source).err(), Some(ParseError::TooComplex), "{}", &source[..10]);
        }
        assert!(matches!(
            parse(&"!!(!".repeat(20_000)),
            Err(ParseError::Syntax(_) | ParseError::TooComplex)
        ));
        assert_eq!(parse(&"1".repeat(100_001)).err(), Some(ParseError::TooLong(100_001)));
    }

    #[test]
    fn long_flat_expressions_are_accepted() {
        let terms = vec!["a.b.c == 'x'"; 2_000].join(" || ");
        assert!(parse(&terms).is_ok());
        let list = format!("a in [{}]", vec!["'x'"; 10_000].join(","));
        assert!(parse(&list).is_ok());
    }
}
