//! kcp-ephemeral: a kcp virtual workspace that answers ephemeral resources.

mod calls;
mod cli;
mod dev;
mod directory;
mod doctor;
mod errors;
mod logging;
mod manifests;
mod nominations;
mod output;
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
        Command::Dev(args) => run(dev::dev(args)).map(|()| ExitCode::SUCCESS),
        Command::Serve(args) => run(serve::serve(*args)).map(|()| ExitCode::SUCCESS),
        Command::Manifests(command) => manifests::print(&command).map(|()| ExitCode::SUCCESS),
        Command::Doctor(args) => run(async { Ok(doctor::doctor(*args).await) }),
    };
    done.unwrap_or_else(|error| {
        logging::fatal(&error);
        ExitCode::FAILURE
    })
}

/// Stack of the runtime's threads, bytes. Walks over deeply nested objects grow their stack by themselves; this keeps
/// them from having to in all but hostile cases.
const THREAD_STACK: usize = 4 * 1024 * 1024;

fn run<T>(command: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(THREAD_STACK)
        .enable_all()
        .build()?
        .block_on(command)
}
