//! `metav1.Time`: RFC 3339 as Go's `time.Parse` reads it, and its errors.

use std::fmt::Write;

const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";
const SECONDS_PER_DAY: i64 = 86_400;
/// The second in which Go's zero time lies, counted from the beginning of 1970.
const ZERO: i64 = -62_135_596_800;

/// Reads a time and writes it as Kubernetes encodes it, in UTC and whole seconds; nothing for Go's zero time.
pub(super) fn normalize(s: &str) -> Result<Option<String>, String> {
    let mut parser = Parser {
        whole: s.as_bytes(),
        rest: s.as_bytes(),
    };
    let (second, exact) = parser.parse()?;
    Ok((second != ZERO || !exact).then(|| format(second)))
}

struct Parser<'s> {
    whole: &'s [u8],
    rest: &'s [u8],
}

impl Parser<'_> {
    /// The second since 1970, and whether nothing is left of a second.
    fn parse(&mut self) -> Result<(i64, bool), String> {
        let year = self.year()?;
        self.literal("-")?;
        let month = self.number("01", true)?;
        if !(1..=12).contains(&month) {
            return Err(self.out_of_range("month"));
        }
        self.literal("-")?;
        let day = self.number("02", true)?;
        self.literal("T")?;
        let hour = self.number("15", false)?;
        if hour > 23 {
            return Err(self.out_of_range("hour"));
        }
        self.literal(":")?;
        let minute = self.number("04", true)?;
        if minute > 59 {
            return Err(self.out_of_range("minute"));
        }
        self.literal(":")?;
        let second = self.number("05", true)?;
        if second > 59 {
            return Err(self.out_of_range("second"));
        }
        let exact = self.fraction();
        let offset = self.offset()?;
        if !self.rest.is_empty() {
            let text = quote(self.rest);
            return Err(format!("parsing time {}: extra text: {text}", quote(self.whole)));
        }
        if !(1..=days_in(year, month)).contains(&day) {
            return Err(self.out_of_range("day"));
        }
        let time_of_day = (hour * 60 + minute) * 60 + second;
        Ok((
            days_from_civil(year, month, day) * SECONDS_PER_DAY + time_of_day - offset,
            exact,
        ))
    }

    fn year(&mut self) -> Result<i64, String> {
        match self.rest.split_at_checked(4) {
            Some((digits, rest)) if digits.iter().all(u8::is_ascii_digit) => {
                self.rest = rest;
                Ok(digits.iter().fold(0, |n, b| n * 10 + i64::from(b - b'0')))
            }
            _ => Err(self.cannot_parse("2006")),
        }
    }

    fn literal(&mut self, expected: &str) -> Result<(), String> {
        match self.rest.strip_prefix(expected.as_bytes()) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => Err(self.cannot_parse(expected)),
        }
    }

    /// Two digits; one will do where the layout does not pad.
    fn number(&mut self, element: &str, padded: bool) -> Result<i64, String> {
        let digit = |b: &u8| b.is_ascii_digit().then(|| i64::from(b - b'0'));
        let first = self.rest.first().and_then(digit);
        let second = self.rest.get(1).and_then(digit);
        let (number, length) = match (first, second) {
            (Some(tens), Some(ones)) => (tens * 10 + ones, 2),
            (Some(ones), None) if !padded => (ones, 1),
            _ => return Err(self.cannot_parse(element)),
        };
        self.rest = &self.rest[length..];
        Ok(number)
    }

    /// Skips a fraction of a second; says whether it is nothing.
    fn fraction(&mut self) -> bool {
        let [b'.' | b',', after @ ..] = self.rest else {
            return true;
        };
        let length = after.iter().take_while(|b| b.is_ascii_digit()).count();
        if length == 0 {
            return true;
        }
        self.rest = &after[length..];
        after[..length.min(9)].iter().all(|b| *b == b'0')
    }

    /// The offset from UTC, seconds.
    fn offset(&mut self) -> Result<i64, String> {
        if let Some(rest) = self.rest.strip_prefix(b"Z") {
            self.rest = rest;
            return Ok(0);
        }
        let pair = |tens: u8, ones: u8| {
            let digits = tens.is_ascii_digit() && ones.is_ascii_digit();
            digits.then(|| i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
        };
        let [sign, h1, h2, b':', m1, m2, rest @ ..] = self.rest else {
            return Err(self.cannot_parse("Z07:00"));
        };
        let (Some(hours), Some(minutes)) = (pair(*h1, *h2), pair(*m1, *m2)) else {
            return Err(self.cannot_parse("Z07:00"));
        };
        // Some people write offsets of 24 hours and 60 minutes, and Go lets them.
        if hours > 24 {
            return Err(self.out_of_range("time zone offset hour"));
        }
        if minutes > 60 {
            return Err(self.out_of_range("time zone offset minute"));
        }
        let offset = (hours * 60 + minutes) * 60;
        let offset = match sign {
            b'+' => offset,
            b'-' => -offset,
            _ => return Err(self.cannot_parse("Z07:00")),
        };
        self.rest = rest;
        Ok(offset)
    }

    fn cannot_parse(&self, element: &str) -> String {
        let (whole, rest) = (quote(self.whole), quote(self.rest));
        format!("parsing time {whole} as \"{LAYOUT}\": cannot parse {rest} as \"{element}\"")
    }

    fn out_of_range(&self, what: &str) -> String {
        format!("parsing time {}: {what} out of range", quote(self.whole))
    }
}

