//! A capture's bytes: they are refused in one line, or have packets, and no fewer of them if TCP's are
//! split.

use takt_sim::packets_in;

const FRAME_BYTES: u32 = 1_514;

pub fn run(bytes: &[u8]) {
    let whole = packets_in(bytes, None);
    let split = packets_in(bytes, Some(FRAME_BYTES));
    match (&whole, &split) {
        (Ok(whole), Ok(split)) => assert!((1..=*split).contains(whole)),
        (Ok(_), Err(error)) => panic!("only split packets are refused: {error}"),
        (Err(error), _) => {
            let said = error.to_string();
            assert!(!said.contains(|c: char| c.is_control()), "{said}");
        }
    }
}
