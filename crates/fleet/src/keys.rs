//! Keys that sign, and keys that are obeyed.

use std::{fmt, path::Path, str::FromStr};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use takt_keys::KeyError;

/// Before a public key's text.
const SCHEME: &str = "ed25519:";

/// The half of a key that others may know.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// Whether the secret half of this key signed the message. Strict: a signature has one form,
    /// and keys of small order sign nothing.
    pub fn signed(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        VerifyingKey::from_bytes(&self.0).is_ok_and(|key| {
            key.verify_strict(message, &Signature::from_bytes(signature))
                .is_ok()
        })
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}", BASE64.encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is no public key.
#[derive(Debug, Clone, thiserror::Error)]
#[error(
    "a public key is `{SCHEME}` and 43 characters, as `takt fleet key FILE` prints it, not {0:?}"
)]
pub struct NoKey(String);

impl FromStr for PublicKey {
    type Err = NoKey;

    fn from_str(text: &str) -> Result<Self, NoKey> {
        let bytes = text
            .strip_prefix(SCHEME)
            .and_then(|text| BASE64.decode(text).ok());
        let bytes = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        // A point that is not on the curve signs nothing; say so before a host is given it.
        bytes
            .filter(|bytes| VerifyingKey::from_bytes(bytes).is_ok_and(|key| !key.is_weak()))
            .map(Self)
            .ok_or_else(|| NoKey(text.chars().take(80).collect()))
    }
}

/// A key that signs.
#[derive(Clone)]
pub struct Signer(SigningKey);

impl Signer {
    /// From the secret half.
    pub fn new(secret: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(secret))
    }

    /// From a file that only its owner may read.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        takt_keys::read_secret(path).map(|secret| Self::new(&secret))
    }

    /// From a file, which is made if there is none.
    pub fn read_or_make(path: &Path) -> Result<Self, KeyError> {
        match takt_keys::make_key(path) {
            Ok(()) | Err(KeyError::Exists { .. }) => Self::read(path),
            Err(error) => Err(error),
        }
    }

    /// The half that others may know.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key().to_bytes())
    }

    /// Its signature of a message.
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({})", self.public())
    }
}
