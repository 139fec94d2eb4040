#include "conformance/attention/flash.hpp"

#include <algorithm>

#include "conformance/attention/heads.hpp"

namespace assay {

FlashInputs<Bound> flash_inputs(const Head& h) { return {h.q, h.k, h.v, h.keep, h.bias, h.opt}; }

Tiled by_flash1(const FlashInputs<Bound>& in, const Tiles& tiles) {
  const Flash1<Bound> y = flash1(in, tiles);
  return {{y.o, flash1_lse(y)}, y.visited};
}
Tiled by_flash2(const FlashInputs<Bound>& in, const Tiles& tiles) {
  const Flash2<Bound> y = flash2(in, tiles);
  return {{y.o, y.lse}, y.visited};
}

Tiles random_tiles(const Check& check, const std::string& name) {
  const std::string of = name + std::to_string(check.c["Sq"] * 64 + check.c["Sk"]);
  return {check.pick(of + " Br", 1, 14), check.pick(of + " Bc", 1, 26), check.pick(of + " side", 0, 1) == 1};
}

void tiled_equals_core(Check& check, TiledForm form) {
  const Head h = head_of(check);
  agree(check, "tiles", form(flash_inputs(h), random_tiles(check, "tiles")).y, h.run());
}

void tile_invariance(Check& check, TiledForm form) {
  const FlashInputs<Bound> in = flash_inputs(head_of(check));
  const Attention<Bound> y = form(in, {1, 1, false}).y;
  for (const char* name : {"first", "second"}) {
    Tiles tiles = random_tiles(check, name);
    tiles.from_right = false;
    agree(check, "other tiles", form(in, tiles).y, y);
  }
}

void traversal_direction(Check& check, TiledForm form) {
  const FlashInputs<Bound> in = flash_inputs(head_of(check));
  Tiles tiles = random_tiles(check, "tiles");
  tiles.from_right = false;
  const Attention<Bound> y = form(in, tiles).y;
  tiles.from_right = true;
  agree(check, "from the right", form(in, tiles).y, y);
}

void flash1_equals_flash2(Check& check) {
  const FlashInputs<Bound> in = flash_inputs(head_of(check));
  agree(check, "FlashAttention 1 and 2", by_flash1(in, random_tiles(check, "one")).y,
        by_flash2(in, random_tiles(check, "two")).y);
}

void causal_skip(Check& check, TiledForm form) {
  check.with("causal", "bottom_right").with("window", 0).with("mask", "none");
  const Head h = head_of(check);
  const Tiles tiles = random_tiles(check, "tiles");
  const Index visited = form(flash_inputs(h), tiles).visited;
  const Index Sq = h.q.rows(), Sk = h.k.rows(), off = Sk - Sq;
  Index formula = 0, needed = 0;
  for (Index i = 0; i * tiles.Br < Sq; ++i) {
    const Index end = std::clamp<Index>(off + std::min(Sq, (i + 1) * tiles.Br), 0, Sk);
    formula += (end + tiles.Bc - 1) / tiles.Bc;
    for (Index from = 0; from < Sk; from += tiles.Bc) {
      bool any = false;  // of the pairs of this tile
      for (Index r = i * tiles.Br; r < std::min(Sq, (i + 1) * tiles.Br); ++r)
        for (Index j = from; j < std::min(Sk, from + tiles.Bc); ++j) any = any || h.keep(r, j);
      needed += any;
    }
  }
  check.require(visited == formula, "tiles visited, by the formula " + std::to_string(formula),
                static_cast<double>(visited));
  check.require(visited == needed, "tiles visited, with a pair that is seen " + std::to_string(needed),
                static_cast<double>(visited));
}

void saved_numbers(Check& check, Index numbers, Index saved, const Head& h, const Matrix<Bound>& weights) {
  const Index heads = check.c["B"] * check.c["Hkv"] * check.c["g"];
  const Index bytes = heads * saved * parse_contract("fp32").acc->bits / 8, queries = heads * h.q.rows();
  check.require(bytes == 4 * numbers * queries, "bytes saved for the backward", static_cast<double>(bytes));
  check.agree("P from what is saved", weights, attention_weights(h.logits(), h.keep, h.run().lse));
}

void two_runs(Check& check) {
  const Call call = something(check).call();
  const Tensors first = check.run(call), second = check.run(call);
  for (const Named& t : first.all()) check.same_bits(t.name + " of the second run", second[t.name], t.value);
}

}  // namespace assay
