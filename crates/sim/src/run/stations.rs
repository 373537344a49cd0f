//! What happens between an access point and its stations besides packets: readings of strength,
//! reports, and what a scheduler hears of the air.

use super::World;
use crate::{
    device::Device,
    event::What,
    figures::{StationFigures, Taken},
};

impl World<'_> {
    /// Stations' cards read their signals. Once an interval they report what they have read.
    pub(super) fn listen(&mut self) {
        let (Some(weights), Device::Air(air)) = (&mut self.weights, &mut self.device) else {
            return;
        };
        let now_ns = self.now_ns;
        let is_whole = weights.hear(|at| air.listen_centidb(at, now_ns));
        if is_whole {
            for at in 0..self.setup.traffic.stations.len() {
                if weights.takes_air() {
                    air.report(at, now_ns);
                } else {
                    weights.report(at, now_ns);
                }
            }
            weights.pass(now_ns, now_ns >= self.from_ns);
        }
        let next_ns = now_ns + weights.reading_ns();
        self.events.schedule(next_ns, What::Listen);
        if is_whole {
            self.weigh();
        }
    }

    /// A station's report has arrived.
    pub(super) fn heard(&mut self, station: usize) {
        if let Some(weights) = &mut self.weights {
            weights.report(station, self.now_ns);
        }
        self.weigh();
    }

    fn weigh(&mut self) {
        let Some(weights) = &self.weights else {
            return;
        };
        for (station, weight_ppm) in self.setup.traffic.stations.iter().zip(weights.ppm()) {
            if let Some(weight_ppm) = weight_ppm {
                self.qdisc.weigh(station.address, weight_ppm, self.now_ns);
            }
        }
    }

    /// Tells a scheduler what it wants to know of the air: what stations have had of it, or how
    /// strong their signals are.
    pub(super) fn tell_of_air(&mut self) {
        let Device::Air(air) = &mut self.device else {
            return;
        };
        if self.qdisc.wants_airtime() {
            for (station, busy_ns) in air.busy_of_stations_ns().enumerate() {
                self.qdisc.charge(station, busy_ns);
            }
        }
        if self.qdisc.wants_signals() && !air.is_stopped() {
            for station in 0..self.setup.traffic.stations.len() {
                let centidb = air.listen_centidb(station, self.now_ns);
                self.qdisc.hear(station, centidb);
            }
        }
    }

    /// What the device was taken for while it was measured.
    pub(super) fn taken(&self, measured_ns: u64) -> Taken {
        let Device::Air(air) = &self.device else {
            return Taken::Wire {
                rate_bps: self.wire_bps,
            };
        };
        let weight = |at| self.weights.as_ref().and_then(|weights| weights.mean(at));
        let all = self.setup.traffic.stations.iter().zip(air.figures());
        let all = all.enumerate().map(|(at, (station, of))| StationFigures {
            name: station.name.clone(),
            weight: weight(at),
            delivered_bps: of.delivered_bytes as f64 * 8e9 / measured_ns as f64,
            air_percent: of.busy_ns as f64 * 100.0 / measured_ns as f64,
            lost_packets: of.lost_packets,
            each_second_bytes: of.each_second_bytes,
        });
        Taken::Air {
            busy_ns: air.busy_ns(),
            stations: all.collect(),
        }
    }
}
