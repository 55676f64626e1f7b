"""Runs benchmarks of a checkout of PerfKit Benchmarker between namespaces host1 to host4, by its own functions, and looks at their samples.

Arguments: the checkout, a folder of links to sonde, a folder for what comes out.
"""

import os
import shutil
import subprocess
import sys
import threading
import types

checkout, links, out = sys.argv[1:]
sys.path.insert(0, checkout)

from absl import flags  # noqa: E402
from perfkitbenchmarker import pkb  # noqa: E402, F401  # defines the flags
from perfkitbenchmarker.linux_benchmarks import bidirectional_network_benchmark as bidirectional  # noqa: E402
from perfkitbenchmarker.linux_benchmarks import iperf_benchmark as iperf  # noqa: E402
from perfkitbenchmarker.linux_benchmarks import netperf_benchmark as netperf  # noqa: E402
from perfkitbenchmarker.linux_benchmarks import ping_benchmark as ping  # noqa: E402
from perfkitbenchmarker.linux_packages import netperf as netperf_package  # noqa: E402

FLAGS = flags.FLAGS
FLAGS(
    [
        "pkb",
        f"--temp_dir={out}",
        "--netperf_test_length=2",
        "--netperf_warmup_test_length=1",
        "--netperf_num_streams=1,2",
        "--netperf_benchmarks=TCP_RR,TCP_CRR,TCP_STREAM,UDP_RR,UDP_STREAM",
        "--iperf_benchmarks=TCP,UDP",
        "--iperf_runtime_in_seconds=3",
        "--iperf_sending_thread_count=1,2",
        "--iperf_sleep_time=0",
        "--bidirectional_network_test_length=3",
        "--bidirectional_stream_num_streams=2",
    ]
)


class Host:
    """As much of PerfKit Benchmarker's virtual machine as these benchmarks ask for; its shell is a shell here."""

    OS_TYPE = "debian12"
    IS_REBOOTABLE = False
    zone = "here"
    machine_type = "this"
    image = None
    numa_node_count = 1

    def __init__(self, number):
        self.name = f"host{number}"
        self.ip_address = self.internal_ip = f"10.99.0.{number}"
        self.folder = os.path.join(out, self.name)
        os.makedirs(self.folder, exist_ok=True)

    def GetInternalIPs(self):
        return [self.internal_ip]

    def GetExternalIPs(self):
        return [self.ip_address]

    def IsReachable(self, _):
        return True

    def Install(self, _):
        pass

    def PushFile(self, source, target=""):
        shutil.copy(source, os.path.join(self.folder, target or os.path.basename(source)))

    def RemoteCommand(self, command, timeout=None, ignore_failure=False, **_):
        # A server that it leaves behind must not hold its output open.
        with open(os.path.join(self.folder, "stdout"), "w+") as said, open(os.path.join(self.folder, "stderr"), "w+") as wrong:
            path = os.environ["PATH"]
            ran = subprocess.run(
                ["ip", "netns", "exec", self.name, "bash", "-c", command],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=wrong,
                timeout=timeout,
                env=os.environ | {"PATH": f"{os.path.dirname(sys.executable)}:{path}"},
            )
            said.seek(0)
            wrong.seek(0)
            texts = said.read(), wrong.read()
        print(f"$ {command}\n{texts[0]}{texts[1]}", flush=True)
        if ran.returncode != 0 and not ignore_failure:
            raise RuntimeError(f"{command}: status {ran.returncode}")
        return texts

    RobustRemoteCommand = RemoteCommand


os.makedirs(netperf_package.NETPERF_SRC_DIR)
for name in "netperf", "netserver":
    os.symlink(os.path.join(links, name), os.path.join(netperf_package.NETPERF_SRC_DIR, name))

samples = []
pings = []
hosts = [Host(number) for number in range(1, 5)]
pair = types.SimpleNamespace(vms=hosts[:2])
# Its hundred echoes take as many seconds, so they go beside the rest, between other hosts.
echoes = threading.Thread(target=lambda: pings.extend(ping._RunPing(hosts[2], hosts[3], hosts[3].internal_ip, "internal")))
echoes.start()
netperf.Prepare(pair)
samples += netperf.Run(pair)
iperf.Prepare(pair)
samples += iperf.Run(pair)
hosts[1].RemoteCommand("pkill -9 netserver; pkill -9 iperf", ignore_failure=True)
everyone = types.SimpleNamespace(vms=hosts)
bidirectional.Prepare(everyone)
samples += bidirectional.Run(everyone)
echoes.join()
samples += pings

with open(os.path.join(out, "samples"), "w") as file:
    for sample in samples:
        file.write(f"{sample.metric}\t{sample.value}\t{sample.unit}\n")
wanted = {
    "TCP_RR_Transaction_Rate",
    "TCP_RR_Latency_p99",
    "TCP_RR_Throughput_total",
    "TCP_CRR_Latency_p50",
    "TCP_STREAM_Throughput",
    "UDP_RR_Transaction_Rate",
    "UDP_STREAM_Throughput",
    "Throughput",
    "UDP Throughput",
    "outbound_network_total",
    "inbound_network_total",
    "Average Latency",
}
above = {sample.metric for sample in samples if sample.value > 0}
assert wanted <= above, f"not there, or 0: {sorted(wanted - above)}"
