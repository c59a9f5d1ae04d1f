//! Character classes and escapes.

use super::translate::{Flags, SyntaxError, write_code_point};

/// A class that matches nothing: what a surrogate in a pattern matches.
const NOTHING: &str = r"[^\x00-\x{10FFFF}]";
/// The code points that no text holds.
const SURROGATES: std::ops::RangeInclusive<u32> = 0xd800..=0xdfff;
const MAX_CODE_POINT: u32 = 0x0010_ffff;
const BAD_RANGE: &str = "invalid character class range";
const BAD_ESCAPE: &str = "invalid escape sequence";

/// Wraps an item so that it matches whatever the case.
pub(super) fn fold(text: String, flags: Flags) -> String {
    if flags.fold_case { format!("(?i:{text})") } else { text }
}

/// One code point as an item.
pub(super) fn literal(code: u32) -> String {
    if SURROGATES.contains(&code) {
        return NOTHING.to_owned();
    }
    let mut text = String::new();
    write_code_point(code, &mut text);
    text
}

/// Reads `[...]`.
pub(super) fn bracketed(whole: &str, flags: Flags) -> Result<(String, &str), SyntaxError> {
    let mut rest = &whole[1..];
    let mut text = String::from("[");
    if let Some(after) = rest.strip_prefix('^') {
        rest = after;
        text.push('^');
    }
    let start = text.len();
    let mut first = true;
    while first || !rest.starts_with(']') {
        first = false;
        rest = element(rest, whole, &mut text)?;
    }
    let text = match (text.len() == start, start) {
        // Only surrogates were named.
        (true, 1) => NOTHING.to_owned(),
        (true, _) => r"(?s:.)".to_owned(),
        (false, _) => text + "]",
    };
    Ok((fold(text, flags), &rest[1..]))
}

/// Reads one element of a bracketed class: a named class, an escape, a character or a range.
fn element<'p>(rest: &'p str, whole: &str, text: &mut String) -> Result<&'p str, SyntaxError> {
    if let Some(end) = rest.strip_prefix("[:").and_then(|after| after.find(":]")) {
        let (name, after) = rest.split_at(end + 4);
        let ranges = posix(name).ok_or_else(|| SyntaxError::new(BAD_RANGE, name))?;
        text.push_str(&ranges);
        return Ok(after);
    }
    if let Some((class, after)) = escaped(rest)? {
        text.push_str(&class);
        return Ok(after);
    }
    let (low, mut after) = character(rest, whole)?;
    let mut high = low;
    if let Some(upper) = after
        .strip_prefix('-')
        .filter(|upper| !upper.is_empty() && !upper.starts_with(']'))
    {
        (high, after) = character(upper, whole)?;
        if high < low {
            return Err(SyntaxError::new(BAD_RANGE, &rest[..rest.len() - after.len()]));
        }
    }
    write_range(low, high, text);
    Ok(after)
}

/// Writes a range without the surrogates in it, which the engine cannot name.
fn write_range(low: u32, high: u32, text: &mut String) {
    let (first, last) = (*SURROGATES.start(), *SURROGATES.end());
    for (low, high) in [(low, high.min(first - 1)), (low.max(last + 1), high)] {
        if low <= high {
            write_code_point(low, text);
            text.push('-');
            write_code_point(high, text);
        }
    }
}

fn character<'p>(rest: &'p str, whole: &str) -> Result<(u32, &'p str), SyntaxError> {
    let Some(c) = rest.chars().next() else {
        return Err(SyntaxError::new("missing closing ]", whole));
    };
    if c == '\\' {
        return escape(rest);
    }
    Ok((u32::from(c), &rest[c.len_utf8()..]))
}

/// Reads an escape that stands for a class: `\d`, `\pL` and their like. The text goes between brackets.
pub(super) fn escaped(rest: &str) -> Result<Option<(String, &str)>, SyntaxError> {
    let Some(letter) = rest.strip_prefix('\\').and_then(|after| after.chars().next()) else {
        return Ok(None);
    };
    let perl = match letter {
        'd' => "0-9",
        'D' => "[^0-9]",
        's' => r"\t\n\f\r\x20",
        'S' => r"[^\t\n\f\r\x20]",
        'w' => "0-9A-Za-z_",
        'W' => "[^0-9A-Za-z_]",
        'p' | 'P' => return unicode(rest, letter == 'P').map(Some),
        _ => return Ok(None),
    };
    Ok(Some((perl.to_owned(), &rest[2..])))
}

/// Reads `\pN`, `\p{Name}`, `\p{^Name}` and their negations.
fn unicode(rest: &str, negated: bool) -> Result<(String, &str), SyntaxError> {
    let after = &rest[2..];
    let Some(first) = after.chars().next() else {
        // Go reads the next character before anything else and complains about what it finds: nothing.
        return Err(SyntaxError::new(BAD_RANGE, rest));
    };
    let (name, consumed) = if first == '{' {
        let Some(end) = after.find('}') else {
            return Err(SyntaxError::new(BAD_RANGE, rest));
        };
        (&after[1..end], 2 + end + 1)
    } else {
        (&after[..first.len_utf8()], 2 + first.len_utf8())
    };
    let (sequence, after) = rest.split_at(consumed);
    let (name, negated) = match name.strip_prefix('^') {
        Some(name) => (name, !negated),
        None => (name, negated),
    };
    let letter = if negated { 'P' } else { 'p' };
    let text = match table(name) {
        Some(Table::Engine(class)) => format!("\\{letter}{{{class}}}"),
        Some(Table::Surrogates) if negated => r"\x00-\x{10FFFF}".to_owned(),
        Some(Table::Surrogates) => NOTHING.to_owned(),
        None => return Err(SyntaxError::new(BAD_RANGE, sequence)),
    };
    Ok((text, after))
}

