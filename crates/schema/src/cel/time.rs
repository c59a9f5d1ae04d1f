//! Timestamps and durations as Go's `time` reads, computes and writes them.

use std::fmt::Write as _;

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use super::error::{EvalError, Outcome};

/// First second of the year 1, which CEL's timestamps begin with.
const MIN_SECONDS: i64 = -62_135_596_800;
/// Last second of the year 9999.
const MAX_SECONDS: i64 = 253_402_300_799;
const NANOS: i64 = 1_000_000_000;
/// What timestamps count from.
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// A duration in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration(i64);

impl Duration {
    /// A duration of so many nanoseconds.
    pub const fn from_nanoseconds(nanoseconds: i64) -> Self {
        Self(nanoseconds)
    }

    /// The nanoseconds.
    pub const fn nanoseconds(self) -> i64 {
        self.0
    }

    /// Go's `time.ParseDuration`.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, mut rest) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        if rest == "0" {
            return Some(Self(0));
        }
        if rest.is_empty() {
            return None;
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let (part, after) = part(rest)?;
            total = total.checked_add(part).filter(|total| *total <= 1 << 63)?;
            rest = after;
        }
        match (negative, i64::try_from(total)) {
            (true, Ok(total)) => Some(Self(-total)),
            (true, Err(_)) => Some(Self(i64::MIN)),
            (false, total) => total.ok().map(Self),
        }
    }

    /// kube-openapi's `strfmt.ParseDuration`, which also takes words and days: `3 days`, `1 hr`.
    pub fn parse_lenient(text: &str) -> Result<Self, String> {
        if let Some(duration) = Self::parse(text) {
            return Ok(duration);
        }
        let mut total: i64 = 0;
        let mut found = false;
        let mut rest = text;
        while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
            rest = &rest[start..];
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let (number, after) = rest.split_at(digits);
            let spaced = after.trim_start_matches(['\t', '\n', '\x0c', '\r', ' ']);
            let letters = spaced
                .find(|c: char| !(c.is_ascii_alphabetic() || c == 'µ'))
                .unwrap_or(spaced.len());
            rest = &spaced[letters..];
            if letters == 0 {
                continue;
            }
            let number: i64 = number
                .parse()
                .map_err(|_| format!("strconv.Atoi: parsing {}: value out of range", crate::go::quote(number)))?;
            for nanoseconds in word_units(&spaced[..letters]) {
                found = true;
                total = total.wrapping_add(number.wrapping_mul(nanoseconds));
            }
        }
        if found {
            Ok(Self(total))
        } else {
            Err(format!("unable to parse {text} as duration"))
        }
    }

    /// Whole seconds, as `string()` writes them: a decimal number and `s`.
    pub(crate) fn to_cel_string(self) -> String {
        format!("{}s", crate::go::float_as_f(self.seconds()))
    }

    /// `Duration.Seconds` of Go: the whole seconds and the rest, added in floating point.
    #[expect(clippy::cast_precision_loss, reason = "Go's is a float64 too")]
    pub(crate) fn seconds(self) -> f64 {
        (self.0 / NANOS) as f64 + (self.0 % NANOS) as f64 / 1e9
    }

    /// `Duration.String` of Go: `1h2m3.5s`.
    pub(crate) fn to_go_string(self) -> String {
        let nanos = self.0.unsigned_abs();
        let sign = if self.0 < 0 { "-" } else { "" };
        if nanos == 0 {
            return "0s".to_owned();
        }
        if nanos < 1_000_000_000 {
            let (unit, digits) = match nanos {
                0..1_000 => ("ns", 0),
                1_000..1_000_000 => ("µs", 3),
                _ => ("ms", 6),
            };
            return format!("{sign}{}{unit}", fraction(nanos, digits));
        }
        let minutes = nanos / 60_000_000_000;
        let seconds = fraction(nanos % 60_000_000_000, 9);
        match (minutes / 60, minutes % 60) {
            (0, 0) => format!("{sign}{seconds}s"),
            (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
            (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
        }
    }

    /// The sum, or cel-go's overflow error.
    pub(crate) fn add(self, other: Self) -> Outcome<Self> {
        self.0.checked_add(other.0).map(Self).ok_or_else(duration_overflow)
    }

    /// The difference, or cel-go's overflow error.
    pub(crate) fn subtract(self, other: Self) -> Outcome<Self> {
        self.0.checked_sub(other.0).map(Self).ok_or_else(duration_overflow)
    }

    /// The negative, or cel-go's overflow error.
    pub(crate) fn negate(self) -> Outcome<Self> {
        self.0.checked_neg().map(Self).ok_or_else(duration_overflow)
    }
}

fn duration_overflow() -> EvalError {
    EvalError::failed("integer overflow")
}

fn timestamp_overflow() -> EvalError {
    EvalError::failed("timestamp overflow")
}

/// One number with its unit at the beginning of a duration, in nanoseconds, and what follows.
fn part(text: &str) -> Option<(u64, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (whole, mut rest) = text.split_at(digits);
    let mut fraction = "";
    if let Some(after) = rest.strip_prefix('.') {
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        (fraction, rest) = after.split_at(digits);
    }
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let letters = rest
        .find(|c: char| c == '.' || c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(letters);
    let unit: u64 = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut nanos = whole.checked_mul(unit).filter(|nanos| *nanos <= 1 << 63)?;
    if !fraction.is_empty() {
        nanos = nanos.checked_add(fraction_of(fraction, unit))?;
    }
    (nanos <= 1 << 63).then_some((nanos, rest))
}

/// Go's `leadingFraction`: digits that do not fit are dropped, and the rest is computed in floating point.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "Go computes in float64"
)]
fn fraction_of(digits: &str, unit: u64) -> u64 {
    let mut value: i64 = 0;
    let mut scale = 1.0;
    for digit in digits.bytes() {
        if value > (i64::MAX - 9) / 10 {
            break;
        }
        value = value * 10 + i64::from(digit - b'0');
        scale *= 10.0;
    }
    (value as f64 * (unit as f64 / scale)) as u64
}

