//! Actions against refusals: they depend on who refused.

use measure::method::Carrier;
use measure::verdict::refused::RefusedBy;

/// The meaning, the side and the action. `all`: nothing was let through.
pub fn advice(by: RefusedBy, carrier: Carrier, all: bool) -> &'static str {
    match (by, carrier) {
        (RefusedBy::Program, _) => {
            "its replies say why: what is asked with (path, name, login), a limit of requests, or a program behind it that fails"
        }
        (RefusedBy::Upstream, _) => {
            "look at what it asks in its turn: the backend of a proxy, the servers above a resolver, or the data of its zone. The path to itself works"
        }
        (RefusedBy::Unavailable, _) => {
            "read the log of the program, and of its proxy: it is full or limits requests, shuts down, or has no backend that works"
        }
        (RefusedBy::Limited, _) => {
            "ask more rarely (--every, --rate) or over fewer --connections, or raise the limit of this client there"
        }
        (RefusedBy::NotReady, _) => {
            "wait, and read its log: it runs, and loads its data, is kept by a script, or has lost the server that it copies from"
        }
        (RefusedBy::Denied, _) => {
            "let this host in there (access list, protected mode), or ask a server that serves it"
        }
        (RefusedBy::OurKernel, _) => {
            "check that the link is up and leads there (`ip route get`, `ip neigh`), and the local firewall"
        }
        (RefusedBy::HopLimit, _) => {
            "look for a routing loop (`sonde paths HOST --trace`), or raise the TTL that was asked for"
        }
        (RefusedBy::PortUnreachable, _) => {
            "start the server there or correct the port; a firewall of that host that rejects (REJECT) answers the same"
        }
        (RefusedBy::IcmpError, _) => {
            "check reject rules and routes of the peer and of the hops; an ICMP capture names the sender"
        }
        (RefusedBy::Reset, Carrier::TcpConnect) if all => {
            "the port is closed, or a middlebox answers, as where a limit of connections is reached: name an open port (HOST:PORT); --icmp tests the host"
        }
        (RefusedBy::Reset, _) => {
            "the peer or a middlebox limits them: lower --rate or --connections, check net.core.somaxconn"
        }
        (RefusedBy::Connections, _) => {
            "look for a member of a load balancer that is down, a rule for source ports, or a limit of connections"
        }
        (RefusedBy::Ended, _) => {
            "read the program's log: it or a proxy ends connections or lets in no new one. `sonde check HOST:PORT` asks who listens"
        }
        (RefusedBy::Closed, _) => {
            "read the program's log, and the proxy's: a limit of requests or of idle time, or a program that ended"
        }
        (RefusedBy::Cut, _) => {
            "read the program's log, and the proxy's: replies were begun and given up (a limit of time, a crash, a wrong length)"
        }
        (RefusedBy::ConnectionReset, _) => {
            "read the program's log: it ended with requests unread, or a box on the path resets connections"
        }
        (RefusedBy::Unknown, _) => "check that a program still listens, and check the firewalls on the path",
    }
}