/// Where the code points of a general category or script are.
enum Table {
    /// The engine has them under this name.
    Engine(String),
    /// They are the surrogates, which the engine does not know and no text holds.
    Surrogates,
}

/// The general category or script of a name, if there is one.
fn table(name: &str) -> Option<Table> {
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || " _-".contains(c)) {
        return None;
    }
    let loose: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    match loose.to_ascii_lowercase().as_str() {
        "any" | "ascii" | "assigned" => return Some(Table::Engine(loose)),
        "cs" | "surrogate" => return Some(Table::Surrogates),
        // The engine, unlike Go, takes the prefix of Unicode's loose matching. No name of a table begins with it.
        lower if lower.starts_with("is") => return None,
        _ => {}
    }
    ["gc", "sc"]
        .into_iter()
        .map(|property| format!("{property}={loose}"))
        .find(|class| regex_syntax::parse(&format!("\\p{{{class}}}")).is_ok())
        .map(Table::Engine)
}

/// The ranges of `[:name:]` or `[:^name:]`.
fn posix(name: &str) -> Option<String> {
    let name = name.strip_prefix("[:")?.strip_suffix(":]")?;
    let (name, negated) = match name.strip_prefix('^') {
        Some(name) => (name, true),
        None => (name, false),
    };
    let ranges = match name {
        "alnum" => "0-9A-Za-z",
        "alpha" => "A-Za-z",
        "ascii" => r"\x00-\x7F",
        "blank" => r"\t\x20",
        "cntrl" => r"\x00-\x1F\x7F",
        "digit" => "0-9",
        "graph" => r"\x21-\x7E",
        "lower" => "a-z",
        "print" => r"\x20-\x7E",
        "punct" => r"\x21-\x2F\x3A-\x40\x5B-\x60\x7B-\x7E",
        "space" => r"\t\n\x0B\f\r\x20",
        "upper" => "A-Z",
        "word" => "0-9A-Za-z_",
        "xdigit" => "0-9A-Fa-f",
        _ => return None,
    };
    Some(if negated {
        format!("[^{ranges}]")
    } else {
        ranges.to_owned()
    })
}

/// Reads an escape that stands for one code point.
pub(super) fn escape(rest: &str) -> Result<(u32, &str), SyntaxError> {
    let mut chars = rest[1..].chars();
    let Some(c) = chars.next() else {
        return Err(SyntaxError::new("trailing backslash at end of expression", ""));
    };
    let after = chars.as_str();
    let simple = |code: u32| Ok((code, after));
    match c {
        'a' => simple(0x07),
        'f' => simple(0x0c),
        'n' => simple(0x0a),
        'r' => simple(0x0d),
        't' => simple(0x09),
        'v' => simple(0x0b),
        'x' => hexadecimal(rest),
        '0' => Ok(octal(&rest[1..])),
        // A single digit would be a back-reference.
        '1'..='7' if after.starts_with(|next| ('0'..='7').contains(&next)) => Ok(octal(&rest[1..])),
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => simple(u32::from(c)),
        _ => Err(SyntaxError::new(BAD_ESCAPE, &rest[..rest.len() - after.len()])),
    }
}

/// Up to three octal digits.
fn octal(digits: &str) -> (u32, &str) {
    let mut code = 0;
    let mut length = 0;
    for digit in digits.chars().take(3).map_while(|c| c.to_digit(8)) {
        code = code * 8 + digit;
        length += 1;
    }
    (code, &digits[length..])
}

/// `\x41` or `\x{41}`.
fn hexadecimal(rest: &str) -> Result<(u32, &str), SyntaxError> {
    let mut chars = rest[2..].chars();
    let fail = |after: &str| SyntaxError::new(BAD_ESCAPE, &rest[..rest.len() - after.len()]);
    let first = chars.next();
    if first != Some('{') {
        let second = if first.is_some() { chars.next() } else { None };
        let digits = first
            .zip(second)
            .and_then(|(a, b)| Some((a.to_digit(16)?, b.to_digit(16)?)));
        let (a, b) = digits.ok_or_else(|| fail(chars.as_str()))?;
        return Ok((a * 16 + b, chars.as_str()));
    }
    let mut code = 0;
    let mut digits = 0;
    loop {
        let digit = match chars.next() {
            Some('}') if digits > 0 => return Ok((code, chars.as_str())),
            Some(c) => c.to_digit(16),
            None => None,
        };
        code = digit
            .map(|digit| code * 16 + digit)
            .filter(|code| *code <= MAX_CODE_POINT)
            .ok_or_else(|| fail(chars.as_str()))?;
        digits += 1;
    }
}
