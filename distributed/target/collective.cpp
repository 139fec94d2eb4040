// Op collective, as groups of ranks run it: each rank has its row of x and of `before` in memory of its own, in the
// format of the elements, between margins that nobody may touch.
#include <array>
#include <chrono>
#include <cstring>
#include <thread>

#include "distributed/target/ranks.hpp"
#include "reference/core/vocabulary.hpp"
#include "spec/collective/primitives.hpp"

namespace assay {
namespace {

using Kind = CollectiveOptions::Call;
using Clock = std::chrono::steady_clock;  // one for all processes of a machine

constexpr std::size_t margin = 64;
constexpr std::byte untouched{0xA5};

/// The buffer of a rank, with margins on both sides.
class Memory {
 public:
  Memory(const Tensor<double>& rows, Index row, const Format& f)
      : width_(static_cast<std::size_t>(f.bits) / 8), count_(rows.shape()[1]), format_(&f) {
    bytes_.assign(2 * margin + static_cast<std::size_t>(count_) * width_, untouched);
    for (Index i = 0; i < count_; ++i) {
      const std::uint64_t code = encode(f, rows.at_flat(row * count_ + i));
      std::memcpy(bytes_.data() + margin + static_cast<std::size_t>(i) * width_, &code, width_);
    }
  }
  Buffer all() { return {bytes_.data() + margin, count_, *format_}; }
  Buffer part(Index first, Index n) { return all().part(first, n); }
  void write_to(const Tensor<double>& rows, Index row) const {
    for (Index i = 0; i < count_; ++i) {
      std::uint64_t code = 0;
      std::memcpy(&code, bytes_.data() + margin + static_cast<std::size_t>(i) * width_, width_);
      rows.data()[row * count_ + i] = decode(*format_, code);
    }
  }
  void require_margins(const char* what) const {
    for (std::size_t i = 0; i < margin; ++i)
      if (bytes_[i] != untouched || bytes_[bytes_.size() - 1 - i] != untouched)
        throw Error(std::string("memory beside what is ") + what, "unchanged by the call", "changed");
  }
  bool operator==(const Memory& other) const { return bytes_ == other.bytes_; }

 private:
  std::size_t width_;
  Index count_;
  const Format* format_;
  std::vector<std::byte> bytes_;
};

/// What all ranks of a call know.
struct Collective {
  const Call& call;
  CollectiveOptions opt = CollectiveOptions::from(call.options);
  Index n = call["x"].shape()[0], S = call["x"].shape()[1], c = S / n;
  int root = static_cast<int>(static_cast<Index>(opt.root) % n);
  bool in_place = opt.memory == CollectiveOptions::Memory::in_place;