/// `nanos` with `digits` of them behind the point, trailing zeros dropped.
fn fraction(nanos: u64, digits: u32) -> String {
    let scale = 10u64.pow(digits);
    let mut text = (nanos / scale).to_string();
    let rest = nanos % scale;
    if rest > 0 {
        let padded = format!("{rest:0width$}", width = digits as usize);
        text.push('.');
        text.push_str(padded.trim_end_matches('0'));
    }
    text
}

/// The units that a word stands for; strfmt adds up every variant that matches.
fn word_units(word: &str) -> Vec<i64> {
    const UNITS: [(&[&str], i64); 8] = [
        (&["ns", "nano"], 1),
        (&["us", "µs", "micro"], 1_000),
        (&["ms", "milli"], 1_000_000),
        (&["s", "sec"], NANOS),
        (&["m", "min"], 60 * NANOS),
        (&["h", "hr", "hour"], 3_600 * NANOS),
        (&["d", "day"], 86_400 * NANOS),
        (&["w", "wk", "week"], 7 * 86_400 * NANOS),
    ];
    let word = word.to_lowercase();
    let mut found = Vec::new();
    for (variants, nanoseconds) in UNITS {
        for (i, variant) in variants.iter().enumerate() {
            if word == *variant || i + 1 == variants.len() && word.starts_with(variant) {
                found.push(nanoseconds);
            }
        }
    }
    found
}

/// A moment, with the offset from UTC that it was written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    seconds: i64,
    nanoseconds: i32,
    offset: i32,
}

impl Timestamp {
    /// Seconds since 1970 in UTC, or cel-go's overflow error outside the years 1 to 9999.
    pub(crate) fn from_unix(seconds: i64) -> Outcome<Self> {
        Self::checked(seconds, 0, 0)
    }

    fn checked(seconds: i64, nanoseconds: i32, offset: i32) -> Outcome<Self> {
        if (MIN_SECONDS..=MAX_SECONDS).contains(&seconds) {
            Ok(Self {
                seconds,
                nanoseconds,
                offset,
            })
        } else {
            Err(timestamp_overflow())
        }
    }

    /// Go's `time.Parse(time.RFC3339, …)`, which also takes one-digit hours and a comma.
    ///
    /// # Errors
    ///
    /// Go's words.
    pub(crate) fn parse_rfc3339(text: &str) -> Result<Self, String> {
        Parser::new(text, "2006-01-02T15:04:05Z07:00").timestamp(true)
    }

