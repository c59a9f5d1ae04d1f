//! Semantic versions: `library/semverlib.go` over `github.com/blang/semver`.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use super::super::cost::Meter;
use super::super::error::{EvalError, Outcome};
use super::super::library::{Function, Overload, Pattern, SEMVER};
use super::super::value::Value;
use crate::go::quote;
use Pattern::{Bool, Int, String};

/// The version functions.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new(
        "semver",
        &[
            Overload::global("string_to_semver", &[String], SEMVER, semver),
            Overload::global("string_bool_to_semver", &[String, Bool], SEMVER, semver),
        ],
    ),
    Function::new(
        "isSemver",
        &[
            Overload::global("is_semver_string", &[String], Bool, is_semver),
            Overload::global("is_semver_string_bool", &[String, Bool], Bool, is_semver),
        ],
    ),
    Function::new(
        "isGreaterThan",
        &[Overload::member(
            "semver_is_greater_than",
            &[SEMVER, SEMVER],
            Bool,
            |_, args| Ok(Value::Bool(of(&args[0])?.compare(of(&args[1])?).is_gt())),
        )],
    ),
    Function::new(
        "isLessThan",
        &[Overload::member(
            "semver_is_less_than",
            &[SEMVER, SEMVER],
            Bool,
            |_, args| Ok(Value::Bool(of(&args[0])?.compare(of(&args[1])?).is_lt())),
        )],
    ),
    Function::new(
        "compareTo",
        &[Overload::member(
            "semver_compare_to",
            &[SEMVER, SEMVER],
            Int,
            |_, args| Ok(Value::Int(of(&args[0])?.compare(of(&args[1])?) as i64)),
        )],
    ),
    Function::new(
        "major",
        &[Overload::member("semver_major", &[SEMVER], Int, |_, args| {
            Ok(number(of(&args[0])?.major))
        })],
    ),
    Function::new(
        "minor",
        &[Overload::member("semver_minor", &[SEMVER], Int, |_, args| {
            Ok(number(of(&args[0])?.minor))
        })],
    ),
    Function::new(
        "patch",
        &[Overload::member("semver_patch", &[SEMVER], Int, |_, args| {
            Ok(number(of(&args[0])?.patch))
        })],
    ),
];

/// A semantic version; the build does not count.
#[derive(Clone, Debug)]
pub struct Semver {
    major: u64,
    minor: u64,
    patch: u64,
    prerelease: Vec<Identifier>,
}

/// A part of a pre-release. Numbers come before texts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Text(Box<str>),
}

impl Semver {
    /// `semver.Parse`
    pub(crate) fn parse(text: &str) -> Result<Self, std::string::String> {
        if text.is_empty() {
            return Err("Version string empty".to_owned());
        }
        let mut parts = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
            return Err("No Major.Minor.Patch elements found".to_owned());
        };
        let major = numeric(major, "major", "Major")?;
        let minor = numeric(minor, "minor", "Minor")?;
        let (rest, build) = match rest.split_once('+') {
            Some((rest, build)) => (rest, Some(build)),
            None => (rest, None),
        };
        let (patch, prerelease) = match rest.split_once('-') {
            Some((patch, prerelease)) => (patch, Some(prerelease)),
            None => (rest, None),
        };
        let patch = numeric(patch, "patch", "Patch")?;
        let prerelease = prerelease
            .into_iter()
            .flat_map(|prerelease| prerelease.split('.'))
            .map(identifier)
            .collect::<Result<_, _>>()?;
        for part in build.into_iter().flat_map(|build| build.split('.')) {
            if part.is_empty() {
                return Err("Build meta data is empty".to_owned());
            }
            if !is_alphanumeric(part) {
                return Err(format!("Invalid character(s) found in build meta data {}", quote(part)));
            }
        }
        Ok(Self {
            major,
            minor,
            patch,
            prerelease,
        })
    }

    /// `normalizeAndParse`: a leading `v`, missing parts and leading zeros are mended.
    fn parse_tolerant(text: &str) -> Result<Self, std::string::String> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<_> = text.splitn(3, '.').map(without_leading_zeros).collect();
        if parts.len() < 3 {
            if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
                return Err("short version cannot contain PreRelease/Build meta data".to_owned());
            }
            parts.resize(3, "0".to_owned());
        }
        Self::parse(&parts.join("."))
    }

    /// The precedence of two versions.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        (self.major, self.minor, self.patch)
            .cmp(&(other.major, other.minor, other.patch))
            .then_with(|| match (self.prerelease.is_empty(), other.prerelease.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => self.prerelease.cmp(&other.prerelease),
            })
    }
}

impl fmt::Display for Semver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        for (i, part) in self.prerelease.iter().enumerate() {
            f.write_str(if i == 0 { "-" } else { "." })?;
            match part {
                Identifier::Number(number) => write!(f, "{number}")?,
                Identifier::Text(text) => f.write_str(text)?,
            }
        }
        Ok(())
    }
}

fn numeric(text: &str, name: &str, title: &str) -> Result<u64, std::string::String> {
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("Invalid character(s) found in {name} number {}", quote(text)));
    }
    if has_leading_zero(text) {
        return Err(format!(
            "{title} number must not contain leading zeroes {}",
            quote(text)
        ));
    }
    parse_uint(text)
}

fn has_leading_zero(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0')
}

/// `strconv.ParseUint` with its words, of a text of digits.
fn parse_uint(text: &str) -> Result<u64, std::string::String> {
    text.parse().map_err(|_| {
        let reason = if text.is_empty() {
            "invalid syntax"
        } else {
            "value out of range"
        };
        format!("strconv.ParseUint: parsing {}: {reason}", quote(text))
    })
}

fn identifier(text: &str) -> Result<Identifier, std::string::String> {
    if text.is_empty() {
        return Err("Prerelease is empty".to_owned());
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        if has_leading_zero(text) {
            return Err(format!(
                "Numeric PreRelease version must not contain leading zeroes {}",
                quote(text)
            ));
        }
        return parse_uint(text).map(Identifier::Number);
    }
    if is_alphanumeric(text) {
        Ok(Identifier::Text(text.into()))
    } else {
        Err(format!("Invalid character(s) found in prerelease {}", quote(text)))
    }
}

fn is_alphanumeric(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn without_leading_zeros(part: &str) -> std::string::String {
    if part.len() <= 1 {
        return part.to_owned();
    }
    let trimmed = part.trim_start_matches('0');
    if trimmed.starts_with(|c: char| c.is_ascii_digit()) {
        trimmed.to_owned()
    } else {
        format!("0{trimmed}")
    }
}

fn of<'v>(value: &'v Value<'_>) -> Outcome<&'v Semver> {
    match value {
        Value::Semver(version) => Ok(version),
        _ => Err(EvalError::no_such_overload()),
    }
}

#[expect(clippy::cast_possible_wrap, reason = "Kubernetes converts uint64 to int64 so")]
fn number(number: u64) -> Value<'static> {
    Value::Int(number as i64)
}

fn parse(args: &[Value<'_>]) -> Outcome<Result<Semver, std::string::String>> {
    let text = args[0].as_str()?;
    let normalize = args.get(1).map(Value::as_bool).transpose()?.unwrap_or(false);
    Ok(if normalize {
        Semver::parse_tolerant(text)
    } else {
        Semver::parse(text)
    })
}

fn semver<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    parse(args)?
        .map(|version| Value::Semver(Arc::new(version)))
        .map_err(EvalError::failed)
}

fn is_semver<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(parse(args)?.is_ok()))
}
