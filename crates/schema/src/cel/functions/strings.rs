//! Strings: `common/stdlib/standard.go` and version 2 of `ext/strings.go`. Positions count characters.

use super::super::cost::Meter;
use super::super::error::{EvalError, Outcome};
use super::super::library::{Function, Overload, Pattern};
use super::super::value::{Text, Value, int};
use super::format_string;
use Pattern::{Bool, Dyn, Int, List, String};

/// The string functions.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::unguarded(
        "contains",
        &[Overload::member("contains_string", &[String, String], Bool, contains)],
    ),
    Function::unguarded(
        "endsWith",
        &[Overload::member("ends_with_string", &[String, String], Bool, ends_with)],
    ),
    Function::unguarded(
        "startsWith",
        &[Overload::member(
            "starts_with_string",
            &[String, String],
            Bool,
            starts_with,
        )],
    ),
    Function::new(
        "charAt",
        &[Overload::member("string_char_at_int", &[String, Int], String, char_at)],
    ),
    Function::new(
        "indexOf",
        &[
            Overload::member("string_index_of_string", &[String, String], Int, index_of),
            Overload::member("string_index_of_string_int", &[String, String, Int], Int, index_of),
        ],
    ),
    Function::new(
        "lastIndexOf",
        &[
            Overload::member("string_last_index_of_string", &[String, String], Int, last_index_of),
            Overload::member(
                "string_last_index_of_string_int",
                &[String, String, Int],
                Int,
                last_index_of,
            ),
        ],
    ),
    Function::new(
        "lowerAscii",
        &[Overload::member(
            "string_lower_ascii",
            &[String],
            String,
            |meter, args| Ok(Value::string(read(&args[0], meter)?.to_ascii_lowercase())),
        )],
    ),
    Function::new(
        "upperAscii",
        &[Overload::member(
            "string_upper_ascii",
            &[String],
            String,
            |meter, args| Ok(Value::string(read(&args[0], meter)?.to_ascii_uppercase())),
        )],
    ),
    Function::new(
        "trim",
        &[Overload::member("string_trim", &[String], String, |meter, args| {
            Ok(Value::string(read(&args[0], meter)?.trim()))
        })],
    ),
    Function::new(
        "replace",
        &[
            Overload::member(
                "string_replace_string_string",
                &[String, String, String],
                String,
                replace,
            ),
            Overload::member(
                "string_replace_string_string_int",
                &[String, String, String, Int],
                String,
                replace,
            ),
        ],
    ),
    Function::new(
        "split",
        &[
            Overload::member("string_split_string", &[String, String], List(&String), split),
            Overload::member("string_split_string_int", &[String, String, Int], List(&String), split),
        ],
    ),
    Function::new(
        "substring",
        &[
            Overload::member("string_substring_int", &[String, Int], String, substring),
            Overload::member("string_substring_int_int", &[String, Int, Int], String, substring),
        ],
    ),
    Function::new(
        "format",
        &[Overload::member("string_format", &[String, List(&Dyn)], String, format)],
    ),
    Function::new(
        "strings.quote",
        &[Overload::global("strings_quote", &[String], String, quote)],
    ),
    Function::new(
        "join",
        &[
            Overload::member("list_join", &[List(&String)], String, join),
            Overload::member("list_join_string", &[List(&String), String], String, join),
        ],
    ),
];

/// Largest string that a function makes, bytes: what its price would exceed the limit of any expression with, and
/// ten times the largest object.
const MAX_STRING: usize = 32 << 20;

fn read<'v>(value: &'v Value<'_>, meter: &mut Meter) -> Outcome<&'v str> {
    let text = value.as_str()?;
    meter.read(text.len())?;
    Ok(text)
}

/// Fails before a string is made that no price allows.
fn ensure_size(size: Option<usize>) -> Outcome<()> {
    match size {
        Some(size) if size <= MAX_STRING => Ok(()),
        _ => Err(EvalError::CostLimit),
    }
}

fn contains<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(read(&args[0], meter)?.contains(read(&args[1], meter)?)))
}

fn ends_with<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(args[0].as_str()?.ends_with(args[1].as_str()?)))
}

fn starts_with<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(args[0].as_str()?.starts_with(args[1].as_str()?)))
}

fn out_of_range(index: i64) -> EvalError {
    EvalError::failed(format!("index out of range: {index}"))
}

/// The place in bytes of a character, or the end; none beyond it.
fn byte_place(text: &str, index: usize) -> Option<usize> {
    text.char_indices()
        .map(|(place, _)| place)
        .chain([text.len()])
        .nth(index)
}

fn char_at<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let text = read(&args[0], meter)?;
    let index = args[1].as_int()?;
    let place = usize::try_from(index)
        .ok()
        .and_then(|index| byte_place(text, index))
        .ok_or_else(|| out_of_range(index))?;
    let rest = &text[place..];
    let end = rest.chars().next().map_or(0, char::len_utf8);
    Ok(Value::string(&rest[..end]))
}

