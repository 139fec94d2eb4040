#include "reference/core/vocabulary/words.hpp"

namespace assay {
ASSAY_WORDS_OF(Flow)
}  // namespace assay
