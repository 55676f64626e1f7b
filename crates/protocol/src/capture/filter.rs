//! Filter of the packets that the kernel is to hand over, as a program of its classic packet filter.
//!
//! The machine and the numbers of its instructions: `linux/filter.h`, and "The BSD Packet Filter" (USENIX 1993).
//! Packets begin with the header of IP, as a packet socket of the kind `SOCK_DGRAM` has them.

use std::net::IpAddr;

use crate::capture::watch::{Carrier, Target};

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Code of the operation.
    pub code: u16,
    /// Instructions to skip where the comparison holds.
    pub then: u8,
    /// … and where it does not.
    pub otherwise: u8,
    /// Operand of the operation.
    pub operand: u32,
}

const LOAD_WORD: u16 = 0x20;
const LOAD_HALF: u16 = 0x28;
const LOAD_BYTE: u16 = 0x30;
/// Behind the header of IPv4, whose length its first octet says.
const LOAD_HALF_BEHIND: u16 = 0x48;
const LOAD_BYTE_BEHIND: u16 = 0x50;
const LENGTH_OF_IPV4: u16 = 0xb1;
const AND: u16 = 0x54;
const EQUAL: u16 = 0x15;
const ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;
/// Offset at which the kernel keeps its own facts about the packet, and in it the packet's type.
const PACKET_TYPE: u32 = 0xffff_f000 + 4;
/// `PACKET_OUTGOING`.
const OUTGOING: u32 = 4;
/// Extension headers of IPv6 that may stand before the wanted one: hop-by-hop, routing, fragment, destination.
const EXTENSIONS: [u32; 4] = [0, 43, 44, 60];

/// Returns the program that lets packets to and from the target pass, each with its first `snap` bytes. Over
/// loopback it lets one of both copies pass.
pub fn program(target: &Target, snap: u32) -> Vec<Instruction> {
    let (out, back) = (one_way(target, true).finish(snap), one_way(target, false).finish(snap));
    let mut program = vec![
        Instruction { code: LOAD_BYTE, then: 0, otherwise: 0, operand: PACKET_TYPE },
        Instruction { code: EQUAL, then: 0, otherwise: out.len() as u8, operand: OUTGOING },
    ];
    program.extend(out);
    program.extend(back);
    program
}

/// Where a step leads.
#[derive(Clone, Copy)]
enum To {
    Next,
    Accept,
    Reject,
}

/// A program without a choice but to go on, accept or reject.
#[derive(Default)]
struct Straight(Vec<(u16, To, To, u32)>);

impl Straight {
    fn load(&mut self, code: u16, at: u32) {
        self.0.push((code, To::Next, To::Next, at));
    }

    fn require(&mut self, value: u32) {
        self.0.push((EQUAL, To::Next, To::Reject, value));
    }

    fn accept_if(&mut self, code: u16, value: u32) {
        self.0.push((code, To::Accept, To::Next, value));
    }

    fn finish(self, snap: u32) -> Vec<Instruction> {
        let accept = self.0.len();
        let distance = |from: usize, to: To| match to {
            To::Next => 0,
            To::Accept => (accept - from - 1) as u8,
            To::Reject => (accept - from) as u8,
        };
        let steps = self.0.iter().enumerate().map(|(place, &(code, then, otherwise, operand))| Instruction {
            code,
            then: distance(place, then),
            otherwise: distance(place, otherwise),
            operand,
        });
        let end = |operand| Instruction { code: RETURN, then: 0, otherwise: 0, operand };
        steps.chain([end(snap), end(0)]).collect()
    }
}