    /// kube-openapi's `strfmt.ParseDateTime`: RFC 3339, also without an offset; empty is 1970.
    pub(crate) fn parse_date_time(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self {
                seconds: 0,
                nanoseconds: 0,
                offset: 0,
            });
        }
        Parser::new(text, "2006-01-02T15:04:05Z07:00")
            .timestamp(true)
            .or_else(|_| Parser::new(text, "2006-01-02T15:04:05").timestamp(false))
    }

    /// A date, at midnight in UTC.
    pub(crate) fn parse_date(text: &str) -> Result<Self, String> {
        let mut parser = Parser::new(text, "2006-01-02");
        let date = parser.date()?;
        parser.end()?;
        let date = parser.valid(date)?;
        Ok(Self {
            seconds: unix(date.at(0, 0, 0, 0)),
            nanoseconds: 0,
            offset: 0,
        })
    }

    /// The moment itself, to be compared.
    pub(crate) fn instant(self) -> (i64, i32) {
        (self.seconds, self.nanoseconds)
    }

    /// Seconds since 1970.
    pub(crate) fn unix(self) -> i64 {
        self.seconds
    }

    /// Go's zero time: the first moment of the year 1.
    pub(crate) fn is_go_zero(self) -> bool {
        self.instant() == (MIN_SECONDS, 0)
    }

    /// The moment a duration later, or cel-go's overflow error.
    pub(crate) fn add(self, duration: Duration) -> Outcome<Self> {
        self.shift(i128::from(duration.nanoseconds()))
    }

    /// The moment a duration earlier, or cel-go's overflow error.
    pub(crate) fn subtract(self, duration: Duration) -> Outcome<Self> {
        self.shift(-i128::from(duration.nanoseconds()))
    }

    fn shift(self, nanoseconds: i128) -> Outcome<Self> {
        let total = i128::from(self.seconds) * i128::from(NANOS) + i128::from(self.nanoseconds) + nanoseconds;
        let seconds = i64::try_from(total.div_euclid(i128::from(NANOS))).map_err(|_| timestamp_overflow())?;
        let rest = i32::try_from(total.rem_euclid(i128::from(NANOS))).map_err(|_| timestamp_overflow())?;
        Self::checked(seconds, rest, self.offset)
    }

    /// The time since another moment, or cel-go's overflow error.
    pub(crate) fn since(self, other: Self) -> Outcome<Duration> {
        let nanos = i128::from(self.seconds - other.seconds) * i128::from(NANOS)
            + i128::from(self.nanoseconds - other.nanoseconds);
        i64::try_from(nanos).map(Duration).map_err(|_| duration_overflow())
    }

    /// The date and time of the day in a zone: an IANA name, or an offset like `-08:00`.
    pub(crate) fn in_zone(self, zone: Option<&str>) -> Outcome<DateTime> {
        let zone = zone.unwrap_or("UTC");
        let Some((hours, minutes)) = zone.split_once(':') else {
            return self.in_named_zone(zone);
        };
        let hours: i64 = atoi(hours)?;
        let minutes: i64 = atoi(minutes)?;
        let minutes = if zone.starts_with('-') {
            hours * 60 - minutes
        } else {
            hours * 60 + minutes
        };
        self.at_offset(minutes * 60)
    }

    fn in_named_zone(self, name: &str) -> Outcome<DateTime> {
        if matches!(name, "" | "UTC" | "Local") {
            return self.at_offset(0);
        }
        let unknown = || EvalError::failed(format!("unknown time zone {name}"));
        let zone = TimeZone::get(name).map_err(|_| unknown())?;
        // Go opens a file of that name; jiff ignores case.
        if zone.iana_name() != Some(name) {
            return Err(unknown());
        }
        // jiff's moments end a day before year 10000 does; no zone changes its offset in between.
        let moment = jiff::Timestamp::from_second(self.seconds).unwrap_or(jiff::Timestamp::MAX);
        self.at_offset(zone.to_offset(moment).seconds().into())
    }

    /// The date and time of the day so many seconds east of Greenwich.
    fn at_offset(self, seconds: i64) -> Outcome<DateTime> {
        let since_epoch = SignedDuration::new(self.seconds.saturating_add(seconds), self.nanoseconds);
        EPOCH.checked_add(since_epoch).map_err(|_| timestamp_overflow())
    }

    /// RFC 3339 with as many digits of the second as are needed, in the zone that it was written with.
    pub(crate) fn to_rfc3339(self) -> String {
        let mut text = self.clock("T");
        if self.offset == 0 {
            text.push('Z');
        } else {
            text.push_str(&self.zone(":"));
        }
        text
    }

    /// `Time.String` of Go: `2006-01-02 15:04:05.999999999 -0700 MST`.
    pub(crate) fn to_go_string(self) -> String {
        let name = if self.offset == 0 {
            "UTC".to_owned()
        } else {
            self.zone("")
        };
        format!("{} {} {name}", self.clock(" "), self.zone(""))
    }

    fn clock(self, separator: &str) -> String {
        // Every timestamp is within the years 1 to 9999 and offsets are below 25 hours.
        let Ok(local) = self.at_offset(self.offset.into()) else {
            return String::new();
        };
        let mut text = format!(
            "{:04}-{:02}-{:02}{separator}{:02}:{:02}:{:02}",
            local.year(),
            local.month(),
            local.day(),
            local.hour(),
            local.minute(),
            local.second()
        );
        if self.nanoseconds > 0 {
            let fraction = format!(".{:09}", self.nanoseconds);
            text.push_str(fraction.trim_end_matches('0'));
        }
        text
    }

    fn zone(self, separator: &str) -> String {
        let sign = if self.offset < 0 { '-' } else { '+' };
        let minutes = self.offset.abs() / 60;
        let mut text = String::new();
        let _ = write!(text, "{sign}{:02}{separator}{:02}", minutes / 60, minutes % 60);
        text
    }
}

