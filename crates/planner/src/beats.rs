//! Stub.
use serde::{Deserialize, Serialize};
use takt_policy::Beats;
pub struct Host { pub cpus: Vec<u32>, pub grid_ns: u64, pub free_ppm: u32 }
pub struct Demand { pub name: String, pub period_ns: u64, pub budget_ns: u64, pub lead_ns: u64, pub offset_ns: Option<u64>, pub cpus: Option<Vec<u32>>, pub is_group: bool, pub standing: Option<Placement> }
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece { pub cpu: u32, pub begin_ns: u64, pub beat_ns: u64, pub end_ns: u64 }
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement { pub pieces: Vec<Piece> }
pub struct Slot { pub demand: usize, pub begin_ns: u32, pub beat_ns: u32, pub end_ns: u32 }
pub struct CpuTable { pub cpu: u32, pub frame_ns: u32, pub slots: Vec<Slot> }
pub struct Timetable { pub placements: Vec<Placement>, pub tables: Vec<CpuTable> }
#[derive(Debug)]
pub struct Refusal;
impl std::fmt::Display for Refusal { fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result { write!(f, "no") } }
impl std::error::Error for Refusal {}
impl Refusal { pub fn demand(&self) -> usize { 0 } pub fn remedy(&self) -> String { String::new() } }
pub fn demands(beats: &Beats) -> Vec<Demand> {
    beats.tasks.iter().map(|t| Demand { name: t.name.clone(), period_ns: t.period_ns, budget_ns: t.budget_ns, lead_ns: t.lead_ns, offset_ns: t.offset_ns, cpus: t.cpus.clone(), is_group: t.members.len() > 1, standing: None }).collect()
}
/// All of one period.
pub fn plan(host: &Host, demands: &[Demand]) -> Result<Timetable, Refusal> {
    let mut at = 0; let mut placements = vec![]; let mut slots = vec![];
    let cpu = host.cpus[0];
    for (i, d) in demands.iter().enumerate() {
        let lead = d.lead_ns.div_ceil(host.grid_ns) * host.grid_ns;
        let (begin, beat) = match d.offset_ns { Some(o) => (o - lead, o), None => (at, at + lead) };
        let end = beat + d.budget_ns.div_ceil(host.grid_ns) * host.grid_ns;
        at = end;
        placements.push(Placement { pieces: vec![Piece { cpu, begin_ns: begin, beat_ns: beat, end_ns: end }] });
        slots.push(Slot { demand: i, begin_ns: begin as u32, beat_ns: beat as u32, end_ns: end as u32 });
    }
    let frame_ns = demands[0].period_ns as u32;
    slots.sort_by_key(|s| s.begin_ns);
    Ok(Timetable { placements, tables: vec![CpuTable { cpu, frame_ns, slots }] })
}
