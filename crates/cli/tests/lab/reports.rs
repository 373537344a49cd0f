//! Sources of stations' weights: clients' reports over UDP, a file, and by hand; and silent or dead
//! clients and agents.

use std::{fs, thread, time::Duration};

use crate::{
    machine::DEFAULT,
    reporting::{
        CLIENT, Daemon, KEY, REPORTS, SNR, STATION, access_point, assert_soon, clean, weight_ppm,
    },
    shell::{run, run_far},
    takt::{apply, assert_no_trace, takt},
    wire::Wire,
};

#[test]
fn a_client_reports_and_its_weight_follows() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        clean();
        apply(&access_point(REPORTS))
            .says(&["radio: taktd manages it"])
            .ok();
        let daemon = Daemon::start();
        fs::create_dir_all(CLIENT).unwrap();
        fs::write(SNR, "10.1.0.2 5\n").unwrap();
        let client = Daemon::start_client();
        assert_soon(30, "first heard", |weight| weight == Some(500_000));
        fs::write(SNR, "10.1.0.2 2.5\n").unwrap();
        assert_soon(5, "changed", |weight| weight == Some(250_000));

        // The next taktd goes on with a killed one's weights.
        daemon.kill();
        let daemon = Daemon::start();
        fs::write(SNR, "10.1.0.2 7.5\n").unwrap();
        assert_soon(30, "a new daemon", |weight| weight == Some(750_000));

        // A killed client's strength decays.
        client.kill();
        assert_soon(30, "silent", |weight| {
            weight.is_some_and(|ppm| ppm < 10_000)
        });
        daemon.end();
        assert_eq!(weight_ppm(), None);
        run_far("takt revert").says(&["radio: left alone"]).ok();
        takt("revert").says(&["radio: left alone"]).ok();
        drop(wire);
        assert_no_trace();
    });
}

#[test]
fn a_file_is_read_again_and_again() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        fs::write("/lab/ap.txt", format!("{STATION} 5\n")).unwrap();
        apply(&access_point("source = \"file\"\nfile = \"ap.txt\"")).ok();
        let _daemon = Daemon::start();
        assert_soon(30, "first read", |weight| weight == Some(500_000));
        fs::write("/lab/ap.txt", format!("{STATION} 8 # better\n")).unwrap();
        assert_soon(3, "read again", |weight| weight == Some(800_000));
        takt("revert").ok();
    });
}

/// The writer of the file dies, and takes it along: traffic flows as without weights, and status
/// and metrics say so.
#[test]
fn a_file_that_is_gone_stops_no_station() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        let write = |snr| fs::write("/lab/ap.txt", format!("{STATION} {snr}\n")).unwrap();
        write(10);
        apply(&access_point("source = \"file\"\nfile = \"ap.txt\"")).ok();
        let _daemon = Daemon::start();
        assert_soon(30, "first read", |weight| weight == Some(1_000_000));
        takt("status").ok();

        // A malformed line is that line's error alone.
        fs::write("/lab/ap.txt", format!("{STATION} 8\n10.1.0.9 ten\n")).unwrap();
        assert_soon(30, "beside a bad line", |weight| weight == Some(800_000));

        // No weight at all is in force at the end, not even the last one, 0.
        write(0);
        assert_soon(30, "the last word", |weight| weight == Some(0));
        fs::remove_file("/lab/ap.txt").unwrap();
        let silent = || takt("status").says(&["no station is heard by file"]);
        let soon = (0..80).any(|_| {
            thread::sleep(Duration::from_millis(100));
            takt("status").status == Some(4)
        });
        assert!(soon, "status still says that all is well");
        silent().ends_with(4);
        takt("metrics")
            .says(&["takt_link_has_problem{device=\"near1\",backend=\"takt\"} 1"])
            .ok();
        run("ping -c 3 -W 2 10.1.0.2").ok();

        write(5);
        assert_soon(30, "back", |weight| weight == Some(500_000));
        takt("status").ok();
        takt("revert").ok();
    });
}

#[test]
fn by_hand() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        let set = format!("station set {STATION} --snr");
        takt(&format!("{set} 5"))
            .says(&["no link of the policy in force"])
            .ends_with(2);
        clean();
        apply(&access_point("source = \"none\"")).ok();
        takt(&format!("{set} 5")).says(&["weight 0.500"]).ok();
        assert_eq!(weight_ppm(), Some(500_000));
        // It stays without being refreshed.
        thread::sleep(Duration::from_secs(6));
        assert_eq!(weight_ppm(), Some(500_000));
        takt(&format!("{set} -3 --device near1"))
            .says(&["weight 0.000"])
            .ok();
        takt(&format!("{set} 61"))
            .says(&["out of range"])
            .ends_with(2);
        takt(&format!("{set} 5 --device lo"))
            .says(&["stations of lo"])
            .ends_with(2);
        takt("station set 10.1.0.2 --snr 5")
            .says(&["known by MAC"])
            .ends_with(2);
        takt("station set ff:ff:ff:ff:ff:ff --snr 5").ends_with(2);
        takt("station list").says(&[STATION, "by hand"]).ok();
        takt(&format!("station forget {STATION}"))
            .says(&["forgotten"])
            .ok();
        takt(&format!("station forget {STATION}")).ends_with(2);
        assert_eq!(weight_ppm(), None);
        takt(&format!("radio key {KEY}"))
            .says(&["exists"])
            .ends_with(2);
        takt("radio key /nowhere/radio.key").ends_with(1);
        takt("revert").ok();
    });
}
