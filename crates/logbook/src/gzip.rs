//! Octets in gzip's form, which every system can unpack.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

/// All of `octets`, compressed; without a name and a time, so that the same octets come out the same.
pub fn pack(octets: &[u8]) -> Vec<u8> {
    let mut into = GzEncoder::new(Vec::new(), Compression::default());
    let packed = into.write_all(octets).and_then(|()| into.finish());
    packed.expect("a vector takes everything")
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn what_is_packed_is_smaller_and_comes_out_again() {
        let octets: Vec<u8> = (0..100_000u32).map(|n| (n / 1_000) as u8).collect();
        let packed = pack(&octets);
        let mut unpacked = Vec::new();
        GzDecoder::new(&packed[..]).read_to_end(&mut unpacked).unwrap();
        assert!(packed.len() * 10 < octets.len() && unpacked == octets);
    }
}
