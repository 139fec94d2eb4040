#pragma once
#include <cstdint>

// Clusters of CTAs (PTX ISA 9.0, special registers and section 9.7.13.4): which CTA is which, shared memory of the
// others, and their barrier.
namespace assay::ptx {

struct Dim {
  std::uint32_t x = 1, y = 1, z = 1;
  friend bool operator==(const Dim&, const Dim&) = default;
  constexpr std::uint32_t size() const { return x * y * z; }
};

/// A grid is cut into clusters, which divide it.
constexpr bool divides(const Dim& cluster, const Dim& grid) {
  return grid.x % cluster.x == 0 && grid.y % cluster.y == 0 && grid.z % cluster.z == 0;
}
/// %clusterid and %nclusterid of %ctaid and %nctaid.
constexpr Dim cluster_of(const Dim& cta, const Dim& cluster) {
  return {cta.x / cluster.x, cta.y / cluster.y, cta.z / cluster.z};
}
/// %cluster_ctaid
constexpr Dim place_in_cluster(const Dim& cta, const Dim& cluster) {
  return {cta.x % cluster.x, cta.y % cluster.y, cta.z % cluster.z};
}
/// %cluster_ctarank: x + y N_x + z N_x N_y of %cluster_ctaid; and the CTA of a rank.
constexpr std::uint32_t rank_in_cluster(const Dim& place, const Dim& cluster) {
  return place.x + cluster.x * (place.y + cluster.y * place.z);
}
constexpr Dim place_of_rank(std::uint32_t rank, const Dim& cluster) {
  return {rank % cluster.x, rank / cluster.x % cluster.y, rank / cluster.x / cluster.y};
}
/// The two CTAs of a .cta_group::2 have ranks that differ in the last bit.
constexpr std::uint32_t peer(std::uint32_t rank) { return rank ^ 1; }
/// .multicast::cluster: bit `rank` of the mask; ranks are below 16.
constexpr bool in_multicast(std::uint16_t mask, std::uint32_t rank) { return (mask >> rank & 1) != 0; }

/// The shared memory of a cluster as one window: CTA rank r has its bytes from window + r * stride on, so that mapa
/// keeps the offset and changes the rank.
struct SharedWindow {
  std::uint64_t start, stride;
  constexpr std::uint32_t rank(std::uint64_t address) const {
    return static_cast<std::uint32_t>((address - start) / stride);
  }
  constexpr std::uint64_t offset(std::uint64_t address) const { return (address - start) % stride; }
  /// mapa d, a, rank
  constexpr std::uint64_t mapa(std::uint64_t address, std::uint32_t to) const {
    return start + to * stride + offset(address);
  }
};

/// barrier.cluster: the threads of all CTAs that have not ended arrive, then all of them may go on.
struct ClusterBarrier {
  std::uint64_t phase = 0;
  std::uint32_t threads = 0, arrived = 0;

  /// The phase that this arrival counts for; a thread waits for it before it arrives again.
  constexpr std::uint64_t arrive() {
    const std::uint64_t mine = phase;
    ++arrived;
    settle();
    return mine;
  }
  /// A thread ends: nobody waits for it any more. It has not arrived in this phase.
  constexpr void leave() {
    --threads;
    settle();
  }
  constexpr bool over(std::uint64_t arrived_in) const { return phase > arrived_in; }

 private:
  constexpr void settle() {
    if (arrived < threads || threads == 0) return;
    arrived = 0;
    ++phase;
  }
};

}  // namespace assay::ptx