  Reduction how() const {
    using By = CollectiveOptions::Order;
    Reduction r;
    r.op = std::array{Op::sum, Op::prod, Op::max, Op::min, Op::avg}[static_cast<std::size_t>(opt.reduction)];
    if (opt.order == By::ring) r.order = CombineOrder::ring;
    if (opt.order == By::tree) r.order = CombineOrder::balanced_tree;
    if (opt.order == By::doubling) r.order = CombineOrder::doubling;
    if (opt.order == By::halving) r.order = CombineOrder::halving;
    r.exact = opt.order == By::exact;
    r.accumulate = opt.node == CollectiveOptions::Node::element ? call.contract.in : call.contract.acc;
    return r;
  }
  bool by_library() const {
    const bool reduces = opt.call == Kind::all_reduce || opt.call == Kind::reduce || opt.call == Kind::reduce_scatter;
    return reduces && opt.order == CollectiveOptions::Order::library;
  }
  std::vector<Index> counts(int rank, bool sent) const {
    std::vector<Index> all;
    for (Index s = 0; s < n; ++s)
      all.push_back(static_cast<Index>(call["counts"].at_flat(sent ? rank * n + s : s * n + rank)));
    return all;
  }
};

Index sum(const std::vector<Index>& counts) {
  Index all = 0;
  for (const Index one : counts) all += one;
  return all;
}

/// Calls body on each piece of a reduction of all elements.
template <class F>
void in_pieces(const Collective& of, F body) {
  const auto pieces = static_cast<Index>(of.opt.pieces), piece = (of.S + pieces - 1) / pieces;
  for (Index p = 0; p < pieces; ++p) {
    const Index first = std::min(of.S, p * piece);
    body(first, std::min(of.S - first, piece));
  }
}

/// The call on one rank: reads `in`, writes `out`, which are one buffer in place.
void make_call(Communicator& ranks, const Collective& of, Memory& in, Memory& out) {
  const int r = ranks.rank(), n = ranks.size();
  const Index c = of.c, own = of.in_place ? r * c : 0, all = n * c;
  switch (of.opt.call) {
    case Kind::broadcast:
      if (r == of.root && !of.in_place) std::memcpy(out.all().data, in.all().data, in.all().bytes().size());
      return ranks.broadcast(out.all(), of.root);
    case Kind::scatter:
      return ranks.scatter(in.part(0, all), out.part(own, c), of.root);
    case Kind::gather:
      return ranks.gather(in.part(own, c), out.part(0, all), of.root);
    case Kind::all_gather:
      return ranks.all_gather(in.part(own, c), out.part(0, all));
    case Kind::reduce:
      return in_pieces(of, [&](Index first, Index count) {
        ranks.reduce(in.part(first, count), out.part(first, count), of.root, of.how());
      });
    case Kind::all_reduce:
      return in_pieces(of, [&](Index first, Index count) {
        const Buffer x = in.part(first, count), y = out.part(first, count);
        of.by_library() ? library_all_reduce()(ranks, x, y, of.how().op) : ranks.all_reduce(x, y, of.how());
      });
    case Kind::reduce_scatter:
      return ranks.reduce_scatter(in.part(0, all), out.part(own, c), of.how());
    case Kind::all_to_all:
      return ranks.all_to_all(in.part(0, all), out.part(0, all));
    case Kind::all_to_all_v: {
      const std::vector<Index> sent = of.counts(r, true), received = of.counts(r, false);
      return ranks.all_to_all(in.part(0, sum(sent)), sent, out.part(0, sum(received)), received);
    }
    case Kind::send_recv:
      return ranks.send_recv(in.all(), (r + of.root) % n, out.all(), (r + n - of.root) % n);
    case Kind::barrier:
      return ranks.barrier();
  }
}

double seconds() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

/// A barrier that ranks reach one after another: how many had entered when this one left.
void barrier_rank(Communicator& ranks, const Collective& of, Memory& in, Memory& out, double& entered) {
  std::this_thread::sleep_for(std::chrono::microseconds(100 * ranks.rank()));
  std::vector<double> own{seconds()}, all(static_cast<std::size_t>(ranks.size()));
  make_call(ranks, of, in, out);
  const double left = seconds();
  ranks.all_gather(own, all);
  entered = 0;
  for (const double t : all) entered += t <= left ? 1 : 0;
}

/// Throws unless the library has this reduction.
void require_library(const Collective& of) {
  const Format& f = *of.call.contract.in;
  if (of.opt.call != Kind::all_reduce) throw Unsupported{"reductions by the library other than all_reduce"};
  if (of.opt.reduction == CollectiveOptions::Reduction::avg) throw Unsupported{"averages by the library"};
  if (f.bits < 32) throw Unsupported{"reductions by the library of " + std::string(f.name)};
}

void run_collective(const Call& call, const Group& group, Answer& answer) {
  for (const TensorSpec& spec : call.op->inputs)
    if (call.inputs.has(spec.name)) require_shape(spec.name.c_str(), call[spec.name].shape(), shape_of(spec, call));
  if (call["x"].shape()[0] < 1) throw Error("collective: x", "a row for each rank, at least one", "none");
  const Collective of{call};
  if (call.inputs.has("counts")) require_shape("counts", call["counts"].shape(), {of.n * of.n});
  if (of.opt.root < 0 || of.opt.pieces < 1) throw Error("collective", "root from 0, pieces from 1", "less");
  const bool integer_avg = call.contract.in->fixed_point() && of.opt.reduction == CollectiveOptions::Reduction::avg;
  const bool moves_apart =
      of.opt.call == Kind::all_to_all || of.opt.call == Kind::all_to_all_v || of.opt.call == Kind::send_recv;
  if (integer_avg) throw Unsupported{"averages of integers"};
  if (of.in_place && moves_apart) throw Unsupported{"all_to_all and send_recv in place"};
  if (of.by_library()) require_library(of);
  const Tensor<double> y({of.n, of.S}, not_a_number), entered({of.n}, not_a_number);
  answer.sent = group(static_cast<int>(of.n), [&](Communicator& ranks) {
    const Index r = ranks.rank();
    Memory in(call["x"], r, *call.contract.in);
    const Memory before = in;
    Memory apart(call[of.in_place ? "x" : "before"], r, *call.contract.in);
    Memory& out = of.in_place ? in : apart;
    if (of.opt.call == Kind::barrier)
      barrier_rank(ranks, of, in, out, entered.data()[r]);
    else
      make_call(ranks, of, in, out);
    out.require_margins("written");
    in.require_margins("read");
    if (!of.in_place && !(in == before)) throw Error("memory that is read", "unchanged by the call", "changed");
    out.write_to(y, r);
  });
  answer.outputs.set("y", y, call.contract.out);
  if (of.opt.call == Kind::barrier) answer.outputs.set("entered", entered, call.contract.acc);
}

bool offers(const OpSpec&, std::size_t, int) { return true; }  // `library` where the group has one

const RegisterRanksOp op(
    {"collective", &offers, &run_collective, {"fp32", "fp64", "bf16", "fp16", "in=int32 acc=int32 out=int32"}});

}  // namespace
}  // namespace assay
