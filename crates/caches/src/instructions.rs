//! Instructions of the kernel, by where they are.

/// The parts, as in metrics' names: the kernel's own text; and what was loaded later, which are
/// modules and BPF programs.
pub const PARTS: [&str; 2] = ["kernel", "loaded"];

/// Instructions so far, part by part.
pub type Instructions = [u64; PARTS.len()];

/// Where the text of x86-64's kernel is (`Documentation/arch/x86/x86_64/mm.rst`), and ...
const TEXT: u64 = 0xffff_ffff_8000_0000;
/// ... its modules and BPF programs.
const LOADED: u64 = 0xffff_ffff_c000_0000;

/// The part that an instruction at this address is in; `None`: it is a program's.
pub fn part_of(address: u64) -> Option<usize> {
    match address {
        LOADED.. => Some(1),
        TEXT.. => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_in_no_part() {
        let part = |address| part_of(address).map(|part| PARTS[part]);
        assert_eq!(part(0x5555_0000_0000), None);
        assert_eq!(part(0xffff_ffff_8123_4567), Some("kernel"));
        assert_eq!(part(0xffff_ffff_c046_9010), Some("loaded"));
    }
}