fn offset(args: &[Value<'_>]) -> Outcome<Option<i64>> {
    args.get(2).map(Value::as_int).transpose()
}

fn index_of<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let (text, part) = (read(&args[0], meter)?, read(&args[1], meter)?);
    let offset = offset(args)?.unwrap_or(0);
    let start = usize::try_from(offset).map_err(|_| out_of_range(offset))?;
    let Some(place) = byte_place(text, start) else {
        return Ok(if part.is_empty() {
            int(text.chars().count())
        } else {
            Value::Int(-1)
        });
    };
    Ok(match text[place..].find(part) {
        Some(found) => int(start + text[place..place + found].chars().count()),
        None => Value::Int(-1),
    })
}

fn last_index_of<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let (text, part) = (read(&args[0], meter)?, read(&args[1], meter)?);
    let length = text.chars().count();
    let Some(offset) = offset(args)? else {
        return Ok(match text.rfind(part) {
            Some(found) => int(text[..found].chars().count()),
            None => Value::Int(-1),
        });
    };
    let last = usize::try_from(offset).map_err(|_| out_of_range(offset))?;
    if part.is_empty() {
        return Ok(int(last.min(length)));
    }
    if last >= length {
        return Ok(Value::Int(-1));
    }
    // The match may begin at `last` and reach beyond it.
    let end = last.saturating_add(part.chars().count());
    let end = byte_place(text, end).unwrap_or(text.len());
    Ok(match text[..end].rfind(part) {
        Some(found) => int(text[..found].chars().count()),
        None => Value::Int(-1),
    })
}

fn replace<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let (text, from, to) = (read(&args[0], meter)?, read(&args[1], meter)?, read(&args[2], meter)?);
    let limit = match args.get(3) {
        Some(limit) => usize::try_from(limit.as_int()?).unwrap_or(usize::MAX),
        None => usize::MAX,
    };
    let count = text.matches(from).take(limit).count();
    let size = to
        .len()
        .checked_mul(count)
        .and_then(|added| added.checked_add(text.len()));
    ensure_size(size)?;
    meter.read(size.unwrap_or(0))?;
    Ok(Value::string(text.replacen(from, to, limit)))
}

fn split<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let (text, separator) = (read(&args[0], meter)?, read(&args[1], meter)?);
    let limit = match args.get(2) {
        Some(limit) => limit.as_int()?,
        None => -1,
    };
    let limit = match usize::try_from(limit) {
        Ok(0) => return Ok(Value::list(Vec::new())),
        Ok(limit) => limit,
        Err(_) => usize::MAX,
    };
    meter.work(text.len())?;
    Ok(Value::list(if separator.is_empty() {
        split_characters(text, limit)
    } else {
        text.splitn(limit, separator).map(Value::string).collect()
    }))
}

/// Go splits by nothing into characters, the last part taking what is left.
fn split_characters<'a>(text: &str, limit: usize) -> Vec<Value<'a>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if parts.len() + 1 == limit {
            parts.push(Value::string(rest));
            break;
        }
        let (part, after) = rest.split_at(first.len_utf8());
        parts.push(Value::string(part));
        rest = after;
    }
    parts
}

fn substring<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let text = read(&args[0], meter)?;
    let start = args[1].as_int()?;
    let end = offset(args)?;
    if let Some(end) = end
        && start > end
    {
        return Err(EvalError::failed(format!(
            "invalid substring range. start: {start}, end: {end}"
        )));
    }
    let place = |index: i64| {
        usize::try_from(index)
            .ok()
            .and_then(|index| byte_place(text, index))
            .ok_or_else(|| out_of_range(index))
    };
    let from = place(start)?;
    let to = end.map(place).transpose()?.unwrap_or(text.len());
    Ok(Value::string(&text[from..to]))
}

fn format<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let text = read(&args[0], meter)?;
    format_string::format(text, args[1].as_list()?, meter).map(Value::string)
}

fn quote<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let mut quoted = std::string::String::from("\"");
    for c in read(&args[0], meter)?.chars() {
        match c {
            '\x07' => quoted.push_str("\\a"),
            '\x08' => quoted.push_str("\\b"),
            '\x0c' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\x0b' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    Ok(Value::string(quoted))
}

fn join<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let separator = args.get(1).map_or(Ok(""), Value::as_str)?;
    let mut joined = std::string::String::new();
    for (i, item) in args[0].as_list()?.iter().enumerate() {
        if i > 0 {
            joined.push_str(separator);
        }
        let item = item.map_err(|error| match error {
            EvalError::Failed(message) => EvalError::failed(format!("join: invalid input: {message}")),
            error => error,
        })?;
        let Value::String(text) = &item else {
            return Err(EvalError::failed(format!("join: invalid input: {item}")));
        };
        meter.work(1)?;
        meter.read(text.as_str().len() + separator.len())?;
        ensure_size(Some(joined.len() + text.as_str().len()))?;
        joined.push_str(text.as_str());
    }
    Ok(Value::String(Text::Shared(joined.into())))
}
