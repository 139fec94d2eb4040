#include <algorithm>
#include <bit>

#include "gpu/machine/warp.hpp"

namespace assay::gpu {

Cta::Cta(Grid& of, Dim at, std::uint64_t number)
    : grid(of),
      id(at),
      order(number),
      shared(of.shared_bytes),
      races((of.launch.block.x * of.launch.block.y * of.launch.block.z + 31) / 32, of.shared_bytes, of.options.races),
      random(of.options.seed * 0x9e3779b97f4a7c15u + number * 0xbf58476d1ce4e5b9u + 1) {
  const std::uint32_t threads = of.launch.block.x * of.launch.block.y * of.launch.block.z;
  for (std::uint32_t first = 0; first < threads; first += 32) {
    const std::uint32_t n = std::min(threads - first, 32U);
    warps.push_back(
        std::make_unique<Warp>(*this, static_cast<int>(first / 32), n == 32 ? ptx::full_mask : (1U << n) - 1));
  }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t Cta::draw() {
  random += 0x9e3779b97f4a7c15u;
  std::uint64_t z = random;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

bool Cta::ended() const {
  return std::all_of(warps.begin(), warps.end(), [](const auto& w) { return w->ended(); });
}

std::uint32_t Cta::living_threads() const {
  std::uint32_t n = 0;
  for (const auto& w : warps) n += w->ended() ? 0 : 32;
  return n;
}

namespace {

void complete(Barrier& b) {
  ++b.phase;
  b.last_all = b.all;
  b.last_any = b.any;
  b.last_count = b.count;
  b.last_clock = std::move(b.clock);
  b.clock = {};
  b.arrived = b.expected = b.count = 0;
  b.all = true;
  b.any = false;
}

}  // namespace

void Cta::arrive(Warp& warp, int barrier, std::uint32_t threads, std::uint32_t expected, Mask lanes, Mask predicate) {
  Barrier& b = barriers[static_cast<std::size_t>(barrier)];
  if (races.on()) join(b.clock, races.release(warp.number));
  b.arrived += threads;
  b.expected = expected;
  b.all = b.all && (lanes & ~predicate) == 0;
  b.any = b.any || (lanes & predicate) != 0;
  b.count += static_cast<std::uint32_t>(std::popcount(lanes & predicate));
  if (b.arrived >= (expected == 0 ? living_threads() : expected)) complete(b);
}

void Cta::complete_barriers() {
  for (Barrier& b : barriers)
    if (b.arrived > 0 && b.expected == 0 && b.arrived >= living_threads()) complete(b);
}

void Grid::add(const Finding& finding, std::uint64_t order) {
  const auto [known, fresh] = findings.try_emplace({finding.rule, finding.line}, Found{order, finding});
  if (fresh) return;
  const std::uint64_t count = known->second.finding.count + finding.count;
  if (order < known->second.order) known->second = {order, finding};
  known->second.finding.count = count;
}

}  // namespace assay::gpu
