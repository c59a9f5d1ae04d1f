use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

use super::Error;

/// Go's decoder does not look at the bits that padding leaves over.
const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Decodes a `!!binary` scalar as Go's `base64.StdEncoding` does: line breaks do not count.
pub(super) fn decode(text: &str) -> Result<Vec<u8>, Error> {
    let joined: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    ENGINE
        .decode(joined)
        .map_err(|_| Error::without_line("!!binary value contains invalid base64 data"))
}
