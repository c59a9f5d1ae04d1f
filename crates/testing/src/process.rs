//! Child processes that end with this one, whatever ends this one.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

/// Runs its arguments as a command and kills that once nobody holds the other end of standard input any more: a test
/// that is killed drops nothing, but its pipes close.
const GUARD: &str = r#"
exec 3<&0
"$@" 3<&- </dev/null &
child=$!
{ read -r _ <&3; kill -9 $child; } 2>/dev/null &
guard=$!
exec 3<&-
wait $child
status=$?
kill $guard 2>/dev/null
exit $status
"#;

/// How much of a log is shown.
const TAIL: usize = 40;

/// A running program; killed when dropped, and gone then.
pub struct Process {
    guard: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a command. What it prints is appended to `log`.
    pub fn start(command: &Command, log: PathBuf) -> Self {
        let output = File::options().create(true).append(true).open(&log);
        let output = output.expect("the directory is writable");
        let mut guarded = Command::new("sh");
        guarded
            .args(["-c", GUARD, "sh"])
            .arg(command.get_program())
            .args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => guarded.env(name, value),
                None => guarded.env_remove(name),
            };
        }
        if let Some(dir) = command.get_current_dir() {
            guarded.current_dir(dir);
        }
        let guard = guarded
            .stdin(Stdio::piped())
            .stdout(output.try_clone().expect("a descriptor"))
            .stderr(output)
            .spawn()
            .expect("there is a shell");
        Self { guard, log }
    }

    /// How it ended, if it did.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.guard.try_wait().expect("it is a child")
    }

    /// The last lines that it printed.
    pub fn tail(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(TAIL)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        // Nothing can be done about a failure here, and the test has its own.
        let _ = self.guard.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn shell(script: &str) -> (Process, tempfile::TempDir) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        (Process::start(&command, dir.path().join("log")), dir)
    }

    fn wait<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            if let Some(value) = attempt() {
                return value;
            }
            assert!(Instant::now() < end, "in time");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn it_is_gone_once_it_was_dropped() {
        let (process, _dir) = shell("echo $$; exec sleep 1000");
        let pid = wait(|| process.tail().trim().parse::<u32>().ok());
        let alive = || {
            Command::new("kill")
                .args(["-0", &pid.to_string()])
                .output()
                .unwrap()
                .status
                .success()
        };
        assert!(alive());
        drop(process);
        assert!(!alive());
    }

    #[test]
    fn its_end_is_noticed() {
        let (mut process, _dir) = shell("echo said; exit 7");
        assert_eq!(wait(|| process.ended()).code(), Some(7));
        assert_eq!(process.tail(), "said");
    }
}
