#include "runtime/exec/tcp/tcp_port.h"

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/exec/tcp/testing/local_members.h"

namespace reshard {
namespace {

using Bytes = std::vector<uint8_t>;
using Ports = std::vector<std::unique_ptr<MessagePort>>;

constexpr size_t kLarge = 24 << 20;  // more than sockets hold

Bytes Pattern(size_t bytes, uint32_t seed) {
  Bytes out(bytes);
  for (size_t i = 0; i < bytes; ++i) {
    out[i] = static_cast<uint8_t>((i * 2654435761U + seed) >> 13);
  }
  return out;
}

// Moves bytes until `done`; false after a time in which everything that works is long over.
bool Pump(const Ports& ports, const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    for (const auto& port : ports) {
      if (port != nullptr && !port->Progress().ok()) return false;
    }
    std::this_thread::yield();
  }
  return true;
}

bool Over(MessagePort* port, MessageRequest* request, Arrival* arrival = nullptr) {
  const StatusOr<bool> over = port->Test(request, arrival);
  return over.ok() && *over;
}

// Sends and waits until it has left.
void SendAll(const Ports& ports, int from, int to, int tag, const Bytes& bytes) {
  MessageRequest request;
  MessagePort* const port = ports[static_cast<size_t>(from)].get();
  REQUIRE(port->Send(to, tag, bytes, &request).ok());
  REQUIRE(Pump(ports, [&] { return Over(port, &request); }));
}

Bytes ReceiveAll(const Ports& ports, int at, int from, int tag, size_t bytes) {
  Bytes out(bytes);
  MessageRequest request;
  MessagePort* const port = ports[static_cast<size_t>(at)].get();
  REQUIRE(port->Receive(from, tag, out, &request).ok());
  REQUIRE(Pump(ports, [&] { return Over(port, &request); }));
  return out;
}

TEST_CASE("messages of one tag keep their order, others pass them; early ones are kept") {
  const Ports ports = testing::LocalTcpPorts(3);
  REQUIRE(ports.size() == 3);
  SendAll(ports, 1, 0, 5, Pattern(1000, 1));
  SendAll(ports, 1, 0, 5, Pattern(2000, 2));
  SendAll(ports, 1, 0, 6, Pattern(10, 3));
  SendAll(ports, 1, 0, 6, {});
  const auto here = [&](int member, int tag) {
    const StatusOr<std::optional<int64_t>> found = ports[0]->Probe(member, tag);
    return found.ok() ? found->value_or(-1) : -2;
  };
  CHECK(here(1, 7) == -1);
  CHECK(here(2, 5) == -1);
  REQUIRE(Pump(ports, [&] { return here(1, 6) == 10; }));
  CHECK(here(1, 5) == 1000);
  CHECK(ReceiveAll(ports, 0, 1, 6, 10) == Pattern(10, 3));
  CHECK(ReceiveAll(ports, 0, 1, 5, 1000) == Pattern(1000, 1));
  CHECK(ReceiveAll(ports, 0, 1, 5, 2000) == Pattern(2000, 2));
  REQUIRE(Pump(ports, [&] { return here(1, 6) == 0; }));
  CHECK(ReceiveAll(ports, 0, 1, 6, 0).empty());

  Bytes any(100);
  MessageRequest request;
  REQUIRE(ports[0]->Receive(MessagePort::kAnyMember, 8, any, &request).ok());
  SendAll(ports, 2, 0, 8, Pattern(33, 4));
  Arrival arrival;
  REQUIRE(Pump(ports, [&] { return Over(ports[0].get(), &request, &arrival); }));
  CHECK(arrival.member == 2);
  CHECK(arrival.bytes == 33);
  CHECK(std::equal(any.begin(), any.begin() + 33, Pattern(33, 4).begin()));
}

TEST_CASE("a message of many megabytes, in both directions at once") {
  const Ports ports = testing::LocalTcpPorts(2);
  REQUIRE(ports.size() == 2);
  const Bytes sent[2] = {Pattern(kLarge, 1), Pattern(kLarge, 2)};
  Bytes got[2] = {Bytes(kLarge), Bytes(kLarge)};
  MessageRequest requests[4];
  for (int m = 0; m < 2; ++m) {
    REQUIRE(ports[static_cast<size_t>(m)]->Receive(1 - m, 1, got[m], &requests[m]).ok());
    REQUIRE(ports[static_cast<size_t>(m)]->Send(1 - m, 1, sent[m], &requests[2 + m]).ok());
  }
  for (size_t r = 0; r < 4; ++r) {
    CHECK(Pump(ports, [&] { return Over(ports[r % 2].get(), &requests[r]); }));
  }
  CHECK((got[0] == sent[1]));
  CHECK((got[1] == sent[0]));
}

TEST_CASE("a message that is longer than its receive is an error, and the next one is right") {
  const Ports ports = testing::LocalTcpPorts(2);
  REQUIRE(ports.size() == 2);
  Bytes room(10);
  MessageRequest request;
  REQUIRE(ports[0]->Receive(1, 1, room, &request).ok());
  SendAll(ports, 1, 0, 1, Pattern(100'000, 1));
  Status status;
  CHECK(Pump(ports, [&] {
    const StatusOr<bool> over = ports[0]->Test(&request);
    status = over.ok() ? Status() : over.status();
    return !over.ok();
  }));
  CHECK(status.message() == "a message of 100000 bytes came from member 1, which is too long");
  SendAll(ports, 1, 0, 1, Pattern(10, 2));
  CHECK(ReceiveAll(ports, 0, 1, 1, 10) == Pattern(10, 2));
}

TEST_CASE("a send that is given up in the middle: its buffer is free, its bytes arrive") {
  const Ports ports = testing::LocalTcpPorts(2);
  REQUIRE(ports.size() == 2);
  Bytes sent = Pattern(kLarge, 1);
  MessageRequest large, waiting;
  REQUIRE(ports[1]->Send(0, 1, sent, &large).ok());
  REQUIRE(ports[1]->Send(0, 2, Pattern(5, 2), &waiting).ok());
  // The receiver does not read; so the first one gets stuck in the middle.
  for (int turn = 0; turn < 1000; ++turn) {
    REQUIRE(ports[1]->Progress().ok());
    if (turn < 4) REQUIRE(ports[0]->Progress().ok());
  }
  REQUIRE_FALSE(Over(ports[1].get(), &large));
  CHECK_FALSE(ports[1]->Abandon(&large));
  CHECK_FALSE(ports[1]->Abandon(&waiting));  // nothing of it has left: it never will
  std::fill(sent.begin(), sent.end(), uint8_t{0xEE});
  SendAll(ports, 1, 0, 3, Pattern(7, 3));
  CHECK(ReceiveAll(ports, 0, 1, 3, 7) == Pattern(7, 3));
  CHECK((ReceiveAll(ports, 0, 1, 1, kLarge) == Pattern(kLarge, 1)));
  const StatusOr<std::optional<int64_t>> never = ports[0]->Probe(1, 2);
  REQUIRE(never.ok());
  CHECK_FALSE(never->has_value());
}

TEST_CASE("a receive that is given up in the middle: no byte is written afterwards") {
  const Ports ports = testing::LocalTcpPorts(2);
  REQUIRE(ports.size() == 2);
  const Bytes sent = Pattern(kLarge, 1);
  Bytes room(kLarge);
  MessageRequest sending, receiving;
  REQUIRE(ports[0]->Receive(1, 1, room, &receiving).ok());
  REQUIRE(ports[1]->Send(0, 1, sent, &sending).ok());
  REQUIRE(Pump(ports, [&] { return room[1000] == sent[1000] && room[999] == sent[999]; }));
  REQUIRE_FALSE(Over(ports[0].get(), &receiving));
  CHECK_FALSE(ports[0]->Abandon(&receiving));
  room.assign(kLarge, 0xEE);
  CHECK(Pump(ports, [&] { return Over(ports[1].get(), &sending); }));
  SendAll(ports, 1, 0, 1, Pattern(9, 2));
  CHECK(ReceiveAll(ports, 0, 1, 1, 9) == Pattern(9, 2));
  CHECK(std::all_of(room.begin(), room.end(), [](uint8_t byte) { return byte == 0xEE; }));
}

TEST_CASE("a member that ends is lost, after all that it had sent; nobody else is") {
  Ports ports = testing::LocalTcpPorts(3);
  REQUIRE(ports.size() == 3);
  SendAll(ports, 0, 1, 1, Pattern(3, 1));
  SendAll(ports, 2, 0, 1, Pattern(3, 2));
  SendAll(ports, 1, 0, 1, Pattern(3, 3));
  SendAll(ports, 1, 0, 1, Pattern(100'000, 4));
  CHECK_FALSE(ports[0]->LostForReceives(1));
  ports[1].reset();
  REQUIRE(Pump(ports, [&] { return ports[0]->LostForReceives(1) && ports[0]->LostForSends(1); }));
  CHECK(ReceiveAll(ports, 0, 1, 1, 3) == Pattern(3, 3));
  CHECK(ReceiveAll(ports, 0, 1, 1, 100'000) == Pattern(100'000, 4));
  CHECK_FALSE(ports[0]->LostForReceives(2));
  CHECK_FALSE(ports[0]->LostForSends(2));
  // What is for it or from it never ends, and can be given up.
  const Bytes three = Pattern(3, 5);
  Bytes room(3);
  MessageRequest to, from, first;
  REQUIRE(ports[0]->Send(1, 1, three, &to).ok());
  REQUIRE(ports[0]->Receive(1, 1, room, &from).ok());
  // Member 2 never talked to it: it finds out when it does.
  CHECK_FALSE(ports[2]->LostForSends(1));
  REQUIRE(ports[2]->Send(1, 1, three, &first).ok());
  REQUIRE(Pump(ports, [&] { return ports[2]->LostForSends(1); }));
  REQUIRE(Pump(ports, [&] { return ports[2]->LostForReceives(1); }));
  CHECK_FALSE(Over(ports[0].get(), &to));
  CHECK_FALSE(Over(ports[0].get(), &from));
  CHECK_FALSE(Over(ports[2].get(), &first));
  CHECK_FALSE(ports[0]->Abandon(&to));
  CHECK_FALSE(ports[0]->Abandon(&from));
  CHECK_FALSE(ports[2]->Abandon(&first));
  SendAll(ports, 0, 2, 1, three);
  CHECK(ReceiveAll(ports, 2, 0, 1, 3) == three);
}

// Sends from member 1 to member 0, which does not read, until the sockets are full; how many
// messages have left in full.
size_t SendWhatFits(MessagePort* from, const Bytes& bytes) {
  for (size_t sent = 0;; ++sent) {
    MessageRequest request;
    REQUIRE(from->Send(0, 1, bytes, &request).ok());
    bool over = false;
    for (int turn = 0; turn < 1000 && !over; ++turn) {
      REQUIRE(from->Progress().ok());
      over = Over(from, &request);
    }
    if (over) continue;
    (void)from->Abandon(&request);
    return sent;
  }
}

TEST_CASE("a member that ends is not lost for receives before all of its bytes have been read") {
  for (const bool receiver_sends : {true, false}) {
    CAPTURE(receiver_sends);
    Ports ports = testing::LocalTcpPorts(2);
    REQUIRE(ports.size() == 2);
    const Bytes one = Pattern(1000, 1);
    SendAll(ports, 1, 0, 1, one);
    if (receiver_sends) SendAll(ports, 0, 1, 1, one);
    const size_t sent = 1 + SendWhatFits(ports[1].get(), one);
    REQUIRE(sent > 1000);  // more than one turn of reading
    ports[1].reset();
    size_t got = 0;
    bool lost = false;
    REQUIRE(Pump(ports, [&] {
      // As a wait does it: what Progress has moved is taken before it asks.
      for (;;) {
        Bytes room(one.size());
        MessageRequest request;
        REQUIRE(ports[0]->Receive(1, 1, room, &request).ok());
        if (!Over(ports[0].get(), &request)) {
          (void)ports[0]->Abandon(&request);
          break;
        }
        got += room == one ? 1 : 0;
      }
      lost = ports[0]->LostForReceives(1);
      return lost;
    }));
    CHECK(got == sent);
  }
}

TEST_CASE("a member that connected and ended before the other one looked: all of it arrives") {
  Ports ports = testing::LocalTcpPorts(2);
  REQUIRE(ports.size() == 2);
  const Bytes three = Pattern(3, 1);
  MessageRequest to, from;
  REQUIRE(ports[0]->Send(1, 1, three, &to).ok());
  REQUIRE(ports[1]->Send(0, 1, three, &from).ok());
  const auto pump_one = [&] {
    REQUIRE(ports[1]->Progress().ok());
    return Over(ports[1].get(), &from);
  };
  while (!pump_one()) std::this_thread::yield();
  ports[1].reset();
  REQUIRE(Pump(ports, [&] { return ports[0]->LostForReceives(1); }));
  const StatusOr<std::optional<int64_t>> here = ports[0]->Probe(1, 1);
  REQUIRE(here.ok());
  CHECK(here->value_or(-1) == 3);
  CHECK(ReceiveAll(ports, 0, 1, 1, 3) == three);
}

// Two members, and where others find them. The secret of member m is {m, 99}.
struct OpenPorts {
  std::vector<TcpMember> members;
  Ports ports;
};

OpenPorts MakeOpenPorts() {
  OpenPorts out;
  std::vector<Descriptor> listeners;
  for (uint64_t m = 0; m < 2; ++m) {
    out.members.push_back({{"127.0.0.1", 0}, {m, 99}});
    StatusOr<Descriptor> listener = Listen(&out.members.back().endpoint);
    REQUIRE(listener.ok());
    listeners.push_back(*std::move(listener));
  }
  for (size_t m = 0; m < 2; ++m) {
    StatusOr<std::unique_ptr<MessagePort>> port =
        MakeTcpPort(static_cast<int>(m), out.members, std::move(listeners[m]));
    REQUIRE(port.ok());
    out.ports.push_back(*std::move(port));
  }
  return out;
}

bool HungUp(const Descriptor& stranger) {
  char byte = 0;
  const ssize_t got = recv(stranger.get(), &byte, 1, MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno == ECONNRESET);
}

TEST_CASE("strangers who say nothing keep no member out, and are hung up on") {
  const auto [members, ports] = MakeOpenPorts();
  std::vector<Descriptor> strangers;
  for (int s = 0; s < 200; ++s) {
    StatusOr<Descriptor> stranger = StartConnect(members[0].endpoint);
    REQUIRE(stranger.ok());
    strangers.push_back(*std::move(stranger));
  }
  SendAll(ports, 1, 0, 1, Pattern(50, 1));
  CHECK(ReceiveAll(ports, 0, 1, 1, 50) == Pattern(50, 1));
  CHECK(HungUp(strangers.front()));
  CHECK_FALSE(HungUp(strangers.back()));
  CHECK(Pump(ports, [&] { return std::all_of(strangers.begin(), strangers.end(), HungUp); }));
  SendAll(ports, 1, 0, 1, Pattern(50, 2));
  CHECK(ReceiveAll(ports, 0, 1, 1, 50) == Pattern(50, 2));
}

TEST_CASE("a member that greets in time is not closed for those who come after it") {
  const auto [members, ports] = MakeOpenPorts();
  const Bytes three = Pattern(3, 1);
  MessageRequest request;
  REQUIRE(ports[1]->Send(0, 1, three, &request).ok());
  while (!Over(ports[1].get(), &request)) REQUIRE(ports[1]->Progress().ok());
  std::vector<Descriptor> strangers;
  for (int s = 0; s < 200; ++s) {
    StatusOr<Descriptor> stranger = StartConnect(members[0].endpoint);
    REQUIRE(stranger.ok());
    strangers.push_back(*std::move(stranger));
  }
  CHECK(ReceiveAll(ports, 0, 1, 1, 3) == three);
}

TEST_CASE("a stranger is hung up on, whatever it says") {
  const auto [members, ports] = MakeOpenPorts();
  // What member 1 would say, but for the secret; then other text; then less than a greeting.
  uint64_t wrong_secret[4] = {0x3130504344485352, uint64_t{1}, 0, 98};
  const std::string text = "GET / HTTP/1.1\r\nHost: a\r\n\r\n and more than a greeting";
  const std::string said[] = {
      std::string(reinterpret_cast<const char*>(wrong_secret), sizeof(wrong_secret)), text,
      "short"};
  std::vector<Descriptor> strangers;
  for (const std::string& words : said) {
    StatusOr<Descriptor> stranger = StartConnect(members[0].endpoint);
    REQUIRE(stranger.ok());
    REQUIRE(Pump(ports, [&] {
      return send(stranger->get(), words.data(), words.size(), MSG_NOSIGNAL) ==
             static_cast<ssize_t>(words.size());
    }));
    strangers.push_back(*std::move(stranger));
  }
  for (size_t s = 0; s < 2; ++s) {
    CHECK(Pump(ports, [&] { return HungUp(strangers[s]); }));
  }
  SendAll(ports, 1, 0, 1, Pattern(50, 1));
  CHECK(ReceiveAll(ports, 0, 1, 1, 50) == Pattern(50, 1));
  CHECK_FALSE(ports[0]->LostForReceives(1));
}

}  // namespace
}  // namespace reshard
