//! Times as ages for people: `duration.HumanDuration`.

use jiff::Timestamp;

/// The age of a time in RFC 3339, as a date column shows it.
pub(super) fn of_text(text: &str, now: Timestamp) -> String {
    if text.is_empty() || text == "null" {
        return "<unknown>".into();
    }
    match parse(text) {
        None => "<invalid>".into(),
        // Go's zero time.
        Some(time) if time.as_second() == GO_ZERO_SECOND && time.subsec_nanosecond() == 0 => "<unknown>".into(),
        Some(time) => human(now.as_second() - time.as_second()),
    }
}

const GO_ZERO_SECOND: i64 = -62_135_596_800;

/// `time.Parse(time.RFC3339, …)`: stricter than what other libraries take for RFC 3339.
fn parse(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let digits = |at: std::ops::Range<usize>| bytes.get(at).is_some_and(|part| part.iter().all(u8::is_ascii_digit));
    let punctuation = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if ![0..4, 5..7, 8..10, 11..13, 14..16, 17..19].into_iter().all(digits)
        || punctuation.iter().any(|(at, byte)| bytes.get(*at) != Some(byte))
        || &bytes[17..19] > b"59".as_slice()
    {
        return None;
    }
    let mut zone = &text[19..];
    if let Some(fraction) = zone.strip_prefix(['.', ',']) {
        zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
        if zone.len() == fraction.len() {
            return None;
        }
    }
    let is_offset = match zone.as_bytes() {
        [b'+' | b'-', hours @ .., b':', m, n] if hours.len() == 2 => {
            [hours, &[*m, *n]].concat().iter().all(u8::is_ascii_digit)
        }
        _ => false,
    };
    // Fractions do not show in an age, and their length is not bounded.
    (zone == "Z" || is_offset)
        .then(|| format!("{}{zone}", &text[..19]).parse().ok())
        .flatten()
}

/// `duration.HumanDuration` of whole seconds.
fn human(seconds: i64) -> String {
    /// Go's durations end there.
    const MAX_SECONDS: i64 = i64::MAX / 1_000_000_000;
    let with_rest = |whole: i64, unit: &str, rest: i64, rest_unit: &str| match rest {
        0 => format!("{whole}{unit}"),
        rest => format!("{whole}{unit}{rest}{rest_unit}"),
    };
    // Clocks of two machines may be a second apart.
    if seconds < -1 {
        return "<invalid>".into();
    }
    let seconds = seconds.clamp(0, MAX_SECONDS);
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    match () {
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => with_rest(minutes, "m", seconds % 60, "s"),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => with_rest(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => with_rest(days, "d", hours % 24, "h"),
        () if years < 2 => format!("{days}d"),
        () if years < 8 => with_rest(years, "y", days % 365, "d"),
        () => format!("{years}y"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_as_kubernetes_tells_them() {
        const DAY: i64 = 86_400;
        for (seconds, expected) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (119, "119s"),
            (120, "2m"),
            (599, "9m59s"),
            (600, "10m"),
            (179 * 60, "179m"),
            (3 * 3600, "3h"),
            (3 * 3600 + 61, "3h1m"),
            (47 * 3600, "47h"),
            (2 * DAY, "2d"),
            (2 * DAY + 3600, "2d1h"),
            (8 * DAY, "8d"),
            (729 * DAY, "729d"),
            (730 * DAY, "2y"),
            (731 * DAY, "2y1d"),
            (8 * 365 * DAY, "8y"),
            (i64::MAX, "292y"),
        ] {
            assert_eq!(human(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn times_are_read_as_go_reads_them() {
        let now: Timestamp = "2026-02-03T04:05:06Z".parse().unwrap();
        for (text, expected) in [
            ("2001-02-03T04:05:06Z", "25y"),
            ("2026-02-03T04:05:00.123456789123Z", "6s"),
            ("2026-02-03T05:05:00,5+01:00", "6s"),
            ("2026-02-03T04:05:07Z", "0s"),
            ("2026-02-03T04:05:09Z", "<invalid>"),
            ("0001-01-01T00:00:00Z", "<unknown>"),
            ("", "<unknown>"),
            ("1500-01-01T00:00:00Z", "292y"),
            ("2026-02-03", "<invalid>"),
            ("2026-02-03t04:05:06z", "<invalid>"),
            ("2026-02-03 04:05:06Z", "<invalid>"),
            ("2026-02-03T04:05:06", "<invalid>"),
            ("2026-02-03T04:05:60Z", "<invalid>"),
            ("2026-02-30T04:05:06Z", "<invalid>"),
            ("2026-02-03T04:05:06+0100", "<invalid>"),
            ("2026-02-03T04:05:06Z[UTC]", "<invalid>"),
            ("x", "<invalid>"),
        ] {
            assert_eq!(of_text(text, now), expected, "{text}");
        }
    }
}