/// `strconv.Atoi` with its words.
fn atoi(text: &str) -> Outcome<i64> {
    text.parse::<i64>().map_err(|error| {
        let reason = match error.kind() {
            std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        EvalError::failed(format!("strconv.Atoi: parsing {}: {reason}", crate::go::quote(text)))
    })
}

fn unix(local: DateTime) -> i64 {
    local.duration_since(EPOCH).as_secs()
}

/// Reads times by Go's layouts, with Go's complaints.
struct Parser<'t> {
    text: &'t str,
    rest: &'t str,
    layout: &'static str,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str, layout: &'static str) -> Self {
        Self {
            text,
            rest: text,
            layout,
        }
    }

    fn cannot(&self, what: &str) -> String {
        format!(
            "parsing time {} as {}: cannot parse {} as {}",
            crate::go::quote(self.text),
            crate::go::quote(self.layout),
            crate::go::quote(self.rest),
            crate::go::quote(what)
        )
    }

    fn range(&self, what: &str) -> String {
        format!("parsing time {}: {what} out of range", crate::go::quote(self.text))
    }

    fn digits(&mut self, min: usize, max: usize, what: &str) -> Result<i32, String> {
        let found = self.rest.bytes().take(max).take_while(u8::is_ascii_digit).count();
        if found < min {
            return Err(self.cannot(what));
        }
        let (digits, rest) = self.rest.split_at(found);
        let number = digits.parse().map_err(|_| self.cannot(what))?;
        self.rest = rest;
        Ok(number)
    }

    fn literal(&mut self, what: &str) -> Result<(), String> {
        self.rest = self.rest.strip_prefix(what).ok_or_else(|| self.cannot(what))?;
        Ok(())
    }

    fn date(&mut self) -> Result<(i32, i32, i32), String> {
        let year = self.digits(4, 4, "2006")?;
        self.literal("-")?;
        let month = self.digits(2, 2, "01")?;
        if !(1..=12).contains(&month) {
            return Err(self.range("month"));
        }
        self.literal("-")?;
        let day = self.digits(2, 2, "02")?;
        Ok((year, month, day))
    }

    /// The day is judged last, when the month is known and everything else was read.
    fn valid(&self, (year, month, day): (i32, i32, i32)) -> Result<Date, String> {
        let (Ok(year), Ok(month), Ok(day)) = (i16::try_from(year), i8::try_from(month), i8::try_from(day)) else {
            return Err(self.range("day"));
        };
        Date::new(year, month, day).map_err(|_| self.range("day"))
    }

    fn end(&self) -> Result<(), String> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(format!(
            "parsing time {}: extra text: {}",
            crate::go::quote(self.text),
            crate::go::quote(self.rest)
        ))
    }

    fn timestamp(mut self, with_zone: bool) -> Result<Timestamp, String> {
        let date = self.date()?;
        self.literal("T")?;
        let hour = self.digits(1, 2, "15")?;
        if hour > 23 {
            return Err(self.range("hour"));
        }
        self.literal(":")?;
        let minute = self.digits(2, 2, "04")?;
        if minute > 59 {
            return Err(self.range("minute"));
        }
        self.literal(":")?;
        let second = self.digits(2, 2, "05")?;
        if second > 59 {
            return Err(self.range("second"));
        }
        let nanoseconds = self.fraction();
        let offset = if with_zone { self.offset()? } else { 0 };
        self.end()?;
        let date = self.valid(date)?;
        let midnight = unix(date.at(0, 0, 0, 0));
        Ok(Timestamp {
            seconds: midnight + i64::from(hour * 3_600 + minute * 60 + second - offset),
            nanoseconds,
            offset,
        })
    }

    /// Digits of the second; those beyond the ninth are dropped.
    fn fraction(&mut self) -> i32 {
        let Some(after) = self.rest.strip_prefix(['.', ',']) else {
            return 0;
        };
        let count = after.bytes().take_while(u8::is_ascii_digit).count();
        if count == 0 {
            return 0;
        }
        self.rest = &after[count..];
        let digits = format!("{:0<9}", &after[..count]);
        digits[..9].parse().unwrap_or(0)
    }

    fn offset(&mut self) -> Result<i32, String> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let bytes = self.rest.as_bytes();
        let digit = |i: usize| bytes.get(i).filter(|b| b.is_ascii_digit()).map(|b| i32::from(b - b'0'));
        let parsed = (|| {
            let sign = match bytes.first()? {
                b'+' => 1,
                b'-' => -1,
                _ => return None,
            };
            if bytes.get(3) != Some(&b':') {
                return None;
            }
            Some((sign, digit(1)? * 10 + digit(2)?, digit(4)? * 10 + digit(5)?))
        })();
        let Some((sign, hours, minutes)) = parsed else {
            return Err(self.cannot("Z07:00"));
        };
        if hours > 24 {
            return Err(self.range("time zone offset hour"));
        }
        if minutes > 60 {
            return Err(self.range("time zone offset minute"));
        }
        self.rest = &self.rest[6..];
        Ok(sign * (hours * 3_600 + minutes * 60))
    }
}

