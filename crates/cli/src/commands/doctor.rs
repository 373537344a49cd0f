use serde_json::json;
use takt_kernel::doctor::examine;

use crate::{args::Output, exit::Exit, print};

pub fn run(output: Output) -> Exit {
    let findings = examine();
    let all_work = findings.iter().all(|finding| finding.works);
    let kernel = takt_kernel::release();
    print::result(
        output,
        &json!({ "kernel": kernel, "features": findings }),
        |_| {
            let lines = findings.iter().map(|finding| match &finding.problem {
                None => format!("  works    {:<11} {}\n", finding.feature, finding.proof),
                Some(problem) => format!("  missing  {:<11} {problem}\n", finding.feature),
            });
            format!("Linux {kernel}\n{}", lines.collect::<String>())
        },
    );
    if all_work { Exit::Done } else { Exit::Lacking }
}
