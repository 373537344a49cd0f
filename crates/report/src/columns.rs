//! The columns of a report's tables, the most important metrics leftmost.

use serde_json::Value;

use crate::rows::Row;
use crate::units::Unit;
use crate::view::Case;

/// A column of a table: one metric.
pub struct Column {
    metric: String,
    unit: Unit,
    /// Of one or two lines.
    pub heading: String,
    /// Where the width is too small, the lowest is left out first.
    pub weight: u8,
}

/// The metrics of the experiments, the most important leftmost: name, heading (without the
/// unit), weight.
const METRICS: [(&str, &str, u8); 242] = [
    ("late_p50_ns", "late\np50", 9),
    ("late_p99_ns", "p99", 9),
    ("late_max_ns", "max", 9),
    ("lab_bps", "rate\nin the lab", 7),
    ("sim_bps", "simulated", 7),
    ("rate_difference_percent", "apart", 9),
    ("lab_delay_p50_ns", "delay p50\nin the lab", 6),
    ("sim_delay_p50_ns", "simulated", 5),
    ("delay_p50_difference_percent", "p50\napart", 9),
    ("lab_delay_p99_ns", "delay p99\nin the lab", 8),
    ("sim_delay_p99_ns", "simulated", 8),
    ("delay_p99_difference_percent", "p99\napart", 9),
    ("lab_lost_percent", "lost\nin the lab", 8),
    ("sim_lost_percent", "simulated", 8),
    ("delay_p50_difference_ns", "p50 apart", 1),
    ("delay_p99_difference_ns", "p99 apart", 1),
    ("backend", "backend", 9),
    ("foretold", "foretold", 9),
    ("foretold_by_release", "by\nrelease", 8),
    ("rate_error_max_percent", "rate\nerror", 9),
    ("left_count", "left", 9),
    ("refused_for", "refused for", 8),
    ("ping_p50_ns", "ping\np50", 8),
    ("ping_p99_ns", "p99", 9),
    ("ping_max_ns", "max", 7),
    ("pings_count", "pings", 2),
    ("pings_lost_count", "lost", 6),
    ("ping_down_p50_ns", "ping down\np50", 7),
    ("ping_down_p99_ns", "ping down\np99", 9),
    ("ping_down_max_ns", "max", 3),
    ("ping_up_p50_ns", "ping up\np50", 7),
    ("ping_up_p99_ns", "ping up\np99", 9),
    ("ping_up_max_ns", "max", 3),
    ("ping_lost_count", "pings\nlost", 6),
    ("call_down_p50_ns", "call down\np50", 5),
    ("call_down_p99_ns", "call down\np99", 9),
    ("call_down_max_ns", "max", 3),
    ("call_up_p50_ns", "call up\np50", 5),
    ("call_up_p99_ns", "call up\np99", 9),
    ("call_up_max_ns", "max", 3),
    ("call_lost_count", "call\nlost", 9),
    ("game_down_p50_ns", "game down\np50", 5),
    ("game_down_p99_ns", "game down\np99", 9),
    ("game_down_max_ns", "max", 3),
    ("game_up_p50_ns", "game up\np50", 5),
    ("game_up_p99_ns", "game up\np99", 9),
    ("game_up_max_ns", "max", 3),
    ("game_lost_count", "game\nlost", 9),
    ("page_p50_ns", "page\np50", 9),
    ("page_max_ns", "max", 9),
    ("pages_count", "pages", 6),
    ("one_share_percent", "one flow\nbeside 32", 9),
    ("flood_bps", "flood", 9),
    ("down_bps", "down", 9),
    ("up_bps", "up", 9),
    ("line_down_bps", "line down", 5),
    ("line_up_bps", "line up", 5),
    ("down_error_percent", "line down\nover rate", 8),
    ("up_error_percent", "line up\nover rate", 7),
    ("passed_error_percent", "passed on\nover rate", 6),
    ("rtt_mean_ns", "RTT\nmean", 9),
    ("finish_ns", "finished\nafter", 9),
    ("finish_over_kernel_percent", "over kernel", 9),
    ("finish_spread_ns", "spread", 6),
    ("wakeup_p50_ns", "wake-up\np50", 9),
    ("wakeup_p99_ns", "p99", 9),
    ("wakeup_max_ns", "max", 7),
    ("wakeup_p50_over_kernel_percent", "p50 over\nkernel", 9),
    ("wakeup_p99_over_kernel_percent", "p99 over\nkernel", 9),
    ("wakeups_count", "wake-ups", 3),
    ("snr_db", "SNR\ndB", 9),
    ("total_bps", "total", 9),
    ("good_bps", "good", 4),
    ("troubled_bps", "troubled", 3),
    ("tcp_bps", "TCP", 9),
    ("udp_bps", "UDP", 5),
    ("good_loss_percent", "good lose", 9),
    ("loss_percent", "all lose", 6),
    ("good_delay_p50_ns", "delay\np50", 7),
    ("good_delay_p99_ns", "p99", 8),
    ("good_delay_mean_ns", "mean", 2),
    ("deviation_bps", "±", 8),
    ("least_percent", "least", 8),
    ("jain_index", "Jain", 9),
    ("least_bps", "least", 5),
    ("most_bps", "most", 3),
    ("rtt_p50_ns", "RTT\np50", 8),
    ("rtt_p99_ns", "p99", 9),
    ("rtt_max_ns", "max", 4),
    ("rtt_p99_over_floor", "over floor", 9),
    ("rtt_p99_over_min", "over least", 2),
    ("rtt_min_ns", "least", 2),
    ("rtt_floor_ns", "floor", 2),
    ("stranger_share_percent", "stranger's\nshare", 7),
    ("least_share_percent", "least\nshare", 7),
    ("retransmitted_segments", "again", 6),
    ("window_p50_segments", "window\np50", 6),
    ("window_p99_segments", "p99", 4),
    ("reports_air_ppm", "reports", 8),
    ("air_collisions_percent", "collide", 5),
    ("air_idle_percent", "air idle", 2),
    ("rtt_samples", "samples", 1),
    ("reports", "reports", 1),
    ("terminals", "terminals", 1),
    ("wired_rtt_ns", "wire", 1),
    ("air_troubled_percent", "its air", 6),
    ("air_busy_percent", "air busy", 2),
    ("air_gap_ns", "gap", 1),
    ("path_mean_ns", "path\nmean", 9),
    ("path_over_fifo_percent", "over fifo", 9),
    ("path_over_fifo_ns", "over fifo", 9),
    ("path_p50_ns", "p50", 8),
    ("path_p99_ns", "p99", 8),
    ("path_max_ns", "max", 8),
    ("near_share_percent", "share near", 8),
    ("far_share_percent", "far", 8),
    ("fall_half_ns", "falls\nhalf way", 9),
    ("fall_most_ns", "nine tenths", 9),
    ("rise_half_ns", "rises\nhalf way", 9),
    ("rise_most_ns", "nine tenths", 9),
    ("steps", "steps", 5),
    ("transfer_mean_ns", "transfer", 9),
    ("transfer_deviation_ns", "±", 8),
    ("transfer_max_ns", "max", 4),
    ("over_alone_percent", "over alone", 9),
    ("over_alone_frames", "over alone\nframes", 9),
    ("background_mean_ns", "background", 8),
    ("link_share_percent", "of the link", 9),
    ("task_loss_percent", "task loses", 9),
    ("task_loss_max_percent", "at most", 8),
    ("task_loss_over_dropped_percent", "over dropped", 9),
    ("wait_p50_ns", "wait\np50", 8),
    ("wait_p99_ns", "p99", 9),
    ("wait_max_ns", "max", 8),
    ("instructions_per_kb", "instructions\nper KB", 9),
    ("switches_per_kb", "switches\nper KB", 8),
    ("all_instructions_per_kb", "until all\ndone", 7),
    ("all_switches_per_kb", "switches\nper KB", 5),
    ("segments_retransmitted", "retransmitted", 8),
    ("segments_duplicate", "in vain", 7),
    ("segments_out_of_order", "out of order", 8),
    ("overlaps_count", "overlaps", 9),
    ("disorders_count", "out of order", 9),
    ("periods_count", "periods", 8),
    ("cut_late_p50_ns", "cut late\np50", 2),
    ("cut_late_p99_ns", "cut late\np99", 9),
    ("cut_late_max_ns", "max", 9),
    ("cuts_count", "cuts", 7),
    ("switch_mean_ns", "switch\nmean", 9),
    ("switch_over_plain_ns", "over plain", 9),
    ("switch_p50_ns", "p50", 5),
    ("switch_p99_ns", "p99", 9),
    ("switch_max_ns", "max", 8),
    ("switches_count", "switches", 4),
    ("throughput_percent", "throughput", 9),
    ("throughput_least_percent", "least", 5),
    ("throughput_most_percent", "most", 5),
    ("packets_per_s", "packets/s", 4),
    ("latency_mean_ns", "latency\nmean", 8),
    ("latency_p50_ns", "p50", 8),
    ("latency_p99_ns", "p99", 9),
    ("latency_max_ns", "max", 9),
    ("xruns_count", "xruns", 9),
    ("held_up_mean_ns", "held up", 7),
    ("jitter_mean_ns", "jitter\nmean", 8),
    ("jitter_p50_ns", "p50", 2),
    ("jitter_p90_ns", "p90", 5),
    ("jitter_p98_ns", "p98", 5),
    ("jitter_p99_ns", "p99", 9),
    ("jitter_p999_ns", "p99.9", 4),
    ("jitter_max_ns", "max", 9),
    ("jitter_worst_thread_p99_ns", "worst\np99", 8),
    ("jitter_worst_thread_max_ns", "worst\nmax", 4),
    ("missed_jobs_count", "missed", 7),
    ("ordinary_share_percent", "ordinary", 6),
    ("waited_percent", "waited", 7),
    ("received_bps", "received", 6),
    ("sent_bps", "sent", 3),
    ("interrupts_count", "interrupts", 5),
    ("packet_above_ns", "a packet\nabove", 7),
    ("packet_all_ns", "in all", 5),
    ("jobs_count", "jobs", 3),
    ("target_bps", "target", 7),
    ("achieved_bps", "achieved", 3),
    ("rate_error_ppm", "rate error", 9),
    ("share_error_max_percent", "share error", 9),
    ("overshoot_ns", "overshoot", 9),
    ("rate_error_percent", "rate error", 9),
    ("ceil_error_max_percent", "ceil", 7),
    ("guarantee_error_max_percent", "guarantee", 7),
    ("lent_error_max_percent", "lent", 7),
    ("port_percent", "of the port", 9),
    ("round_mean_ns", "round\nmean", 7),
    ("round_p99_ns", "p99", 9),
    ("round_max_ns", "max", 4),
    ("answer_p50_ns", "answer\np50", 5),
    ("answer_p99_ns", "p99", 8),
    ("rounds_count", "rounds", 3),
    ("timeouts_count", "timeouts", 8),
    ("packets_marked", "marked", 5),
    ("flow_error_max_percent", "worst flow", 9),
    ("flows_off", "off", 9),
    ("flows", "flows", 7),
    ("spacing_error_p50_ns", "spacing\np50", 6),
    ("spacing_error_p90_ns", "p90", 2),
    ("spacing_error_p99_ns", "p99", 9),
    ("spacing_error_max_ns", "max", 4),
    ("cost_ns_per_packet", "added", 9),
    ("cycles_per_packet", "cycles", 8),
    ("instructions_per_packet", "instructions", 7),
    ("l1d_misses_per_packet", "L1D misses", 7),
    ("cache_misses_per_packet", "last-level\nmisses", 7),
    ("gateway_l1i_misses", "gateway\nL1I", 9),
    ("gateway_l1d_misses", "L1D", 9),
    ("gateway_l2_misses", "L2", 9),
    ("server_l1i_misses", "server\nL1I", 8),
    ("server_l1d_misses", "L1D", 8),
    ("server_l2_misses", "L2", 8),
    ("kernel_instructions", "instructions\nkernel", 7),
    ("loaded_instructions", "loaded", 7),
    ("busy_ns_per_packet", "busy", 8),
    ("interrupts_per_packet", "interrupts\na packet", 7),
    ("baseline_ns_per_packet", "baseline", 6),
    ("busy_ns_per_kb", "busy", 9),
    ("packet_bytes", "bytes\na packet", 8),
    ("packets_per_mb", "packets\nper MB", 6),
    ("acknowledgements_per_mb", "ACKs\nper MB", 8),
    ("burst_p99_bytes", "burst\np99", 9),
    ("throughput_bps", "throughput", 8),
    ("packets_lost", "lost", 8),
    ("idle_share_percent", "idle", 5),
    ("goodput_bps", "goodput", 2),
    ("packets", "packets", 3),
    ("packets_sent", "sent", 3),
    ("packets_received", "received", 2),
    ("packets_reordered", "reordered", 2),
    ("packets_retransmitted", "retransmitted", 2),
    ("rate_error_median_ppm", "median error", 2),
    ("classes", "classes", 2),
    ("duration_ns", "duration", 2),
    ("runs", "runs", 2),
    ("foreground_bytes", "bytes", 2),
];
const WEIGHT_UNFORESEEN: u8 = 1;

