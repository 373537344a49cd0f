//! Generic netlink: families come and go with modules, and have numbers that are looked up by
//! name.

use netlink_packet_core::{DefaultNla, Emitable, NLM_F_DUMP};
use netlink_packet_generic::{
    GenlFamily, GenlMessage,
    constants::{CTRL_ATTR_FAMILY_ID, GENL_HDRLEN},
    ctrl::{GenlCtrl, GenlCtrlCmd, nlas::GenlCtrlAttrs},
};

use super::socket::{Netlink, NetlinkError, find};

/// A family of messages, valid as long as its module stays.
pub(super) struct Family {
    netlink: Netlink,
    id: u16,
}

impl Family {
    /// `None`: the kernel has no such family, or its module is not loaded.
    pub fn open(name: &str) -> Result<Option<Self>, NetlinkError> {
        let mut netlink = Netlink::open_generic()?;
        let question = GenlCtrl {
            cmd: GenlCtrlCmd::GetFamily,
            nlas: vec![GenlCtrlAttrs::FamilyName(name.to_owned())],
        };
        let answers = match netlink.ask(GenlMessage::from_payload(question), 0) {
            Err(NetlinkError::Refused(refusal)) if refusal.errno == libc::ENOENT => {
                return Ok(None);
            }
            answers => answers?,
        };
        let id = answers
            .first()
            .and_then(|answer| find(answer.get(GENL_HDRLEN..)?, CTRL_ATTR_FAMILY_ID))
            .and_then(|value| <[u8; 2]>::try_from(value).ok())
            .ok_or(NetlinkError::Malformed)?;
        let id = u16::from_ne_bytes(id);
        Ok(Some(Self { netlink, id }))
    }

    /// The attributes of every answer to a command about a device.
    pub fn dump(
        &mut self,
        command: u8,
        attribute: u16,
        device: u32,
    ) -> Result<Vec<Vec<u8>>, NetlinkError> {
        let mut message = GenlMessage::from_payload(Question {
            command,
            device: DefaultNla::new(attribute, device.to_ne_bytes().to_vec()),
        });
        message.set_resolved_family_id(self.id);
        let answers = self.netlink.ask(message, NLM_F_DUMP)?;
        let attributes = |mut answer: Vec<u8>| {
            if answer.len() >= GENL_HDRLEN {
                Ok(answer.split_off(GENL_HDRLEN))
            } else {
                Err(NetlinkError::Malformed)
            }
        };
        answers.into_iter().map(attributes).collect()
    }
}

/// A command and the device that it is about.
#[derive(Debug)]
struct Question {
    command: u8,
    device: DefaultNla,
}

impl GenlFamily for Question {
    /// By the device's number.
    fn family_name() -> &'static str {
        ""
    }

    fn command(&self) -> u8 {
        self.command
    }

    fn version(&self) -> u8 {
        0
    }
}

impl Emitable for Question {
    fn buffer_len(&self) -> usize {
        self.device.buffer_len()
    }

    fn emit(&self, buffer: &mut [u8]) {
        self.device.emit(buffer);
    }
}
