use std::net::IpAddr;

use proptest::prelude::*;
use takt_algo::SocLaw;

use super::*;

const INTERVAL_NS: u64 = 200_000_000;

/// No smoothing, and 100,000 ppm for each dB.
fn stations() -> Stations {
    let law = SocLaw::Piecewise(vec![(0, 0), (1000, 1_000_000)]);
    Stations::new(SocTerms::new(INTERVAL_NS, 1_000_000, 500_000, &law))
}

fn mac(number: u8) -> Address {
    Address::Mac([2, 0, 0, 0, 0, number])
}

fn ip(number: u8) -> Address {
    Address::Ip(IpAddr::from([192, 0, 2, number]))
}

fn weigh(address: Address, weight_ppm: u32) -> Action {
    Action::Weigh {
        address,
        weight_ppm,
    }
}

fn hear(stations: &mut Stations, now_ns: u64, names: &[Address], snr_centidb: i32) -> Vec<Action> {
    let mut sample = Sample {
        names: [None; 3],
        snr_centidb,
    };
    for (to, from) in sample.names.iter_mut().zip(names) {
        *to = Some(*from);
    }
    let mut actions = Vec::new();
    stations.hear(now_ns, &sample, &mut actions).unwrap();
    actions
}

fn tick(stations: &mut Stations, now_ns: u64) -> Vec<Action> {
    let mut actions = Vec::new();
    stations.tick(now_ns, false, &mut actions);
    actions
}

#[test]
fn a_station_is_heard_falls_silent_and_is_forgotten() {
    let mut stations = stations();
    let heard = hear(&mut stations, 0, &[mac(1), ip(1)], 800);
    assert_eq!(heard, [weigh(mac(1), 800_000), weigh(ip(1), 800_000)]);
    // An unchanged weight need not be written again.
    assert_eq!(hear(&mut stations, INTERVAL_NS, &[mac(1), ip(1)], 800), []);
    assert_eq!(tick(&mut stations, INTERVAL_NS * 2), []);
    let decayed = [weigh(mac(1), 400_000), weigh(ip(1), 400_000)];
    assert_eq!(tick(&mut stations, INTERVAL_NS * 5 / 2), decayed);
    assert_eq!(tick(&mut stations, INTERVAL_NS * 3), []);
    let later = tick(&mut stations, FORGOTTEN_NS);
    assert_eq!(later, [weigh(mac(1), 0), weigh(ip(1), 0)]);
    let forgotten = [mac(1), ip(1)].map(|address| Action::Forget { address });
    assert_eq!(tick(&mut stations, FORGOTTEN_NS + INTERVAL_NS), forgotten);
    assert!(!stations.knows(&mac(1)) && !stations.knows(&ip(1)));
    assert_eq!(
        (stations.stats().reports, stations.stats().missed),
        (2, 298)
    );
}

/// Two that fall silent at once, or a source that fails, say nothing about either.
#[test]
fn strengths_stand_while_the_source_is_silent() {
    let mut stations = stations();
    for number in [1, 2] {
        hear(&mut stations, 0, &[mac(number)], 800);
    }
    for interval in 1..250 {
        assert_eq!(tick(&mut stations, INTERVAL_NS * interval), []);
    }
    // One is back. The other's silence counts from here on.
    let back_ns = INTERVAL_NS * 250;
    assert_eq!(hear(&mut stations, back_ns, &[mac(1)], 800), []);
    assert_eq!(tick(&mut stations, back_ns + 1), []);
    assert_eq!(
        hear(&mut stations, back_ns + INTERVAL_NS, &[mac(1)], 800),
        []
    );
    let decayed = tick(&mut stations, back_ns + INTERVAL_NS);
    assert_eq!(decayed, [weigh(mac(2), 400_000)]);

    let mut alone = self::stations();
    hear(&mut alone, 0, &[mac(1)], 800);
    let mut actions = Vec::new();
    alone.tick(INTERVAL_NS, true, &mut actions);
    alone.tick(INTERVAL_NS * 20, true, &mut actions);
    assert_eq!(actions, []);
    alone.none_is_there(INTERVAL_NS * 20);
    let decayed = tick(&mut alone, INTERVAL_NS * 21);
    assert_eq!(decayed, [weigh(mac(1), 400_000)]);
}

