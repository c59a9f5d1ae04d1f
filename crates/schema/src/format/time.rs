//! Dates, times and durations.

use std::sync::LazyLock;

use regex::Regex;

/// The time of day of a `date-time`, in lower case.
static TIME_OF_DAY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$")
        .expect("a pattern of this crate compiles")
});

/// An amount and a unit in Scala's manner.
static AMOUNT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)").expect("a pattern of this crate compiles"));

/// The units of a duration: abbreviations that must match whole, and the beginning of the long name.
const UNITS: [(&[&str], &str); 8] = [
    (&["ns"], "nano"),
    (&["us", "µs"], "micro"),
    (&["ms"], "milli"),
    (&["s"], "sec"),
    (&["m"], "min"),
    (&["h", "hr"], "hour"),
    (&["d"], "day"),
    (&["w", "wk"], "week"),
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

/// A duration of Go's `time.ParseDuration`, or amounts with units anywhere in the text.
pub(super) fn is_duration(s: &str) -> bool {
    is_go_duration(s) || has_amounts(s)
}

fn has_amounts(s: &str) -> bool {
    let mut found = false;
    for amount in AMOUNT.captures_iter(s) {
        if amount[1].parse::<i64>().is_err() {
            return false;
        }
        let unit = amount[2].to_lowercase();
        found = found
            || UNITS
                .iter()
                .any(|(short, long)| short.contains(&unit.as_str()) || unit.starts_with(long));
    }
    found
}

/// `time.ParseDuration`: a sign, then decimal numbers with units; together no more than `int64` nanoseconds.
fn is_go_duration(s: &str) -> bool {
    /// The nanoseconds of the smallest `int64`; the largest has one less.
    const LIMIT: u64 = 1 << 63;
    let negative = s.starts_with('-');
    let mut rest = s.strip_prefix(['-', '+']).unwrap_or(s);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let Some((nanoseconds, after)) = go_amount(rest) else {
            return false;
        };
        rest = after;
        total = match total.checked_add(nanoseconds) {
            Some(sum) if sum <= LIMIT => sum,
            _ => return false,
        };
    }
    negative || total < LIMIT
}

/// One number with its unit, in nanoseconds.
fn go_amount(s: &str) -> Option<(u64, &str)> {
    let digits_end = |s: &str| s.find(|c: char| !c.is_ascii_digit()).unwrap_or(s.len());
    let (whole, mut rest) = s.split_at(digits_end(s));
    let mut fraction = "";
    if let Some(after) = rest.strip_prefix('.') {
        (fraction, rest) = after.split_at(digits_end(after));
    }
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let unit_end = rest
        .find(|c: char| c == '.' || c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (unit, after) = rest.split_at(unit_end);
    let scale: u64 = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let whole = if whole.is_empty() {
        0
    } else {
        whole.parse::<u64>().ok()?
    };
    let nanoseconds = whole.checked_mul(scale).filter(|n| *n <= 1 << 63)?;
    Some((nanoseconds.checked_add(fraction_of(fraction, scale))?, after))
}

/// A fraction of a unit, cut to nanoseconds; digits beyond what fits do not count.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss
)]
fn fraction_of(digits: &str, scale: u64) -> u64 {
    let mut value: u64 = 0;
    let mut divisor: f64 = 1.0;
    for b in digits.bytes() {
        match value.checked_mul(10).and_then(|v| v.checked_add(u64::from(b - b'0'))) {
            Some(next) if next <= 1 << 63 => value = next,
            _ => break,
        }
        divisor *= 10.0;
    }
    (value as f64 * (scale as f64 / divisor)) as u64
}
