//! kcp-ephemeral: a kcp virtual workspace that answers ephemeral resources.

mod calls;
mod cli;
mod dev;
mod directory;
mod errors;
mod logging;
mod manifests;
mod nominations;
mod secure_port;
mod serve;
mod signals;
mod webhooks;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};

fn main() -> ExitCode {
    let Cli { logging, command } = Cli::parse();
    logging::init(&logging);
    rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .expect("nothing installed a provider before");
    let done = match command {
        Command::Dev(args) => run(dev::dev(args)),
        Command::Serve(args) => run(serve::serve(*args)),
        Command::Manifests(command) => manifests::print(&command),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            logging::fatal(&error);
            ExitCode::FAILURE
        }
    }
}

/// Stack of the runtime's threads, bytes. Walks over deeply nested objects grow their stack by themselves; this keeps
/// them from having to in all but hostile cases.
const THREAD_STACK: usize = 4 * 1024 * 1024;

fn run(command: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(THREAD_STACK)
        .enable_all()
        .build()?
        .block_on(command)
}
