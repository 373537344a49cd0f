use std::net::SocketAddr;

use takt_fleet::operator::Error;

use super::{args::Common, exit::Exit};

pub async fn run(_: &Common, _: SocketAddr, _: bool) -> Result<Exit, Error> {
    Ok(Exit::Done)
}
