//! TCP clients of a server that knows nothing of rates, in the short form of `pacing`'s clients.

use crate::{machine::DEFAULT, shell::run};

/// Between a client's first and last piece.
const FLOW_ERROR_PERCENT_MAX: f64 = 1.0;

#[test]
fn each_client_has_the_rate_of_the_rule() {
    DEFAULT.run(|| {
        let report = run("takt lab guest clients --short --only takt,takt-flow,fq").json();
        let rows = report["rows"].as_array().unwrap();
        let schedulers: Vec<_> = rows.iter().map(|row| &row["scheduler"]).collect();
        assert_eq!(schedulers, ["takt", "takt-flow", "fq"]);
        for row in rows {
            assert_eq!(row["flows"], 200, "{row}");
            let error_percent = row["flow_error_max_percent"].as_f64().unwrap();
            assert!(error_percent < FLOW_ERROR_PERCENT_MAX, "{row}");
            assert_eq!(row["packets_retransmitted"], 0, "{row}");
        }
    });
}
