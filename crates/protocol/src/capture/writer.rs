//! Writes captures in the classic form of pcap: nanoseconds, in the byte order of the network, with the "cooked" header of
//! Linux in front of each packet, which says which way it went (`LINKTYPE_LINUX_SLL`, 113).

/// Nanoseconds.
const MAGIC: u32 = 0xa1b2_3c4d;
const LINK: u32 = 113;
/// Length of the header of the file.
pub const FILE_HEADER: usize = 24;
/// Length of the header in front of each packet.
pub const PACKET_HEADER: usize = 16 + COOKED;
const COOKED: usize = 16;
const SENT_BY_US: u16 = 4;

/// A packet to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Time of its passage, nanoseconds since 1970; the form ends in 2106.
    pub at_ns: u64,
    /// True where this host sent it.
    pub outgoing: bool,
    /// Kind of the interface, by ARP's numbers: 1 Ethernet, 772 loopback.
    pub hardware: u16,
    /// The part of it that is kept, from the header of IP on.
    pub kept: &'a [u8],
    /// Its length as it passed, bytes of IP.
    pub length: u32,
}

/// Returns the header of the file; `snap` bytes of each packet are kept at most.
pub fn file_header(snap: u32) -> [u8; FILE_HEADER] {
    let mut header = [0; FILE_HEADER];
    let words = [MAGIC, 0x0002_0004, 0, 0, snap.saturating_add(COOKED as u32), LINK];
    for (place, word) in header.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    header
}

/// Adds a packet to the octets to be written.
pub fn push(file: &mut Vec<u8>, packet: &Packet<'_>) {
    const SECOND: u64 = 1_000_000_000;
    let kept = packet.kept.len().min(packet.length as usize);
    let lengths = [kept as u32 + COOKED as u32, packet.length.saturating_add(COOKED as u32)];
    let seconds = u32::try_from(packet.at_ns / SECOND).unwrap_or(u32::MAX);
    for word in [seconds, (packet.at_ns % SECOND) as u32].into_iter().chain(lengths) {
        file.extend(word.to_be_bytes());
    }
    let way = if packet.outgoing { SENT_BY_US } else { 0 };
    let kind = if packet.kept.first().is_some_and(|first| first >> 4 == 6) { 0x86dd } else { 0x0800_u16 };
    // No address of hardware: it is nobody's business here.
    for half in [way, packet.hardware, 0, 0, 0, 0, 0, kind] {
        file.extend(half.to_be_bytes());
    }
    file.extend(&packet.kept[..kept]);
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;

    use super::*;
    use crate::capture::file::{File, Link};
    use crate::capture::packet;

    #[test]
    fn what_was_written_is_read_again() {
        let mut whole = Vec::new();
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(5, 7).write(&mut whole, &[0; 400]).unwrap();
        let mut bytes = file_header(96).to_vec();
        let at_ns = 1_760_000_000_123_456_789;
        for outgoing in [true, false] {
            let packet = Packet { at_ns, outgoing, hardware: 1, kept: &whole[..96], length: whole.len() as u32 };
            push(&mut bytes, &packet);
        }
        let file = File::open(&bytes).unwrap();
        assert_eq!(file.link(), Link::Cooked);
        let records: Vec<_> = file.records().map(Result::unwrap).collect();
        assert_eq!(records.len(), 2);
        assert_eq!((records[0].at.0, records[0].kept.len(), records[0].length), (at_ns, 112, 444));
        assert_eq!((records[0].kept[1], records[1].kept[1]), (4, 0));
        assert_eq!(packet::read(file.link(), &records[0]).unwrap().payload, 400);
    }

    #[test]
    fn nothing_longer_than_the_packet_is_kept() {
        let mut bytes = file_header(96).to_vec();
        push(&mut bytes, &Packet { at_ns: u64::MAX, outgoing: true, hardware: 772, kept: &[0x45; 40], length: 20 });
        let record = File::open(&bytes).unwrap().records().next().unwrap().unwrap();
        assert_eq!((record.kept.len(), record.length), (36, 36));
    }
}
