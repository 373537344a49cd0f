use takt_crowd_model::{Setup, measure};
const S: u64 = 1_000_000_000;
fn main() {
    for delay in [0, 16, 64, 256] {
        for n in [2, 5, 10] {
            for (name, rem) in [("none", 0u64), ("half", 1_450_000), ("whole", 2_900_000), ("absurd", 10_000_000_000)] {
                let mut shares = vec![];
                let (mut p99, mut tot) = (vec![], vec![]);
                for seed in 1..=8 {
                    let mut setup = Setup::uploads(n, delay).with_members(n);
                    let last = setup.terminals.last_mut().unwrap();
                    last.flows[0].begins_ns = 30 * S;
                    last.remembered_bytes_ps = rem;
                    let f = measure(&setup, seed, &[30 * S, 32 * S, 40 * S]);
                    shares.push(f[1].share(n - 1));
                    p99.push(f[1].rtt_ms(0.99));
                    tot.push(f[1].total_mbps());
                }
                let m = |v: &Vec<f64>| v.iter().sum::<f64>() / v.len() as f64;
                println!("{delay} ms n {n} {name}: {:.3} p99 {:.1} total {:.2}", m(&shares), m(&p99), m(&tot));
            }
        }
    }
}
