#include "gpu/tests/host/lanes.hpp"

#include <ucontext.h>

#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

namespace assay::host {
namespace {

constexpr std::size_t stack_bytes = 64 * 1024;

struct Fiber {
  Lane lane;
  ucontext_t context{};
  std::unique_ptr<char[]> stack;
  alignas(64) unsigned char slot[64] = {};
  bool done = false;
  int* waits_for = nullptr;  // the generation of its barrier
  int generation = 0;
};

struct Barrier {
  int arrived = 0, generation = 0;
};

struct Block {
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Barrier> warps;
  Barrier all;
  Fiber* running = nullptr;
  ucontext_t scheduler{};
  const std::function<void()>* body = nullptr;
  int alive = 0;
};

Block block;
unsigned char* memory = nullptr;
std::size_t memory_bytes = 0;
int votes = 0, vote = 0;

void wait(Barrier& barrier, int members) {
  Fiber& me = *block.running;
  if (++barrier.arrived == members) {
    barrier.arrived = 0;
    ++barrier.generation;
    return;
  }
  me.waits_for = &barrier.generation;
  me.generation = barrier.generation;
  swapcontext(&me.context, &block.scheduler);
}

void enter() {
  (*block.body)();
  block.running->done = true;
  --block.alive;
  swapcontext(&block.running->context, &block.scheduler);
}

void run_block(Position at, int threads) {
  block.fibers.clear();
  block.warps.assign(static_cast<std::size_t>(threads / lanes_of_warp), {});
  block.all = {};
  block.alive = threads;
  std::memset(memory, 0xFF, memory_bytes);
  for (int t = 0; t < threads; ++t) {
    auto fiber = std::make_unique<Fiber>();
    fiber->lane = {{t, 0, 0}, at};
    fiber->stack.reset(new char[stack_bytes]);
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack.get();
    fiber->context.uc_stack.ss_size = stack_bytes;
    fiber->context.uc_link = nullptr;
    makecontext(&fiber->context, enter, 0);
    block.fibers.push_back(std::move(fiber));
  }
  while (block.alive > 0) {
    bool moved = false;
    for (const auto& fiber : block.fibers) {
      if (fiber->done || (fiber->waits_for && *fiber->waits_for == fiber->generation)) continue;
      fiber->waits_for = nullptr;
      block.running = fiber.get();
      moved = true;
      swapcontext(&block.scheduler, &fiber->context);
    }
    if (!moved) throw std::runtime_error("a block waits for ever: lanes of one barrier went different ways");
  }
}

std::size_t warp_of(int thread) { return static_cast<std::size_t>(thread / lanes_of_warp); }

}  // namespace

const Lane& lane() { return block.running->lane; }
unsigned char* shared() { return memory; }
void sync_warp() { wait(block.warps[warp_of(lane().thread.x)], lanes_of_warp); }
void sync_block() { wait(block.all, static_cast<int>(block.fibers.size())); }
void* slot() { return block.running->slot; }
const void* slot_of(int of) {
  return block.fibers[warp_of(lane().thread.x) * lanes_of_warp + static_cast<std::size_t>(of)]->slot;
}

void run_grid(Position grid, int threads, void* shared, std::size_t shared_bytes, const std::function<void()>& body) {
  memory = static_cast<unsigned char*>(shared);
  memory_bytes = shared_bytes;
  block.body = &body;
  for (int z = 0; z < grid.z; ++z)
    for (int y = 0; y < grid.y; ++y)
      for (int x = 0; x < grid.x; ++x) run_block({x, y, z}, threads);
}

}  // namespace assay::host

int __syncthreads_or(int value) {
  using namespace assay::host;
  votes = votes || value;
  sync_block();
  if (threadIdx.x == 0) {
    vote = votes;
    votes = 0;
  }
  sync_block();
  return vote;
}

float __shfl_xor_sync(std::uint32_t, float value, int lanes) {
  using namespace assay::host;
  mine<float>() = value;
  sync_warp();
  const float other = of<float>((threadIdx.x % lanes_of_warp) ^ lanes);
  sync_warp();
  return other;
}
