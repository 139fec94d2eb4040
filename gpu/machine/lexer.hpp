#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The words of a PTX text.
namespace assay::gpu {

struct Token {
  enum class What : std::uint8_t {
    word,    ///< add, %r1, $L__BB0_2, _
    dotted,  ///< .s32, .shared::cta: with its dot
    number,  ///< 12, 0x1F, 1.5, 0f3F800000: as written
    text,    ///< "...": without the quotes
    sign,    ///< one of , ; : { } [ ] ( ) | @ ! + - * / % ~ ^ & < > = ?, or << >> == != <= >= && ||
    end
  };
  What what = What::end;
  std::string_view text;
  int line = 0;
  bool is(const char* sign) const { return what == What::sign && text == sign; }
};

/// Throws Error, naming the line, on a character that no PTX has, an open comment or an open string.
/// The tokens look into `ptx`, and end with one of Token::What::end.
std::vector<Token> tokens_of(std::string_view ptx);

}  // namespace assay::gpu
