//! Dates, times and durations.

use std::sync::LazyLock;

use regex::Regex;

use crate::go;

/// The time of day of a `date-time`, in lower case.
static TIME_OF_DAY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$")
        .expect("a pattern of this crate compiles")
});

/// An amount and a unit in Scala's manner.
static AMOUNT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)").expect("a pattern of this crate compiles"));

const SECOND: i64 = 1_000_000_000;

/// The units of a duration: abbreviations that must match whole, the beginning of the long name, nanoseconds.
const UNITS: [(&[&str], &str, i64); 8] = [
    (&["ns"], "nano", 1),
    (&["us", "µs"], "micro", 1_000),
    (&["ms"], "milli", 1_000_000),
    (&["s"], "sec", SECOND),
    (&["m"], "min", 60 * SECOND),
    (&["h", "hr"], "hour", 3_600 * SECOND),
    (&["d"], "day", 86_400 * SECOND),
    (&["w", "wk"], "week", 7 * 86_400 * SECOND),
];

/// `YYYY-MM-DD`, a day that exists.
pub(super) fn is_date(s: &str) -> bool {
    let bytes = s.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return false;
    }
    let number = |range: std::ops::Range<usize>| -> Option<u32> {
        let digits = &bytes[range];
        digits
            .iter()
            .all(u8::is_ascii_digit)
            .then(|| digits.iter().fold(0, |n, b| n * 10 + u32::from(b - b'0')))
    };
    let (Some(year), Some(month), Some(day)) = (number(0..4), number(5..7), number(8..10)) else {
        return false;
    };
    (1..=days_in(year, month)).contains(&day)
}

/// The days of a month; none where there is no such month.
fn days_in(year: u32, month: u32) -> u32 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        _ => 0,
    }
}

/// A date, `t` and a time of day with an offset. What follows a second `t` is not looked at, as in strfmt.
pub(super) fn is_date_time(s: &str) -> bool {
    let lower = s.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else {
        return false;
    };
    is_date(date)
        && TIME_OF_DAY
            .captures(time)
            .is_some_and(|found| &found[1] <= "23" && &found[2] <= "59" && &found[3] <= "59")
}

/// `strfmt.ParseDuration`, nanoseconds: a duration of Go's `time.ParseDuration`, or amounts with units in Scala's manner
/// anywhere in the text (`3 days`, `1 hr`), which are added up.
pub(crate) fn parse_duration(text: &str) -> Result<i64, String> {
    if let Ok(duration) = go::parse_duration(text) {
        return Ok(duration);
    }
    let mut total: Option<i64> = None;
    for amount in AMOUNT.captures_iter(text) {
        let number = &amount[1];
        let number: i64 = number
            .parse()
            .map_err(|_| format!("strconv.Atoi: parsing {}: value out of range", go::quote(number)))?;
        for unit in units(&amount[2]) {
            let sum = total.unwrap_or_default();
            total = Some(sum.wrapping_add(number.wrapping_mul(unit)));
        }
    }
    total.ok_or_else(|| format!("unable to parse {text} as duration"))
}

/// The nanoseconds of the units that a word stands for; strfmt adds up every variant that matches.
fn units(word: &str) -> impl Iterator<Item = i64> {
    let word = word.to_lowercase();
    UNITS.into_iter().flat_map(move |(short, long, nanoseconds)| {
        let matches = short.iter().filter(|short| word == **short).count() + usize::from(word.starts_with(long));
        std::iter::repeat_n(nanoseconds, matches)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_added_up() {
        for (text, expected) in [
            ("1m1s", Ok(61 * SECOND)),
            ("3 days", Ok(3 * 86_400 * SECOND)),
            ("1 hr and 2 seconds", Ok(3_602 * SECOND)),
            // Only as long as the long name has not ended does a word match; a short one must be whole.
            ("1 minutely, 1 mo", Ok(60 * SECOND)),
            ("1 mo", Err("unable to parse 1 mo as duration".to_owned())),
            (
                "99999999999999999999 d",
                Err("strconv.Atoi: parsing \"99999999999999999999\": value out of range".to_owned()),
            ),
        ] {
            assert_eq!(parse_duration(text), expected, "{text}");
        }
    }
}
