//! A client's side: its samples of an interval become one report. SoCPS, section 4.2.

/// Averages samples, and says when a report is due.
#[derive(Debug)]
pub struct Client {
    interval_ns: u64,
    due_ns: u64,
    sum_centidb: i64,
    count: i64,
}

impl Client {
    /// Begins the first interval.
    pub fn new(now_ns: u64, interval_ns: u64) -> Self {
        Self {
            interval_ns,
            due_ns: now_ns.saturating_add(interval_ns),
            sum_centidb: 0,
            count: 0,
        }
    }

    /// A sample of the access point's signal.
    pub fn sample(&mut self, snr_centidb: i32) {
        self.sum_centidb += i64::from(snr_centidb);
        self.count += 1;
    }

    /// When a report is due next.
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// The average of the interval that has ended, if one has and a sample was taken in it. A
    /// late call returns one report only.
    pub fn report(&mut self, now_ns: u64) -> Option<i32> {
        if now_ns < self.due_ns {
            return None;
        }
        // Late by less than an interval: the next interval ends on time.
        let next_ns = self.due_ns.saturating_add(self.interval_ns);
        self.due_ns = if next_ns > now_ns {
            next_ns
        } else {
            now_ns.saturating_add(self.interval_ns)
        };
        let (sum, count) = (self.sum_centidb, self.count);
        (self.sum_centidb, self.count) = (0, 0);
        let average = sum.checked_div(count)?;
        i32::try_from(average).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn at_most_one_report_in_each_interval(
            steps in prop::collection::vec((0..500u64, prop::option::of(-2000..6000i32)), 1..200),
        ) {
            const INTERVAL_NS: u64 = 200;
            let mut client = Client::new(0, INTERVAL_NS);
            let (mut now_ns, mut reports, mut since) = (0, 0, Vec::new());
            for (wait_ns, sample) in steps {
                now_ns += wait_ns;
                if let Some(sample) = sample {
                    client.sample(sample);
                    since.push(sample);
                }
                let due = now_ns >= client.due_ns();
                match client.report(now_ns) {
                    Some(average) => {
                        let (low, high) = (since.iter().min().unwrap(), since.iter().max().unwrap());
                        prop_assert!(due && (*low..=*high).contains(&average));
                        reports += 1;
                    }
                    None => prop_assert!(!due || since.is_empty()),
                }
                if due {
                    since.clear();
                }
                prop_assert!(client.due_ns() > now_ns);
                prop_assert!(reports <= now_ns / INTERVAL_NS);
            }
        }
    }
}
