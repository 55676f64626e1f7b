"""Measures by two packages of PyPI, each of which starts a program and reads its text."""

import pingparsing
import vaping.plugins.fping as fping

# `ping` by its own command line, and its reader.
transmitter = pingparsing.PingTransmitter()
transmitter.destination = "127.0.0.1"
transmitter.count = 5
stats = pingparsing.PingParsing().parse(transmitter.ping()).as_dict()
print(stats)
assert stats["packet_receive"] == 5 and stats["rtt_avg"] > 0, stats

# `fping` by the probe of a daemon, which is not started.
probe = fping.FPing({"name": "f", "type": "fping", "count": 5, "period": 20, "interval": "1m", "hosts": []}, None)
probe.hosts = ["127.0.0.1", {"host": "127.0.0.2"}]
data = probe._run_proc()
print(data)
assert [row["cnt"] for row in data] == [5, 5] and all(row["loss"] == 0 and row["avg"] > 0 for row in data), data
