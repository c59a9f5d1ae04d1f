//! Reading times by Go's layouts.

use jiff::civil::Date;

use super::{Timestamp, unix};

/// Reads times by Go's layouts, with Go's complaints.
pub(super) struct Parser<'t> {
    text: &'t str,
    rest: &'t str,
    layout: &'static str,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str, layout: &'static str) -> Self {
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

    pub(super) fn date(&mut self) -> Result<(i32, i32, i32), String> {
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
    pub(super) fn valid(&self, (year, month, day): (i32, i32, i32)) -> Result<Date, String> {
        let (Ok(year), Ok(month), Ok(day)) = (i16::try_from(year), i8::try_from(month), i8::try_from(day)) else {
            return Err(self.range("day"));
        };
        Date::new(year, month, day).map_err(|_| self.range("day"))
    }

    pub(super) fn end(&self) -> Result<(), String> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(format!(
            "parsing time {}: extra text: {}",
            crate::go::quote(self.text),
            crate::go::quote(self.rest)
        ))
    }

    pub(super) fn timestamp(mut self, with_zone: bool) -> Result<Timestamp, String> {
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
