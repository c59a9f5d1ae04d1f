//! `Warning` headers, written as kube-apiserver writes them.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};

use http::header::{HeaderMap, HeaderValue, WARNING};

/// Characters of all warnings of one answer before they are cut (`truncateAtTotalRunes`).
const MAX_TOTAL_CHARS: usize = 4 * 1024;

/// Characters that are left of each warning once the total is exceeded (`truncateItemRunes`).
const MAX_ITEM_CHARS: usize = 256;

/// The warnings of one answer: each text once, in the order in which they came, bounded as a whole.
///
/// The bounds are those of `k8s.io/apiserver/pkg/endpoints/filters/warning.go`: up to 4,096 characters everything is
/// sent in full; beyond that each warning is cut to 256 characters, and what still does not fit is dropped.
#[derive(Debug, Default)]
pub struct Warnings {
    texts: Vec<String>,
    /// Hashes of the texts: one may be as long as a body, and is here while a webhook is called.
    seen: HashSet<u64>,
    hasher: RandomState,
    chars: usize,
    truncating: bool,
}

impl Warnings {
    /// No warnings yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a warning, unless it is empty, was added before, no longer fits, or has control characters: it would be no
    /// header then (`net.NewWarningHeader`).
    pub fn add(&mut self, text: &str) {
        if text.is_empty() || self.is_full() || text.contains(char::is_control) {
            return;
        }
        if !self.seen.insert(self.hasher.hash_one(text)) {
            return;
        }
        if !self.truncating && self.chars + text.chars().count() > MAX_TOTAL_CHARS {
            self.start_truncating();
        }
        let text = if self.truncating { cut(text) } else { text }.to_owned();
        self.chars += text.chars().count();
        self.texts.push(text);
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Adds the headers to an answer.
    pub fn write(&self, headers: &mut HeaderMap) {
        for text in &self.texts {
            headers.append(WARNING, header(text));
        }
    }

    fn is_full(&self) -> bool {
        self.truncating && self.chars >= MAX_TOTAL_CHARS
    }

    fn start_truncating(&mut self) {
        self.truncating = true;
        for text in &mut self.texts {
            text.truncate(cut(text).len());
        }
        self.chars = self.texts.iter().map(|text| text.chars().count()).sum();
    }
}

impl<S: AsRef<str>> Extend<S> for Warnings {
    fn extend<I: IntoIterator<Item = S>>(&mut self, texts: I) {
        for text in texts {
            self.add(text.as_ref());
        }
    }
}

fn cut(text: &str) -> &str {
    match text.char_indices().nth(MAX_ITEM_CHARS) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// As `net.NewWarningHeader(299, "", text)`: the agent is unknown, quotes and backslashes are escaped, and letters
/// beyond ASCII are sent as they are.
fn header(text: &str) -> HeaderValue {
    let mut value = String::with_capacity(text.len() + 10);
    value.push_str("299 - \"");
    for character in text.chars() {
        if matches!(character, '"' | '\\') {
            value.push('\\');
        }
        value.push(character);
    }
    value.push('"');
    HeaderValue::from_bytes(value.as_bytes()).expect("control characters are gone, and all else is a header value")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(warnings: &Warnings) -> Vec<String> {
        let mut headers = HeaderMap::new();
        warnings.write(&mut headers);
        headers
            .get_all(WARNING)
            .iter()
            .map(|value| String::from_utf8(value.as_bytes().to_vec()).unwrap())
            .collect()
    }

    fn of(texts: &[&str]) -> Vec<String> {
        let mut warnings = Warnings::new();
        warnings.extend(texts);
        written(&warnings)
    }

    #[test]
    fn warnings_keep_their_order_and_come_once() {
        let texts = [
            "unknown field \"spec.b\"",
            "unknown field \"spec.a\"",
            "",
            "unknown field \"spec.b\"",
        ];
        assert_eq!(
            of(&texts),
            [
                r#"299 - "unknown field \"spec.b\"""#,
                r#"299 - "unknown field \"spec.a\"""#
            ]
        );
    }

    #[test]
    fn no_text_leaves_its_header() {
        assert!(of(&["a\r\nX-Injected: yes", "\u{7f}", "\u{85}"]).is_empty());
        assert_eq!(of(&["say \"hi\" \\ snow ☃"]), [r#"299 - "say \"hi\" \\ snow ☃""#]);
    }

    #[test]
    fn up_to_the_total_nothing_is_cut() {
        let (long, rest) = ("a".repeat(4000), "b".repeat(96));
        assert_eq!(
            of(&[&long, &rest]).iter().map(String::len).collect::<Vec<_>>(),
            [4008, 104]
        );
    }

    #[test]
    fn beyond_the_total_each_is_cut_also_those_before() {
        let (first, second) = ("é".repeat(4000), "b".repeat(97));
        let written = of(&["short", &first, &second]);
        let chars: Vec<_> = written.iter().map(|text| text.chars().count() - 8).collect();
        assert_eq!(chars, [5, 256, 97]);
    }

    #[test]
    fn many_are_bounded_in_size() {
        let long: Vec<_> = (0..500).map(|n| format!("{n} {}", "x".repeat(300))).collect();
        let mut warnings = Warnings::new();
        warnings.extend(&long);
        let bytes: usize = written(&warnings).iter().map(String::len).sum();
        assert!(bytes < 8 * 1024, "{bytes}");
    }
}
