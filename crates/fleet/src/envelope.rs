//! Signed bytes: one line with the kind, the key and the signature, then the content.
//!
//! What is signed is the content as it stands, after the name of its kind. So it is parsed only
//! once its signature is known to be good, and a report is never taken for a revision.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};

use crate::keys::{PublicKey, Signer};

/// The format's name and version.
const FORMAT: &str = "takt-fleet-1";

/// Room for the first line.
pub const HEAD_MAX_BYTES: usize = 192;

/// The meaning of what is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// What hosts shall do.
    Revision,
    /// What a host does.
    Report,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Revision => "revision",
            Self::Report => "report",
        }
    }

    /// The longest content.
    pub const fn max_bytes(self) -> usize {
        match self {
            Self::Revision => 128 << 10,
            Self::Report => 2 << 10,
        }
    }
}

/// Why bytes are not to be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Untrusted {
    /// More than anything of this kind may have.
    #[error("it is longer than allowed")]
    TooLong,
    /// No first line of this format and kind.
    #[error("it is not signed content of this kind")]
    Malformed,
    /// The key that it names did not sign it.
    #[error("its signature is not by the key that it names")]
    Forged,
}

/// Signs content.
pub fn seal(kind: Kind, content: &[u8], signer: &Signer) -> Vec<u8> {
    let signature = BASE64.encode(signer.sign(&message(kind, content)));
    let head = format!("{FORMAT} {} {} {signature}\n", kind.name(), signer.public());
    [head.as_bytes(), content].concat()
}

/// The key that signed, and the content. Whether that key is obeyed is for the caller to say.
pub fn open(kind: Kind, bytes: &[u8]) -> Result<(PublicKey, &[u8]), Untrusted> {
    let (key, signature, content) = split(kind, bytes)?;
    if key.signed(&message(kind, content), &signature) {
        Ok((key, content))
    } else {
        Err(Untrusted::Forged)
    }
}

/// The key that it names, whether or not it signed: cheap.
pub fn claimed(kind: Kind, bytes: &[u8]) -> Result<PublicKey, Untrusted> {
    split(kind, bytes).map(|(key, _, _)| key)
}

fn split(kind: Kind, bytes: &[u8]) -> Result<(PublicKey, [u8; 64], &[u8]), Untrusted> {
    if bytes.len() > kind.max_bytes() + HEAD_MAX_BYTES {
        return Err(Untrusted::TooLong);
    }
    let line = bytes.iter().take(HEAD_MAX_BYTES).position(|b| *b == b'\n');
    let (head, rest) = bytes.split_at(line.ok_or(Untrusted::Malformed)?);
    let head = std::str::from_utf8(head).map_err(|_| Untrusted::Malformed)?;
    let words: Vec<&str> = head.split(' ').collect();
    let [FORMAT, name, key, signature] = words[..] else {
        return Err(Untrusted::Malformed);
    };
    let signature = BASE64.decode(signature).ok();
    let signature = signature.and_then(|bytes| <[u8; 64]>::try_from(bytes).ok());
    match (name == kind.name(), key.parse(), signature) {
        (true, Ok(key), Some(signature)) => Ok((key, signature, &rest[1..])),
        _ => Err(Untrusted::Malformed),
    }
}

fn message(kind: Kind, content: &[u8]) -> Vec<u8> {
    [FORMAT, " ", kind.name(), "\n"]
        .map(str::as_bytes)
        .concat()
        .into_iter()
        .chain(content.iter().copied())
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECRET: [u8; 32] = [7; 32];

    proptest! {
        #[test]
        fn what_is_sealed_is_opened(content: Vec<u8>) {
            let signer = Signer::new(&SECRET);
            let sealed = seal(Kind::Report, &content, &signer);
            prop_assert_eq!(open(Kind::Report, &sealed), Ok((signer.public(), &content[..])));
            prop_assert_eq!(open(Kind::Revision, &sealed), Err(Untrusted::Malformed));
        }

        #[test]
        fn no_changed_byte_is_trusted(content: Vec<u8>, at: prop::sample::Index, bits in 1u8..) {
            let signer = Signer::new(&SECRET);
            let mut sealed = seal(Kind::Report, &content, &signer);
            let at = at.index(sealed.len());
            sealed[at] ^= bits;
            prop_assert!(open(Kind::Report, &sealed).is_err());
        }
    }

    #[test]
    fn kinds_are_signed_too() {
        let signer = Signer::new(&SECRET);
        let sealed = String::from_utf8(seal(Kind::Report, b"{}", &signer)).unwrap();
        let turned = sealed.replacen("report", "revision", 1);
        let opened = open(Kind::Revision, turned.as_bytes());
        assert_eq!(opened, Err(Untrusted::Forged));
    }

    #[test]
    fn too_much_is_not_looked_at() {
        let long = vec![b'x'; Kind::Report.max_bytes() + HEAD_MAX_BYTES + 1];
        assert_eq!(open(Kind::Report, &long), Err(Untrusted::TooLong));
    }
}
