//! Paths of fields that nothing is known of.

/// Paths that are told, bytes. A long key above many unknown fields would repeat itself without end; fields beyond are
/// removed all the same.
const PATH_BYTES: usize = 4 << 20;

/// Paths of unknown fields, in a bounded number of bytes.
#[derive(Debug, Default)]
pub(crate) struct Unknown {
    paths: Vec<String>,
    bytes: usize,
}

impl Unknown {
    /// Adds a path, which is made only if there is room for it.
    pub(crate) fn record(&mut self, path: impl FnOnce() -> String) {
        if self.bytes < PATH_BYTES {
            let path = path();
            self.bytes += path.len();
            self.paths.push(path);
        }
    }

    /// The paths, sorted.
    pub(crate) fn into_sorted(mut self) -> Vec<String> {
        self.paths.sort_unstable();
        self.paths
    }
}
