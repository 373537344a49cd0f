//! An engine that lies, forges, replays and floods, and hosts that share an identity.

use std::time::{Duration, Instant};

use takt_fleet::{
    digest::Digest,
    engine::{Buckets, REVISION},
    keys::Signer,
    operator::{Ended, Error, Operator},
    report::Report,
    revision::Revision,
    selector::Selector,
};
use tokio::time::sleep;

use crate::common::{FLEET, PATIENCE, SECRET, Server, push, until};

const PERIOD: Duration = Duration::from_secs(5);
const GOOD: &str = "[link.eth0]\nrate = \"1gbit\"\n";
const BETTER: &str = "[link.eth0]\nrate = \"2gbit\"\n";
const EVIL: &str = "[link.eth0]\nrate = \"1kbit\"\n# cuts off\n";

/// With all of the engine's power: it writes any key.
async fn engine(server: &Server) -> (async_nats::Client, String, String) {
    let client = async_nats::connect(server.url()).await.unwrap();
    let buckets = Buckets::for_fleet(FLEET);
    let revision = format!("$KV.{}.{REVISION}", buckets.revisions);
    let hosts = format!("$KV.{}", buckets.hosts);
    (client, revision, hosts)
}

async fn roll(operator: &mut Operator, policy: &str) -> Ended {
    let roster = operator.fresh_roster().await.unwrap();
    operator.push(&push(policy, "all"), &roster).await.unwrap();
    operator.drive(&Selector::ALL, |_, _| {}).await.unwrap()
}

