#include "distributed/communicator/communicator.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "reference/core/error.hpp"

namespace assay {
namespace {

std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

/// An error of this rank is an error of all.
template <class F>
void guarded(Transport& transport, F call) {
  try {
    call();
  } catch (const std::exception& e) {
    transport.fail(e.what());
    throw;
  }
}

Envelope envelope(RanksCall call, View data) {
  Envelope e;
  e.call = call;
  e.count = data.count;
  e.format = format_name(*data.format);
  return e;
}

Envelope envelope(RanksCall call, View data, const Reduction& how) {
  Envelope e = envelope(call, data);
  e.op = static_cast<std::int32_t>(how.op);
  e.order = how.exact ? exact_order : static_cast<std::int32_t>(how.order);
  e.summed = format_name(accumulator(how, *data.format));
  return e;
}

Envelope step(Envelope e, std::int32_t part, Index count) {
  e.part = part;
  e.count = count;
  return e;
}

void require_format(const char* call, View in, View out) {
  if (in.format->name != out.format->name)
    throw Error(std::string(call) + ": format of what is written", std::string(in.format->name),
                std::string(out.format->name));
}

void require_count(const char* call, const char* what, Index expected, Index found) {
  if (expected != found)
    throw Error(std::string(call) + ": " + what, std::to_string(expected) + " elements", std::to_string(found));
}

bool overlap(View a, View b) {
  const auto a0 = reinterpret_cast<std::uintptr_t>(a.data), b0 = reinterpret_cast<std::uintptr_t>(b.data);
  return a.count > 0 && b.count > 0 && a0 < b0 + b.bytes().size() && b0 < a0 + a.bytes().size();
}

/// Of the memory of `whole`, `part` may be exactly what begins at `allowed` (null: nothing).
void require_apart(const char* call, View whole, View part, const std::byte* allowed = nullptr) {
  if (overlap(whole, part) && part.data != allowed)
    throw Error(std::string(call) + ": memory that is read and written",
                allowed == nullptr ? "none" : "none, or exactly the part that in place means", "an overlap");
}

void copy(View from, Buffer to) {
  if (from.count > 0 && from.data != to.data) std::memcpy(to.data, from.data, from.bytes().size());
}

/// [first, count) of chunk c when `count` elements lie in chunks of `chunk`, the last ones shorter or empty.
struct Range {
  Index first, count;
};
Range chunk_range(Index count, Index chunk, int c) {
  const Index first = std::min(count, chunk * c);
  return {first, std::min(count - first, chunk)};
}

}  // namespace

void Communicator::require_rank(const char* what, int rank) const {
  if (rank < 0 || rank >= size())
    throw Error(what, "a rank from 0 to " + std::to_string(size() - 1), std::to_string(rank));
}

void Communicator::require_other(const char* what, int rank) const {
  if (rank == this->rank()) throw Error(what, "another rank (send_recv may be with itself)", std::to_string(rank));
}

/// Exchanges the envelope of a collective call with all ranks.
void Communicator::agree(const Envelope& call) {
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int s = 0; s < size(); ++s) {
    if (s == rank()) continue;
    out.push_back({s, call, {}});
    in.push_back({s, call, {}});
  }
  transport_.exchange(out, in);
}

void Communicator::exchange(const std::vector<Send>& sends, const std::vector<Receive>& receives) {
  guarded(transport_, [&] {
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    const auto message = [](View data, int from, int to) {
      Envelope e = envelope(RanksCall::message, data);
      e.from = from;
      e.to = to;
      return e;
    };
    for (const Send& s : sends) {
      require_rank("message: to", s.to);
      out.push_back({s.to, message(s.data, rank(), s.to), s.data.bytes()});
    }
    for (const Receive& r : receives) {
      require_rank("message: from", r.from);
      for (const Send& s : sends) require_apart("message", s.data, r.data);
      for (const Receive& other : receives)
        if (&other != &r) require_apart("message", other.data, r.data);
      in.push_back({r.from, message(r.data, r.from, rank()), r.data.bytes()});
    }
    transport_.exchange(out, in);
  });
}

void Communicator::send(View data, int to) {
  guarded(transport_, [&] { require_other("send: to", to); });
  exchange({{data, to}}, {});
}

void Communicator::recv(Buffer data, int from) {
  guarded(transport_, [&] { require_other("recv: from", from); });
  exchange({}, {{data, from}});
}

void Communicator::send_recv(View out, int to, Buffer in, int from) { exchange({{out, to}}, {{in, from}}); }

