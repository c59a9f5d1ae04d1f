//! Regular expressions that mean what Go's mean.
//!
//! Patterns in schemas and rules are RE2 as Go's `regexp` reads it. The engine here is `regex-automata`, linear in the
//! length of the text as Go's is; [`translate`] checks a pattern by Go's grammar and limits and writes it anew in the
//! engine's: ASCII classes, `$` only at the very end, `{` that may be a literal, counted repetition up to 1,000, general
//! categories and scripts of Unicode 15, by Go's names.
//!
//! What remains different: patterns that [`Error::TooLarge`] refuses; U+1171E, whose category Unicode 16 changed; and case
//! folding, which is that of Unicode 16: `(?i)` also takes U+1FD3 for U+0390, U+1FE3 for U+03B0, U+FB05 for U+FB06, and
//! the letters that Unicode 16 added for the others of their pairs.

mod class;
mod translate;

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use regex_automata::meta::{Config, Regex};
use regex_automata::util::syntax;

use translate::translate;

/// Memory that one direction of a compiled pattern may take, bytes.
///
/// Go takes up to 1,000 copies of anything; here a pattern beyond this is [`Error::TooLarge`]. The line runs where copies
/// of classes of many thousand characters are counted in hundreds: `\pL{300}`, `\PL{255}` and `(?i:\p{Lu}){1000}` are
/// within, `\pL{400}` and `[\pL\d]{1000}` are not. ASCII classes, negated ones of few characters and `.` may be repeated
/// as often as Go lets them. Running a larger one would not be bounded: its states are too many for the cache, and a
/// search without one visits for each byte as many states as there are copies.
const SIZE_LIMIT: usize = 12 << 20;
/// Memory that all patterns of a schema may take together, bytes.
const ALL_LIMIT: usize = 64 << 20;
/// Memory of the cache that a search keeps per thread, bytes.
const CACHE_LIMIT: usize = 512 << 10;
/// Levels of nesting that the engine is asked to take; more than Go's 1,000 by what translation adds.
const NEST_LIMIT: u32 = 4_096;
/// Stack for the engine's own recursion over a deeply nested pattern, bytes.
const STACK: usize = 16 << 20;

/// Why a pattern cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Go does not accept the pattern; worded as Go words it.
    #[error("error parsing regexp: {0}")]
    Syntax(String),
    /// The compiled pattern would take more memory than one pattern may.
    #[error("error parsing regexp: expression too large")]
    TooLarge,
    /// The patterns of one schema would take more memory together than they may.
    #[error("the patterns of the schema take too much memory together")]
    TogetherTooLarge,
}

/// Whether Go accepts a pattern. It is not compiled.
pub(crate) fn check(pattern: &str) -> Result<(), Error> {
    translate(pattern)
        .map(|_| ())
        .map_err(|error| Error::Syntax(error.to_string()))
}

/// Steps that trying to compile a pattern that is too large counts for, as one of the largest does.
pub(crate) const REFUSAL_WORK: usize = SIZE_LIMIT / 4;

/// The patterns of one schema, in bounded time and memory; schemas repeat them.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    compiled: HashMap<Box<str>, Regexp>,
    memory: usize,
}

impl Patterns {
    /// Compiles a pattern, or finds it.
    pub(crate) fn compile(&mut self, pattern: &str) -> Result<Regexp, Error> {
        if let Some(regexp) = self.compiled.get(pattern) {
            return Ok(regexp.clone());
        }
        if self.memory > ALL_LIMIT {
            return Err(Error::TogetherTooLarge);
        }
        let compiled = Regexp::compile(pattern);
        match &compiled {
            Ok(regexp) => {
                self.memory += regexp.memory();
                self.compiled.insert(pattern.into(), regexp.clone());
            }
            // It took as long as one that is just not too large.
            Err(Error::TooLarge) => self.memory += SIZE_LIMIT,
            Err(_) => {}
        }
        compiled
    }
}

/// A compiled pattern.
#[derive(Clone)]
pub(crate) struct Regexp {
    pattern: Box<str>,
    engine: Regex,
}

impl Regexp {
    /// Compiles a pattern of Go's syntax, in bounded time and memory.
    pub(crate) fn compile(pattern: &str) -> Result<Self, Error> {
        let translated = translate(pattern).map_err(|error| Error::Syntax(error.to_string()))?;
        let build = || {
            Regex::builder()
                .configure(
                    Config::new()
                        .nfa_size_limit(Some(SIZE_LIMIT))
                        .hybrid_cache_capacity(CACHE_LIMIT),
                )
                // ASCII word boundaries can be asked for between the bytes of a character; the engine's `utf8_empty`
                // (on by default) keeps matches from splitting one.
                .syntax(syntax::Config::new().utf8(false).nest_limit(NEST_LIMIT))
                .build(&translated)
                // What Go's grammar accepts and the engine does not is a matter of size.
                .map_err(|_| Error::TooLarge)
        };
        let engine = if translated.len() > 1_024 {
            stacker::maybe_grow(STACK / 2, STACK, build)
        } else {
            build()
        };
        Ok(Self {
            pattern: pattern.into(),
            engine: engine?,
        })
    }

