#include "gpu/machine/run.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <thread>

namespace assay::gpu {
namespace {

/// Instructions that a warp does in a row before another has its turn.
constexpr std::uint64_t slice = 256;
/// CTAs that are on the device together where they may wait for each other.
constexpr std::size_t resident = 64;

std::string lanes_text(Mask mask) {
  if (mask == ptx::full_mask) return "all lanes";
  std::string text;
  for (int l = 0; l < 32; ++l) {
    if (!ptx::has(mask, l)) continue;
    int last = l;
    while (last < 31 && ptx::has(mask, last + 1)) ++last;
    if (!text.empty()) text += ", ";
    text += std::to_string(l);
    if (last > l) text.append("-").append(std::to_string(last));
    l = last;
  }
  return "lanes " + text;
}

/// What a wait for an mbarrier waits for.
std::string waited_mbarrier(Warp& w, const Instruction& i) {
  if (std::string(i.counted) != "mbarrier") return "";
  std::string text;
  for (const auto& [at, state] : w.cta.mbarriers) {
    const ptx::Mbarrier& m = state.object;
    text.append(text.empty() ? " waits for an mbarrier; there are " : ", ")
        .append("one at ")
        .append(std::to_string(at + shared_base));
    text.append(" in phase ")
        .append(std::to_string(m.phase))
        .append(" with ")
        .append(std::to_string(m.pending))
        .append(" of ");
    text.append(std::to_string(m.expected))
        .append(" arrivals and ")
        .append(std::to_string(m.bytes))
        .append(" bytes to come");
  }
  return text;
}

/// Nobody can go on: who waits for what.
void report_deadlock(Cta& cta) {
  std::string graph;
  Warp* first = nullptr;
  const Instruction* at = nullptr;
  bool divergent = false;
  for (const auto& w : cta.warps) {
    for (const Fragment& f : w->fragments) {
      const Instruction& i = f.frame->code->instructions[static_cast<std::size_t>(f.pc)];
      if (!graph.empty()) graph += "; ";
      graph.append("warp ").append(std::to_string(w->number)).append(", ").append(lanes_text(f.mask));
      graph.append(", at line ").append(std::to_string(i.line)).append(" (").append(i.counted).append(")");
      if (f.barrier_phase != 0) {
        const auto number = w->in<std::uint32_t>(i.a);
        const std::uint32_t b = number[std::countr_zero(f.mask)];
        const Barrier& barrier = cta.barriers[b];
        graph.append(" waits at barrier ")
            .append(std::to_string(b))
            .append(", where ")
            .append(std::to_string(barrier.arrived));
        graph.append(" of ")
            .append(barrier.expected == 0 ? "all" : std::to_string(barrier.expected))
            .append(" threads have come");
      } else {
        const std::string mbarrier = waited_mbarrier(*w, i);
        graph += mbarrier.empty() ? " waits for other lanes of its warp" : mbarrier;
        divergent = divergent || (w->fragments.size() > 1 && mbarrier.empty());
      }
      if (first == nullptr) first = w.get(), at = &i;
    }
  }
  if (first == nullptr) return;
  first->report(divergent ? "divergent" : "deadlock", *at, std::countr_zero(first->fragments[0].mask),
                "nobody can go on: " + graph);
}

void report_limit(Cta& cta) {
  for (const auto& w : cta.warps)
    if (!w->ended()) {
      const Fragment& f = w->fragments[0];
      const auto& code = f.frame->code->instructions;
      const Instruction& i = code[std::min(static_cast<std::size_t>(f.pc), code.size() - 1)];
      return w->report("limit", i, std::countr_zero(f.mask),
                       "the block has done " + std::to_string(cta.steps) + " warp instructions and has not ended");
    }
}

/// A turn for each warp, in an order that the seed chooses. False when nothing could go on.
bool turn(Cta& cta, std::vector<Warp*>& order) {
  order.clear();
  for (const auto& w : cta.warps)
    if (!w->ended()) order.push_back(w.get());
  for (std::size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[cta.draw() % k]);
  bool did = false;
  for (Warp* w : order) {
    did = w->run(slice) || did;
    if (w->ended()) cta.complete_barriers();
    if (cta.stopped) return true;
  }
  if (did) return true;
  // Asynchronous arrivals happen at last.
  for (const auto& w : cta.warps) {
    did = did || !w->arrivals.empty();
    deliver(*w, true);
  }
  return did;
}

Dim place_of(const Grid& grid, std::uint64_t order) {
  const Dim& g = grid.launch.grid;
  return {static_cast<std::uint32_t>(order % g.x), static_cast<std::uint32_t>(order / g.x % g.y),
          static_cast<std::uint32_t>(order / g.x / g.y)};
}

/// CTAs first, first + step, ... below last, so many of them at once, until all have ended.
void run_together(Grid& grid, std::uint64_t first, std::uint64_t last, std::uint64_t step, std::size_t at_once) {
  std::vector<std::unique_ptr<Cta>> ctas;
  std::vector<Warp*> order;
  std::uint64_t next = first;
  while (next < last || !ctas.empty()) {
    while (ctas.size() < at_once && next < last) {
      ctas.push_back(std::make_unique<Cta>(grid, place_of(grid, next), next));
      next += step;
    }
    for (const auto& cta : ctas) {
      if (!turn(*cta, order) && !cta->ended()) {
        report_deadlock(*cta);
        cta->stopped = true;
      } else if (cta->steps > grid.options.instruction_limit && !cta->ended()) {
        report_limit(*cta);
        cta->stopped = true;
      }
    }
    std::erase_if(ctas, [](const auto& cta) { return cta->stopped || cta->ended(); });
  }
}

void merge(Grid& into, const Grid& part) {
  for (const auto& [key, found] : part.findings) into.add(found.finding, found.order);
  for (std::size_t k = 0; k < into.executed.size(); ++k) {
    into.executed[k] += part.executed[k];
    into.lanes[k] += part.lanes[k];
  }
  for (const auto& [name, n] : part.counters) into.counters[name] += n;
  into.printed += part.printed;
}

}  // namespace

void run(Grid& grid) {
  const Dim& g = grid.launch.grid;
  const std::uint64_t all = std::uint64_t{g.x} * g.y * g.z;
  bool ordered = false;
  for (const Code& code : grid.program->codes) ordered = ordered || code.orders_global;
  const auto threads = ordered ? 1 : std::min<std::uint64_t>(all, static_cast<std::uint64_t>(grid.options.threads));
  if (threads <= 1) return run_together(grid, 0, all, 1, ordered ? resident : 1);
  std::vector<Grid> parts(threads, grid);
  std::vector<std::thread> workers;
  for (std::uint64_t t = 0; t < threads; ++t)
    workers.emplace_back([&, t] { run_together(parts[t], t, all, threads, 1); });
  for (std::thread& worker : workers) worker.join();
  for (const Grid& part : parts) merge(grid, part);
}

}  // namespace assay::gpu
