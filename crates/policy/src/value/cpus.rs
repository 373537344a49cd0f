//! Sets of CPUs.

use serde_json::Value;

use super::{Fault, unsigned};
use crate::Code;

/// The kernel's largest NR_CPUS is 8192.
const CPU_MAX: u32 = 8191;

const EXAMPLES: &str = "write a CPU, a range or a list: \"1\", \"0-3\", \"0-3,6\"";

pub(crate) fn schema() -> Value {
    super::text_or_integer(r"^[\d\s,-]+$", CPU_MAX.into())
}

/// `1`, `0-3` or a list of both, as taskset has it; the result is sorted, each CPU once.
pub(crate) fn parse(text: &str) -> Result<Vec<u32>, Fault> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (
            parse_cpu(first.trim(), text)?,
            parse_cpu(last.trim(), text)?,
        );
        if first > last {
            return Err(Fault::new(
                Code::BadCpus,
                format!("the range `{}` ends before it starts", part.trim()),
                format!("write \"{last}-{first}\""),
            ));
        }
        // A list of overlapping ranges may be a megabyte long.
        cpus.extend(first..=last);
        cpus.sort_unstable();
        cpus.dedup();
    }
    Ok(cpus)
}

fn parse_cpu(text: &str, list: &str) -> Result<u32, Fault> {
    let number = (!text.starts_with("0x")).then(|| unsigned(text)).flatten();
    match number.map(u32::try_from) {
        Some(Ok(cpu @ 0..=CPU_MAX)) => Ok(cpu),
        Some(_) => Err(Fault::new(
            Code::OutOfRange,
            format!("there is no CPU {text}"),
            format!("CPUs go from 0 to {CPU_MAX}; `lscpu` lists those of this host"),
        )),
        None => Err(Fault::new(
            Code::BadCpus,
            format!("`{list}` is not a list of CPUs"),
            match list.parse::<f64>() {
                // docker's --cpus is a quota.
                Ok(_) => {
                    "cpus says which CPUs, such as \"0-3\"; how much of their time is a task's \
                          budget"
                }
                Err(_) => EXAMPLES,
            },
        )),
    }
}
