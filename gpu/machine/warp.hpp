#pragma once
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "gpu/machine/ir.hpp"
#include "gpu/machine/machine.hpp"
#include "gpu/machine/memory.hpp"
#include "gpu/machine/races.hpp"
#include "reference/ptx/cpasync.hpp"
#include "reference/ptx/mbarrier.hpp"

// What executes: a CTA of warps, a warp of fragments, a fragment of lanes that are at one place.
namespace assay::gpu {

struct Cta;

/// A function that is being executed: its registers and its part of the local memory.
struct Frame {
  const Code* code = nullptr;
  std::shared_ptr<Frame> caller;
  int return_to = 0;  // statement of the caller
  const Instruction* call = nullptr;
  int depth = 0;
  std::int64_t local_base = 0;
  std::vector<ptx::Reg32> slots;
  std::vector<Mask> defined;  // of each slot
  std::vector<Mask> predicates, predicates_defined;
  Frame(const Code& of, std::shared_ptr<Frame> from);
};

/// Lanes at one place. Those of a warp that took different ways are different fragments until they meet again.
struct Fragment {
  Mask mask = 0;
  int pc = 0;
  std::shared_ptr<Frame> frame;
  bool waits = false;               // nothing has changed since it could not go on
  std::uint64_t barrier_phase = 0;  // of the barrier it has arrived at, + 1; 0: none
  std::uint64_t last_run = 0;
};

/// A cp.async of a warp: what its lanes copy, until each has waited for it.
struct AsyncCopy {
  const Instruction* instruction;
  Mask lanes;
  int bytes;
  bool landed;  // the data is there already, though nobody may look at it yet
  std::array<std::uint32_t, 32> to, group;
  std::array<std::uint64_t, 32> from;
  std::array<std::uint32_t, 32> from_bytes;
};

/// An mbarrier of shared memory, and what those that arrived knew.
struct MbarrierState {
  ptx::Mbarrier object;
  Clock clock, completed;           // until now, and until the last phase was over
  std::vector<std::uint64_t> seen;  // phases that each warp has seen the end of
};

/// cp.async.mbarrier.arrive: these lanes arrive when their copies are done.
struct AsyncArrival {
  const Instruction* instruction;
  Mask lanes;
  std::array<std::uint32_t, 32> at;
};

class Warp {
 public:
  Warp(Cta& of, int number, Mask lanes);

  /// Runs until it cannot go on, or `steps` instructions are done. Whether it did anything.
  bool run(std::uint64_t steps);
  bool ended() const { return fragments.empty(); }

  // registers of the fragment that runs
  template <class T>
  const T* in(Ref r) const {
    const ptx::Reg32* from = r.is_constant() ? frame->code->constants.data() + ~r.at : frame->slots.data() + r.at;
    return reinterpret_cast<const T*>(from->lane.data());
  }
  template <class T>
  T* out(Ref r) {
    return reinterpret_cast<T*>(frame->slots[static_cast<std::size_t>(r.at)].lane.data());
  }
  Mask defined(Ref r) const {
    return r.is_constant() ? ptx::full_mask : frame->defined[static_cast<std::size_t>(r.at)];
  }
  void define(Ref r, Mask active, Mask as) {
    Mask& d = frame->defined[static_cast<std::size_t>(r.at)];
    d = (d & ~active) | (active & as);
  }
  Mask predicate(int slot) const { return frame->predicates[static_cast<std::size_t>(slot)]; }
  Mask predicate_defined(int slot) const { return frame->predicates_defined[static_cast<std::size_t>(slot)]; }
  void set_predicate(int slot, Mask active, Mask value, Mask as) {
    Mask& p = frame->predicates[static_cast<std::size_t>(slot)];
    Mask& d = frame->predicates_defined[static_cast<std::size_t>(slot)];
    p = (p & ~active) | (active & value);
    d = (d & ~active) | (active & as);
  }