/// The columns of a table: every metric that any row has as one value.
pub fn columns(cases: &[Case]) -> Vec<Column> {
    let mut metrics: Vec<&str> = cases
        .iter()
        .flat_map(|case| &case.rows)
        .flat_map(|row| &row.metrics)
        .filter(|(_, value)| !value.is_array() && !value.is_object())
        .map(|(metric, _)| metric.as_str())
        .collect();
    let place = |metric: &str| METRICS.iter().position(|(known, ..)| *known == metric);
    metrics.sort_by_key(|metric| (place(metric).unwrap_or(METRICS.len()), *metric));
    metrics.dedup();
    metrics
        .into_iter()
        .map(|metric| {
            let (bare, unit) = Unit::split(metric);
            let (name, weight) = match place(metric) {
                Some(at) => (METRICS[at].1.to_owned(), METRICS[at].2),
                None => (bare.replace('_', " "), WEIGHT_UNFORESEEN),
            };
            let heading = match unit.heading() {
                Some(unit) => format!("{name}\n{unit}"),
                None => name,
            };
            Column {
                metric: metric.to_owned(),
                unit,
                heading,
                weight,
            }
        })
        .collect()
}

/// Leaves the least important one out; `false`: there is none.
pub fn drop_lightest(columns: &mut Vec<Column>) -> bool {
    let last_first = columns.iter().enumerate().rev();
    let lightest = last_first.min_by_key(|(_, column)| column.weight);
    let Some((at, _)) = lightest else {
        return false;
    };
    columns.remove(at);
    true
}

impl Column {
    /// The row's value in this column, ready to read; `–` if it has none.
    pub fn cell(&self, row: &Row) -> String {
        match row.metrics.get(&self.metric) {
            Some(Value::Number(number)) => number
                .as_f64()
                .map_or_else(|| number.to_string(), |value| self.unit.format(value)),
            Some(Value::String(text)) => text.clone(),
            Some(Value::Bool(true)) => "yes".to_owned(),
            Some(Value::Bool(false)) => "no".to_owned(),
            Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => "–".to_owned(),
        }
    }
}
