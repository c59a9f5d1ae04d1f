//! The corpora of the fuzz targets, replayed.

#[path = "../../fuzz/src/lib.rs"]
#[allow(unreachable_pub, reason = "a library where it is fuzzed")]
mod targets;

use std::time::{Duration, Instant};

use crate::support::root;

/// Far more than any input takes unoptimised on a busy machine.
const SOON: Duration = Duration::from_secs(30);

#[test]
fn decode() {
    replay("decode", targets::decode);
}

#[test]
fn schema() {
    replay("schema", targets::schema);
}

#[test]
fn cel() {
    replay("cel", targets::cel);
}

#[test]
fn request() {
    replay("request", targets::request);
}

#[test]
fn answer() {
    replay("answer", targets::answer);
}

/// What the target is about happens: an answer is read to its end.
#[test]
fn an_answer_of_the_corpus_reaches_the_consumer() {
    let answer = std::fs::read(root().join("fuzz/corpus/answer/allowed")).expect("a file");
    assert!(targets::create::Server::new().create(&answer).is_some());
}

/// Gives a target each file of its corpus, and what is left of each when it is cut short or has a byte changed.
fn replay(target: &str, run: fn(&[u8])) {
    let folder = root().join("fuzz/corpus").join(target);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("a corpus")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    assert!(files.len() > 5, "{} is no corpus", folder.display());
    for file in files {
        let input = std::fs::read(&file).expect("a file");
        let started = Instant::now();
        // Whoever sees this test fail needs the name of the file.
        let on_panic = OnPanic(&file);
        run(&input);
        for at in (0..input.len()).step_by(input.len() / 16 + 1) {
            run(&input[..at]);
            let mut changed = input.clone();
            changed[at] ^= 0x20;
            run(&changed);
        }
        drop(on_panic);
        assert!(
            started.elapsed() < SOON,
            "{} took {:?}",
            file.display(),
            started.elapsed()
        );
    }
}

/// Names the input if what comes next panics.
struct OnPanic<'a>(&'a std::path::Path);

impl Drop for OnPanic<'_> {
    #[allow(clippy::print_stderr, reason = "beside the message of the panic")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the input, or a variation of it: {}", self.0.display());
        }
    }
}