void Communicator::broadcast(Buffer data, int root) {
  guarded(transport_, [&] {
    require_rank("broadcast: root", root);
    Envelope call = envelope(RanksCall::broadcast, data);
    call.from = root;
    agree(call);
    call = step(call, 1, data.count);
    if (rank() != root) return transport_.exchange({}, std::vector<Incoming>{{root, call, data.bytes()}});
    std::vector<Outgoing> out;
    for (int s = 0; s < size(); ++s)
      if (s != root) out.push_back({s, call, data.bytes()});
    transport_.exchange(out, {});
  });
}

void Communicator::scatter(View all, Buffer mine, int root) {
  guarded(transport_, [&] {
    require_rank("scatter: root", root);
    if (rank() == root) {
      require_format("scatter", all, mine);
      require_count("scatter", "what is read, one block for each rank", mine.count * size(), all.count);
      require_apart("scatter", all, mine, all.part(mine.count * root, mine.count).data);
    }
    Envelope call = envelope(RanksCall::scatter, mine);
    call.from = root;
    agree(call);
    call = step(call, 1, mine.count);
    if (rank() != root) return transport_.exchange({}, std::vector<Incoming>{{root, call, mine.bytes()}});
    std::vector<Outgoing> out;
    for (int s = 0; s < size(); ++s)
      if (s != root) out.push_back({s, call, all.part(mine.count * s, mine.count).bytes()});
    transport_.exchange(out, {});
    copy(all.part(mine.count * root, mine.count), mine);
  });
}

/// The root gets all chunks of `all`; `mine` is this rank's.
void Communicator::gather_to(Envelope call, View mine, Buffer all, Index chunk, int root) {
  if (rank() != root)
    return transport_.exchange(std::vector<Outgoing>{{root, step(call, 2, mine.count), mine.bytes()}}, {});
  std::vector<Incoming> in;
  for (int s = 0; s < size(); ++s) {
    const Range r = chunk_range(all.count, chunk, s);
    const Buffer part = all.part(r.first, r.count);
    if (s == root)
      copy(mine, part);
    else
      in.push_back({s, step(call, 2, part.count), part.bytes()});
  }
  transport_.exchange({}, in);
}

void Communicator::gather(View mine, Buffer all, int root) {
  guarded(transport_, [&] {
    require_rank("gather: root", root);
    if (rank() == root) {
      require_format("gather", mine, all);
      require_count("gather", "what is written, one block for each rank", mine.count * size(), all.count);
      require_apart("gather", all, mine, all.part(mine.count * root, mine.count).data);
    }
    Envelope call = envelope(RanksCall::gather, mine);
    call.from = root;
    agree(call);
    gather_to(call, mine, all, mine.count, root);
  });
}

void Communicator::reduce(View in, Buffer out, int root, Reduction how) {
  guarded(transport_, [&] {
    require_rank("reduce: root", root);
    if (rank() == root) {
      require_format("reduce", in, out);
      require_count("reduce", "what is written", in.count, out.count);
      require_apart("reduce", in, out, in.data);
    }
    Envelope call = envelope(RanksCall::reduce, in, how);
    call.from = root;
    agree(call);
    const Index chunk = (in.count + size() - 1) / size();
    const Range range = chunk_range(in.count, chunk, rank());
    std::vector<std::byte> part(static_cast<std::size_t>(range.count) * in.element_bytes());
    const Buffer mine(part.data(), range.count, *in.format);
    reduce_chunks(call, in, mine, chunk, how);
    gather_to(call, mine, out, chunk, root);
  });
}

/// Every rank has its chunk of `all` and gets the others'.
void Communicator::gather_chunks(Envelope call, Buffer all, Index chunk) {
  const auto part = [&](int c) {
    const Range r = chunk_range(all.count, chunk, c);
    return all.part(r.first, r.count);
  };
  const Buffer mine = part(rank());
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int s = 0; s < size(); ++s) {
    if (s == rank()) continue;
    out.push_back({s, step(call, 2, mine.count), mine.bytes()});
    in.push_back({s, step(call, 2, part(s).count), part(s).bytes()});
  }
  transport_.exchange(out, in);
}

/// Every rank gets all contributions to its chunk and combines them in the order asked for. So the order is that of the
/// algorithm named, and the same code computes it whoever moves the bytes.
void Communicator::reduce_chunks(Envelope call, View in, Buffer mine, Index chunk, const Reduction& how) {
  std::vector<std::byte> received(at(size()) * mine.bytes().size());
  std::vector<const std::byte*> contribution;  // [n]
  std::vector<Outgoing> out;
  std::vector<Incoming> incoming;
  for (int s = 0; s < size(); ++s) {
    const Range r = chunk_range(in.count, chunk, s);
    const View part = in.part(r.first, r.count);
    contribution.push_back(s == rank() ? part.data : received.data() + at(s) * mine.bytes().size());
    if (s == rank()) continue;
    out.push_back({s, step(call, 1, part.count), part.bytes()});
    incoming.push_back(
        {s, step(call, 1, mine.count), {received.data() + at(s) * mine.bytes().size(), mine.bytes().size()}});
  }
  transport_.exchange(out, incoming);
  assay::reduce(how, *mine.format, contribution, mine.count, merges(how.order, size(), rank()), mine.data);
}

