//! kcp-ephemeral: a kcp virtual workspace that answers ephemeral resources.

fn main() -> anyhow::Result<()> {
    Ok(())
}
