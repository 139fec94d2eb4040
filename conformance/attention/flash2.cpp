#include "reference/attention/flash2.hpp"

#include "conformance/attention/flash.hpp"
#include "conformance/attention/heads.hpp"

// Claims of spec/attention/flash2.md.
namespace assay {

CLAIM(attention.flash2.accuracy) {
  const Call call = check.call();
  check.accurate(call, check.run(call));
}

CLAIM(attention.flash2.causal_skip) { causal_skip(check, by_flash2); }

CLAIM(attention.flash2.direction) { traversal_direction(check, by_flash2); }

CLAIM(attention.flash2.empty_row) { empty_rows(check); }

CLAIM(attention.flash2.equals_core) { tiled_equals_core(check, by_flash2); }

CLAIM(attention.flash2.fa1_equals_fa2) { flash1_equals_flash2(check); }

CLAIM(attention.flash2.fwd_deterministic) { two_runs(check); }

CLAIM(attention.flash2.masked_poison) {
  masked_poison(check);
  unseen_has_no_influence(check);
}

CLAIM(attention.flash2.nan_row) {
  nan_rows(check);
  nan_values(check);
}

CLAIM(attention.flash2.saved) {
  const Head h = head_of(check);
  const Flash2<Bound> y = flash2(flash_inputs(h), random_tiles(check, "tiles"));
  //  P = exp(s - L)
  saved_numbers(check, 1, y.lse.size(), h, attention_weights(h.logits(), h.keep, y.lse));
}

CLAIM(attention.flash2.tile_invariance) { tile_invariance(check, by_flash2); }

}  // namespace assay
