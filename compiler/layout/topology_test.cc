#include "compiler/layout/topology.h"

#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "doctest/doctest.h"

namespace reshard {
namespace {

struct Built {
  SourceMap sources;
  Diagnostics diags;
  TopoSpec spec;
  Topology topology;
  bool ok = false;

  explicit Built(std::string text) {
    const uint32_t file = sources.Add("topo.json", std::move(text));
    JsonNode root;
    ok = ReadJson(sources, file, &diags, &root) && ReadTopoSpec(root, &diags, &spec) &&
         BuildTopology(spec, &diags, &topology);
  }
  std::string Printed() const {
    std::ostringstream out;
    diags.Print(sources, 0, out);
    return out.str();
  }
  const RankSite& Site(Rank rank) const {
    const RankSite* site = topology.Site(rank);
    REQUIRE(site != nullptr);
    return *site;
  }
  std::vector<std::string> NicNames(Rank rank) const {
    std::vector<std::string> names;
    for (const NicId nic : Site(rank).nics) names.push_back(topology.nics[nic].name);
    return names;
  }
};

Built FromFile(const std::string& name) {
  std::ifstream file("tests/data/topologies/" + name);
  REQUIRE(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  return Built(text.str());
}

using Names = std::vector<std::string>;
constexpr int64_t kGiga = 1'000'000'000;

TEST_CASE("rails, groups with uplinks and a degraded NIC") {
  const Built built = FromFile("dgx_h100_rails.json");
  REQUIRE_MESSAGE(built.ok, built.Printed());
  const Topology& topology = built.topology;
  CHECK(topology.nodes.size() == 64);
  CHECK(topology.nics.size() == 512);
  CHECK(topology.domains.size() == 64);
  CHECK(topology.sites.size() == 512);
  CHECK(topology.rails);
  CHECK(topology.latency_ns == 5000);
  CHECK(topology.cross_rail_latency_ns == 8000);
  CHECK(topology.cross_group_latency_ns == 9000);
  REQUIRE(topology.groups.size() == 2);
  CHECK(topology.groups[1].name == "su1");
  CHECK(topology.groups[1].uplink_bytes_per_s == 768 * kGiga * 8);

  const RankSite& site = built.Site(7 * 8 + 3);
  CHECK(topology.nodes[site.node].name == "su0n07");
  CHECK(site.gpu == 3);
  CHECK(site.group == 0);
  CHECK(built.NicNames(59) == Names{"su0n07/mlx5_3"});
  CHECK(topology.nics[site.nics[0]].bytes_per_s == 24 * kGiga);
  CHECK(topology.nics[site.nics[0]].rail == 3);
  CHECK(topology.nics[built.Site(60).nics[0]].bytes_per_s == 48 * kGiga);
  CHECK(site.host_bytes_per_s == 55 * kGiga);
  CHECK(site.copy_bytes_per_s == 1300 * kGiga);
  CHECK(site.memory_bytes == 80 * kGiga);
  CHECK(built.Site(256).group == 1);
  const Domain& domain = topology.domains[site.domain];
  CHECK(domain.name == "nvl-su0n07");
  CHECK(domain.bytes_per_s == 370 * kGiga);
  CHECK(domain.latency_ns == 2000);
  CHECK(domain.ranks == RankList{56, 57, 58, 59, 60, 61, 62, 63});
  CHECK(domain.nics.size() == 8);
}

TEST_CASE("scale-up domains over several nodes; spare nodes are left out") {
  const Built built = FromFile("gb200_nvl72.json");
  REQUIRE_MESSAGE(built.ok, built.Printed());
  const Topology& topology = built.topology;
  CHECK(topology.nodes.size() == 32);
  REQUIRE(topology.domains.size() == 2);
  CHECK(topology.domains[0].name == "nvl72-0");
  CHECK(topology.domains[0].ranks.size() == 64);
  CHECK(topology.domains[0].nics.size() == 64);
  CHECK(topology.domains[1].ranks.front() == 64);
  CHECK(topology.domains[1].bytes_per_s == 720 * kGiga);
  CHECK(topology.domains[1].latency_ns == 2500);
  // 18 trays on 4 rails, 48 GB/s each: what the leaf's 864 says for one rail.
  CHECK(topology.groups[0].uplink_bytes_per_s == 864 * kGiga * 4);
  // Through the link to the CPU, not through PCIe.
  CHECK(built.Site(5).host_bytes_per_s == 360 * kGiga);
  CHECK(built.NicNames(5) == Names{"r0t01/mlx5_1"});
}

TEST_CASE("PCIe boxes: a shared far NIC, copies through the host, domains of one") {
  const Built built = FromFile("pcie_box.json");
  REQUIRE_MESSAGE(built.ok, built.Printed());
  const Topology& topology = built.topology;
  CHECK(topology.nodes.size() == 3);
  CHECK(topology.domains.size() == 10);
  CHECK(topology.domains[2].name == "lab0/gpu2");
  CHECK(topology.domains[2].bytes_per_s == 0);
  CHECK(topology.domains[2].ranks == RankList{2});
  CHECK(topology.fabric_bytes_per_s == 200 * kGiga);
  CHECK_FALSE(topology.rails);
  for (Rank rank = 4; rank < 8; ++rank) CHECK(built.NicNames(rank) == Names{"lab1/mlx5_0"});
  CHECK(topology.nics[built.Site(4).nics[0]].bytes_per_s == 23'500'000'000);
  // Behind its switch the NIC gets what peers there get, from the other socket less.
  CHECK(built.Site(2).host_bytes_per_s == 22 * kGiga);
  CHECK(built.Site(0).host_bytes_per_s == 10 * kGiga);
  CHECK(built.Site(9).host_bytes_per_s == 9 * kGiga);
  CHECK(built.NicNames(9) == Names{"old0/eth0"});
}

TEST_CASE("every key of the language at once") {
  const Built built = FromFile("all_keys.json");
  REQUIRE_MESSAGE(built.ok, built.Printed());
  const Topology& topology = built.topology;
  // 8 trays, the two of rack 2 that have ranks, two boxes.
  CHECK(topology.nodes.size() == 12);
  CHECK(topology.sites.size() == 42);
  CHECK(topology.fabric_bytes_per_s == 4000 * kGiga);
  CHECK(topology.latency_ns == 5000);
  CHECK(topology.cross_rail_latency_ns == 8000);
  CHECK(topology.cross_group_latency_ns == 9500);
  // Half of 8 trays with 4 NICs of 48 GB/s; two leaves on each of two rails.
  CHECK(topology.groups[0].uplink_bytes_per_s == 768 * kGiga);
  CHECK(topology.groups[1].uplink_bytes_per_s == 192 * kGiga);
  CHECK(topology.domains[0].name == "nvl");
  CHECK(topology.domains[0].ranks.size() == 32);
  CHECK(topology.domains[1].name == "r2t0/gpu2");
  CHECK(topology.domains.back().name == "pair-box1");
  CHECK(topology.domains.back().ranks == RankList{40, 41});
  CHECK(built.Site(7).excluded);
  CHECK(topology.nics[built.Site(6).nics[0]].name == "r0t1/m2");
  CHECK(topology.nics[built.Site(6).nics[0]].bytes_per_s == 24 * kGiga);
  CHECK(built.Site(35).gpu == 2);
  CHECK(built.Site(34).gpu == 3);
  CHECK(built.Site(34).group == 1);
  CHECK(built.NicNames(36) == Names{"box0/own"});
  CHECK(built.NicNames(37) == Names{"box0/shared"});
  CHECK(built.NicNames(38) == Names{"box0/far"});
  CHECK(built.Site(36).host_bytes_per_s == 22 * kGiga);
  CHECK(built.Site(37).host_bytes_per_s == 9 * kGiga);
  CHECK(built.Site(38).host_bytes_per_s == 22 * kGiga);
  CHECK(built.Site(39).host_bytes_per_s == 18 * kGiga);
  CHECK(built.Site(0).host_bytes_per_s == 360 * kGiga);
  CHECK(built.Site(39).copy_bytes_per_s == 350'500'000'000);
}

TEST_CASE("every example builds") {
  const struct {
    std::string name;
    size_t sites, domains;
  } cases[] = {{"toy.json", 6, 2},
               {"h100_64_64.json", 128, 16},
               {"h100_128_128.json", 256, 32},
               {"h100_256_256.json", 512, 64},
               {"h100_4096_4096.json", 8192, 1024}};
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Built built = FromFile(c.name);
    REQUIRE_MESSAGE(built.ok, built.Printed());
    CHECK(built.topology.sites.size() == c.sites);
    CHECK(built.topology.domains.size() == c.domains);
    for (const RankSite& site : built.topology.sites) CHECK(site.nics.size() == 1);
  }
}

// A topology with one node type `t` of two GPUs with a NIC each, and nodes n0..n3; the parameters
// are the texts of further members.
std::string Small(const std::string& ranks, const std::string& more = "",
                  const std::string& fabrics = "[{\"name\":\"f\",\"kind\":\"flat\"}]") {
  return "{\"format\":\"reshard-topo\",\"version\":1,\n"
         "\"node_types\":{\"t\":{\"gpus\":2,\"nics\":{\"for\":2,\"name\":\"e{i}\",\"bw\":10,"
         "\"gpu\":\"{i}\",\"rail\":\"{i}\"}}},\n"
         "\"nodes\":[{\"names\":\"n[0-3]\",\"type\":\"t\"}],\n"
         "\"fabrics\":" +
         fabrics + ",\n\"ranks\":" + ranks + (more.empty() ? "" : ",\n" + more) + "}\n";
}

TEST_CASE("ranks fill nodes in the order of the list, or take named GPUs") {
  const Built built(
      Small("[{\"ranks\":\"3,1\",\"nodes\":\"n2,n0\",\"gpus\":\"1\"},"
            "{\"ranks\":\"10-12\",\"nodes\":\"n[1,3]\"},{\"rank\":0,\"node\":\"n0\",\"gpu\":0}]",
            "\"overrides\":[{\"rank\":10,\"excluded\":true,\"reason\":\"broken\"}]"));
  REQUIRE_MESSAGE(built.ok, built.Printed());
  const auto place = [&](Rank rank) {
    return built.topology.nodes[built.Site(rank).node].name + "." +
           std::to_string(built.Site(rank).gpu);
  };
  CHECK(place(3) == "n2.1");
  CHECK(place(1) == "n0.1");
  CHECK(place(0) == "n0.0");
  CHECK(place(10) == "n1.0");
  CHECK(place(11) == "n1.1");
  CHECK(place(12) == "n3.0");
  CHECK(built.topology.Site(13) == nullptr);
  CHECK(built.Site(10).excluded);
  CHECK_FALSE(built.Site(11).excluded);
  // What nothing passes is none of the NICs of its domain.
  CHECK(built.topology.domains[built.Site(10).domain].nics.empty());
  CHECK(built.topology.domains[built.Site(11).domain].nics.size() == 1);
  CHECK(built.topology.domains.size() == 6);
  CHECK(built.topology.domains[0].name == "n0/gpu0");
}

TEST_CASE("oversubscription gives the uplinks that are not stated") {
  const auto uplink = [](const std::string& ratio) {
    const Built built(Small("[{\"ranks\":\"0-7\",\"nodes\":\"n[0-3]\"}]", "",
                            "[{\"name\":\"f\",\"kind\":\"flat\",\"oversubscription\":" + ratio +
                                ",\"groups\":[{\"name\":\"a\",\"nodes\":\"n[0-2]\"},"
                                "{\"name\":\"b\",\"nodes\":\"n3\",\"uplink_bw_per_leaf\":7,"
                                "\"leaf_per_rail\":3}]}]"));
    REQUIRE_MESSAGE(built.ok, built.Printed());
    CHECK(built.topology.groups[1].uplink_bytes_per_s == 21 * kGiga);
    CHECK(built.Site(7).group == 1);
    return built.topology.groups[0].uplink_bytes_per_s;
  };
  CHECK(uplink("2.0") == 30 * kGiga);
  CHECK(uplink("3") == 20 * kGiga);
  CHECK(uplink("1.6") == 37'500'000'000);
  CHECK(uplink("1.0") == 0);  // never limiting
}

TEST_CASE("groups by the nodes' own word; nodes outside all groups") {
  std::string text = Small("[{\"ranks\":\"0-7\",\"nodes\":\"n[0-3]\"}]", "",
                           "[{\"name\":\"f\",\"kind\":\"rails\",\"groups\":[{\"name\":\"a\","
                           "\"uplink_bw_per_leaf\":1}]}]");
  const std::string whole = "{\"names\":\"n[0-3]\",\"type\":\"t\"}";
  text.replace(text.find(whole), whole.size(),
               "{\"names\":\"n[1-2]\",\"type\":\"t\",\"group\":\"a\"},"
               "{\"names\":\"n[0,3]\",\"type\":\"t\"}");
  const Built built(text);
  REQUIRE_MESSAGE(built.ok, built.Printed());
  CHECK(built.Site(0).group == kNone);
  CHECK(built.Site(2).group == 0);
  CHECK(built.Site(7).group == kNone);
  // Two rails: the highest rail of a NIC is 1.
  CHECK(built.topology.groups[0].uplink_bytes_per_s == 2 * kGiga);
}

TEST_CASE("latencies that are not stated are those of the nearer class") {
  const auto build = [](const std::string& members) {
    return Built(Small("[]", "", "[{\"name\":\"f\",\"kind\":\"flat\"" + members + "}]")).topology;
  };
  const Topology one = build(",\"lat\":1.5");
  CHECK(one.latency_ns == 1500);
  CHECK(one.cross_rail_latency_ns == 1500);
  CHECK(one.cross_group_latency_ns == 1500);
  const Topology two = build(",\"lat\":1,\"cross_rail_same_group\":{\"via\":\"spine\",\"lat\":3}");
  CHECK(two.latency_ns == 1000);
  CHECK(two.cross_rail_latency_ns == 3000);
  CHECK(two.cross_group_latency_ns == 3000);
}

// Ranks 0.. on all GPUs of one node of this type.
Built OneNode(const std::string& gpus, const std::string& members) {
  return Built(
      "{\"format\":\"reshard-topo\",\"version\":1,\"node_types\":{\"t\":{\"gpus\":" + gpus + "," +
      members +
      "}},\"nodes\":[{\"names\":\"n\",\"type\":\"t\"}],\"fabrics\":[{\"name\":\"f\",\"kind\":"
      "\"flat\"}],\"ranks\":[{\"ranks\":\"0-" +
      std::to_string(std::stoi(gpus) - 1) + "\",\"nodes\":\"n\"}]}");
}

TEST_CASE("a GPU without a NIC of its own uses the nearest ones") {
  SUBCASE("as the path says") {
    const Built built = OneNode(
        "3",
        "\"nics\":[{\"name\":\"a\",\"bw\":1,\"gpu\":0,\"path\":{\"0\":\"PIX\",\"1\":\"PHB\"}},"
        "{\"name\":\"b\",\"bw\":1,\"path\":{\"1\":\"PXB\",\"2\":\"NODE\"}},"
        "{\"name\":\"c\",\"bw\":1,\"path\":{\"1\":\"PXB\",\"2\":\"SYS\",\"0\":\"PIX\"}}]");
    REQUIRE_MESSAGE(built.ok, built.Printed());
    CHECK(built.NicNames(0) == Names{"n/a"});  // its own, though another one is as near
    CHECK(built.NicNames(1) == Names{"n/b", "n/c"});
    CHECK(built.NicNames(2) == Names{"n/b"});
  }
  SUBCASE("behind its switch, then in its NUMA node, then anywhere") {
    const Built built = OneNode(
        "6",
        "\"numa\":[[0,1,2],[3,4]],\"pcie\":{\"switches\":[[0,1],[2]]},"
        "\"nics\":[{\"name\":\"a\",\"bw\":1,\"gpu\":0},{\"name\":\"b\",\"bw\":1,\"numa\":0},"
        "{\"name\":\"c\",\"bw\":1,\"gpus\":[3]}]");
    REQUIRE_MESSAGE(built.ok, built.Printed());
    CHECK(built.NicNames(1) == Names{"n/a"});
    CHECK(built.NicNames(2) == Names{"n/a", "n/b"});
    CHECK(built.NicNames(4) == Names{"n/c"});
    CHECK(built.NicNames(5) == Names{"n/a", "n/c", "n/b"});
  }
  SUBCASE("shared by GPUs that name it") {
    const Built built = OneNode("4",
                                "\"nics\":{\"for\":2,\"name\":\"e{i}\",\"bw\":1,"
                                "\"gpus\":[\"{2*i}\",\"{2*i+1}\"]}");
    REQUIRE_MESSAGE(built.ok, built.Printed());
    CHECK(built.NicNames(0) == Names{"n/e0"});
    CHECK(built.NicNames(1) == Names{"n/e0"});
    CHECK(built.NicNames(3) == Names{"n/e1"});
  }
  SUBCASE("several of its own") {
    const Built built =
        OneNode("2", "\"nics\":{\"for\":4,\"name\":\"e{i}\",\"bw\":1,\"gpu\":\"{i//2}\"}");
    REQUIRE_MESSAGE(built.ok, built.Printed());
    CHECK(built.NicNames(1) == Names{"n/e2", "n/e3"});
  }
}

TEST_CASE("the way between GPU and NIC limits the rate") {
  const auto limit = [](const std::string& members, Rank rank) {
    const Built built = OneNode("2", members);
    REQUIRE_MESSAGE(built.ok, built.Printed());
    return built.Site(rank).host_bytes_per_s / kGiga;
  };
  const std::string nic = "\"nics\":[{\"name\":\"a\",\"bw\":1,\"path\":";
  CHECK(limit(nic + "\"PIX\"}]", 0) == 0);
  CHECK(limit("\"pcie\":{\"gpu_bw\":30}," + nic + "\"PIX\"}]", 0) == 30);
  CHECK(limit("\"pcie\":{\"gpu_bw\":30,\"p2p_same_switch_bw\":20}," + nic + "\"PXB\"}]", 0) == 20);
  CHECK(limit("\"pcie\":{\"gpu_bw\":30,\"p2p_cross_switch_bw\":15}," + nic + "\"PHB\"}]", 0) == 15);
  CHECK(limit("\"inter_numa_bw\":8," + nic + "\"SYS\"}]", 0) == 8);
  CHECK(limit("\"inter_numa_bw\":8," + nic + "\"NODE\"}]", 0) == 0);
  CHECK(limit("\"pcie\":{\"p2p_cross_numa_bw\":6,\"host_bounce_bw\":4}," + nic + "\"SYS\"}]", 0) ==
        6);
  CHECK(limit("\"pcie\":{\"p2p_cross_numa_bw\":6,\"host_bounce_bw\":4}," + nic +
                  "\"SYS\",\"gdr\":false}]",
              0) == 4);
  CHECK(limit("\"numa\":[[0],[1]],\"inter_numa_bw\":8," + nic + "\"PHB\",\"numa\":1}]", 0) == 8);
  CHECK(limit("\"numa\":[[0],[1]],\"inter_numa_bw\":8," + nic + "\"PHB\",\"numa\":1}]", 1) == 0);
}

// The messages with code and place, without source lines.
std::string Messages(const Built& built) {
  std::string out;
  for (const Diagnostic& entry : built.diags.entries()) {
    const auto at = [&](Span span) {
      return std::string(built.sources.text(span.file).substr(span.begin, span.end - span.begin));
    };
    out += std::string(CodeText(entry.code)) + " at " + at(entry.span) + ": " + entry.text + "\n";
    for (const Note& note : entry.notes)
      out += "  note at " + at(note.span) + ": " + note.text + "\n";
  }
  return out;
}

std::string RankMessages(const std::string& ranks, const std::string& more = "") {
  const Built built(Small(ranks, more));
  CHECK_FALSE(built.ok);
  return Messages(built);
}

TEST_CASE("ranks that do not fit") {
  CHECK(RankMessages("[{\"ranks\":\"0-4\",\"nodes\":\"n[0-1]\"}]") ==
        "rank-placement at \"0-4\": 5 ranks for 4 GPUs of the nodes\n"
        "  note at \"n[0-1]\": the nodes are listed here\n");
  CHECK(RankMessages("[{\"ranks\":\"0-3\",\"nodes\":\"n[0-1]\"},{\"ranks\":\"3-5\",\"nodes\":\"n["
                     "2-3]\"}]") ==
        "rank-placement at \"3-5\": rank 3 is placed twice\n"
        "  note at \"0-3\": it is placed first here\n");
  CHECK(RankMessages("[{\"ranks\":\"0-3\",\"nodes\":\"n[0-1]\"},{\"rank\":9,\"node\":\"n1\","
                     "\"gpu\":1}]") ==
        "rank-placement at \"n1\": ranks 3 and 9 are both placed on GPU 1 of the node 'n1'\n"
        "  note at \"n[0-1]\": the first one is placed here\n");
  CHECK(RankMessages("[{\"ranks\":\"0-1\",\"nodes\":\"n0\",\"gpus\":\"0,0\"}]") ==
        "rank-placement at \"n0\": ranks 0 and 1 are both placed on GPU 0 of the node 'n0'\n"
        "  note at \"n0\": the first one is placed here\n");
  CHECK(RankMessages("[{\"rank\":0,\"node\":\"n0\",\"gpu\":2}]") ==
        "rank-placement at 2: the node 'n0' has no GPU 2, its type 't' has 2 GPUs\n"
        "  note at \"t\": the node type is defined here\n");
  CHECK(RankMessages("[{\"ranks\":\"0-1\",\"nodes\":\"n5\"}]") ==
        "unknown-node at \"n5\": no node is called 'n5', did you mean 'n0'?\n");
  CHECK(RankMessages("[]", "\"overrides\":[{\"rank\":7,\"excluded\":true}]") ==
        "rank-placement at {\"rank\":7,\"excluded\":true}: rank 7 has an override, but no place\n");
}

TEST_CASE("nodes that do not fit") {
  const auto build = [](const std::string& nodes, const std::string& more) {
    std::string text = Small("[]", more);
    const std::string whole = "[{\"names\":\"n[0-3]\",\"type\":\"t\"}]";
    text.replace(text.find(whole), whole.size(), nodes);
    const Built built(text);
    CHECK_FALSE(built.ok);
    return Messages(built);
  };
  CHECK(build("[{\"names\":\"a\",\"type\":\"t2\"},{\"names\":\"b\",\"type\":\"t\"},"
              "{\"names\":\"c,b,b\",\"type\":\"t\"}]",
              "\"overrides\":[{\"node\":\"a\",\"nic\":\"x\",\"bw\":1}]") ==
        "unknown-node-type at \"t2\": no node type is called 't2', did you mean 't'?\n"
        "duplicate-node at \"c,b,b\": the node 'b' is listed twice\n"
        "  note at \"b\": it is listed first here\n");
  const std::string n = "[{\"names\":\"n[0-3]\",\"type\":\"t\"}]";
  CHECK(build(n,
              "\"scaleup\":[{\"name\":\"x\",\"nodes\":\"n[0-1]\",\"bw\":1},"
              "{\"name\":\"y\",\"nodes\":\"n[1-2]\",\"bw\":1}]") ==
        "duplicate-node at \"n[1-2]\": the node 'n1' is in two scale-up domains, 'x' and 'y'\n"
        "  note at \"x\": the first domain is here\n");
  CHECK(build(n,
              "\"scaleup\":[{\"name\":\"x\",\"nodes\":\"n[0-1]\",\"bw\":1},"
              "{\"name\":\"x\",\"per\":\"node\",\"bw\":1}]") ==
        "bad-value at \"x\": there are two scale-up domains 'x'\n"
        "  note at \"x\": the first one is here\n"
        "duplicate-node at \"x\": the node 'n0' is in two scale-up domains, 'x' and 'x'\n"
        "  note at \"x\": the first domain is here\n");
  CHECK(build(n,
              "\"overrides\":[{\"node\":\"n1\",\"nic\":\"e3\",\"bw\":1},"
              "{\"node\":\"n0\",\"nic\":\"e1\",\"bw\":1},{\"node\":\"n0\",\"nic\":\"e1\",\"bw\":2},"
              "{\"node\":\"m1\",\"nic\":\"e1\",\"bw\":1}]") ==
        "unknown-nic at \"e3\": the node 'n1' of type 't' has no NIC 'e3', did you mean 'e0'?\n"
        "  note at \"t\": the node type is defined here\n"
        "bad-value at {\"node\":\"n0\",\"nic\":\"e1\",\"bw\":2}: the NIC 'e1' of node 'n0' is "
        "overridden twice\n"
        "  note at {\"node\":\"n0\",\"nic\":\"e1\",\"bw\":1}: it is overridden first here\n"
        "unknown-node at \"m1\": no node is called 'm1', did you mean 'n1'?\n");
}

TEST_CASE("fabrics that do not fit") {
  const auto build = [](const std::string& fabric) {
    const Built built(Small("[{\"rank\":0,\"node\":\"n0\",\"gpu\":0}]", "",
                            fabric.empty() ? "[]" : "[{\"name\":\"f\"," + fabric + "}]"));
    CHECK_FALSE(built.ok);
    return Messages(built);
  };
  CHECK(build("") ==
        "missing-key at {: the nodes have NICs, but no entry of 'fabrics' connects them\n");
  CHECK(build("\"kind\":\"flat\",\"rails\":2") ==
        "bad-value at 2: 'rails' of a fabric that is not of kind 'rails'\n");
  CHECK(build("\"kind\":\"rails\",\"rails\":1")
            .find("the NIC 'e1' of node type 't' is on rail 1, the fabric has rails 0 to 0\n"
                  "  note at 1: the number of rails is given here\n") != std::string::npos);
  CHECK(build("\"kind\":\"flat\",\"oversubscription\":2") ==
        "bad-value at 2: an oversubscribed fabric without groups: it does not say which nodes "
        "share uplinks\n");
  CHECK(build("\"kind\":\"single_switch\",\"groups\":[{\"name\":\"a\",\"nodes\":\"n0\"}]") ==
        "bad-value at {\"name\":\"a\",\"nodes\":\"n0\"}: a fabric of kind 'single_switch' has no "
        "groups\n");
  CHECK(build("\"kind\":\"flat\",\"groups\":[{\"name\":\"a\",\"nodes\":\"n0\"},{\"name\":\"b\","
              "\"nodes\":\"n[0-1]\"},{\"name\":\"b\"}]") ==
        "duplicate-node at \"n[0-1]\": the node 'n0' is in two groups, 'a' and 'b'\n"
        "  note at \"a\": the first group is here\n"
        "bad-value at \"b\": there are two groups 'b'\n"
        "  note at \"b\": the first one is here\n");
  CHECK(build("\"kind\":\"rails\",\"groups\":[{\"name\":\"a\",\"uplink_bw_per_leaf\":1000000,"
              "\"leaf_per_rail\":1024}],\"rails\":1024")
            .find("bad-bandwidth") != std::string::npos);
}

TEST_CASE("16384 ranks on 2048 nodes take milliseconds") {
  const Built built(
      "{\"format\":\"reshard-topo\",\"version\":1,\"node_types\":{\"t\":{\"gpus\":8,\"nics\":{"
      "\"for\":8,\"name\":\"mlx5_{i}\",\"bw\":50,\"gpu\":\"{i}\",\"rail\":\"{i}\"}}},"
      "\"nodes\":[{\"names\":\"n[0000-2047]\",\"type\":\"t\"}],\"scaleup\":[{\"name\":"
      "\"nvl-{node}\",\"per\":\"node\",\"bw\":370}],\"fabrics\":[{\"name\":\"f\",\"kind\":\"flat\"}"
      "],\"ranks\":[{\"ranks\":\"0-16383\",\"nodes\":\"n[0000-2047]\"}]}");
  REQUIRE_MESSAGE(built.ok, built.Printed());
  CHECK(built.topology.sites.size() == 16384);
  CHECK(built.topology.domains.size() == 2048);
  CHECK(built.topology.domains[2047].name == "nvl-n2047");
  Diagnostics diags;
  Topology topology;
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(BuildTopology(built.spec, &diags, &topology));
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
  MESSAGE("BuildTopology: " << taken.count() << " ms");
  CHECK(taken.count() < 2000);  // a generous bound: other work may share the machine
}

}  // namespace
}  // namespace reshard
