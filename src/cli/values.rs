//! Values of flags, parsed where they enter.

use std::fmt;
use std::str::FromStr;
use std::time;

use url::Url;

/// A number of bytes, as Kubernetes writes quantities: `256Mi`, `1G`, `4096`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Bytes(pub(crate) usize);

/// Not a number of bytes.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("not a number of bytes such as 256Mi, 1G or 4096")]
pub(crate) struct BytesInvalid;

const UNITS: [(&str, usize); 8] = [
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
];

impl FromStr for Bytes {
    type Err = BytesInvalid;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unit = UNITS
            .iter()
            .find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, *factor)));
        let (number, factor) = unit.unwrap_or((text, 1));
        // `parse` takes a sign, a quantity of bytes does not.
        let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.then(|| number.parse::<usize>().ok()).flatten();
        number
            .and_then(|number| number.checked_mul(factor))
            .filter(|bytes| *bytes > 0)
            .map(Self)
            .ok_or(BytesInvalid)
    }
}

/// A time as Go's flags take it, in whole units: `500ms`, `10s`, `2m`, `1h`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Duration(pub(crate) time::Duration);

/// Not a time.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("not a time such as 500ms, 10s or 2m")]
pub(crate) struct DurationInvalid;

impl FromStr for Duration {
    type Err = DurationInvalid;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let number: u64 = number.parse().map_err(|_| DurationInvalid)?;
        let milliseconds = match unit {
            "ms" => Some(1),
            "s" => Some(1_000),
            "m" => Some(60_000),
            "h" => Some(3_600_000),
            _ => None,
        };
        milliseconds
            .and_then(|unit| number.checked_mul(unit))
            .map(time::Duration::from_millis)
            .map(Self)
            .ok_or(DurationInvalid)
    }
}

/// A time after which something is done again and again, at least a second.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Period(pub(crate) time::Duration);

/// Not a period.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("not a time of at least 1s such as 30s or 2m")]
pub(crate) struct PeriodInvalid;

impl FromStr for Period {
    type Err = PeriodInvalid;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Duration(period) = text.parse().map_err(|_| PeriodInvalid)?;
        if period >= time::Duration::from_secs(1) {
            Ok(Self(period))
        } else {
            Err(PeriodInvalid)
        }
    }
}

/// The URL under which shards reach this server, without a slash at the end.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ExternalUrl(Url);

/// Not an URL under which shards could reach a server.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub(crate) enum ExternalUrlInvalid {
    /// Not a URL.
    #[error("not a URL")]
    Syntax(#[source] url::ParseError),
    /// Shards speak TLS.
    #[error("not an https URL")]
    NotHttps,
    /// The path of the endpoint is appended as text, and whatever else is in the URL would be in its way.
    #[error("it must have no user information, query or fragment")]
    Parts,
}

impl ExternalUrl {
    /// Its host, as in a URL.
    pub(crate) fn host(&self) -> &str {
        self.0.host_str().expect("an https URL has a host")
    }

    /// Its host and port.
    pub(crate) fn address(&self) -> String {
        let port = self.0.port_or_known_default().expect("https has a port");
        format!("{}:{port}", self.host())
    }
}

impl FromStr for ExternalUrl {
    type Err = ExternalUrlInvalid;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let url = Url::parse(text).map_err(ExternalUrlInvalid::Syntax)?;
        let bare = url.username().is_empty() && url.password().is_none();
        if url.scheme() != "https" {
            return Err(ExternalUrlInvalid::NotHttps);
        }
        if !bare || url.query().is_some() || url.fragment().is_some() {
            return Err(ExternalUrlInvalid::Parts);
        }
        Ok(Self(url))
    }
}

impl fmt::Display for ExternalUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

/// The name of a user, of which the names of roles are made.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct UserName(String);

/// Not a name that roles could be named after.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("must not be empty or contain / or %")]
pub(crate) struct UserNameInvalid;

impl UserName {
    /// The name.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for UserName {
    type Err = UserNameInvalid;

    /// As Kubernetes' `ValidatePathSegmentName`, which holds for names of roles.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() || text.contains(['/', '%']) {
            Err(UserNameInvalid)
        } else {
            Ok(Self(text.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_quantities() {
        for (text, expected) in [
            ("256Mi", Some(268_435_456)),
            ("1Ki", Some(1024)),
            ("3G", Some(3_000_000_000)),
            ("4096", Some(4096)),
            ("0", None),
            ("", None),
            ("Mi", None),
            ("-1", None),
            ("+1", None),
            ("1.5Gi", None),
            ("256MiB", None),
            ("99999999999999Ti", None),
        ] {
            assert_eq!(text.parse::<Bytes>().ok().map(|bytes| bytes.0), expected, "{text:?}");
        }
    }

    #[test]
    fn times_have_a_unit() {
        for (text, expected) in [
            ("500ms", Some(500)),
            ("10s", Some(10_000)),
            ("2m", Some(120_000)),
            ("1h", Some(3_600_000)),
            ("0s", Some(0)),
            ("10", None),
            ("", None),
            ("s", None),
            ("-1s", None),
            ("99999999999999999999s", None),
            ("9999999999999999999h", None),
        ] {
            let parsed = text.parse::<Duration>().ok().map(|time| time.0.as_millis());
            assert_eq!(parsed, expected, "{text:?}");
        }
    }

    #[test]
    fn periods_are_at_least_a_second() {
        for (text, valid) in [
            ("1s", true),
            ("1000ms", true),
            ("2m", true),
            ("999ms", false),
            ("0s", false),
            ("", false),
        ] {
            assert_eq!(text.parse::<Period>().is_ok(), valid, "{text:?}");
        }
    }

    #[test]
    fn external_urls_are_https_and_bare() {
        let of = |text: &str| text.parse::<ExternalUrl>().map(|url| url.to_string());
        assert_eq!(of("https://e.example.com:6443/").unwrap(), "https://e.example.com:6443");
        assert_eq!(of("https://e.example.com/base/").unwrap(), "https://e.example.com/base");
        assert_eq!("https://[::1]:1/".parse::<ExternalUrl>().unwrap().host(), "[::1]");
        let address = |text: &str| text.parse::<ExternalUrl>().unwrap().address();
        assert_eq!(address("https://[::1]:1/"), "[::1]:1");
        assert_eq!(address("https://e.example.com/base"), "e.example.com:443");
        for bad in [
            "",
            "e.example.com",
            "http://e",
            "https://u@e",
            "https://e/?a",
            "https://e/#",
        ] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_of_users_can_be_in_a_path() {
        assert_eq!("system:x".parse::<UserName>().unwrap().as_str(), "system:x");
        for bad in ["", "a/b", "a%b"] {
            assert!(bad.parse::<UserName>().is_err(), "{bad}");
        }
    }
}
