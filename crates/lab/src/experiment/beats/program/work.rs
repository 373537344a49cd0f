//! Work of known length: it takes the same processor time whatever else the processor does, and
//! other work comes on top.

use crate::experiment::beats::clock::now_ns;

/// Steps between two readings of the clock.
const UNIT_STEPS: u64 = 2_000;
const REHEARSALS: u32 = 50;

/// This machine's time for a unit of work.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    unit_ns: u64,
}

/// This many units.
#[derive(Debug, Clone, Copy)]
pub struct Piece {
    steps: u64,
}

impl Work {
    /// The shortest of some rehearsals was not interrupted.
    pub fn calibrate() -> Self {
        let unit_ns = (0..REHEARSALS)
            .map(|_| {
                let from_ns = now_ns();
                spin(UNIT_STEPS);
                now_ns() - from_ns
            })
            .min()
            .unwrap_or(1);
        Self {
            unit_ns: unit_ns.max(1),
        }
    }

    /// The units that take `ns` without interruption.
    pub fn of_ns(self, ns: u64) -> Piece {
        Piece {
            steps: ns * UNIT_STEPS / self.unit_ns,
        }
    }

    /// Does a unit, and returns its nanoseconds of work.
    pub fn unit(self) -> u64 {
        spin(UNIT_STEPS);
        self.unit_ns
    }
}

impl Piece {
    pub fn perform(self) {
        spin(self.steps);
    }
}

fn spin(steps: u64) {
    for step in 0..steps {
        std::hint::black_box(step);
    }
}
