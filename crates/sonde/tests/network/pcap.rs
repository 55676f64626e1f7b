//! Reads what `tcpdump -w` writes: packets of an Ethernet-like interface, with nanoseconds.

/// Nanosecond captures in this machine's byte order begin so (pcap-savefile(5)).
const MAGIC: u32 = 0xa1b2_3c4d;
const FILE_HEADER: usize = 24;
const PACKET_HEADER: usize = 16;
const ETHERNET: u32 = 1;
const ETHERNET_HEADER: usize = 14;

/// A packet of IP as it passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Time of its passage, nanoseconds since 1970.
    pub at: u64,
    /// Number of the protocol in it: 1 ICMP, 6 TCP, 17 UDP, 58 ICMP for IPv6.
    pub protocol: u8,
    /// Octets behind the header of IP.
    pub body: Vec<u8>,
}

/// Takes a capture apart as it comes.
#[derive(Debug, Default)]
pub struct Reader {
    captured: Vec<u8>,
    /// Begin of the next packet; 0 before the header of the file was seen.
    at: usize,
}

impl Reader {
    /// The packets that are whole with these bytes.
    ///
    /// # Panics
    /// On anything but a capture of nanoseconds on Ethernet.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Packet> {
        self.captured.extend_from_slice(bytes);
        if self.at == 0 && self.captured.len() >= FILE_HEADER {
            assert_eq!((self.word(0), self.word(20)), (MAGIC, ETHERNET), "nanoseconds, Ethernet");
            self.at = FILE_HEADER;
        }
        let mut packets = Vec::new();
        while self.at > 0 && self.at + PACKET_HEADER <= self.captured.len() {
            let (seconds, nanos, length) =
                (self.word(self.at), self.word(self.at + 4), self.word(self.at + 8) as usize);
            let start = self.at + PACKET_HEADER;
            let Some(frame) = self.captured.get(start..start + length) else { break };
            packets.extend(packet(u64::from(seconds) * 1_000_000_000 + u64::from(nanos), frame));
            self.at = start + length;
        }
        packets
    }

    fn word(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.captured[at..at + 4].try_into().expect("four bytes"))
    }
}

/// A packet of IP without extension headers; `None`: something else.
fn packet(at: u64, frame: &[u8]) -> Option<Packet> {
    let (kind, ip) = (frame.get(12..ETHERNET_HEADER)?, frame.get(ETHERNET_HEADER..)?);
    let (protocol, length) = match kind {
        [0x08, 0x00] => (*ip.get(9)?, usize::from(ip[0] & 15) * 4),
        [0x86, 0xdd] => (*ip.get(6)?, 40),
        _ => return None,
    };
    Some(Packet { at, protocol, body: ip.get(length..)?.to_vec() })
}

/// Source and destination port, and what follows the header of UDP or TCP; `None` where that is cut off.
pub fn segment(packet: &Packet) -> Option<(u16, u16, &[u8])> {
    let body = &packet.body;
    let port = |at: usize| Some(u16::from_be_bytes([*body.get(at)?, *body.get(at + 1)?]));
    let header = if packet.protocol == 6 { usize::from(body.get(12)? >> 4) * 4 } else { 8 };
    Some((port(0)?, port(2)?, body.get(header..)?))
}

#[test]
fn a_capture_is_read_up_to_its_last_whole_packet() {
    let mut captured = Vec::new();
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>();
    captured.extend(words(&[MAGIC, 0x0004_0002, 0, 0, 160, ETHERNET]));
    let mut frame = vec![0; ETHERNET_HEADER];
    frame[12] = 0x08;
    frame.extend([0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend([0x1d, 0xef, 0, 9, 0, 12, 0, 0, 1, 2, 3, 4]);
    captured.extend(words(&[7, 5, frame.len() as u32, frame.len() as u32]));
    captured.extend(&frame);
    captured.extend(words(&[8, 0, 60, 60]));
    let mut reader = Reader::default();
    // Cut wherever it may be, nothing is lost and nothing comes twice.
    let found: Vec<Packet> = captured.chunks(9).flat_map(|piece| reader.feed(piece)).collect();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].at, found[0].protocol), (7_000_000_005, 17));
    assert_eq!(segment(&found[0]), Some((7_663, 9, &[1, 2, 3, 4][..])));
}
