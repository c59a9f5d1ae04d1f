//! Character classes and escapes.

use regex_syntax::hir::{Class, HirKind};

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
    if start > 1 && spans_surrogates(&text[start..]) {
        // The engine's negation of two ranges that meet at the surrogates would have their ends in it.
        text.push_str(r"\x{D7FF}-\x{E000}");
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

/// Whether a class, without its brackets, has the code points on both sides of the surrogates.
fn spans_surrogates(ranges: &str) -> bool {
    let parsed = regex_syntax::ParserBuilder::new()
        .utf8(false)
        .build()
        .parse(&format!("[{ranges}]"));
    match parsed.as_ref().map(regex_syntax::hir::Hir::kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => {
            let has = |c: char| {
                class
                    .ranges()
                    .iter()
                    .any(|range| (range.start()..=range.end()).contains(&c))
            };
            has('\u{d7ff}') && has('\u{e000}')
        }
        _ => false,
    }
}

/// Writes a range. Its ends are no surrogates, which the engine cannot name; that it may have some between does no harm.
fn write_range(low: u32, high: u32, text: &mut String) {
    let (first, last) = (*SURROGATES.start(), *SURROGATES.end());
    let low = if SURROGATES.contains(&low) { last + 1 } else { low };
    let high = if SURROGATES.contains(&high) { first - 1 } else { high };
    if low <= high {
        write_code_point(low, text);
        text.push('-');
        write_code_point(high, text);
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
    let class = table(name).ok_or_else(|| SyntaxError::new(BAD_RANGE, sequence))?;
    Ok((class.text(negated), after))
}

/// The code points of a general category or script.
enum Table {
    Any,
    Ascii,
    Assigned,
    /// A category that no assigned character need be in: `C` and `Cn`.
    Unassigned(&'static str),
    /// The surrogates, which the engine does not know and no text holds.
    Surrogates,
    Category(&'static str),
    Script(&'static str),
}

impl Table {
    /// The class in the engine's syntax. What newer versions of Unicode assigned is unassigned in Go's.
    fn text(&self, negated: bool) -> String {
        let not = if negated { "^" } else { "" };
        match self {
            Self::Any if negated => NOTHING.to_owned(),
            Self::Any => r"\x00-\x{10FFFF}".to_owned(),
            Self::Ascii => format!(r"[{not}\x00-\x7F]"),
            Self::Assigned => Self::Unassigned("Cn").text(!negated),
            Self::Unassigned(name) => format!(r"[{not}\p{{gc={name}}}\P{{{AGE}}}]"),
            Self::Surrogates if negated => Self::Any.text(false),
            Self::Surrogates => NOTHING.to_owned(),
            Self::Category(name) => format!(r"[{not}\p{{gc={name}}}&&\p{{{AGE}}}]"),
            Self::Script(name) => format!(r"[{not}\p{{sc={name}}}&&\p{{{AGE}}}]"),
        }
    }
}

/// What was assigned in the version of Unicode that Go 1.26 has.
const AGE: &str = "age=15.0";

/// The general category or script of a name, as `unicodeTable` of `regexp/syntax` finds it.
///
/// Go compares names without separators and with one capital, but not those of scripts that it looks up: no script of
/// two words can be named.
fn table(name: &str) -> Option<Table> {
    let loose = name.chars().filter(|c| !" _-".contains(*c)).enumerate();
    let canonical: String = loose
        .map(|(at, c)| {
            if at == 0 {
                c.to_ascii_uppercase()
            } else {
                c.to_ascii_lowercase()
            }
        })
        .collect();
    let canonical = canonical.as_str();
    let alias = |name: &str| {
        let at = ALIASES.binary_search_by_key(&name, |(alias, _)| alias).ok()?;
        Some(ALIASES[at].1)
    };
    let find = |names: &[&'static str], name: &str| names.binary_search(&name).ok().map(|at| names[at]);
    Some(match canonical {
        "Any" => Table::Any,
        "Ascii" => Table::Ascii,
        "Assigned" => Table::Assigned,
        name => match find(CATEGORIES, name).or_else(|| alias(name)) {
            Some("Cs") => Table::Surrogates,
            Some(category @ ("C" | "Cn")) => Table::Unassigned(category),
            Some(category) => Table::Category(category),
            None => Table::Script(find(SCRIPTS, name)?),
        },
    })
}

/// `unicode.Categories`
#[rustfmt::skip]
const CATEGORIES: &[&str] = &[
    "C", "Cc", "Cf", "Cn", "Co", "Cs", "L", "Lc", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N",
    "Nd", "Nl", "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl",
    "Zp", "Zs",
];

/// `unicode.CategoryAliases`
#[rustfmt::skip]
const ALIASES: &[(&str, &str)] = &[
    ("Casedletter", "Lc"), ("Closepunctuation", "Pe"), ("Cntrl", "Cc"), ("Combiningmark", "M"),
    ("Connectorpunctuation", "Pc"), ("Control", "Cc"), ("Currencysymbol", "Sc"), ("Dashpunctuation", "Pd"),
    ("Decimalnumber", "Nd"), ("Digit", "Nd"), ("Enclosingmark", "Me"), ("Finalpunctuation", "Pf"),
    ("Format", "Cf"), ("Initialpunctuation", "Pi"), ("Letter", "L"), ("Letternumber", "Nl"),
    ("Lineseparator", "Zl"), ("Lowercaseletter", "Ll"), ("Mark", "M"), ("Mathsymbol", "Sm"),
    ("Modifierletter", "Lm"), ("Modifiersymbol", "Sk"), ("Nonspacingmark", "Mn"), ("Number", "N"),
    ("Openpunctuation", "Ps"), ("Other", "C"), ("Otherletter", "Lo"), ("Othernumber", "No"),
    ("Otherpunctuation", "Po"), ("Othersymbol", "So"), ("Paragraphseparator", "Zp"), ("Privateuse", "Co"),
    ("Punct", "P"), ("Punctuation", "P"), ("Separator", "Z"), ("Spaceseparator", "Zs"), ("Spacingmark", "Mc"),
    ("Surrogate", "Cs"), ("Symbol", "S"), ("Titlecaseletter", "Lt"), ("Unassigned", "Cn"),
    ("Uppercaseletter", "Lu"),
];

/// Those of `unicode.Scripts` whose names are one word.
#[rustfmt::skip]
const SCRIPTS: &[&str] = &[
    "Adlam", "Ahom", "Arabic", "Armenian", "Avestan", "Balinese", "Bamum", "Batak", "Bengali", "Bhaiksuki",
    "Bopomofo", "Brahmi", "Braille", "Buginese", "Buhid", "Carian", "Chakma", "Cham", "Cherokee", "Chorasmian",
    "Common", "Coptic", "Cuneiform", "Cypriot", "Cyrillic", "Deseret", "Devanagari", "Dogra", "Duployan",
    "Elbasan", "Elymaic", "Ethiopic", "Georgian", "Glagolitic", "Gothic", "Grantha", "Greek", "Gujarati",
    "Gurmukhi", "Han", "Hangul", "Hanunoo", "Hatran", "Hebrew", "Hiragana", "Inherited", "Javanese", "Kaithi",
    "Kannada", "Katakana", "Kawi", "Kharoshthi", "Khmer", "Khojki", "Khudawadi", "Lao", "Latin", "Lepcha",
    "Limbu", "Lisu", "Lycian", "Lydian", "Mahajani", "Makasar", "Malayalam", "Mandaic", "Manichaean", "Marchen",
    "Medefaidrin", "Miao", "Modi", "Mongolian", "Mro", "Multani", "Myanmar", "Nabataean", "Nandinagari", "Newa",
    "Nko", "Nushu", "Ogham", "Oriya", "Osage", "Osmanya", "Palmyrene", "Phoenician", "Rejang", "Runic",
    "Samaritan", "Saurashtra", "Sharada", "Shavian", "Siddham", "Sinhala", "Sogdian", "Soyombo", "Sundanese",
    "Syriac", "Tagalog", "Tagbanwa", "Takri", "Tamil", "Tangsa", "Tangut", "Telugu", "Thaana", "Thai",
    "Tibetan", "Tifinagh", "Tirhuta", "Toto", "Ugaritic", "Vai", "Vithkuqi", "Wancho", "Yezidi", "Yi",
];

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
