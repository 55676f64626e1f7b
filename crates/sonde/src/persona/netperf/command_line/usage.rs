//! Texts of `-h` and `-V`. The first lines and the exit status are the original's, the words are ours.

use crate::persona::answer::Answer;

/// The version whose behaviour this is.
pub const VERSION: &str = "2.7.1";

/// `-V`: the original's line for programs that look for it, and who really answers for people.
pub fn version() -> Answer {
    Answer {
        stdout: format!("Netperf version {VERSION}\n"),
        stderr: format!("({} answers in its place)\n", crate::program::PROGRAM),
        status: 0,
    }
}

/// Usage for `netperf -h`, and behind a complaint.
pub const GLOBAL: &str = "
Usage: netperf [global options] -- [test options] 

Global options:
  where
    -H host[,family]    the server (localhost); family 4 or 6
    -L address[,family] local address
    -p port[,local]     the server's control port (12865), local control port
    -4  -6              family of the control connection
    -Z word             passphrase of the server; --passphrase-file FILE hides it
  what and how long
    -t name             TCP_STREAM (default), TCP_MAERTS, TCP_RR, TCP_CRR, TCP_CC,
                        UDP_STREAM, UDP_RR, TCP_SENDFILE, TCP_MSS, omni, UUID,
                        LOC_CPU, REM_CPU
    -l length           seconds (10), 1m30s; -N: transactions or bytes; 0: until ^C
    -i max[,min]        repeat until the result is sure, 3 to 30 times
    -I level[,width]    95 or 99 percent sure of a width of so many percent (99,5)
    -r                  only the result need be sure, not the CPU use
    -w time[,remote]    pace: an interval, as in 10ms, 100us
    -b n[,remote]       pace: operations each interval
    -s seconds          pause between set-up and traffic
    -c [rate] -C [rate] measure CPU use here, at the server
    -T cpu[,remote]     bind to a CPU
  how it is told
    -P 0|1              without or with banner and titles
    -v level            0 the number, 1 a line, 2 more and a histogram
    -f G|M|K|B|g|m|k|b  unit: bytes by 1024, bits by 1000
    -f x|u              unit: transactions a second, microseconds a byte
    -D seconds          results in between
    -B text             a brand behind result lines
    -j                  keep durations even if nothing asks for them
    -J, --json          the record as JSON in place of the text
    --record FILE       the record as JSON beside the text
    --samples FILE      every exchange: .csv or .parquet
    --buckets N         columns of each row of the histogram: 10, behind -o 1000;
                        SONDE_NETPERF_BUCKETS in the environment says it too
    --pacing HOW        sleep, spin or hybrid: how -w waits
  sockets and buffers
    -F file[,remote]    what is sent
    -S                  keepalive on the data connection
    -y n[,remote]       priority (SO_PRIORITY)
    -Y tos[,remote]     type of service: 0xb8, ef, cs1, lowdelay
    -a -A s[,r]         alignment of buffers here, at the server
    -o -O s[,r]         offset of buffers here, at the server
    -W send[,recv]      buffers used in turn
  else
    -d                  debug: no effect here
    -n cpus             number of CPUs: no effect, the system tells
    -N                  no control connection: refused, nobody would tell
    -k -K lines,lines   dirty buffers: no effect
    -h                  this text
    -V                  version

Test options stand behind `--`: `netperf -t TCP_RR -- -h` explains them.
";

/// Usage for `-- -h` of omni and the tests that are asked for as omni.
pub const OMNI: &str = "
Usage: netperf [global options] -- [test options] 

OMNI and Migrated BSD Sockets Test Options:
  what is exchanged
    -d direction        of omni: send, recv, rr, or send|recv
    -T name             of omni: tcp, udp, sctp, dccp, udplite
    -t type             of omni: stream, dgram, dccp, seqpacket
    -c                  a connection for each transaction
    -r request[,resp]   bytes of request and response (1,1)
    -b n                requests in flight beside the first
    -m local[,remote]   bytes of a send call
    -M remote[,local]   bytes of a receive call
    -e seconds          a datagram's response is lost after so long (1)
  what is told
    -k [list]           NAME=value, a line each
    -o [list]           comma-separated, with a line of names
    -O [list]           columns
                        list: names, `all`, a file, or ? for all names
  between which sockets
    -H -L host[,family] data addresses
    -P local[,remote]   data ports
    -p min[,max]        local ports of connection tests
    -4  -6              family of the data connection
    -s -S send[,recv]   socket buffers here, at the server
    -D                  TCP_NODELAY at both ends
    -C                  TCP_CORK
    -K name[,remote]    congestion control
    -G bytes            TCP_MAXSEG
    -q bytes            SO_MAX_PACING_RATE, bytes a second
    -R 0|1              whether a router may be crossed (1, for one-way UDP 0)
    -n  -N              connected UDP socket here, at the server
    -a                  TCP_DEFER_ACCEPT at the server
    -B                  the server answers from the address a datagram came to
    -W n                send buffers used in turn
    -f                  path MTU discovery: packets whole or not at all
    -F                  TCP Fast Open: refused
    -u text             UUID
    -h                  this text
";

/// Usage for `-- -h` of the classic tests.
pub const CLASSIC: &str = "
Usage: netperf [global options] -- [test options] 

TCP/UDP BSD Sockets Test Options:
    -m local[,remote]   bytes of a send call
    -M remote[,local]   bytes of a receive call
    -r request[,resp]   bytes of request and response
    -b n                requests in flight beside the first
    -H -L host[,family] data addresses
    -P local[,remote]   data ports
    -p min[,max]        local ports of connection tests
    -s -S send[,recv]   socket buffers here, at the server
    -D                  TCP_NODELAY at both ends
    -C                  TCP_CORK
    -n  -N              connected UDP socket here, at the server
    -4  -6              family of the data connection

These tests have no output selectors: -k, -o and -O are for the others.
";

/// Usage for `netserver -h`, and behind a complaint.
pub const SERVER: &str = "
Usage: netserver [options] 

Options:
    -p port             listen at this port (12865)
    -L address[,family] listen at this address
    -4  -6              IPv4, IPv6
    -D                  stay in the foreground
    -f                  one client after the other
    -Z word             expect this passphrase first; --passphrase-file FILE hides it
    -d -n -N -v         accepted, without effect
    -V                  version
    -h                  this text
";
