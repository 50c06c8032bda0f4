//! One-time codes by time (RFC 6238), from a base32 seed or an `otpauth://` address. Pure.

use data_encoding::BASE32_NOPAD;
use hmac::{Hmac, Mac};
use sha1::Sha1;
use sha2::{Sha256, Sha512};
use url::Url;

/// What makes codes. Holds the seed: it can't be printed.
pub(super) struct Totp {
    key: Vec<u8>,
    digits: u32,
    /// Seconds that a code lives.
    period: u64,
    algorithm: Algorithm,
}

#[derive(Clone, Copy)]
enum Algorithm {
    Sha1,
    Sha256,
    Sha512,
}

impl Totp {
    /// Reads a seed. The reason never quotes it.
    pub(super) fn parse(seed: &str) -> Result<Self, &'static str> {
        let seed = seed.trim();
        let Some(url) = seed
            .get(..10)
            .filter(|start| start.eq_ignore_ascii_case("otpauth://"))
            .map(|_| Url::parse(seed))
        else {
            return Ok(Self {
                key: key(seed)?,
                digits: 6,
                period: 30,
                algorithm: Algorithm::Sha1,
            });
        };
        let url = url.map_err(|_| "its otpauth address is malformed")?;
        if url.host_str() != Some("totp") {
            return Err("its otpauth address is not of the kind totp");
        }
        let field = |name: &str| {
            url.query_pairs()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.into_owned())
        };
        let digits = field("digits").map_or(Ok(6), |text| text.parse());
        let period = field("period").map_or(Ok(30), |text| text.parse());
        Ok(Self {
            key: key(&field("secret").ok_or("its otpauth address has no secret")?)?,
            digits: digits
                .ok()
                .filter(|digits| (6..=8).contains(digits))
                .ok_or("its digits are not 6, 7 or 8")?,
            period: period
                .ok()
                .filter(|period| (1..=3600).contains(period))
                .ok_or("its period is not 1 to 3600 s")?,
            algorithm: match field("algorithm").as_deref() {
                None | Some("SHA1") => Algorithm::Sha1,
                Some("SHA256") => Algorithm::Sha256,
                Some("SHA512") => Algorithm::Sha512,
                Some(_) => return Err("its algorithm is not SHA1, SHA256 or SHA512"),
            },
        })
    }

    /// The code at a Unix time in seconds, then those of the steps before and after it: an app may
    /// show or take any of the three.
    pub(super) fn codes(&self, now: u64) -> [String; 3] {
        let step = now / self.period;
        [step, step.saturating_sub(1), step + 1].map(|step| self.code(step))
    }

    fn code(&self, step: u64) -> String {
        let message = step.to_be_bytes();
        let hash = match self.algorithm {
            Algorithm::Sha1 => hash::<Hmac<Sha1>>(&self.key, &message),
            Algorithm::Sha256 => hash::<Hmac<Sha256>>(&self.key, &message),
            Algorithm::Sha512 => hash::<Hmac<Sha512>>(&self.key, &message),
        };
        // RFC 4226 §5.3: the last half-byte says where to cut.
        let at = usize::from(hash.last().copied().unwrap_or_default() & 15);
        let number = hash[at..at + 4]
            .iter()
            .fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
        let number = (number & 0x7fff_ffff) % 10_u32.pow(self.digits);
        format!("{number:0width$}", width = self.digits as usize)
    }
}

fn hash<H: Mac + hmac::digest::KeyInit>(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut hash = <H as Mac>::new_from_slice(key).expect("HMAC takes keys of any length");
    hash.update(message);
    hash.finalize().into_bytes().to_vec()
}

fn key(seed: &str) -> Result<Vec<u8>, &'static str> {
    let plain: String = seed
        .chars()
        .filter(|char| !matches!(char, ' ' | '-' | '='))
        .map(|char| char.to_ascii_uppercase())
        .collect();
    match BASE32_NOPAD.decode(plain.as_bytes()) {
        Ok(key) if !key.is_empty() => Ok(key),
        _ => Err("its seed is neither base32 nor an otpauth:// address"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The seeds of RFC 6238, appendix B, in base32.
    const SHA1: &str = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
    const SHA256: &str = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZA";

    #[test]
    fn codes_are_those_of_the_rfc() {
        let eight = |algorithm: &str, seed: &str| {
            let address =
                format!("otpauth://totp/a?secret={seed}&digits=8&algorithm={algorithm}&period=30");
            Totp::parse(&address).unwrap()
        };
        for (time, code) in [
            (59, "94287082"),
            (1_111_111_109, "07081804"),
            (1_234_567_890, "89005924"),
            (20_000_000_000, "65353130"),
        ] {
            assert_eq!(eight("SHA1", SHA1).codes(time)[0], code);
        }
        assert_eq!(eight("SHA256", SHA256).codes(59)[0], "46119246");
        let plain = Totp::parse("gezd gnbv gy3t qojq gezd gnbv gy3t qojq").unwrap();
        assert_eq!(plain.codes(59)[0], "287082");
        assert_eq!(plain.codes(59)[2], plain.codes(60)[0]);
        assert_eq!(plain.codes(59)[0], plain.codes(60)[1]);
    }

    #[test]
    fn what_is_no_seed_is_refused_without_quoting_it() {
        for seed in [
            "",
            "not base32!",
            "otpauth://hotp/a?secret=GEZDGNBV",
            "otpauth://totp/a",
            "otpauth://totp/a?secret=GEZDGNBV&digits=12",
            "otpauth://totp/a?secret=GEZDGNBV&period=0",
            "otpauth://totp/a?secret=GEZDGNBV&algorithm=MD5",
        ] {
            let why = Totp::parse(seed).err().expect(seed);
            assert!(seed.is_empty() || !why.contains(seed), "{why}");
        }
    }
}