#[test]
fn a_station_cannot_take_anothers_address() {
    let mut stations = stations();
    hear(&mut stations, 0, &[mac(1), ip(1)], 800);
    // As one of its own, or as its identifying address.
    let liar = hear(&mut stations, 0, &[mac(2), ip(1)], 100);
    assert_eq!(liar, [weigh(mac(2), 100_000)]);
    assert_eq!(
        hear(&mut stations, 0, &[mac(3), mac(1)], 0),
        [weigh(mac(3), 0)]
    );
    assert_eq!(hear(&mut stations, 0, &[ip(1)], 100), []);
    assert!(stations.weights().any(|known| known == (ip(1), 800_000)));
    // The first station gets another address, and the second the one it asked for.
    let moved = hear(&mut stations, INTERVAL_NS, &[mac(1), ip(2)], 800);
    assert_eq!(
        moved,
        [Action::Forget { address: ip(1) }, weigh(ip(2), 800_000)]
    );
    let now = hear(&mut stations, INTERVAL_NS, &[mac(2), ip(1)], 100);
    assert_eq!(now, [weigh(ip(1), 100_000)]);
}

#[test]
fn there_are_never_too_many() {
    let mut stations = stations();
    let number = |i: usize| Address::Ip(IpAddr::from([10, 0, (i >> 8) as u8, i as u8]));
    let mut actions = Vec::new();
    for i in 0..STATIONS_MAX {
        stations
            .hear(0, &Sample::new(number(i), 500), &mut actions)
            .unwrap();
    }
    let one_more = Sample::new(number(STATIONS_MAX), 500);
    assert_eq!(stations.hear(0, &one_more, &mut actions), Err(TooMany));
    // Known stations are still heard.
    stations
        .hear(0, &Sample::new(number(7), 100), &mut actions)
        .unwrap();
    assert_eq!(actions.last(), Some(&weigh(number(7), 100_000)));
    stations.tick(FORGOTTEN_NS, false, &mut actions);
    stations
        .hear(FORGOTTEN_NS, &one_more, &mut actions)
        .unwrap();
}

#[derive(Debug, Clone)]
enum Step {
    Hear(Vec<Address>, i32),
    Pass(u64),
}

fn address() -> impl Strategy<Value = Address> {
    (any::<bool>(), 0..6u8)
        .prop_map(|(is_mac, number)| if is_mac { mac(number) } else { ip(number) })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (prop::collection::vec(address(), 0..4), any::<i32>())
            .prop_map(|(names, snr)| Step::Hear(names, snr)),
        2 => prop_oneof![0..INTERVAL_NS * 4, 0..FORGOTTEN_NS * 2].prop_map(Step::Pass),
    ]
}

proptest! {
    /// After any samples, what was written to the kernel equals the stations' weights.
    #[test]
    fn the_kernel_knows_what_is_known(steps in prop::collection::vec(step(), 1..100)) {
        let mut stations = stations();
        let (mut now_ns, mut kernel) = (0, BTreeMap::new());
        for step in steps {
            let actions = match step {
                Step::Hear(names, snr) => hear(&mut stations, now_ns, &names, snr),
                Step::Pass(ns) => {
                    now_ns += ns;
                    tick(&mut stations, now_ns)
                }
            };
            for action in actions {
                match action {
                    Action::Weigh { address, weight_ppm } => kernel.insert(address, weight_ppm),
                    Action::Forget { address } => kernel.remove(&address),
                };
            }
            let known: BTreeMap<_, _> = stations
                .known
                .values()
                .flat_map(|station| station.names.into_iter().flatten().map(|name| (name, station.weight_ppm)))
                .collect();
            prop_assert_eq!(&kernel, &known);
            let others = known.keys().filter(|name| !stations.known.contains_key(name));
            prop_assert!(others.eq(stations.owners.keys()));
        }
    }
}
