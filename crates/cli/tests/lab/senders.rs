//! Rules by the owner of a socket on qdiscs of the kernel's own: trees and departure times.

use std::path::Path;

use crate::{
    kernel_bpf::Held,
    machine::{DEFAULT, on_old_kernels},
    owners::{
        Group, POLICY, WATCHING, answers_of_sockets_before, assert_class, quiet_wire,
        udp_connected, what_the_owner_is,
    },
    takt::{apply, assert_no_trace, link, takt},
    upgrade::set_layout,
    wire::Wire,
};

fn on_tree(policy: &str) -> String {
    policy.replace("[link.near1]\n", "[link.near1]\nbackend = \"tree\"\n")
}

/// Every class has a clock, but for the default class.
fn on_departure_times(policy: &str) -> String {
    let policy = policy
        .replace("[link.near1]\n", "[link.near1]\nbackend = \"departure\"\n")
        .replace("match =", "rate = \"50mbit\"\naqm = \"off\"\nmatch =");
    format!("{policy}[[link.near1.class]]\nname = \"default\"\nbest_effort = true\n")
}

const WITHOUT_QUESTIONS: &str = "[link.near1]\nbackend = \"tree\"\nrate = \"1gbit\"\n";

fn owners_are_told_apart(wire: &Wire) {
    let before = Held::now();
    for on in [on_tree, on_departure_times] {
        what_the_owner_is(wire, &on(POLICY));
        takt("revert").says(&["near1: given back"]).ok();
        assert_no_trace();
        answers_of_sockets_before(wire, on);
        takt("revert").ok();
        assert_no_trace();
    }
    before.wait_until_back();
}

#[test]
fn owners_are_told_apart_on_old_kernels() {
    on_old_kernels(|| owners_are_told_apart(&quiet_wire()));
}

#[test]
fn owners_are_told_apart_where_the_policy_demands_it() {
    DEFAULT.run(|| owners_are_told_apart(&quiet_wire()));
}

#[test]
fn sockets_are_watched_while_a_link_asks() {
    on_old_kernels(|| {
        let wire = quiet_wire();
        apply(WITHOUT_QUESTIONS).ok();
        assert!(!Path::new(WATCHING).exists());
        for on in [on_tree, on_departure_times] {
            apply(&on(POLICY)).ok();
            apply(&on(POLICY)).says(&["near1: unchanged"]).ok();
            assert!(Path::new(WATCHING).exists());
            let _group = Group::enter("machines/backup.slice");
            assert_class("group", || udp_connected(&wire));
        }
        apply(WITHOUT_QUESTIONS).ok();
        assert!(!Path::new(WATCHING).exists());
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn what_another_version_watches_is_handed_over_or_reverted() {
    on_old_kernels(|| {
        let wire = Wire::new(1);
        apply(&on_tree(POLICY)).ok();
        set_layout(WATCHING, 99);
        takt("status").says(&["backend: tree"]).ok();
        takt("revert").says(&["near1: given back"]).ok();
        assert_no_trace();

        let _group = Group::enter("machines/backup.slice");
        for policy in [&on_tree(POLICY), &on_departure_times(POLICY)] {
            apply(&on_tree(POLICY)).ok();
            set_layout(WATCHING, 99);
            apply(policy).says(&["handed over", "near1: updated"]).ok();
            assert_class("group", || udp_connected(&wire));
        }
        set_layout(WATCHING, 99);
        apply(WITHOUT_QUESTIONS).says(&["handed over"]).ok();
        assert!(!Path::new(WATCHING).exists());
        takt("revert").ok();
        assert_no_trace();
        wire.assert_passes();
    });
}

#[test]
fn a_unit_has_its_class_beside_tenants() {
    on_old_kernels(|| {
        let wire = quiet_wire();
        let example = include_str!("../../../../examples/tenants.toml");
        apply(&example.replace("link.eth0", "link.near1"))
            .says(&["near1: attached (tree)"])
            .ok();
        assert_class("acme-stream", || udp_connected(&wire));
        {
            let _unit = Group::enter("system.slice/backup.service");
            // The classes before it take addresses that the lab has.
            assert_class("acme-stream", || udp_connected(&wire));
        }
        let elsewhere = example.replace("10.1.0.0/16", "10.9.0.0/16");
        apply(&elsewhere.replace("link.eth0", "link.near1"))
            .says(&["near1: updated (tree)"])
            .ok();
        assert_class("default", || udp_connected(&wire));
        let _unit = Group::enter("system.slice/backup.service");
        assert_class("backup", || udp_connected(&wire));
        takt("revert").ok();
        assert_no_trace();
    });
}

/// Whichever comes first makes what both read.
#[test]
fn backends_share_what_is_known_of_sockets() {
    DEFAULT.run(|| {
        let wire = quiet_wire();
        let _other = Wire::new(2);
        let on_takt = POLICY.replace("near1", "near2");
        let both = format!("{}{on_takt}", on_tree(POLICY));
        let unit = || {
            let _unit = Group::enter("elsewhere.slice/web.service");
            assert_class("unit", || udp_connected(&wire));
        };
        for first in [&on_tree(POLICY), &on_takt] {
            apply(first).ok();
            apply(&both).ok();
            unit();
            // The one goes, and the other still knows.
            apply(&on_takt).ok();
            apply(POLICY).ok();
            assert_eq!(link("near1").backend, "takt");
            unit();
            apply(&both).ok();
            apply(&on_tree(POLICY)).ok();
            unit();
            takt("revert").ok();
            assert_no_trace();
        }
    });
}
