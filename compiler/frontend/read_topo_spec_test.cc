#include <sstream>
#include <string>

#include "compiler/frontend/topo_spec.h"
#include "doctest/doctest.h"

namespace reshard {
namespace {

struct Read {
  SourceMap sources;
  Diagnostics diags;
  TopoSpec spec;
  bool ok = false;

  explicit Read(std::string text) {
    const uint32_t file = sources.Add("t", std::move(text));
    JsonNode root;
    REQUIRE(ReadJson(sources, file, &diags, &root));
    ok = ReadTopoSpec(root, &diags, &spec);
    CHECK(ok == !diags.has_errors());
  }
  // "code at TEXT: message" a line, in the order of the file.
  std::string Messages() const {
    std::string out;
    for (const Diagnostic& entry : diags.entries()) {
      const Span span = entry.span;
      out += std::string(CodeText(entry.code)) + " at " +
             std::string(sources.text(span.file).substr(span.begin, span.end - span.begin)) + ": " +
             entry.text + "\n";
    }
    return out;
  }
};

std::string File(const std::string& members) {
  return "{\"format\":\"reshard-topo\",\"version\":1," + members + "}";
}
// A file that is right but for the node type's members.
Read TypeOf(const std::string& members) {
  return Read(File("\"node_types\":{\"t\":{" + members + "}},\"nodes\":[],\"ranks\":[]"));
}
std::string TypeMessages(const std::string& members) { return TypeOf(members).Messages(); }
// A file that is right but for one top-level member.
std::string Messages(const std::string& member) {
  return Read(File("\"node_types\":{},\"nodes\":[],\"ranks\":[]," + member)).Messages();
}

TEST_CASE("another format or version is one error") {
  CHECK(Read("[]").Messages() ==
        "wrong-type at []: the topology is an array, expected an object\n");
  CHECK(Read("{\"format\":\"reshard-layout\",\"version\":1,\"x\":1}").Messages() ==
        "bad-format at \"reshard-layout\": the format is 'reshard-layout', expected "
        "'reshard-topo'\n");
  CHECK(Read("{\"format\":\"reshard-topo\",\"version\":2}").Messages() ==
        "bad-format at 2: the version is 2, expected 1\n");
  CHECK(Read("{\"version\":1}").Messages() == "missing-key at {: the topology has no 'format'\n");
  CHECK(Read(File("\"node_types\":{}")).Messages() ==
        "missing-key at {: the topology has no 'nodes'\n"
        "missing-key at {: the topology has no 'ranks'\n");
  CHECK(Messages("\"node\":[],\"overides\":[]") ==
        "unknown-key at \"node\": the topology has no key 'node', did you mean 'nodes'?\n"
        "unknown-key at \"overides\": the topology has no key 'overides', did you mean "
        "'overrides'?\n");
}

TEST_CASE("bandwidths are exact, positive and stated") {
  const auto nic = [](const std::string& bw) {
    return TypeMessages("\"gpus\":1,\"nics\":[{\"name\":\"a\"" + bw + "}]");
  };
  CHECK(nic(",\"bw\":0.000001") == "");
  CHECK(nic("") == "bad-bandwidth at {: the NIC has no bandwidth, expected 'bw' in GB/s\n");
  CHECK(nic(",\"bw\":0") ==
        "bad-bandwidth at 0: 'bw' of the NIC is 0, expected 0.000001 to 1000000 GB/s\n");
  CHECK(nic(",\"bw\":-3") ==
        "bad-bandwidth at -3: 'bw' of the NIC is -3, expected 0.000001 to 1000000 GB/s\n");
  CHECK(nic(",\"bw\":1000000.1") ==
        "bad-bandwidth at 1000000.1: 'bw' of the NIC is 1000000.1, expected 0.000001 to 1000000 "
        "GB/s\n");
  CHECK(nic(",\"bw\":1.0000000001") ==
        "bad-bandwidth at 1.0000000001: 'bw' of the NIC is 1.0000000001, expected at most 9 "
        "decimals\n");
  CHECK(nic(",\"bw\":\"50\"") ==
        "wrong-type at \"50\": 'bw' of the NIC is the string '50', expected a number\n");
  CHECK(Messages("\"scaleup\":[{\"name\":\"x\",\"per\":\"node\"}]") ==
        "bad-bandwidth at {: the scale-up domain has no bandwidth, expected 'bw' in GB/s\n");
  CHECK(Messages("\"overrides\":[{\"node\":\"n\",\"nic\":\"a\"}]") ==
        "bad-bandwidth at {: the override has no bandwidth, expected 'bw' in GB/s\n");
}

TEST_CASE("node types") {
  CHECK(TypeMessages("\"gpu\":{}") == "missing-key at {: the node type 't' has no 'gpus'\n");
  CHECK(TypeMessages("\"gpus\":8.5") ==
        "bad-value at 8.5: 'gpus' of the node type 't' is 8.5, expected an integer without "
        "fraction or exponent\n");
  CHECK(TypeMessages("\"gpus\":2000") ==
        "bad-value at 2000: 'gpus' of the node type 't' is 2000, expected 1 to 1024\n");
  CHECK(TypeMessages("\"gpus\":2,\"numa\":[[0,1],[1]]") ==
        "bad-value at 1: GPU 1 is twice in 'numa' of the node type 't'\n");
  CHECK(TypeMessages("\"gpus\":2,\"pcie\":{\"switches\":[[2]],\"gpu_bandwidth\":3}") ==
        "bad-value at 2: a GPU in 'switches' of 'pcie' of the node type 't' is 2, expected 0 to 1\n"
        "unknown-key at \"gpu_bandwidth\": 'pcie' of the node type 't' has no key "
        "'gpu_bandwidth'\n");
  CHECK(TypeMessages("\"gpus\":1,\"gpu\":{\"mem_gb\":0}") ==
        "bad-value at 0: 'mem_gb' of 'gpu' of the node type 't' is 0, expected 0.001 to 1000000 "
        "GB\n");
}

TEST_CASE("NICs in the two forms") {
  const Read read = TypeOf(
      "\"gpus\":4,\"numa\":[[0,1],[2,3]],\"nics\":{\"for\":2,\"name\":\"e{i+1}\",\"bw\":1.5,"
      "\"gpus\":[\"{2*i}\",\"{2*i+1}\"],\"rail\":\"{1-i}\",\"numa\":\"{i}\",\"path\":\"PXB\"}");
  REQUIRE(read.ok);
  const std::vector<NicSpec>& nics = read.spec.node_types[0].nics;
  REQUIRE(nics.size() == 2);
  CHECK(nics[1].name.value == "e2");
  CHECK(nics[1].bytes_per_s == 1'500'000'000);
  CHECK(nics[1].gpus == std::vector<uint32_t>{2, 3});
  CHECK(nics[1].rail == 0);
  CHECK(nics[1].numa == 1u);
  CHECK(nics[1].path == PciePath::kPxb);
  CHECK(nics[1].gdr);

  const auto repeated = [](const std::string& members) {
    return TypeMessages("\"gpus\":2,\"nics\":{" + members + ",\"bw\":1}");
  };
  CHECK(repeated("\"name\":\"a\"") == "missing-key at {: 'nics' as an object has no 'for'\n");
  CHECK(repeated("\"for\":3,\"name\":\"e{i}\",\"gpu\":\"{i}\"") ==
        "bad-value at \"{i}\": 'gpu' of the NIC is '2' where i is 2, expected 0 to 1\n");
  CHECK(repeated("\"for\":2,\"name\":\"e\"") ==
        "bad-value at \"e\": the node type has two NICs 'e'\n");
  CHECK(repeated("\"for\":2,\"name\":\"e{i}\",\"gpu\":\"gpu{i}\"") ==
        "bad-value at \"gpu{i}\": 'gpu' of the NIC is 'gpu0' where i is 0, expected 0 to 1\n");
  CHECK(repeated("\"for\":2,\"name\":\"e{j}\"").starts_with("evaluation at j: "));
  CHECK(repeated("\"for\":2,\"name\":\"e{i}\",\"rail\":\"{1//i}\"").starts_with("evaluation at "));
  CHECK(repeated("\"for\":2,\"name\":\"e{i\"").starts_with("bad-name at "));
  CHECK(repeated("\"for\":5000,\"name\":\"e{i}\"") ==
        "bad-value at 5000: 'for' of 'nics' is 5000, expected 1 to 1024\n");

  const auto listed = [](const std::string& members) {
    return TypeMessages("\"gpus\":2,\"nics\":[{\"name\":\"a\",\"bw\":1," + members + "}]");
  };
  CHECK(listed("\"gpu\":\"{i}\"") ==
        "wrong-type at \"{i}\": 'gpu' of the NIC is the string '{i}', expected an integer\n");
  CHECK(listed("\"gpu\":0,\"gpus\":[1]") ==
        "bad-value at [1]: the NIC has both 'gpu' and 'gpus', expected one of them\n");
  CHECK(listed("\"gpus\":[1,1]") == "bad-value at 1: GPU 1 is twice in 'gpus' of the NIC\n");
  CHECK(listed("\"numa\":0") ==
        "bad-value at 0: 'numa' of the NIC is 0, the node type has 0 NUMA nodes\n");
  CHECK(listed("\"path\":\"NVL\"") ==
        "bad-value at \"NVL\": 'path' of the NIC is 'NVL', expected PIX, PXB, PHB, NODE or SYS\n");
  CHECK(listed("\"path\":{\"2\":\"PIX\",\"01\":\"PIX\"}") ==
        "bad-value at \"2\": '2' in 'path' of the NIC is no GPU, expected 0 to 1\n"
        "bad-value at \"01\": '01' in 'path' of the NIC is no GPU, expected 0 to 1\n");
  CHECK(TypeMessages("\"gpus\":1,\"nics\":7") ==
        "wrong-type at 7: 'nics' is 7, expected an array, or an object with 'for'\n");
}

TEST_CASE("nodes, domains, fabrics, ranks and overrides") {
  CHECK(Messages("\"scaleup\":[{\"name\":\"x\",\"bw\":1}]") ==
        "missing-key at {: the scale-up domain has neither \"per\":\"node\" nor 'nodes'\n");
  CHECK(Messages("\"scaleup\":[{\"name\":\"\",\"per\":\"gpu\",\"bw\":1}]") ==
        "bad-value at \"\": 'name' of the scale-up domain is empty\n"
        "bad-value at \"gpu\": 'per' of the scale-up domain is 'gpu', expected node\n");
  CHECK(Messages("\"fabrics\":[{\"name\":\"a\",\"kind\":\"rail\"}]") ==
        "bad-value at \"rail\": 'kind' of the fabric is 'rail', expected flat, rails or "
        "single_switch, did you mean 'rails'?\n");
  CHECK(Messages("\"fabrics\":[{\"name\":\"a\",\"kind\":\"flat\"},{\"name\":\"b\"}]") ==
        "bad-value at {\"name\":\"b\"}: there are 2 fabrics, expected one that connects all "
        "NICs\n");
  CHECK(Messages("\"fabrics\":[{\"name\":\"a\",\"kind\":\"flat\",\"oversubscription\":0.5,"
                 "\"lat\":0.0001}]") ==
        "bad-value at 0.5: 'oversubscription' of the fabric is 0.5, expected 1 to 1000000\n"
        "bad-value at 0.0001: 'lat' of the fabric is 0.0001, expected at most 3 decimals\n");
  CHECK(Messages("\"overrides\":[{\"rank\":1},{\"rank\":-1,\"excluded\":true},{\"node\":\"n\","
                 "\"bw\":1}]") ==
        "missing-key at {: the override has no 'excluded'\n"
        "bad-value at -1: 'rank' of the override is -1, expected 0 to 1048575\n"
        "missing-key at {: the override has no 'nic'\n");
  const auto ranks = [](const std::string& entry) {
    return Read(File("\"node_types\":{},\"nodes\":[],\"ranks\":[" + entry + "]")).Messages();
  };
  CHECK(ranks("{\"nodes\":\"n\"}") == "missing-key at {: the entry of 'ranks' has no 'ranks'\n");
  CHECK(ranks("{\"ranks\":\"0..3\",\"nodes\":\"n[0-\"}") ==
        "bad-range at .: expected ',' or '-' between numbers\n"
        "bad-host-list at : expected a number here\n");
  CHECK(ranks("{\"ranks\":\"0-1048576\",\"nodes\":\"n\"}") ==
        "bad-range at 0-1048576: the number is above 1048575\n");
  CHECK(ranks("{\"ranks\":\"0\",\"nodes\":\"n\",\"order\":\"gpu-major\"}") ==
        "bad-value at \"gpu-major\": 'order' of the entry of 'ranks' is 'gpu-major', expected "
        "node-major\n");
  CHECK(ranks("{\"rank\":0,\"node\":\"n\",\"gpus\":\"1\"}") ==
        "missing-key at {: the entry of 'ranks' has no 'gpu'\n"
        "unknown-key at \"gpus\": the entry of 'ranks' has no key 'gpus', did you mean 'gpu'?\n");
  CHECK(Read(File("\"node_types\":{},\"nodes\":[{\"names\":7}],\"ranks\":[]")).Messages() ==
        "wrong-type at 7: 'names' of the entry of 'nodes' is 7, expected a string\n"
        "missing-key at {: the entry of 'nodes' has no 'type'\n");
}

TEST_CASE("small files cannot ask for much") {
  // A few hundred bytes for each node type, a thousand NICs each.
  std::string types;
  for (int i = 0; i < 65; ++i) {
    types += (i == 0 ? "\"" : ",\"") + std::to_string(i) +
             "\":{\"gpus\":1,\"nics\":{\"for\":1024,\"name\":\"e{i}\",\"bw\":1}}";
  }
  const Read read(File("\"node_types\":{" + types + "},\"nodes\":[],\"ranks\":[]"));
  CHECK(read.Messages() ==
        "too-large at 1024: more than 1024 NICs in a node type or 65536 in all of them\n");
  std::string gpus = "0";
  for (int i = 1; i < 1024; ++i) gpus += "," + std::to_string(i);
  const std::string type =
      "{\"gpus\":1024,\"nics\":{\"for\":1024,\"name\":\"e{i}\",\"bw\":1,"
      "\"gpus\":[" +
      gpus + "]}}";
  types = "\"0\":" + type;
  for (int i = 1; i < 3; ++i) types += ",\"" + std::to_string(i) + "\":" + type;
  const Read lists(File("\"node_types\":{" + types + "},\"nodes\":[],\"ranks\":[]"));
  REQUIRE(lists.diags.entries().size() == 1);
  CHECK(lists.diags.entries()[0].text == "the NICs list more GPUs than a file may");
  // A million names, many times over.
  std::string nodes = "{\"names\":\"a[0-1048575]\",\"type\":\"t\"}";
  for (int i = 0; i < 2; ++i) nodes += ",{\"names\":\"b[0-1048575]\",\"type\":\"t\"}";
  const Read names(File("\"node_types\":{},\"nodes\":[" + nodes + "],\"ranks\":[]"));
  CHECK(names.Messages().starts_with("too-large at b[0-1048575]: "));
}

}  // namespace
}  // namespace reshard
