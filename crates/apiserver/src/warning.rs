//! `Warning` headers, written as kube-apiserver writes them.

use std::borrow::Cow;
use std::collections::HashSet;

use http::header::{HeaderMap, HeaderValue, WARNING};

/// Characters of all warnings of one answer before they are cut (`truncateAtTotalRunes`).
const MAX_TOTAL_CHARS: usize = 4 * 1024;

/// Characters that are left of each warning once the total is exceeded (`truncateItemRunes`).
const MAX_ITEM_CHARS: usize = 256;

/// Most warnings of one answer. Kubernetes counts characters alone; a webhook's thousand short warnings would still
/// make an answer that hyper's clients, among them kube-rs, cannot read: they stop at 100 headers.
const MAX_ITEMS: usize = 80;

/// The warnings of one answer: each text once, in the order in which they came, bounded as a whole.
///
/// The bounds are those of `k8s.io/apiserver/pkg/endpoints/filters/warning.go`: up to 4,096 characters everything is
/// sent in full; beyond that each warning is cut to 256 characters, and what still does not fit is dropped.
#[derive(Debug, Default)]
pub struct Warnings {
    texts: Vec<String>,
    seen: HashSet<String>,
    chars: usize,
    truncating: bool,
}

impl Warnings {
    /// No warnings yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a warning, unless it is empty, was added before, or no longer fits.
    ///
    /// Kubernetes drops a text with control characters, since it would be no header. Here they become spaces: the
    /// rest of a warning about a field with a strange name, or of a careless webhook, is still worth reading.
    pub fn add(&mut self, text: &str) {
        let text = without_control_characters(text);
        if text.is_empty() || self.is_full() || self.seen.contains(&*text) {
            return;
        }
        self.seen.insert(text.clone().into_owned());
        let mut text = text.into_owned();
        if !self.truncating && self.chars + text.chars().count() > MAX_TOTAL_CHARS {
            self.start_truncating();
        }
        if self.truncating {
            truncate(&mut text);
        }
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
        self.texts.len() >= MAX_ITEMS || (self.truncating && self.chars >= MAX_TOTAL_CHARS)
    }

    fn start_truncating(&mut self) {
        self.truncating = true;
        self.texts.iter_mut().for_each(truncate);
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

fn without_control_characters(text: &str) -> Cow<'_, str> {
    if text.contains(char::is_control) {
        text.replace(char::is_control, " ").into()
    } else {
        text.into()
    }
}

fn truncate(text: &mut String) {
    if let Some((end, _)) = text.char_indices().nth(MAX_ITEM_CHARS) {
        text.truncate(end);
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
        assert_eq!(
            of(&["a\r\nX-Injected: yes\u{7f}\u{85}"]),
            ["299 - \"a  X-Injected: yes  \""]
        );
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
    fn many_are_bounded_in_number_and_in_size() {
        let long: Vec<_> = (0..500).map(|n| format!("{n} {}", "x".repeat(300))).collect();
        let mut warnings = Warnings::new();
        warnings.extend(&long);
        let bytes: usize = written(&warnings).iter().map(String::len).sum();
        assert!(bytes < 8 * 1024, "{bytes}");
        let short: Vec<_> = (0..500).map(|n| n.to_string()).collect();
        assert_eq!(
            of(&short.iter().map(String::as_str).collect::<Vec<_>>()).len(),
            MAX_ITEMS
        );
    }
}
