//! The framing of a line, such as `pppoe-ptm`, and tags in it: `pppoe-ptm ether-vlan`. The names and
//! what they stand for are those of sch_cake, tc-cake(8).

use serde_json::{Value, json};

use super::{Fault, closest};
use crate::{Beyond, Cells, Code, Framing};

/// Behind another name, once or twice: an 802.1Q tag.
const TAG: &str = "ether-vlan";
const TAG_BYTES: i32 = 4;
const TAGS_MAX: usize = 2;

/// By name: bytes beyond the IP packet, the smallest frame with them, and cells.
const NAMES: [(&str, i32, u16, Cells); 15] = [
    ("docsis", 18, 64, Cells::None),
    ("ethernet", 38, 84, Cells::None),
    ("pppoe-ptm", 30, 0, Cells::Ptm),
    // As DSL modems and providers say it.
    ("pppoe-vdsl2", 30, 0, Cells::Ptm),
    ("bridged-ptm", 22, 0, Cells::Ptm),
    ("pppoa-vcmux", 10, 0, Cells::Atm),
    ("pppoa-llc", 14, 0, Cells::Atm),
    ("pppoe-vcmux", 32, 0, Cells::Atm),
    ("pppoe-llcsnap", 40, 0, Cells::Atm),
    ("bridged-vcmux", 24, 0, Cells::Atm),
    ("bridged-llcsnap", 32, 0, Cells::Atm),
    ("ipoa-vcmux", 8, 0, Cells::Atm),
    ("ipoa-llcsnap", 16, 0, Cells::Atm),
    ("conservative", 48, 0, Cells::Atm),
    (RAW, 0, 0, Cells::None),
];

/// Frames as the kernel counts them.
const RAW: &str = "raw";

pub(crate) fn schema() -> Value {
    let names: Vec<&str> = names().collect();
    json!({
        "type": "string",
        "pattern": format!("^({})( {TAG}){{0,{TAGS_MAX}}}$", names.join("|")),
        "examples": ["docsis", "pppoe-ptm", "pppoe-ptm ether-vlan"],
    })
}

fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|(name, ..)| *name)
}

pub(crate) fn parse(text: &str) -> Result<Framing, Fault> {
    let mut words = text.split(' ');
    let first = words.next().unwrap_or_default();
    let found = NAMES.iter().find(|(name, ..)| *name == first);
    let Some((name, bytes, min_frame_bytes, cells)) = found else {
        return Err(unknown(text, first));
    };
    let tags: Vec<&str> = words.collect();
    if tags.len() > TAGS_MAX || tags.iter().any(|tag| *tag != TAG) {
        return Err(Fault::new(
            Code::BadValue,
            format!("`{text}` is not a framing"),
            format!(
                "behind a name comes nothing but `{TAG}`, once for each VLAN tag on the line, at most \
                 twice: \"{name} {TAG}\""
            ),
        ));
    }
    Ok(Framing {
        overhead_bytes: bytes + TAG_BYTES * tags.len() as i32,
        min_frame_bytes: *min_frame_bytes,
        cells: *cells,
        beyond: match *name {
            RAW => Beyond::Frame,
            _ => Beyond::Packet,
        },
    })
}

fn unknown(text: &str, first: &str) -> Fault {
    let all = names().collect::<Vec<_>>().join(", ");
    Fault::new(
        Code::BadValue,
        format!("`{text}` is not a framing"),
        match closest(first, names()) {
            Some(meant) => format!("did you mean \"{meant}\"? framing takes {all}"),
            None => format!("write `overhead`, `min_frame` and `cells`, or one of {all}"),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// tc-cake(8), "OVERHEAD COMPENSATION PARAMETERS".
    #[test]
    fn names_stand_for_what_they_stand_for_in_cake() {
        for (text, bytes, min_frame_bytes, cells) in [
            ("conservative", 48, 0, Cells::Atm),
            ("pppoa-vcmux", 10, 0, Cells::Atm),
            ("pppoa-llc", 14, 0, Cells::Atm),
            ("pppoe-vcmux", 32, 0, Cells::Atm),
            ("pppoe-llcsnap", 40, 0, Cells::Atm),
            ("bridged-vcmux", 24, 0, Cells::Atm),
            ("bridged-llcsnap", 32, 0, Cells::Atm),
            ("ipoa-vcmux", 8, 0, Cells::Atm),
            ("ipoa-llcsnap", 16, 0, Cells::Atm),
            ("pppoe-ptm", 30, 0, Cells::Ptm),
            ("pppoe-vdsl2", 30, 0, Cells::Ptm),
            ("bridged-ptm", 22, 0, Cells::Ptm),
            ("docsis", 18, 64, Cells::None),
            ("ethernet", 38, 84, Cells::None),
            ("ethernet ether-vlan", 42, 84, Cells::None),
            ("pppoe-ptm ether-vlan ether-vlan", 38, 0, Cells::Ptm),
        ] {
            let framing = Framing {
                overhead_bytes: bytes,
                min_frame_bytes,
                cells,
                beyond: Beyond::Packet,
            };
            assert_eq!(parse(text), Ok(framing), "{text}");
        }
        assert_eq!(parse("raw"), Ok(Framing::default()));
    }

    #[test]
    fn what_is_no_framing_says_what_to_write() {
        for (text, help) in [
            ("pppoe_ptm", "did you mean \"pppoe-ptm\"?"),
            ("DOCSIS", "did you mean \"docsis\"?"),
            ("dsl", "write `overhead`, `min_frame`"),
            ("", "write `overhead`, `min_frame`"),
            ("docsis  ether-vlan", "once for each VLAN tag"),
            ("docsis ethernet", "once for each VLAN tag"),
            ("docsis ether-vlan ether-vlan ether-vlan", "at most twice"),
        ] {
            let fault = parse(text).expect_err(text);
            assert!(fault.help.contains(help), "{text}: {}", fault.help);
        }
    }
}
