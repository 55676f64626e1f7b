//! Big-endian numbers at a place.

/// The 32 bits at `at`; `None` where `octets` end before.
pub(super) fn read(octets: &[u8], at: usize) -> Option<u32> {
    octets.get(at..)?.first_chunk().map(|word| u32::from_be_bytes(*word))
}

/// The 16 bits at `at`; `None` where `octets` end before.
pub(super) fn read_half(octets: &[u8], at: usize) -> Option<u16> {
    octets.get(at..)?.first_chunk().map(|half| u16::from_be_bytes(*half))
}

/// The words of `octets` in their order; `None` where there are fewer than `N`.
pub(super) fn read_all<const N: usize>(octets: &[u8]) -> Option<[u32; N]> {
    let mut words = [0; N];
    for (place, word) in words.iter_mut().enumerate() {
        *word = read(octets, place * 4)?;
    }
    Some(words)
}

/// Writes 32 bits at `at`, as far as there is room for all of them.
pub(super) fn write(octets: &mut [u8], at: usize, word: u32) {
    if let Some(place) = octets.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *place = word.to_be_bytes();
    }
}

/// Writes words one after the other from `at` on.
pub(super) fn write_all(octets: &mut [u8], at: usize, words: &[u32]) {
    for (place, word) in words.iter().enumerate() {
        write(octets, at + place * 4, *word);
    }
}
