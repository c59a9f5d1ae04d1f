//! Timestamps as go-yaml recognises them; it reads them as strings and quotes strings that look like one.

/// Whether a text matches one of go-yaml's layouts, as Go's `time.Parse` reads them.
pub(super) fn is_timestamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    let year_digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if year_digits != 4 || bytes.get(4) != Some(&b'-') {
        return false;
    }
    let year = bytes[..4]
        .iter()
        .fold(0, |year, digit| year * 10 + u32::from(digit - b'0'));
    is_date_and_time(year, &bytes[5..]).is_some()
}

fn is_date_and_time(year: u32, rest: &[u8]) -> Option<()> {
    let (month, rest) = number(rest, 1..=12)?;
    let (day, rest) = number(rest.strip_prefix(b"-")?, 1..=31)?;
    if day > days(year, month) {
        return None;
    }
    let [separator, time @ ..] = rest else {
        return Some(());
    };
    let (_, rest) = number(time, 0..=23)?;
    let (_, rest) = number(rest.strip_prefix(b":")?, 0..=59)?;
    let (_, rest) = number(rest.strip_prefix(b":")?, 0..=59)?;
    let rest = skip_fraction(rest);
    let is_complete = match separator {
        b'T' | b't' => is_zone(rest),
        b' ' => rest.is_empty(),
        _ => false,
    };
    is_complete.then_some(())
}

/// A number of one or two digits.
fn number(bytes: &[u8], range: std::ops::RangeInclusive<u32>) -> Option<(u32, &[u8])> {
    let (number, rest) = match bytes {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9', rest @ ..] => {
            (u32::from(tens - b'0') * 10 + u32::from(ones - b'0'), rest)
        }
        [ones @ b'0'..=b'9', rest @ ..] => (u32::from(ones - b'0'), rest),
        _ => return None,
    };
    range.contains(&number).then_some((number, rest))
}

fn skip_fraction(bytes: &[u8]) -> &[u8] {
    match bytes {
        [b'.' | b',', rest @ ..] => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 { bytes } else { &rest[digits..] }
        }
        _ => bytes,
    }
}

/// `Z` or an offset. Go takes one of up to 24 hours and 60 minutes.
fn is_zone(bytes: &[u8]) -> bool {
    match bytes {
        [b'Z'] => true,
        [b'+' | b'-', hours @ .., b':', m1, m2] if hours.len() == 2 => {
            let is_number = |digits: &[u8], max| matches!(number(digits, 0..=max), Some((_, [])));
            is_number(hours, 24) && m1.is_ascii_digit() && is_number(&[*m1, *m2], 60)
        }
        _ => false,
    }
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognises_what_go_parses() {
        for text in [
            "2001-1-2",
            "2001-12-31",
            "2000-02-29",
            "2001-01-01T1:2:3Z",
            "2001-01-01t01:02:03.5+01:00",
            "2001-01-01T01:02:03,123456789123-24:60",
            "2001-01-01 01:02:03.5",
        ] {
            assert!(is_timestamp(text), "{text}");
        }
        for text in [
            "",
            "2001",
            "2001-",
            "01-01-01",
            "20010-01-01",
            "2001-13-01",
            "2001-00-01",
            "2001-02-29",
            "2001-04-31",
            "2001-01-01T01:02:03",
            "2001-01-01 01:02:03Z",
            "2001-01-01T01:02:03+0100",
            "2001-01-01T01:02:03+25:00",
            "2001-01-01T24:00:00Z",
            "2001-01-01T01:02:03.Z",
            "2001-01-01x",
        ] {
            assert!(!is_timestamp(text), "{text}");
        }
    }
}