fn one_way(target: &Target, outgoing: bool) -> Straight {
    let mut program = Straight::default();
    match target.peer.ip().to_canonical() {
        IpAddr::V4(peer) => {
            version(&mut program, 4);
            program.load(LOAD_BYTE, 9);
            program.require(target.protocol().0.into());
            program.load(LOAD_WORD, if outgoing { 16 } else { 12 });
            program.require(peer.to_bits());
            // Fragments after the first have no head.
            program.load(LOAD_HALF, 6);
            program.accept_if(ANY_BIT, 0x1fff);
            program.load(LENGTH_OF_IPV4, 0);
            inner(&mut program, target, outgoing, (LOAD_BYTE_BEHIND, LOAD_HALF_BEHIND), 0);
        }
        IpAddr::V6(peer) => {
            version(&mut program, 6);
            let at = if outgoing { 24 } else { 8 };
            let bits = peer.to_bits();
            for word in 0..4_u32 {
                program.load(LOAD_WORD, at + 4 * word);
                program.require((bits >> (96 - 32 * word)) as u32);
            }
            program.load(LOAD_BYTE, 6);
            for extension in EXTENSIONS {
                program.accept_if(EQUAL, extension);
            }
            program.require(target.protocol().0.into());
            inner(&mut program, target, outgoing, (LOAD_BYTE, LOAD_HALF), 40);
        }
    }
    program
}

fn version(program: &mut Straight, number: u32) {
    program.load(LOAD_BYTE, 0);
    program.0.push((AND, To::Next, To::Next, 0xf0));
    program.require(number << 4);
}

