use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};

use super::cursor::Cursor;

/// Number of paths reported, as in `sigs.k8s.io/json`.
const MAX_PATHS: usize = 100;
/// Length of all paths together beyond which none is added: this much more than twice the length of the text.
const PATHS_ALLOWANCE: usize = 64 * 1024;

/// The paths of fields that an object names more than once, in a text that is known to be valid JSON.
///
/// A pass of its own, so that decoding keeps no account of paths for the many texts without such a field.
pub(super) fn find(text: &[u8]) -> Vec<String> {
    let mut finder = Finder {
        path: String::new(),
        open: Vec::new(),
        reported: HashSet::new(),
        paths: Vec::new(),
        budget: 2 * text.len() + PATHS_ALLOWANCE,
        hasher: RandomState::new(),
    };
    finder.walk(Cursor::new(text));
    finder.paths
}

struct Finder<'a> {
    /// The path of the innermost value.
    path: String,
    open: Vec<Open<'a>>,
    /// Hashes of the paths reported: comparing them whole would take time that grows with their length.
    reported: HashSet<u64>,
    paths: Vec<String>,
    budget: usize,
    hasher: RandomState,
}

struct Open<'a> {
    /// Length of the path of this array or object.
    path_len: usize,
    /// The state of the hash after that path.
    path_hash: DefaultHasher,
    kind: Kind<'a>,
}

enum Kind<'a> {
    /// Index of the current item.
    Array(usize),
    /// The keys seen.
    Object(HashSet<Cow<'a, str>>),
}

impl<'a> Finder<'a> {
    fn walk(&mut self, mut cursor: Cursor<'a>) {
        let mut hash = self.hasher.build_hasher();
        while let Some(byte) = cursor.peek() {
            if self.is_done() {
                return;
            }
            match byte {
                b'{' => {
                    self.push(&hash, Kind::Object(HashSet::new()));
                    cursor.advance();
                }
                b'[' => {
                    self.push(&hash, Kind::Array(0));
                    hash = self.enter("[0]");
                    cursor.advance();
                }
                b'}' | b']' => {
                    self.open.pop();
                    cursor.advance();
                }
                b',' => {
                    hash = self.next_item(hash);
                    cursor.advance();
                }
                b'"' => {
                    let Ok(string) = cursor.string() else { return };
                    // Only after a key stands a colon.
                    if cursor.peek() == Some(b':') {
                        hash = self.key(string);
                        cursor.advance();
                    }
                }
                b'-' | b'0'..=b'9' => {
                    if cursor.number().is_err() {
                        return;
                    }
                }
                // A letter of `true`, `false` or `null`.
                _ => cursor.advance(),
            }
        }
    }

    fn is_done(&self) -> bool {
        self.paths.len() == MAX_PATHS || self.budget == 0
    }

    fn push(&mut self, hash: &DefaultHasher, kind: Kind<'a>) {
        self.open.push(Open {
            path_len: self.path.len(),
            path_hash: hash.clone(),
            kind,
        });
    }

    /// Makes the path that of a child of the innermost array or object, and returns its hash.
    fn enter(&mut self, segment: &str) -> DefaultHasher {
        let Some(open) = self.open.last() else {
            return self.hasher.build_hasher();
        };
        let mut hash = open.path_hash.clone();
        self.path.truncate(open.path_len);
        let is_field = matches!(open.kind, Kind::Object(_));
        if is_field && self.open.len() > 1 {
            self.path.push('.');
            hash.write(b".");
        }
        self.path.push_str(segment);
        hash.write(segment.as_bytes());
        hash
    }

    fn next_item(&mut self, hash: DefaultHasher) -> DefaultHasher {
        let Some(Open {
            kind: Kind::Array(index),
            ..
        }) = self.open.last_mut()
        else {
            return hash;
        };
        *index += 1;
        let mut segment = String::new();
        write!(segment, "[{index}]").expect("a string takes whatever is written to it");
        self.enter(&segment)
    }

    fn key(&mut self, key: Cow<'a, str>) -> DefaultHasher {
        let hash = self.enter(&key);
        if let Some(Open {
            kind: Kind::Object(seen),
            ..
        }) = self.open.last_mut()
            && !seen.insert(key)
            && self.reported.insert(hash.finish())
        {
            self.budget = self.budget.saturating_sub(self.path.len());
            if self.budget > 0 {
                self.paths.push(self.path.clone());
            }
        }
        hash
    }
}