/// A timestamp from a string, as `timestamp()` converts it.
pub(crate) fn convert_timestamp(text: &str) -> Option<Outcome<Timestamp>> {
    let time = Timestamp::parse_rfc3339(text).ok()?;
    Some(Timestamp::checked(time.seconds, time.nanoseconds, time.offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, nanoseconds) in [
            ("1.5h", Some(5_400_000_000_000)),
            ("0", Some(0)),
            ("-1.5s", Some(-1_500_000_000)),
            (".5s", Some(500_000_000)),
            ("1µs", Some(1_000)),
            ("9223372036854775808ns", None),
            ("-9223372036854775808ns", Some(i64::MIN)),
            ("1d", None),
            ("", None),
        ] {
            assert_eq!(Duration::parse(text).map(Duration::nanoseconds), nanoseconds, "{text}");
        }
        assert_eq!(Duration::parse_lenient("3 days"), Ok(Duration(3 * 86_400 * NANOS)));
    }

    #[test]
    fn durations_are_written_as_go_writes_them() {
        for (nanoseconds, text) in [
            (3_600 * NANOS, "1h0m0s"),
            (-1_500_000_000, "-1.5s"),
            (500_000_000, "500ms"),
            (1_000, "1µs"),
            (i64::MIN, "-2562047h47m16.854775808s"),
        ] {
            assert_eq!(Duration(nanoseconds).to_go_string(), text);
        }
    }

    #[test]
    fn timestamps_are_read_as_go_reads_them() {
        for (text, written) in [
            ("2020-01-01T1:02:03Z", "2020-01-01T01:02:03Z"),
            ("2020-01-01T01:02:03,5Z", "2020-01-01T01:02:03.5Z"),
            ("2020-01-01T01:02:03.1234567891Z", "2020-01-01T01:02:03.123456789Z"),
            ("2020-01-01T01:02:03+24:59", "2020-01-01T01:02:03+24:59"),
            ("2020-01-01T01:02:03-00:00", "2020-01-01T01:02:03Z"),
        ] {
            assert_eq!(
                Timestamp::parse_rfc3339(text).map(Timestamp::to_rfc3339).as_deref(),
                Ok(written)
            );
        }
        for (text, error) in [
            (
                "x",
                r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#,
            ),
            (
                "2020-01-01T01:02:60Z",
                r#"parsing time "2020-01-01T01:02:60Z": second out of range"#,
            ),
            (
                "2020-02-30T00:00:00Z",
                r#"parsing time "2020-02-30T00:00:00Z": day out of range"#,
            ),
        ] {
            assert_eq!(Timestamp::parse_rfc3339(text), Err(error.to_owned()));
        }
    }

    #[test]
    fn zones_are_names_or_offsets() {
        let time = Timestamp::parse_rfc3339("2023-01-01T05:30:00Z").unwrap();
        assert_eq!(time.in_zone(Some("-08:00")).unwrap().year(), 2022);
        assert_eq!(time.in_zone(Some("America/Los_Angeles")).unwrap().hour(), 21);
        assert!(time.in_zone(Some("america/los_angeles")).is_err());
    }
}