void Communicator::all_gather(View mine, Buffer all) {
  guarded(transport_, [&] {
    require_format("all_gather", mine, all);
    require_count("all_gather", "what is written, one block for each rank", mine.count * size(), all.count);
    const Buffer block = all.part(mine.count * rank(), mine.count);
    require_apart("all_gather", all, mine, block.data);
    const Envelope call = envelope(RanksCall::all_gather, mine);
    agree(call);
    copy(mine, block);
    gather_chunks(call, all, mine.count);
  });
}

void Communicator::all_reduce(View in, Buffer out, Reduction how) {
  guarded(transport_, [&] {
    require_format("all_reduce", in, out);
    require_count("all_reduce", "what is written", in.count, out.count);
    require_apart("all_reduce", in, out, in.data);
    const Envelope call = envelope(RanksCall::all_reduce, in, how);
    agree(call);
    const Index chunk = (in.count + size() - 1) / size();
    const Range mine = chunk_range(in.count, chunk, rank());
    reduce_chunks(call, in, out.part(mine.first, mine.count), chunk, how);
    gather_chunks(call, out, chunk);
  });
}

void Communicator::reduce_scatter(View in, Buffer mine, Reduction how) {
  guarded(transport_, [&] {
    require_format("reduce_scatter", in, mine);
    require_count("reduce_scatter", "what is read, one block for each rank", mine.count * size(), in.count);
    require_apart("reduce_scatter", in, mine, in.part(mine.count * rank(), mine.count).data);
    const Envelope call = envelope(RanksCall::reduce_scatter, mine, how);
    agree(call);
    reduce_chunks(call, in, mine, mine.count, how);
  });
}

/// Block s of `in` to rank s, block s of `out` from rank s, the own one included.
void Communicator::move_blocks(Envelope call, View in, std::span<const Index> send_counts, Buffer out,
                               std::span<const Index> receive_counts) {
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  Index sent = 0, received = 0;
  for (int s = 0; s < size(); ++s) {
    outgoing.push_back({s, step(call, 1, send_counts[at(s)]), in.part(sent, send_counts[at(s)]).bytes()});
    incoming.push_back({s, step(call, 1, receive_counts[at(s)]), out.part(received, receive_counts[at(s)]).bytes()});
    sent += send_counts[at(s)];
    received += receive_counts[at(s)];
  }
  transport_.exchange(outgoing, incoming);
}

void Communicator::all_to_all(View in, Buffer out) {
  guarded(transport_, [&] {
    require_format("all_to_all", in, out);
    require_count("all_to_all", "what is written", in.count, out.count);
    if (in.count % size() != 0)
      throw Error("all_to_all: what is read", "a multiple of " + std::to_string(size()) + " elements",
                  std::to_string(in.count));
    require_apart("all_to_all", in, out);
    const Envelope call = envelope(RanksCall::all_to_all, in);
    agree(call);
    const std::vector<Index> counts(at(size()), in.count / size());
    move_blocks(call, in, counts, out, counts);
  });
}

void Communicator::all_to_all(View in, std::span<const Index> send_counts, Buffer out,
                              std::span<const Index> receive_counts) {
  guarded(transport_, [&] {
    require_format("all_to_all", in, out);
    const auto require_counts = [&](const char* what, std::span<const Index> counts, Index elements) {
      if (counts.size() != at(size()) || std::any_of(counts.begin(), counts.end(), [](Index c) { return c < 0; }))
        throw Error(std::string("all_to_all: ") + what, "a count for each of " + std::to_string(size()) + " ranks",
                    to_string(Shape(counts.begin(), counts.end())));
      require_count("all_to_all", what, std::accumulate(counts.begin(), counts.end(), Index{0}), elements);
    };
    require_counts("send counts", send_counts, in.count);
    require_counts("receive counts", receive_counts, out.count);
    require_apart("all_to_all", in, out);
    Envelope call = envelope(RanksCall::all_to_all, in);
    call.count = -1;
    agree(call);
    move_blocks(call, in, send_counts, out, receive_counts);
  });
}

void Communicator::barrier() {
  guarded(transport_, [&] {
    Envelope call;
    call.call = RanksCall::barrier;
    agree(call);
  });
}

}  // namespace assay
