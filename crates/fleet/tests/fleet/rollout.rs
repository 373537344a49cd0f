//! Whole rollouts: two hundred agents in this process, and a real nats-server.

use std::time::Duration;

use takt_fleet::{
    digest::Digest,
    operator::{Ended, Operator},
    selector::Selector,
    stand_in::StandIn,
};

use crate::common::{Lateness, Server, push, until};

const HOSTS: usize = 200;
const PERIOD: Duration = Duration::from_secs(20);

/// A trial's end is seen by a timer, and a policy is taken back after a last look.
const LATE: Duration = Duration::from_millis(500);

const GOOD: &str = "[link.eth0]\nrate = \"1gbit\"\n";
const BETTER: &str = "[link.eth0]\nrate = \"2gbit\"\n";
const CUTS_OFF: &str = "[link.eth0]\nrate = \"1kbit\"\n# cuts off\n";
const DROPS: &str = "[link.eth0]\nrate = \"1mbit\"\n# drops\n";

fn count(hosts: &[StandIn], policy: &str) -> usize {
    let digest = Digest::for_content(policy.as_bytes());
    let have = hosts
        .iter()
        .filter(|host| host.host().policy() == Some(digest));
    have.count()
}

/// The hosts that ever had it, and the longest time that one had it.
fn had(hosts: &[StandIn], policy: &str) -> (usize, Duration) {
    let digest = Digest::for_content(policy.as_bytes());
    let times = hosts
        .iter()
        .filter_map(|host| host.host().duration(&digest));
    let times: Vec<Duration> = times.collect();
    (times.len(), times.into_iter().max().unwrap_or_default())
}

async fn roll(operator: &mut Operator, policy: &str, to: &str, health: &str) -> Ended {
    let mut asked = push(policy, to);
    asked.health = health.parse().unwrap();
    let roster = operator.fresh_roster().await.unwrap();
    operator.push(&asked, &roster).await.unwrap();
    let to: Selector = to.parse().unwrap();
    operator.drive(&to, |_, _| {}).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_hosts() {
    let server = Server::start();
    let mut operator = server.operator().await;
    let hosts = server.hosts(HOSTS, PERIOD).await;
    let hold = push(GOOD, "all").hold;
    let lateness = Lateness::watch();

    // A good policy reaches all hosts.
    let ended = roll(&mut operator, GOOD, "all", "dropped(voice) == 0").await;
    assert!(
        matches!(ended, Ended::Done(progress) if progress.kept == HOSTS),
        "{ended:?}"
    );
    assert_eq!(count(&hosts, GOOD), HOSTS);

    // One that cuts off the engine stays within its canaries, and is gone from them within its
    // hold.
    let ended = roll(&mut operator, CUTS_OFF, "all", "problems == 0").await;
    assert!(
        matches!(&ended, Ended::Halted(_, why) if why.contains("cut off the engine")),
        "{ended:?}"
    );
    let (canaries, longest) = had(&hosts, CUTS_OFF);
    println!("cut off: {canaries} of {HOSTS} hosts had it, {longest:?} at most, hold {hold:?}");
    assert_eq!(canaries, HOSTS / 20);
    assert!(longest <= hold + LATE + 2 * lateness.worst(), "{longest:?}");
    until("all have the good one", || count(&hosts, GOOD) == HOSTS).await;

    // So does one that loses the packets of a class.
    let ended = roll(
        &mut operator,
        DROPS,
        "all",
        "dropped(voice) / sent(voice) < 1%",
    )
    .await;
    assert!(
        matches!(&ended, Ended::Halted(_, why) if why.contains("not healthy")),
        "{ended:?}"
    );
    let (canaries, longest) = had(&hosts, DROPS);
    println!("drops: {canaries} of {HOSTS} hosts had it, {longest:?} at most, hold {hold:?}");
    assert_eq!(canaries, HOSTS / 20);
    assert!(longest <= hold + LATE + 2 * lateness.worst(), "{longest:?}");
    until("all have the good one", || count(&hosts, GOOD) == HOSTS).await;

    // And one whose class is gone.
    let ended = roll(&mut operator, BETTER, "all", "sent(video) >= 0").await;
    assert!(
        matches!(&ended, Ended::Halted(_, why) if why.contains("no class video")),
        "{ended:?}"
    );
    assert_eq!(had(&hosts, BETTER).0, HOSTS / 20);

    // Some of the hosts; then all of these go back.
    let ended = roll(&mut operator, BETTER, "site=berlin", "problems == 0").await;
    assert!(
        matches!(ended, Ended::Done(progress) if progress.kept == HOSTS / 2),
        "{ended:?}"
    );
    assert_eq!(
        (count(&hosts, BETTER), count(&hosts, GOOD)),
        (HOSTS / 2, HOSTS / 2)
    );
    let view = operator.view().await.unwrap();
    assert!(
        view.hosts.iter().all(|host| host.state == "kept"),
        "{view:?}"
    );

    // History, and a rollback to what a revision had.
    let history = operator.history().await.unwrap();
    let numbers: Vec<u64> = history.iter().map(|at| at.revision.number).collect();
    assert!(numbers.is_sorted_by(|a, b| a > b), "{numbers:?}");
    let all: Selector = "all".parse().unwrap();
    let berlin: Selector = "site=berlin".parse().unwrap();
    let first = history
        .iter()
        .rev()
        .find(|at| !at.revision.assignments.is_empty())
        .unwrap();
    let refused = operator.rollback(&berlin, None).await;
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("had no policy of the fleet's")
    );
    operator
        .rollback(&all, Some(first.revision.number))
        .await
        .unwrap();
    let ended = operator.drive(&all, |_, _| {}).await.unwrap();
    assert!(
        matches!(ended, Ended::Done(progress) if progress.kept == HOSTS / 2),
        "{ended:?}"
    );
    for host in hosts {
        host.stop().await;
    }
}

/// A signer that ends leaves a rollout that stands still; another goes on, or pauses it.
#[tokio::test(flavor = "multi_thread")]
async fn signers_come_and_go() {
    let server = Server::start();
    let mut operator = server.operator().await;
    let hosts = server.hosts(20, PERIOD).await;
    let all: Selector = "all".parse().unwrap();
    let roster = operator.fresh_roster().await.unwrap();
    operator.push(&push(GOOD, "all"), &roster).await.unwrap();
    operator.pause(&all, true).await.unwrap();
    drop(operator);
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(
        count(&hosts, GOOD) <= 1,
        "nothing is released without a signer"
    );

    let mut operator = server.operator().await;
    operator.pause(&all, false).await.unwrap();
    let ended = operator.drive(&all, |_, _| {}).await.unwrap();
    assert!(
        matches!(ended, Ended::Done(progress) if progress.kept == 20),
        "{ended:?}"
    );

    // Hosts that come later get it as well, and one that is gone is not waited for.
    let mut hosts = hosts;
    hosts.pop().unwrap().stop().await;
    hosts.push(server.host(20, PERIOD).await);
    until("the new host has it", || count(&hosts, GOOD) == 20).await;
}
