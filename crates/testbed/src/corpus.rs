//! The inputs of a fuzz target, out of the archive that holds them.

/// A tar archive is made of blocks of this many octets.
pub const BLOCK: usize = 512;

/// The files of a tar archive as `make/fuzz` packs it, each with its name; none where it is cut off.
pub fn files(mut archive: &[u8]) -> Option<Vec<(&str, &[u8])>> {
    let mut files = Vec::new();
    loop {
        let (head, rest) = archive.split_at_checked(BLOCK)?;
        if head.iter().all(|octet| *octet == 0) {
            return Some(files);
        }
        let name = str::from_utf8(&head[..100]).ok()?.trim_end_matches('\0');
        let size = usize::from_str_radix(str::from_utf8(&head[124..135]).ok()?, 8).ok()?;
        if head[156] == b'0' {
            files.push((name, rest.get(..size)?));
        }
        archive = rest.get(size.next_multiple_of(BLOCK)..)?;
    }
}