/// Waits until a host reports this.
async fn told(operator: &mut Operator, id: &str, holds: impl Fn(&Report) -> bool) -> Report {
    let began = Instant::now();
    loop {
        let roster = operator.roster().await.unwrap();
        match roster.host(id).map(|host| &host.report) {
            Some(report) if holds(report) => return report.clone(),
            report => assert!(began.elapsed() < PATIENCE, "{report:?}"),
        }
        sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_but_what_a_pinned_key_signed() {
    let server = Server::start();
    let mut operator = server.operator().await;
    let hosts = server.hosts(2, PERIOD).await;
    assert!(matches!(roll(&mut operator, GOOD).await, Ended::Done(_)));
    let good = operator.current().await.unwrap().revision;
    let (client, subject, _) = engine(&server).await;
    let put = |bytes: Vec<u8>| client.publish(subject.clone(), bytes.into());

    // Signed by another key.
    let mut evil = good.clone();
    evil.number += 10;
    evil.assignments[0].target.since = evil.number;
    evil.assignments[0].target.policy = Some(Digest::for_content(EVIL.as_bytes()));
    put(evil.seal(&Signer::new(&[13; 32]))).await.unwrap();
    // The right key, and a changed byte.
    let mut changed = evil.seal(&Signer::new(&SECRET));
    let at = changed.len() - 20;
    changed[at] ^= 1;
    put(changed).await.unwrap();
    // An older revision, of the right key.
    let mut older = good.clone();
    older.number -= 1;
    older.note = "older".to_owned();
    put(older.seal(&Signer::new(&SECRET))).await.unwrap();
    // Another one with the number in force.
    let mut twice = good.clone();
    twice.note = "twice".to_owned();
    put(twice.seal(&Signer::new(&SECRET))).await.unwrap();
    // Of another fleet.
    let mut other = Revision::none("other");
    other.number = 1_000;
    put(other.seal(&Signer::new(&SECRET))).await.unwrap();
    client.flush().await.unwrap();
    sleep(Duration::from_secs(1)).await;
    let bytes = good.seal(&Signer::new(&SECRET));
    put(bytes.clone()).await.unwrap();

    // Every one was refused, told and counted.
    let report = told(&mut operator, "host-0", |report| {
        let refused = report.refused;
        (refused.forged, refused.replayed, refused.foreign) == (2, 2, 1)
    })
    .await;
    assert_eq!(report.number, good.number);

    // A flood costs a host little, and a good revision comes through after it.
    for number in 0..5_000_u64 {
        let mut one = evil.clone();
        one.number = number;
        put(one.seal(&Signer::new(&[13; 32]))).await.unwrap();
        if number % 50 == 0 {
            sleep(Duration::from_millis(5)).await;
        }
    }
    put(bytes).await.unwrap();
    client.flush().await.unwrap();
    assert!(matches!(roll(&mut operator, BETTER).await, Ended::Done(_)));
    told(&mut operator, "host-0", |report| report.refused.flooded > 0).await;
    let digest = Digest::for_content(EVIL.as_bytes());
    assert!(
        hosts
            .iter()
            .all(|host| host.host().duration(&digest).is_none())
    );

    // A policy whose text is not what its digest says is not taken.
    let next = "[link.eth0]\nrate = \"3gbit\"\n";
    let roster = operator.fresh_roster().await.unwrap();
    let bucket = Buckets::for_fleet(FLEET).revisions;
    let key = format!(
        "$KV.{bucket}.policy.{}",
        Digest::for_content(next.as_bytes())
    );
    operator.push(&push(next, "all"), &roster).await.unwrap();
    client.publish(key, EVIL.as_bytes().into()).await.unwrap();
    let ended = operator.drive(&Selector::ALL, |_, _| {}).await.unwrap();
    // A host may have been quicker than this engine.
    println!("{ended:?}");
    assert!(
        hosts
            .iter()
            .all(|host| host.host().duration(&digest).is_none())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_is_not_fooled() {
    let server = Server::start();
    let mut operator = server.operator().await;
    let hosts = server.hosts(4, PERIOD).await;
    assert!(matches!(roll(&mut operator, GOOD).await, Ended::Done(_)));
    let (client, subject, reports) = engine(&server).await;
    let first = operator.current().await.unwrap();
    let first = first.revision.seal(&Signer::new(&SECRET));

    // Hosts that do not take part, whose reports another key forges.
    let mut real = told(&mut operator, "host-1", |_| true).await;
    real.in_force = 1_000;
    real.seq += 1_000;
    let forged = real.seal(&Signer::new(&[13; 32]));
    client
        .publish(format!("{reports}.host-1"), forged.into())
        .await
        .unwrap();
    client
        .publish(format!("{reports}.host-2"), "rubbish".into())
        .await
        .unwrap();
    client.flush().await.unwrap();
    // The engine stores what is published after it says that it has got it.
    let began = Instant::now();
    let roster = loop {
        let roster = operator.roster().await.unwrap();
        if roster.disbelieved.len() >= 2 {
            break roster;
        }
        assert!(began.elapsed() < PATIENCE, "{:?}", roster.disbelieved);
        sleep(Duration::from_millis(20)).await;
    };
    assert!(
        roster.disbelieved["host-1"].contains("not the host's"),
        "{:?}",
        roster.disbelieved
    );
    assert!(roster.disbelieved.contains_key("host-2"));
    // The hosts tell of it as well.
    told(&mut operator, "host-1", |report| {
        report.refused.duplicate > 0
    })
    .await;

    // An engine that went back in time.
    assert!(matches!(roll(&mut operator, BETTER).await, Ended::Done(_)));
    client.publish(subject, first.into()).await.unwrap();
    client.flush().await.unwrap();
    let began = Instant::now();
    let refused = loop {
        match operator.current().await {
            Err(refused) => break refused,
            Ok(_) => assert!(began.elapsed() < PATIENCE, "it does not go back"),
        }
        sleep(Duration::from_millis(20)).await;
    };
    assert!(matches!(refused, Error::Older { .. }), "{refused}");
    let digest = Digest::for_content(BETTER.as_bytes());
    assert!(
        hosts
            .iter()
            .all(|host| host.host().policy() == Some(digest))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_identity_for_two_hosts() {
    let server = Server::start();
    let mut operator = server.operator().await;
    let _one = server.host(0, PERIOD).await;
    operator.fresh_roster().await.unwrap();
    // Its disk was copied: the same key.
    let _copy = server.host(0, PERIOD).await;
    let began = Instant::now();
    loop {
        let view = operator.view().await.unwrap();
        if view.hosts.iter().any(|host| host.double) {
            break;
        }
        assert!(began.elapsed() < PATIENCE, "{view:?}");
        sleep(Duration::from_secs(2)).await;
    }
}

/// Partitions: hosts without the engine go on, and come back by themselves.
#[tokio::test(flavor = "multi_thread")]
async fn without_the_engine_nothing_happens() {
    let mut server = Server::start();
    let mut operator = server.operator().await;
    let hosts = server.hosts(10, PERIOD).await;
    assert!(matches!(roll(&mut operator, GOOD).await, Ended::Done(_)));
    drop(operator);
    server.kill();
    sleep(Duration::from_secs(3)).await;
    let digest = Digest::for_content(GOOD.as_bytes());
    assert!(
        hosts
            .iter()
            .all(|host| host.host().policy() == Some(digest))
    );
    server.go_on();
    let mut operator = server.operator().await;
    let ended = loop {
        let roster = operator.fresh_roster().await.unwrap();
        let recent = operator.push(&push(BETTER, "all"), &roster).await;
        recent.unwrap();
        // Hosts that have not come back yet are waited for.
        match operator.drive(&Selector::ALL, |_, _| {}).await.unwrap() {
            Ended::Halted(_, why) => println!("{why}"),
            ended => break ended,
        }
    };
    assert!(matches!(ended, Ended::Done(_)), "{ended:?}");
    let digest = Digest::for_content(BETTER.as_bytes());
    until("all have it", || {
        hosts
            .iter()
            .all(|host| host.host().policy() == Some(digest))
    })
    .await;
}

/// As docs/fleet.md says: a host needs no more than this of the engine, and can do no more.
#[tokio::test(flavor = "multi_thread")]
async fn hosts_have_few_permissions() {
    let users: String = (0..2)
        .map(|host| {
            format!(
                "{{ user: h{host}, password: p, permissions: {{\n\
                 publish: [\"$JS.API.DIRECT.GET.KV_takt-test.>\", \"$KV.takt-test-hosts.host-{host}\"]\n\
                 subscribe: [\"$KV.takt-test.revision\", \"$KV.takt-test-hosts.host-{host}\", \
                 \"takt.test.call\", \"_INBOX.>\"] }} }}\n"
            )
        })
        .collect();
    let users = format!("authorization {{ users = [ {users} {{ user: op, password: p }} ] }}");
    let server = Server::start_with(&users);
    let mut operator = server.operator_of("op:p@").await;
    let one = server.host_of("h0:p@", 0, PERIOD).await;
    // This one has another's name: its reports do not arrive.
    let _other = server.host_of("h1:p@", 2, PERIOD).await;
    let mut roster = operator.fresh_roster().await.unwrap();
    while roster.hosts().count() == 0 {
        roster = operator.fresh_roster().await.unwrap();
    }
    operator.push(&push(GOOD, "all"), &roster).await.unwrap();
    let ended = operator.drive(&Selector::ALL, |_, _| {}).await.unwrap();
    assert!(
        matches!(ended, Ended::Done(progress) if progress.hosts == 1),
        "{ended:?}"
    );
    assert_eq!(
        one.host().policy(),
        Some(Digest::for_content(GOOD.as_bytes()))
    );

    let client = async_nats::ConnectOptions::with_user_and_password("h1".into(), "p".into());
    let client = client.connect(server.url()).await.unwrap();
    let evil = Revision::none(FLEET).seal(&Signer::new(&[13; 32]));
    let subject = format!("$KV.{}.{REVISION}", Buckets::for_fleet(FLEET).revisions);
    client.publish(subject, evil.into()).await.unwrap();
    client.flush().await.unwrap();
    // It did not arrive either.
    operator.current().await.unwrap();
}
