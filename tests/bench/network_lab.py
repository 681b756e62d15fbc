"""A network of namespaces with shaped NICs, for one run of a program, that leaves nothing behind.

Every domain is a network namespace; every rank has an interface of its own there, nicK for the K-th of
its domain, which sends and receives at a rate that the kernel keeps (tbf on both ends of the veth).
The launcher talks over interfaces of its own. All of it lives in namespaces of one process and ends
with it.
"""
import os
import shutil
import subprocess

# Where ip and tc are, also for users who do not look there.
os.environ["PATH"] += ":/usr/sbin:/sbin"

# Shaping holds a rate to about one percent of what TCP can make of it.
PAYLOAD = 479.3 / 500


def unshare():
    """The command that runs another one as root of fresh namespaces."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *user, "--net", "--mount", "--uts", "--pid", "--fork", "--kill-child",
            "--propagation", "private", "bash", "-c",
            "mount -t proc proc /proc && mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /dev/shm"
            " && ip link set lo up && exec \"$@\"", "x"]


def missing():
    """Why there can be no such network here; None when there can."""
    for program in ("unshare", "ip", "tc"):
        if shutil.which(program) is None:
            return "there is no program '%s'" % program
    probe = subprocess.run(
        unshare() + ["bash", "-c", "ip netns add a && ip link add v type veth peer name w && "
                     "tc qdisc add dev v root tbf rate 100mbit burst 200kb limit 2mb"],
        capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        return "no network namespaces: " + (probe.stderr.strip().splitlines() or ["refused"])[-1]
    return None


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError("%s: %s" % (" ".join(command), done.stderr.strip()))


class Lab:
    """Built inside unshare(): `domains` gives the rates of the NICs of each domain in Mbit/s."""

    def __init__(self, domains, folder):
        self.domains = domains
        self.folder = folder
        run(["ip", "link", "add", "net0", "type", "bridge"])
        run(["ip", "link", "add", "ctl0", "type", "bridge"])
        for bridge in ("net0", "ctl0"):
            run(["ip", "link", "set", bridge, "up"])
        number = 0
        self.addresses = []  # (domain, address) of every NIC, in the order of ranks
        for d, rates in enumerate(domains):
            run(["ip", "netns", "add", "d%d" % d])
            self.inside(d, "ip", "link", "set", "lo", "up")
            for key in ("rp_filter=0", "arp_ignore=1", "arp_announce=2"):
                for where in ("all", "default"):
                    self.inside(d, "sysctl", "-qw", "net.ipv4.conf.%s.%s" % (where, key))
            self.connect(d, "ctl0", "ctl", "10.9.0.%d/24" % (d + 1))
            for k, rate in enumerate(rates):
                number += 1
                self.addresses.append((d, "10.8.0.%d" % number))
                self.connect(d, "net0", "nic%d" % k, "10.8.0.%d/24" % number)
                self.shape(d, k, rate)
                # What comes from this address leaves by this NIC.
                table = str(100 + k)
                self.inside(d, "ip", "route", "add", "10.8.0.0/24", "dev", "nic%d" % k, "table", table)
                self.inside(d, "ip", "rule", "add", "from", "10.8.0.%d" % number, "table", table)
        self.write_agent()

    def inside(self, d, *command):
        run(["ip", "netns", "exec", "d%d" % d, *command])

    def connect(self, d, bridge, name, address):
        outside = "%s-%d" % (name, d)
        run(["ip", "link", "add", outside, "type", "veth", "peer", "name", name, "netns", "d%d" % d])
        run(["ip", "link", "set", outside, "master", bridge, "up"])
        self.inside(d, "ip", "address", "add", address, "dev", name)
        self.inside(d, "ip", "link", "set", name, "up")

    def shape(self, d, k, rate):
        # What a NIC that was idle may send at once: a few milliseconds, and what TCP hands over.
        burst = int(rate * 1e6 / 8 * 0.004) + 66 * 1024
        tbf = ["root", "tbf", "rate", "%dkbit" % int(rate * 1000), "burst", str(burst), "limit",
               str(16 << 20)]
        self.inside(d, "tc", "qdisc", "add", "dev", "nic%d" % k, *tbf)
        run(["tc", "qdisc", "add", "dev", "nic%d-%d" % (k, d), *tbf])

    def places(self):
        """For each rank: the command that runs another one where it is, and the address of its NIC."""
        return [(["ip", "netns", "exec", "d%d" % d], address) for d, address in self.addresses]

    def write_agent(self):
        """How mpirun reaches a domain: a host name of its own, or all would count as one host."""
        self.agent = os.path.join(self.folder, "agent.sh")
        with open(self.agent, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nh=$1; shift\nexec ip netns exec d${h#node} unshare --uts "
                       "sh -c \"hostname $h; exec sh -c '$*'\"\n")
        # Every rank uses the NIC with its number in the domain.
        self.rank = os.path.join(self.folder, "rank.sh")
        with open(self.rank, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nexport OMPI_MCA_btl_tcp_if_include=nic$OMPI_COMM_WORLD_LOCAL_RANK\n"
                       "exec \"$@\" nic$OMPI_COMM_WORLD_LOCAL_RANK\n")
        os.chmod(self.agent, 0o755)
        os.chmod(self.rank, 0o755)

    def command(self, program, *arguments, options=()):
        """mpirun with all ranks of all domains, in their order; the last argument is the NIC."""
        hosts = ",".join("node%d:%d" % (d, len(rates)) for d, rates in enumerate(self.domains))
        ranks = sum(len(rates) for rates in self.domains)
        return ["ip", "netns", "exec", "d0", "unshare", "--uts", "sh", "-c",
                "hostname node0; exec \"$@\"", "x", "mpirun.openmpi", "--allow-run-as-root",
                "--oversubscribe", "-H", hosts, "-np", str(ranks), "--bind-to", "none",
                "--mca", "plm_rsh_agent", self.agent, "--mca", "oob_tcp_if_include", "ctl",
                "--mca", "pml", "ob1", "--mca", "btl", "vader,tcp,self",
                "--mca", "mpi_yield_when_idle", "1",
                # A broadcast that is not linear in the number of receivers.
                "--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", "coll_tuned_bcast_algorithm", "3",
                "--mca", "coll_tuned_bcast_algorithm_segmentsize", "131072",
                *options, self.rank, program, *arguments]

    def environment(self):
        return {"PATH": os.environ["PATH"], "HOME": self.folder, "TMPDIR": self.folder,
                "OMPI_MCA_btl_vader_backing_directory": self.folder}
