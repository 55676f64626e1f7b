//! MD5 (RFC 1321), which irtt's seals are made of. It protects nothing against whoever can make collisions; the protocol has no other.

use std::array;
use std::sync::LazyLock;

/// Octets of a block.
pub const BLOCK: usize = 64;
/// Octets of a digest.
pub const DIGEST: usize = 16;

/// The constants of the 64 steps: the sines of 1 to 64 (RFC 1321 section 3.4).
static SINES: LazyLock<[u32; BLOCK]> =
    LazyLock::new(|| array::from_fn(|step| ((step as f64 + 1.0).sin().abs() * 4_294_967_296.0) as u32));

/// Rotations of the four rounds.
const ROTATIONS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// A digest in the making.
#[derive(Clone)]
pub struct Md5 {
    state: [u32; 4],
    block: [u8; BLOCK],
    /// Octets taken so far.
    length: u64,
}

impl Md5 {
    /// One that has taken nothing.
    pub fn new() -> Self {
        Self { state: [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476], block: [0; BLOCK], length: 0 }
    }

    /// Takes octets.
    pub fn take(&mut self, octets: &[u8]) {
        for octet in octets {
            let filled = self.length as usize % BLOCK;
            self.block[filled] = *octet;
            self.length = self.length.wrapping_add(1);
            if filled + 1 == BLOCK {
                self.step();
            }
        }
    }

    /// The digest of all that was taken.
    pub fn finish(mut self) -> [u8; DIGEST] {
        let bits = self.length.wrapping_mul(8);
        self.take(&[0x80]);
        while self.length as usize % BLOCK != BLOCK - 8 {
            self.take(&[0]);
        }
        self.take(&bits.to_le_bytes());
        let mut digest = [0; DIGEST];
        for (place, word) in digest.chunks_exact_mut(4).zip(self.state) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        digest
    }

    /// Works a whole block in.
    fn step(&mut self) {
        let words: [u32; 16] = array::from_fn(|word| {
            let at = word * 4;
            u32::from_le_bytes(array::from_fn(|octet| self.block[at + octet]))
        });
        let [mut a, mut b, mut c, mut d] = self.state;
        for (step, sine) in SINES.iter().enumerate() {
            let round = step / 16;
            let (mixed, word) = match round {
                0 => ((b & c) | (!b & d), step),
                1 => ((d & b) | (!d & c), 5 * step + 1),
                2 => (b ^ c ^ d, 3 * step + 5),
                _ => (c ^ (b | !d), 7 * step),
            };
            let sum = a.wrapping_add(mixed).wrapping_add(*sine).wrapping_add(words[word % 16]);
            (a, d, c, b) = (d, c, b, b.wrapping_add(sum.rotate_left(ROTATIONS[round][step % 4])));
        }
        for (word, new) in self.state.iter_mut().zip([a, b, c, d]) {
            *word = word.wrapping_add(new);
        }
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    /// The test suite of RFC 1321, appendix A.5, and a message that ends where no room is left for its length.
    #[test_case("", "d41d8cd98f00b204e9800998ecf8427e"; "nothing")]
    #[test_case("a", "0cc175b9c0f1b6a831c399e269772661"; "a letter")]
    #[test_case("message digest", "f96b697d7cb7938d525a2f31aaf161d0"; "two words")]
    #[test_case("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"; "letters and digits")]
    #[test_case("12345678901234567890123456789012345678901234567890123456789012345678901234567890", "57edf4a22be3c955ac49da2e2107b67a"; "more than a block")]
    fn digests_are_those_of_the_rfc(message: &str, digest: &str) {
        let mut md5 = Md5::new();
        md5.take(message.as_bytes());
        assert_eq!(format!("{:032x}", u128::from_be_bytes(md5.finish())), digest);
    }
}
