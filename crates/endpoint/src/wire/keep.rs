//! The first packets of a measurement, kept to be written into a file.

use protocol::capture::writer::{FILE_HEADER, PACKET_HEADER, Packet, file_header, push};

use super::ring;

/// Limits of the file of kept packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Packets at most.
    pub packets: u64,
    /// Bytes of each packet at most.
    pub snap: u32,
    /// Bytes of the file at most.
    pub bytes: u64,
}

/// Keeps.
#[derive(Debug)]
pub struct Keeper {
    keep: Keep,
    /// The file so far.
    pub file: Vec<u8>,
    /// Packets in it.
    pub kept: u64,
    /// Packets that it had no room for.
    pub left_out: u64,
}

impl Keeper {
    /// A keeper that has its memory.
    pub fn new(keep: Keep) -> Self {
        let whole = keep.packets.saturating_mul(u64::from(keep.snap) + PACKET_HEADER as u64);
        let room = whole.saturating_add(FILE_HEADER as u64).min(keep.bytes);
        let mut file = Vec::with_capacity(usize::try_from(room).unwrap_or(0));
        file.extend(file_header(keep.snap));
        Self { keep, file, kept: 0, left_out: 0 }
    }

    /// Keeps a packet while there is room: those at the beginning tell most.
    pub fn take(&mut self, packet: &ring::Packet<'_>) {
        let kept = &packet.kept[..packet.kept.len().min(self.keep.snap as usize)];
        let length = (self.file.len() + PACKET_HEADER + kept.len()) as u64;
        if self.left_out > 0 || self.kept >= self.keep.packets || length > self.keep.bytes {
            self.left_out += 1;
            return;
        }
        self.kept += 1;
        let ring::Packet { at_ns, outgoing, hardware, length, .. } = *packet;
        push(&mut self.file, &Packet { at_ns, outgoing, hardware, kept, length });
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case(Keep { packets: 3, snap: 100, bytes: 1 << 20 }, 3; "by count")]
    #[test_case(Keep { packets: 1_000, snap: 100, bytes: 24 + 5 * 132 }, 5; "by size")]
    #[test_case(Keep { packets: 1_000, snap: 100, bytes: 0 }, 0; "no room at all")]
    fn what_has_no_room_is_counted(keep: Keep, kept: u64) {
        let mut keeper = Keeper::new(keep);
        for at_ns in 0..10 {
            let packet =
                ring::Packet { at_ns, outgoing: true, interface: 1, hardware: 1, length: 400, kept: &[0x45; 192] };
            keeper.take(&packet);
        }
        assert_eq!((keeper.kept, keeper.left_out), (kept, 10 - kept));
        assert_eq!(keeper.file.len() as u64, 24 + kept * 132);
    }
}
