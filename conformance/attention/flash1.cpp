#include "reference/attention/flash1.hpp"

#include "conformance/attention/flash.hpp"
#include "conformance/attention/heads.hpp"

// Claims of spec/attention/flash1.md.
namespace assay {

CLAIM(attention.flash1.accuracy) {
  const Call call = check.call();
  check.accurate(call, check.run(call));
}

CLAIM(attention.flash1.causal_skip) { causal_skip(check, by_flash1); }

CLAIM(attention.flash1.direction) { traversal_direction(check, by_flash1); }

CLAIM(attention.flash1.empty_row) { empty_rows(check); }

CLAIM(attention.flash1.equals_core) { tiled_equals_core(check, by_flash1); }

CLAIM(attention.flash1.fa1_equals_fa2) { flash1_equals_flash2(check); }

CLAIM(attention.flash1.fwd_deterministic) { two_runs(check); }

CLAIM(attention.flash1.masked_poison) {
  masked_poison(check);
  unseen_has_no_influence(check);
}

CLAIM(attention.flash1.nan_row) {
  nan_rows(check);
  nan_values(check);
}

CLAIM(attention.flash1.saved) {
  const Head h = head_of(check);
  const Flash1<Bound> y = flash1(flash_inputs(h), random_tiles(check, "tiles"));
  //  P = exp(s - m) / l
  const Matrix<Bound> p = exp(sub_rows(seen_logits(h).x, anchor(y.m)));
  saved_numbers(check, 2, y.m.size() + y.l.size(), h, select_rows(!is_neg_inf(y.m), div_rows(p, y.l), 0));
}

CLAIM(attention.flash1.tile_invariance) { tile_invariance(check, by_flash1); }

}  // namespace assay