  // control of the fragment that runs
  void branch(Mask taken, int target);
  void enter(Mask lanes, const Code& callee, const Instruction& call);
  void leave(Mask lanes);  // ret: to the caller, or the end of these lanes
  void end_lanes(Mask lanes);
  void begin(Frame& f) const;  // its special registers
  /// Whether all living lanes of `members` are here; if not, the instruction waits for them.
  bool gathered(Mask members) const { return (members & live & ~fragments[current].mask) == 0; }

  /// A rule is broken by this instruction in `lane`.
  void report(const char* rule, const Instruction& i, int lane, const std::string& says,
              Severity severity = Severity::error);

  /// Where an access of one lane goes, after every check; nowhere if one fails.
  Spot at(Space space, std::uint64_t address, int bytes, bool write, const Instruction& i, int lane);
  /// Which space a generic address is in, and where there.
  static Space space_of(std::uint64_t generic, std::uint64_t& address);

  Cta& cta;
  const int number;
  Mask live;
  std::vector<Fragment> fragments;
  std::size_t current = 0;
  Frame* frame = nullptr;
  std::vector<AsyncCopy> copies;
  std::vector<AsyncArrival> arrivals;
  std::array<ptx::CopyGroups, 32> groups;  // of the copies of each lane
  std::array<Range, 32> local;             // local memory of each lane
  const GlobalMemory::Block* last_block = nullptr;
  std::uint64_t steps_done = 0;

 private:
  bool pick();
};

/// A named barrier of a CTA.
struct Barrier {
  std::uint64_t phase = 0;
  std::uint32_t arrived = 0, expected = 0;  // threads
  Mask reduction = 0;
  bool all = true, any = false;  // of the predicates that arrived in this phase
  std::uint32_t count = 0;       // of true ones
  bool last_all = false, last_any = false;
  std::uint32_t last_count = 0;
  Clock clock, last_clock;  // what those that arrived knew, in this phase and in the last one
};

struct Grid;

/// A block of threads.
struct Cta {
  Cta(Grid& of, Dim at, std::uint64_t number);
  Grid& grid;
  Dim id;
  std::uint64_t order;      // its number in the grid
  std::uint64_t steps = 0;  // instructions its warps have done
  bool stopped = false;     // what happened leaves no meaning to what would follow
  Range shared;             // from shared_base on
  std::vector<std::unique_ptr<Warp>> warps;
  std::array<Barrier, 16> barriers;
  Races races;
  std::map<std::uint32_t, MbarrierState> mbarriers;  // by offset in shared memory
  std::uint64_t random;                              // state of its own choices
  std::uint64_t draw();
  bool ended() const;
  /// Threads that have not ended, rounded up to whole warps.
  std::uint32_t living_threads() const;
  void arrive(Warp& warp, int barrier, std::uint32_t threads, std::uint32_t expected, Mask lanes, Mask predicate);
  void complete_barriers();  // those that wait for warps which have ended
};

/// Arrivals at mbarriers of copies that are done: all of them, or those that the machine's choice of time lets happen
/// now.
void deliver(Warp& w, bool all);

/// A launch that runs.
struct Grid {
  const Program* program = nullptr;
  const Code* entry = nullptr;
  Launch launch;
  Options options;
  GlobalMemory* memory = nullptr;
  std::uint32_t shared_bytes = 0, dynamic_at = 0;
  std::vector<std::uint64_t> executed, lanes;  // of each instruction of each function, in a row
  std::vector<std::size_t> first_counter;      // of each function
  std::map<std::string, std::uint64_t> counters;
  struct Found {
    std::uint64_t order;  // of the CTA that saw it
    Finding finding;
  };
  std::map<std::pair<std::string, int>, Found> findings;  // by rule and line
  void add(const Finding& finding, std::uint64_t order);
  std::string printed;
  Range params;
};

}  // namespace assay::gpu
