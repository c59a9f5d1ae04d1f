//! Timestamps and durations as Go's `time` reads, computes and writes them.

mod duration;
mod layout;

use std::fmt::Write as _;

use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

pub use duration::Duration;
use duration::duration_overflow;
use layout::Parser;

use super::error::{EvalError, Outcome};

/// First second of the year 1, which CEL's timestamps begin with.
const MIN_SECONDS: i64 = -62_135_596_800;
/// Last second of the year 9999.
const MAX_SECONDS: i64 = 253_402_300_799;
const NANOS: i64 = 1_000_000_000;
/// What timestamps count from.
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

fn timestamp_overflow() -> EvalError {
    EvalError::failed("timestamp overflow")
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
        i64::try_from(nanos)
            .map(Duration::from_nanoseconds)
            .map_err(|_| duration_overflow())
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

/// A timestamp from a string, as `timestamp()` converts it.
pub(crate) fn convert_timestamp(text: &str) -> Option<Outcome<Timestamp>> {
    let time = Timestamp::parse_rfc3339(text).ok()?;
    Some(Timestamp::checked(time.seconds, time.nanoseconds, time.offset))
}

#[cfg(test)]
mod tests {
    use super::*;

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
