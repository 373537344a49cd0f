//! SIGKILL of the agent, of takt and of the engine, at any moment: real processes, and a stand-in
//! for takt. The host has one whole policy then, that of a revision that was signed.

use std::time::Duration;

use takt_fleet::{
    digest::Digest,
    operator::{Ended, Operator},
    selector::Selector,
};
use tokio::time::sleep;

use crate::{
    common::{Server, push, until},
    process::Host,
};

const GOOD: &str = "[link.eth0]\nrate = \"1gbit\"\n";

async fn roll(operator: &mut Operator, policy: &str) -> Ended {
    let mut roster = operator.fresh_roster().await.unwrap();
    // A process takes time to begin.
    for _ in 0..20 {
        if roster.host("host-0").is_some() {
            break;
        }
        roster = operator.fresh_roster().await.unwrap();
    }
    operator.push(&push(policy, "all"), &roster).await.unwrap();
    operator.drive(&Selector::ALL, |_, _| {}).await.unwrap()
}

fn policy(rate: usize) -> String {
    format!("[link.eth0]\nrate = \"{}mbit\"\n", rate + 1)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_at_any_moment() {
    let server = Server::start();
    let mut operator = server.operator().await;
    let mut host = Host::start(&server, 0, &[]);
    assert!(matches!(roll(&mut operator, GOOD).await, Ended::Done(_)));
    assert_eq!(host.in_force().unwrap(), GOOD);
    let mut texts = vec![GOOD.to_owned()];
    for round in 0..8 {
        // The push's trial takes 5 s: kills before it, in it, about its end, and after it.
        let text = policy(round);
        let roster = operator.roster().await.unwrap();
        operator.push(&push(&text, "all"), &roster).await.unwrap();
        texts.push(text.clone());
        sleep(Duration::from_millis(100 + round as u64 * 850)).await;
        host.kill();
        let whole = host.in_force().expect("a policy is in force");
        assert!(texts.contains(&whole), "{whole}");
        let obeyed = host.revision().expect("it obeys one");
        host.go_on();
        until("it keeps the policy", || {
            host.in_force().as_ref() == Some(&text) && !host.is_on_trial() && {
                let own = host.journal();
                own.in_force.and_then(|own| own.policy)
                    == Some(Digest::for_content(text.as_bytes()))
                    && own.trial.is_none()
                    && !own.unsure
            }
        })
        .await;
        assert!(host.revision().unwrap().number >= obeyed.number);
        let ended = operator.drive(&Selector::ALL, |_, _| {}).await.unwrap();
        assert!(matches!(ended, Ended::Done(_)), "{ended:?}");
    }
}

/// A host that had the good policy, and has `policy(1)` on trial.
async fn on_trial() -> (Server, Operator, Host) {
    let server = Server::start();
    let mut operator = server.operator().await;
    let host = Host::start(&server, 0, &[]);
    assert!(matches!(roll(&mut operator, GOOD).await, Ended::Done(_)));
    let roster = operator.roster().await.unwrap();
    operator
        .push(&push(&policy(1), "all"), &roster)
        .await
        .unwrap();
    until("the trial has begun", || host.in_force() == Some(policy(1))).await;
    (server, operator, host)
}

/// Whatever is killed, the policy before is back when the guard's time is over.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_stays_away() {
    let (_server, mut operator, mut host) = on_trial().await;
    host.kill();
    until("takt's guard takes it back", || {
        host.in_force().as_deref() == Some(GOOD)
    })
    .await;
    let ended = operator.drive(&Selector::ALL, |_, _| {}).await.unwrap();
    assert!(
        matches!(&ended, Ended::Halted(_, why) if why.contains("host-0")),
        "{ended:?}"
    );
    host.go_on();
    let halted = operator.current().await.unwrap().revision.number;
    until("it obeys", || {
        host.revision().is_some_and(|own| own.number >= halted)
    })
    .await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(host.in_force().unwrap(), GOOD);
}

/// An engine that dies during a trial cannot be reached: the policy is taken back. The host goes on
/// with what it had, also over its own restart.
#[tokio::test(flavor = "multi_thread")]
async fn the_engine_during_a_trial() {
    let (mut server, _operator, mut host) = on_trial().await;
    server.kill();
    until("it is taken back", || {
        host.in_force().as_deref() == Some(GOOD)
    })
    .await;
    host.kill();
    host.go_on();
    sleep(Duration::from_secs(3)).await;
    assert_eq!(host.in_force().unwrap(), GOOD);

    // The engine comes back, and has every revision.
    server.go_on();
    let mut operator = server.operator().await;
    // Killed before it noted that the trial had failed, the host tries again.
    let ended = operator.drive(&Selector::ALL, |_, _| {}).await.unwrap();
    assert!(!matches!(ended, Ended::Superseded(_)), "{ended:?}");
    assert!(matches!(
        roll(&mut operator, &policy(2)).await,
        Ended::Done(_)
    ));
    assert_eq!(host.in_force(), Some(policy(2)));
}