fn inner(program: &mut Straight, target: &Target, outgoing: bool, (byte, half): (u16, u16), at: u32) {
    if target.carrier == Carrier::Icmp {
        let (request, reply) = target.echo_types();
        program.load(byte, at);
        program.require(if outgoing { request } else { reply }.into());
    } else if target.peer.port() != 0 {
        program.load(half, at + if outgoing { 2 } else { 0 });
        program.require(target.peer.port().into());
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use etherparse::PacketBuilder;
    use test_case::test_case;

    use super::*;
    use crate::capture::watch::{Marks, Passage, look};

    /// The kernel's machine, as far as these programs use it.
    fn run(program: &[Instruction], packet: &[u8], outgoing: bool) -> u32 {
        let (mut at, mut a, mut x) = (0, 0_u32, 0_usize);
        let bytes = |at: usize, count: usize| {
            let bytes = packet.get(at..at + count)?;
            Some(bytes.iter().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte)))
        };
        loop {
            let Instruction { code, then, otherwise, operand } = program[at];
            let k = operand as usize;
            let loaded = match code {
                LOAD_BYTE if operand == PACKET_TYPE => Some(if outgoing { OUTGOING } else { 0 }),
                LOAD_BYTE => bytes(k, 1),
                LOAD_HALF => bytes(k, 2),
                LOAD_WORD => bytes(k, 4),
                LOAD_BYTE_BEHIND => bytes(x + k, 1),
                LOAD_HALF_BEHIND => bytes(x + k, 2),
                _ => Some(a),
            };
            // A load beyond the end rejects.
            let Some(loaded) = loaded else { return 0 };
            a = loaded;
            at += 1;
            match code {
                LENGTH_OF_IPV4 => x = 4 * usize::from(packet[k] & 0xf),
                AND => a &= operand,
                EQUAL => at += usize::from(if a == operand { then } else { otherwise }),
                ANY_BIT => at += usize::from(if a & operand != 0 { then } else { otherwise }),
                RETURN => return operand,
                _ => {}
            }
        }
    }

    const NEAR: [u8; 4] = [10, 0, 0, 1];
    const FAR: [u8; 4] = [10, 0, 0, 2];

    fn udp(from: ([u8; 4], u16), to: ([u8; 4], u16)) -> Vec<u8> {
        let mut packet = Vec::new();
        PacketBuilder::ipv4(from.0, to.0, 64).udp(from.1, to.1).write(&mut packet, &[0; 40]).unwrap();
        packet
    }

    #[test_case((NEAR, 5), (FAR, 7), true, true; "to the peer")]
    #[test_case((NEAR, 5), (FAR, 7), false, false; "to the peer, its other copy")]
    #[test_case((FAR, 7), (NEAR, 5), false, true; "from the peer")]
    #[test_case((FAR, 7), (NEAR, 5), true, false; "from the peer, its other copy")]
    #[test_case((NEAR, 5), (FAR, 8), true, false; "to another port")]
    #[test_case((NEAR, 7), (FAR, 5), true, false; "the port is ours")]
    #[test_case((NEAR, 5), ([10, 0, 0, 3], 7), true, false; "to another host")]
    fn the_kernel_hands_over_what_is_looked_at(from: ([u8; 4], u16), to: ([u8; 4], u16), outgoing: bool, passes: bool) {
        let target = Target { peer: (FAR, 7).into(), carrier: Carrier::Udp, marks: Marks::None };
        let packet = udp(from, to);
        assert_eq!(run(&program(&target, 96), &packet, outgoing) == 96, passes);
        let passage = Passage { at_ns: 0, outgoing, interface: 1, length: packet.len() as u32 };
        assert_eq!(look(&packet, passage, &target).is_some(), passes);
    }

    #[test_case((NEAR, 5), (FAR, 7), true, true; "to the peer")]
    #[test_case((FAR, 9), (NEAR, 5), false, true; "from another port of it")]
    #[test_case((NEAR, 5), ([10, 0, 0, 3], 7), true, false; "to another host")]
    fn any_port_of_the_peer(from: ([u8; 4], u16), to: ([u8; 4], u16), outgoing: bool, passes: bool) {
        let target = Target { peer: (FAR, 0).into(), carrier: Carrier::Udp, marks: Marks::None };
        let packet = udp(from, to);
        assert_eq!(run(&program(&target, 96), &packet, outgoing) == 96, passes);
        let passage = Passage { at_ns: 0, outgoing, interface: 1, length: packet.len() as u32 };
        let seen = look(&packet, passage, &target);
        assert_eq!(seen.map(|seen| seen.remote.port()), passes.then_some(if outgoing { to.1 } else { from.1 }));
    }

    #[test]
    fn version_6_with_and_without_extensions() {
        let peer: SocketAddr = ([2; 16], 7).into();
        let target = Target { peer, carrier: Carrier::Tcp, marks: Marks::None };
        let mut packet = Vec::new();
        PacketBuilder::ipv6([1; 16], [2; 16], 64).tcp(5, 7, 0, 0).write(&mut packet, &[]).unwrap();
        assert_eq!(run(&program(&target, 96), &packet, true), 96);
        assert_eq!(run(&program(&target, 96), &packet, false), 0);
        packet[6] = 44;
        assert_eq!(run(&program(&target, 96), &packet, true), 96, "a fragment is looked at by ourselves");
        packet[6] = 17;
        assert_eq!(run(&program(&target, 96), &packet, true), 0);
    }

    #[test]
    fn echoes_by_their_type() {
        let target = Target { peer: (FAR, 0).into(), carrier: Carrier::Icmp, marks: Marks::None };
        let mut request = Vec::new();
        PacketBuilder::ipv4(NEAR, FAR, 64).icmpv4_echo_request(1, 1).write(&mut request, &[0; 8]).unwrap();
        assert_eq!(run(&program(&target, 96), &request, true), 96);
        request[20] = 0;
        assert_eq!(
            run(&program(&target, 96), &request, true),
            0,
            "a reply of ours to the peer is not the measurement's"
        );
    }

    #[test]
    fn a_packet_that_is_cut_is_passed_over() {
        let target = Target { peer: (FAR, 7).into(), carrier: Carrier::Udp, marks: Marks::None };
        let packet = udp((NEAR, 5), (FAR, 7));
        for cut in 1..24 {
            assert_eq!(run(&program(&target, 96), &packet[..cut], true), 0, "{cut}");
        }
    }

    #[test]
    fn no_program_is_too_long_for_its_jumps() {
        for (peer, carrier) in [("10.0.0.1:1", Carrier::Tcp), ("[::1]:1", Carrier::Udp), ("[::1]:1", Carrier::Icmp)] {
            let target = Target { peer: peer.parse().unwrap(), carrier, marks: Marks::None };
            assert!(program(&target, 1).len() < 128);
        }
    }
}
