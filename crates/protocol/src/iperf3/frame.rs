//! The framing of the JSON: four octets of length, big-endian, and so many of text.

/// A frame that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadLength {
    /// Length in its first four octets.
    pub length: u32,
}

/// Reads a whole frame of 1 to `most` octets at the start of `octets`: its text, and the number of octets it takes. `None`: more
/// must come. A length beyond the bound is an error as soon as it is here: nothing is kept for it.
pub(super) fn read(octets: &[u8], most: usize) -> Result<Option<(&[u8], usize)>, BadLength> {
    let Some((head, rest)) = octets.split_first_chunk() else { return Ok(None) };
    let length = u32::from_be_bytes(*head);
    let wanted = usize::try_from(length).unwrap_or(usize::MAX);
    if wanted == 0 || wanted > most {
        return Err(BadLength { length });
    }
    Ok(rest.get(..wanted).map(|text| (text, head.len() + wanted)))
}

/// `text` in a frame. A text of more than 4 GiB has none: it is cut, and no reader takes it.
pub(super) fn write(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    let mut octets = Vec::with_capacity(text.len() + 4);
    octets.extend(length.to_be_bytes());
    octets.extend(text.bytes().take(length as usize));
    octets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_when_it_is_whole() {
        let frame = write("{}");
        assert_eq!(frame, [0, 0, 0, 2, b'{', b'}']);
        for cut in 0..frame.len() {
            assert_eq!(read(&frame[..cut], 100), Ok(None), "cut at {cut}");
        }
        assert_eq!(read(&[&frame[..], b"more"].concat(), 2), Ok(Some((&b"{}"[..], 6))));
    }

    #[test]
    fn a_length_out_of_bounds_is_an_error_before_its_text_is_here() {
        for length in [0, 3, u32::MAX] {
            assert_eq!(read(&length.to_be_bytes(), 2), Err(BadLength { length }));
        }
    }
}
