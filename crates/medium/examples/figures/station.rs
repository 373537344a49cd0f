//! The losses of one station, and of one that walks.

use takt_medium::{
    Profile, SnrPath,
    sim::{Direction, Fifo, Flow, Simulation, Traffic, runs::OneBad},
};

use crate::{columns, heading, kbps};

/// Losses of a station by SNR, of single attempts and after all of them.
pub fn loss() {
    heading("Loss by SNR");
    columns(&[
        "SNR, dB",
        "Attempt of 1514 bytes",
        "of 384",
        "Lost after 7, 1514 bytes",
        "of 384",
    ]);
    for snr_db in 0..=15 {
        let profile = Profile::wavelan();
        let attempt = |bytes: u32| {
            let rate = &profile.rates[0];
            let fading = profile.fading.unwrap();
            fading.mean_frame_error_rate(rate, f64::from(snr_db), bytes + profile.overhead_bytes)
        };
        let after = |bytes: u32| {
            let traffic = Traffic::Cbr {
                bytes,
                interval_ns: 200_000_000,
                jitter_ns: 0,
            };
            let run = OneBad {
                profile: profile.clone(),
                stations: 1,
                bad_snr_centidb: snr_db * 100,
                traffic,
                seconds: 2000,
                seed: 1,
            };
            run.fifo()[0].loss()
        };
        println!(
            "| {snr_db} | {:.3} | {:.3} | {:.3} | {:.3} |",
            attempt(1514),
            attempt(384),
            after(1514),
            after(384)
        );
    }
}

/// Two rounds of the walk of figure 19: arrivals by 10 s.
pub fn moving() {
    heading("A station that walks, wavelan, 1.5 Mbit/s to it alone");
    columns(&["Time, s", "SNR, dB", "kbit/s", "Lost, %"]);
    let path = SnrPath::round_trip(0, 2000);
    let mut simulation = Simulation::new(Profile::wavelan(), 1, Fifo::new(50));
    let station = simulation.add_station(path.clone());
    let traffic = Traffic::cbr_1m5();
    simulation.add_flow(Flow {
        station,
        direction: Direction::Down,
        traffic,
        start_ns: 0,
    });
    for step in 0..24u64 {
        simulation.reset_statistics();
        simulation.run(10_000_000_000);
        let now = &simulation.stations()[0];
        println!(
            "| {} | {:.1} | {} | {:.1} |",
            step * 10 + 5,
            f64::from(path.snr_centidb((step * 10 + 5) * 1_000_000_000)) / 100.0,
            kbps(now.throughput_bps()),
            now.loss() * 100.0
        );
    }
}