    /// The pattern as it was written.
    pub(crate) fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Whether the pattern is found anywhere in the text.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.engine.is_match(text)
    }

    /// The ranges of all matches, leftmost first, none overlapping.
    #[allow(dead_code, reason = "the find functions of the expression library")]
    pub(crate) fn find_iter<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
        self.engine.find_iter(text).map(|found| found.range())
    }

    /// Memory of the compiled pattern, bytes.
    pub(crate) fn memory(&self) -> usize {
        self.engine.memory_usage() + self.pattern.len()
    }
}

impl fmt::Debug for Regexp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Regexp").field(&self.pattern).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_match(pattern: &str, text: &str) -> bool {
        Regexp::compile(pattern).unwrap().is_match(text)
    }

    #[test]
    fn patterns_mean_what_go_means() {
        for (pattern, text, expected) in [
            (r"^\d+$", "123", true),
            (r"^\d+$", "١٢٣", false),
            (r"^\w+$", "é", false),
            (r"^\s$", "\u{b}", false),
            (r"^\s$", "\u{a0}", false),
            (r"^\D$", "é", true),
            (r"\bé", "é", false),
            (r"\B", "aéa", false),
            (r"^a$", "a\n", false),
            (r"(?m)^a$", "b\na\nc", true),
            (r"^.$", "\n", false),
            (r"(?s)^.$", "\n", true),
            (r"^.$", "é", true),
            (r"(?i)^k$", "\u{212a}", true),
            (r"(?i)^\w$", "\u{17f}", true),
            (r"^[[:alpha:]]+$", "abc", true),
            (r"^[[:^alpha:]]+$", "é1", true),
            (r"^[^a]$", "\n", true),
            (r"^\p{Greek}\pL\p{^Lu}\P{N}$", "αaaa", true),
            (r"^\p{Letter}\p{uppercase-letter}$", "aA", true),
            (r"^a{2$", "a{2", true),
            (r"^a{,2}$", "a{,2}", true),
            (r"^a{2,}$", "aaa", true),
            (r"^{$", "{", true),
            (r"^}]$", "}]", true),
            (r"^[]a]+$", "]a", true),
            (r"^[a-]+$", "a-", true),
            (r"^[\d-x]+$", "1-x", true),
            (r"^[a&&b~~c-]+$", "a&b~c-", true),
            (r"^\Qa.b*\E$", "a.b*", true),
            (r"^\x41\x{e9}\101\_$", "AéA_", true),
            (r"^(?P<n>a)(?<m>b)(?i:C)c$", "abcc", true),
            (r"^(?i)a(?-i)b$", "Ab", true),
            (r"^(?P<n>a)(?P<n>b)$", "ab", true),
            (r"\p{Cs}", "a", false),
            (r"^\P{Cs}$", "\n", true),
            (r"^[\p{Cs}a]$", "a", true),
            (r"^[^\p{Surrogate}]$", "é", true),
            (r"a(?i)*b", "aab", true),
            (r"^(a|b|)$", "", true),
            (r"^#x y$", "#x y", true),
            (r"\z", "a", true),
            (r"^a+?b??(?U)c+$", "aacc", true),
            ("^\\x{d800}|a$", "a", true),
            (r"^[^\t-\x{D7FF}\x{E000}-\x{FFFD}]$", "\u{d7ff}", false),
            (r"^[^\t-\x{D7FF}\x{E000}-\x{FFFD}]$", "\u{e000}", false),
            (r"^[^1-\x{FB00}]$", "\u{e000}", false),
            (r"^[^\t-\x{D7FF}\x{E000}-\x{FFFD}]$", "\u{ffff}", true),
            (r"^[^\x{D800}-\x{E000}]$", "\u{e000}", false),
            // Assigned in Unicode 16, which Go's tables do not know.
            (r"^\pL$", "\u{1c89}", false),
            (r"^\p{Cn}$", "\u{1c89}", true),
            (r"^\p{^Assigned}\P{Lu}$", "\u{1c89}\u{1c89}", true),
            (r"^\p{GREEK}\p{g r-e_ek}\p{cntrl}$", "αα\u{1}", true),
        ] {
            assert_eq!(is_match(pattern, text), expected, "{pattern:?} on {text:?}");
        }
    }

    #[test]
    fn what_go_refuses_is_refused_in_its_words() {
        for (pattern, message) in [
            (r"^(a)\1$", r"error parsing regexp: invalid escape sequence: `\1`"),
            (r"([a-z", r"error parsing regexp: missing closing ]: `[a-z`"),
            (
                r"^(?!x).*$",
                r"error parsing regexp: invalid or unsupported Perl syntax: `(?!`",
            ),
            (r"(?<=a)b", r"error parsing regexp: invalid named capture: `(?<=a)b`"),
            (r"(a", r"error parsing regexp: missing closing ): `(a`"),
            (r"a)", r"error parsing regexp: unexpected ): `a)`"),
            (
                r"a**",
                r"error parsing regexp: invalid nested repetition operator: `**`",
            ),
            (
                r"a++",
                r"error parsing regexp: invalid nested repetition operator: `++`",
            ),
            (
                r"*a",
                r"error parsing regexp: missing argument to repetition operator: `*`",
            ),
            (
                r"(|*)",
                r"error parsing regexp: missing argument to repetition operator: `*`",
            ),
            (r"a{1001}", r"error parsing regexp: invalid repeat count: `{1001}`"),
            (r"(a{100}){11}", r"error parsing regexp: invalid repeat count: `{11}`"),
            (r"a{3,2}", r"error parsing regexp: invalid repeat count: `{3,2}`"),
            (r"[b-a]", r"error parsing regexp: invalid character class range: `b-a`"),
            (
                r"[[:foo:]]",
                r"error parsing regexp: invalid character class range: `[:foo:]`",
            ),
            (
                r"\p{Foo}",
                r"error parsing regexp: invalid character class range: `\p{Foo}`",
            ),
            (r"\Z", r"error parsing regexp: invalid escape sequence: `\Z`"),
            (
                r"\",
                "error parsing regexp: trailing backslash at end of expression: ``",
            ),
            (
                r"a(?",
                r"error parsing regexp: invalid or unsupported Perl syntax: `(?`",
            ),
            (
                r"a(?i",
                r"error parsing regexp: invalid or unsupported Perl syntax: `(?i`",
            ),
            (
                r"\p{IsGreek}",
                r"error parsing regexp: invalid character class range: `\p{IsGreek}`",
            ),
            (
                r"\p{Grek}",
                r"error parsing regexp: invalid character class range: `\p{Grek}`",
            ),
            (
                r"\p{Old_Italic}",
                r"error parsing regexp: invalid character class range: `\p{Old_Italic}`",
            ),
            (
                r"\p{Garay}",
                r"error parsing regexp: invalid character class range: `\p{Garay}`",
            ),
            (r"(?P<n!>a)", "error parsing regexp: invalid named capture: `(?P<n!>`"),
        ] {
            assert_eq!(Regexp::compile(pattern).unwrap_err().to_string(), message, "{pattern}");
        }
    }

    #[test]
    fn copies_of_large_classes_are_counted_in_hundreds() {
        for (pattern, compiles) in [
            (r"^\pL{1,300}$", true),
            (r"^\PL{255}$", true),
            (r"^[\pL\pN _-]{1,255}$", true),
            (r"(?i:\p{Lu}){1000}", true),
            (r"[^a]{1000}.{1000}\w{1000}[[:^alpha:]]{1000}", true),
            (r"\pL{400}", false),
            (r"[\pL\d]{1000}", false),
        ] {
            let expected = if compiles { None } else { Some(Error::TooLarge) };
            assert_eq!(Regexp::compile(pattern).err(), expected, "{pattern}");
        }
    }

    #[test]
    fn patterns_are_bounded_together_too() {
        let mut patterns = Patterns::default();
        let compiled = |patterns: &mut Patterns, class: &str| {
            let tried = (200..240).map(|count| patterns.compile(&format!("{class}{{{count}}}")).err());
            tried.filter(|error| *error != Some(Error::TogetherTooLarge)).count()
        };
        let fit = compiled(&mut patterns, r"\pL");
        assert!((2..16).contains(&fit), "{fit}");
        assert!(patterns.compile(r"\pL{200}").is_ok(), "what is compiled is found again");
        // Those that are too large count too.
        let mut patterns = Patterns::default();
        let tried = compiled(&mut patterns, r"(?:\pL\pL)");
        assert!((2..16).contains(&tried), "{tried}");
    }

    #[test]
    fn a_pattern_that_blows_up_is_refused_quickly() {
        let start = std::time::Instant::now();
        for pattern in [
            "^(?:(?:(?:[a-z]{0,300}){0,300}){0,300}){0,300}$".to_owned(),
            "(?:(?:){99999}){99999}".to_owned(),
            r"(\pL{1000}|\pN{1000}|\pS{1000})".to_owned(),
            "(".repeat(2_000) + &")".repeat(2_000),
            format!("({})", r"\pL{1000}".repeat(1_000)),
        ] {
            assert!(Regexp::compile(&pattern).is_err(), "{}", &pattern[..20]);
        }
        assert!(
            start.elapsed() < std::time::Duration::from_mins(1),
            "{:?}",
            start.elapsed()
        );
        assert!(Regexp::compile(&("(".repeat(900) + "a" + &")".repeat(900))).is_ok());
    }
}
