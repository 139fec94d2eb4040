#pragma once
#include "conformance/attention/chunks.hpp"
#include "reference/attention/flash1.hpp"

// What the pages of FlashAttention 1 and 2 claim alike: two forms of one function.
namespace assay {

FlashInputs<Bound> flash_inputs(const Head& head);
/// The forms' outputs as those of attention, and the tiles that they computed.
struct Tiled {
  Attention<Bound> y;
  Index visited;
};
using TiledForm = Tiled (*)(const FlashInputs<Bound>& in, const Tiles& tiles);
Tiled by_flash1(const FlashInputs<Bound>& in, const Tiles& tiles);
Tiled by_flash2(const FlashInputs<Bound>& in, const Tiles& tiles);

/// Tiles of any size, also larger than the sequence.
Tiles random_tiles(const Check& check, const std::string& name);

// ---- claims of both pages
void tiled_equals_core(Check& check, TiledForm form);
void tile_invariance(Check& check, TiledForm form);
void traversal_direction(Check& check, TiledForm form);
void flash1_equals_flash2(Check& check);
/// Tiles wholly above the diagonal are not visited, all others are.
void causal_skip(Check& check, TiledForm form);
/// `numbers` a query are saved, and P comes back from them: exp(s - m) / l or exp(s - L).
void saved_numbers(Check& check, Index numbers, Index saved, const Head& head, const Matrix<Bound>& weights);
void two_runs(Check& check);

}  // namespace assay
