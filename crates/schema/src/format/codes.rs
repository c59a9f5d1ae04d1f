//! Codes with a fixed alphabet: identifiers, colours, numbers with check digits.

use std::sync::LazyLock;

use crate::regexp::Regexp;

static CREDIT_CARD: LazyLock<Regexp> = LazyLock::new(|| {
    compile(
        r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$",
    )
});

static RGB_COLOR: LazyLock<Regexp> = LazyLock::new(|| {
    let channel = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*";
    compile(&format!(r"^rgb\({channel},{channel},{channel}\)$"))
});

fn compile(pattern: &str) -> Regexp {
    Regexp::compile(pattern).expect("a pattern of this crate compiles")
}

pub(super) fn is_bson_object_id(s: &str) -> bool {
    s.len() == 24 && s.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Standard base64 with padding; never empty.
pub(super) fn is_base64(s: &str) -> bool {
    let digits = s.trim_end_matches('=');
    !digits.is_empty()
        && s.len().is_multiple_of(4)
        && s.len() - digits.len() <= 2
        && digits
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'/')
}

pub(super) fn is_hex_color(s: &str) -> bool {
    let digits = s.strip_prefix('#').unwrap_or(s);
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|b| b.is_ascii_hexdigit())
}

pub(super) fn is_rgb_color(s: &str) -> bool {
    RGB_COLOR.is_match(s)
}

/// Eight, four, four, four and twelve hexadecimal digits, each dash optional. Versions 4 and 5 have a variant too.
pub(super) fn is_uuid(s: &str, version: Option<char>) -> bool {
    let mut rest = s.as_bytes();
    let mut digits = Vec::with_capacity(32);
    for (i, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if let (1.., [b'-', after @ ..]) = (i, rest) {
            rest = after;
        }
        let Some((part, after)) = rest.split_at_checked(length) else {
            return false;
        };
        digits.extend_from_slice(part);
        rest = after;
    }
    let with_variant = matches!(version, Some('4' | '5'));
    rest.is_empty()
        && digits.iter().all(u8::is_ascii_hexdigit)
        && version.is_none_or(|version| char::from(digits[12]) == version)
        && (!with_variant || b"89abAB".contains(&digits[16]))
}

pub(super) fn is_ssn(s: &str) -> bool {
    let bytes = s.as_bytes();
    bytes.len() == 11
        && bytes.iter().enumerate().all(|(i, b)| match i {
            3 | 6 => matches!(b, b'-' | b' '),
            _ => b.is_ascii_digit(),
        })
}

/// A card number with anything between the digits, and the Luhn check.
pub(super) fn is_credit_card(s: &str) -> bool {
    let digits: String = s.chars().filter(char::is_ascii_digit).collect();
    if digits.len() > 19 || !CREDIT_CARD.is_match(&digits) {
        return false;
    }
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(i, b)| {
            let digit = u32::from(b - b'0') * if i % 2 == 1 { 2 } else { 1 };
            if digit >= 10 { digit - 9 } else { digit }
        })
        .sum();
    sum.is_multiple_of(10)
}

pub(super) fn is_isbn10(s: &str) -> bool {
    let code = without_separators(s);
    let [digits @ .., last] = code.as_slice() else {
        return false;
    };
    if digits.len() != 9 || !digits.iter().all(u8::is_ascii_digit) || !(last.is_ascii_digit() || *last == b'X') {
        return false;
    }
    let check = if *last == b'X' { 10 } else { u32::from(last - b'0') };
    let weighted = (1..).zip(digits).map(|(weight, b)| weight * u32::from(b - b'0'));
    (weighted.sum::<u32>() + 10 * check).is_multiple_of(11)
}

pub(super) fn is_isbn13(s: &str) -> bool {
    let code = without_separators(s);
    code.len() == 13
        && code.iter().all(u8::is_ascii_digit)
        && code
            .iter()
            .zip([1, 3].into_iter().cycle())
            .map(|(b, factor)| factor * u32::from(b - b'0'))
            .sum::<u32>()
            .is_multiple_of(10)
}

/// Without white space and dashes.
fn without_separators(s: &str) -> Vec<u8> {
    s.bytes().filter(|b| !b"\t\n\x0c\r -".contains(b)).collect()
}
