#pragma once
#include <functional>

#include "conformance/attention/chunks.hpp"
#include "reference/attention/ring.hpp"

// Forms of attention whose definitions store or place keys in another way, as forms of one head, for claim
// attention.core.walk. They take a head without bias and soft cap; what it sees is its mask.
namespace assay {

/// A whole number of [low, high], drawn from the case.
using Pick = std::function<Index(Index low, Index high)>;

/// Whether these forms have what the head has: neither bias nor soft cap. They want a query too.
bool is_plain(const Head& h);

/// Paged: every query is a request, over the keys it sees, in pages of P slots scattered over a pool of which the
/// rest holds 7. A request whose keys begin another one's shares that one's pages, the last of them filled in part.
Attention<Bound> by_pages(const Head& h, Index P, const Pick& pick);
/// Packed: neighbouring queries that see the same keys are a sequence over those.
Attention<Bound> by_varlen(const Head& h);
/// Multi-head latent attention whose latent is keys and values side by side, and whose up-projections take them out
/// again; some columns of the keys are its rotary part. Absorbed or expanded.
Attention<Bound> by_mla(const Head& h, bool absorbed, Index rotary);

/// The head as the ring takes it: as many queries as keys, a multiple of twice the ranks, those added unseen and
/// seeing nothing; the scale in q.
struct RingForm {
  RingHead<Bound> head;
  Tokens tokens;
  Index start;
  Bound factor;  // of q
};
RingForm ring_form(const Head& h, const Pick& pick);
Attention<Bound> by_ring(const Head& h, const RingForm& ring);
RingGradient<Bound> by_ring_backward(const Head& h, const RingForm& ring, const Attention<Bound>& y,
                                     const Matrix<Bound>& d_o);

}  // namespace assay
