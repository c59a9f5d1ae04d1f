use std::borrow::Cow;

/// Bytes that go-yaml decodes at a time.
const BLOCK: usize = 512;

/// A text as far as it can be read.
pub(super) struct Source<'a> {
    pub(super) text: Cow<'a, str>,
    /// What ends the text, if that is not its end. go-yaml decodes whole blocks, so the text ends before the block
    /// that holds it, and anything wrong before that is reported instead.
    pub(super) fault: Option<&'static str>,
}

/// Decodes UTF-8, or UTF-16 behind a byte order mark, and looks for characters that YAML does not allow.
pub(super) fn read(bytes: &[u8]) -> Source<'_> {
    match bytes {
        [0xff, 0xfe, rest @ ..] => decode_utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => decode_utf16(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => decode_utf8(rest, BLOCK - 3),
        _ => decode_utf8(bytes, BLOCK),
    }
}

fn decode_utf8(bytes: &[u8], first_block: usize) -> Source<'_> {
    if let Ok(text) = std::str::from_utf8(bytes)
        && text.chars().all(is_allowed)
    {
        return Source {
            text: Cow::Borrowed(text),
            fault: None,
        };
    }
    let mut block_start = 0;
    let mut block_end = first_block.min(bytes.len());
    let mut at = 0;
    loop {
        if at == bytes.len() {
            return cut(bytes, at, None);
        }
        // A character that reaches beyond its block begins the next one.
        if at + width(bytes[at]) > block_end {
            block_start = at;
            block_end = (at + BLOCK).min(bytes.len());
        }
        match decode_char(&bytes[at..]) {
            Ok(c) => at += c.len_utf8(),
            Err(fault) => return cut(bytes, block_start, Some(fault)),
        }
    }
}

fn cut<'a>(bytes: &'a [u8], end: usize, fault: Option<&'static str>) -> Source<'a> {
    let text = std::str::from_utf8(&bytes[..end]).expect("every character has been decoded");
    Source {
        text: Cow::Borrowed(text),
        fault,
    }
}

const CONTROL: &str = "control characters are not allowed";

/// The first character, or what go-yaml finds wrong with it.
fn decode_char(bytes: &[u8]) -> Result<char, &'static str> {
    let (lead, min) = match bytes[0] {
        lead @ 0..0x80 => (lead, 0),
        lead @ 0xc0..0xe0 => (lead & 0x1f, 0x80),
        lead @ 0xe0..0xf0 => (lead & 0x0f, 0x800),
        lead @ 0xf0..0xf8 => (lead & 0x07, 0x1_0000),
        _ => return Err("invalid leading UTF-8 octet"),
    };
    let Some(trail) = bytes.get(1..width(bytes[0])) else {
        return Err("incomplete UTF-8 octet sequence");
    };
    if trail.iter().any(|octet| octet & 0xc0 != 0x80) {
        return Err("invalid trailing UTF-8 octet");
    }
    let code = trail
        .iter()
        .fold(u32::from(lead), |code, octet| code << 6 | u32::from(octet & 0x3f));
    if code < min {
        return Err("invalid length of a UTF-8 sequence");
    }
    match char::from_u32(code) {
        Some(c) if is_allowed(c) => Ok(c),
        Some(_) => Err(CONTROL),
        None => Err("invalid Unicode character"),
    }
}

/// The width of a character by its first byte; one if that cannot be a first byte.
fn width(lead: u8) -> usize {
    match lead {
        0..0xc0 | 0xf8.. => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf8 => 4,
    }
}

fn decode_utf16<'a>(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Source<'a> {
    let mut text = String::with_capacity(bytes.len());
    let mut block_start = 0;
    // The byte order mark is part of the first block.
    let mut block_end = BLOCK - 2;
    let mut at = 0;
    let (units, odd) = bytes.as_chunks();
    let mut decoded = char::decode_utf16(units.iter().map(|pair| unit(*pair))).peekable();
    while let Some(next) = decoded.next() {
        let (c, width) = match next {
            Ok(c) => (c, 2 * c.len_utf16()),
            Err(lone) => {
                let fault = match lone.unpaired_surrogate() {
                    0xdc00.. => "unexpected low surrogate area",
                    _ if decoded.peek().is_none() => "incomplete UTF-16 surrogate pair",
                    _ => "expected low surrogate area",
                };
                text.truncate(block_start);
                return faulty(text, fault);
            }
        };
        if at + width > block_end {
            block_start = text.len();
            block_end = at + BLOCK;
        }
        if !is_allowed(c) {
            text.truncate(block_start);
            return faulty(text, CONTROL);
        }
        text.push(c);
        at += width;
    }
    match odd {
        [] => Source {
            text: Cow::Owned(text),
            fault: None,
        },
        _ => faulty(text, "incomplete UTF-16 character"),
    }
}

fn faulty<'a>(text: String, fault: &'static str) -> Source<'a> {
    Source {
        text: Cow::Owned(text),
        fault: Some(fault),
    }
}

fn is_allowed(c: char) -> bool {
    matches!(c,
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}