/// `time.quote`: bytes that are not printable ASCII in hexadecimal.
fn quote(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for b in bytes {
        match b {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(*b));
            }
            0x20..=0x7f => out.push(char::from(*b)),
            _ => {
                let _ = write!(out, "\\x{b:02x}");
            }
        }
    }
    out.push('"');
    out
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}

/// The day of a date, counted from the beginning of 1970, in the proleptic Gregorian calendar: years begin in March, so
/// that the day that leap years add is their last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn format(second: i64) -> String {
    let days = second.div_euclid(SECONDS_PER_DAY) + 719_468;
    let time = second.rem_euclid(SECONDS_PER_DAY);
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        time / 3_600,
        time / 60 % 60,
        time % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_go_reads_them() {
        for (text, normal) in [
            ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
            ("2024-01-01T00:00:00+02:00", "2023-12-31T22:00:00Z"),
            ("2024-02-29T23:59:59.999-00:01", "2024-03-01T00:00:59Z"),
            ("2024-01-01T0:00:00Z", "2024-01-01T00:00:00Z"),
            ("2024-01-01T00:00:00,5Z", "2024-01-01T00:00:00Z"),
            ("1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z"),
            ("0001-01-01T00:00:00.5Z", "0001-01-01T00:00:00Z"),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(normalize(text).unwrap().as_deref(), Some(normal), "{text}");
        }
        assert_eq!(normalize("0001-01-01T00:00:00Z"), Ok(None));
    }

    #[test]
    fn errors_are_worded_as_go_words_them() {
        let layout = r#" as "2006-01-02T15:04:05Z07:00""#;
        for (text, error) in [
            ("x", format!(r#"parsing time "x"{layout}: cannot parse "x" as "2006""#)),
            (
                "2024-01-01",
                format!(r#"parsing time "2024-01-01"{layout}: cannot parse "" as "T""#),
            ),
            (
                "2024-1-01T00:00:00Z",
                format!(r#"parsing time "2024-1-01T00:00:00Z"{layout}: cannot parse "1-01T00:00:00Z" as "01""#),
            ),
            (
                "2024-01-01T00:00:00+2:00",
                format!(r#"parsing time "2024-01-01T00:00:00+2:00"{layout}: cannot parse "+2:00" as "Z07:00""#),
            ),
            (
                "2024-13-01T00:00:00Z",
                r#"parsing time "2024-13-01T00:00:00Z": month out of range"#.to_owned(),
            ),
            (
                "2024-02-30T00:00:00Z",
                r#"parsing time "2024-02-30T00:00:00Z": day out of range"#.to_owned(),
            ),
            (
                "2024-01-01T00:00:00Zx",
                r#"parsing time "2024-01-01T00:00:00Zx": extra text: "x""#.to_owned(),
            ),
            (
                "é\n<",
                format!(r#"parsing time "\xc3\xa9\x0a<"{layout}: cannot parse "\xc3\xa9\x0a<" as "2006""#),
            ),
        ] {
            assert_eq!(normalize(text).unwrap_err(), error);
        }
    }
}
