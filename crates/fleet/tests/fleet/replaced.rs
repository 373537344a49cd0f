//! Reports that are replaced while all of them are read.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::common::{FLEET, Server};

/// Reading takes a few milliseconds.
const LONG: Duration = Duration::from_secs(30);
/// Reads: one report is replaced in each, later each time.
const READS: u32 = 400;
const LATER: Duration = Duration::from_micros(25);

#[tokio::test(flavor = "multi_thread")]
async fn all_are_read_whenever_one_is_replaced() {
    let server = Server::start();
    let mut operator = server.operator().await;
    let client = async_nats::connect(server.url()).await.unwrap();
    let key = |host: u32| format!("$KV.takt-{FLEET}-hosts.host-{host}");
    for host in 0..3 {
        client.publish(key(host), "rubbish".into()).await.unwrap();
    }
    client.flush().await.unwrap();
    for read in 0..READS {
        let (client, key) = (client.clone(), key(read % 3));
        let replaced = tokio::spawn(async move {
            sleep(LATER * read).await;
            client.publish(key, "more".into()).await.unwrap();
            client.flush().await.unwrap();
        });
        let roster = timeout(LONG, operator.roster()).await;
        roster.expect("it ends").unwrap();
        replaced.await.unwrap();
    }
}
