//! A model of a processor's energy. Nothing is measured: there is no hardware here.
//!
//! LP-LBE's figures 10 and 11 give the energy of an instruction: a task switch took 3,944 cycles
//! and 2,576 nJ more than a software interrupt. A wake-up costs the time that the processor needs
//! to enter and to leave its idle state, at the power of work; the state is the shallow one of the
//! kernel's own example (Documentation/devicetree/bindings/cpu/idle-states.yaml, CPU_RETENTION_0_0:
//! 20 us and 40 us). Idleness itself costs the same for all and is left out.

use crate::experiment::background::work::Work;

const SWITCH_NJ: f64 = 2_576.0;
const SWITCH_CYCLES: f64 = 3_944.0;
/// One instruction is a nanosecond and counts as a cycle.
const INSTRUCTION_NJ: f64 = SWITCH_NJ / SWITCH_CYCLES;
const WAKEUP_NS: f64 = 20_000.0 + 40_000.0;
const WAKEUP_NJ: f64 = WAKEUP_NS * INSTRUCTION_NJ;

/// Of the host: the far end's instructions are not in it.
pub fn nj(work: Work) -> f64 {
    let own = work.instructions.saturating_sub(work.far_end_ns);
    own as f64 * INSTRUCTION_NJ + work.wakeups as f64 * WAKEUP_NJ
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_costs_what_the_paper_measured() {
        let work = Work {
            instructions: 5_000 + 3_944,
            far_end_ns: 5_000,
            ..Work::default()
        };
        assert!((nj(work) - 2_576.0).abs() < 1e-6);
        let woken = Work { wakeups: 1, ..work };
        assert!((nj(woken) - nj(work) - 39_188.6).abs() < 0.1);
    }
}
