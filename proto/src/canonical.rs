//! Canonical JSON (RFC 8785) and digests over it.

use serde::Serialize;
use sha2::{Digest, Sha256};

/// Lower-case hex SHA-256 of `bytes`.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// The canonical JSON of `value`.
///
/// # Panics
/// If `value` has a map key that is not a string or a number that JSON can't hold: our own types
/// have neither.
pub fn json<T: Serialize>(value: &T) -> Vec<u8> {
    serde_jcs::to_vec(value).expect("our types serialize to JSON")
}

/// Lower-case hex SHA-256 over the canonical JSON of `value`.
pub fn digest<T: Serialize>(value: &T) -> String {
    sha256_hex(&json(value))
}
