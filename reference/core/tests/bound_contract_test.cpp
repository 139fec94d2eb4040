#include <gtest/gtest.h>

#include "reference/core/contract.hpp"
#include "reference/core/error.hpp"

namespace assay {
namespace {

TEST(BoundContract, SpellingComesBack) {
  for (const std::string& name : contract_presets()) {
    const Contract c = parse_contract(name), d = parse_contract(c.spell());
    EXPECT_EQ(c.spell(), d.spell()) << name;
    EXPECT_EQ(c.in, d.in);
    EXPECT_EQ(c.kind, d.kind);
    EXPECT_EQ(c.cast, d.cast);
  }
  const char* text =
      "in=fp16 acc=fp32 out=bf16 cast=fp16 kind=mma(25,16) order=any exp=1 log=3.5 rsqrt=0.5 tanh=4096 round=rz";
  EXPECT_EQ(parse_contract(text).spell(), text);
  const char* attention =
      "in=bf16 acc=fp32 p=fp16 s=bf16 partial=fp16 out=bf16 p_scale=normalised exponent=fma tile=64 splits=8 "
      "split_min=128";
  EXPECT_EQ(parse_contract(attention).spell(), attention);
  EXPECT_EQ(parse_contract("bf16 p=bf16 l=rounded").l, RowSum::rounded);
  EXPECT_EQ(parse_contract("fp32 acc=fp16").s, &formats::fp16) << "s and partial follow acc";
  EXPECT_EQ(&parse_contract("bf16 s=bf16").site(Site::scores), &formats::bf16);
  EXPECT_EQ(parse_contract("bf16 out=fp32").spell(), "in=bf16 acc=fp32 out=fp32");
  EXPECT_EQ(parse_contract("bf16 out=fp32").cast, &formats::fp32) << "cast follows out unless it is given";
  EXPECT_EQ(parse_contract("in=bf16").acc, &formats::fp32);
}

TEST(BoundContract, FlashPresetsAreTheirLongSpelling) {
  EXPECT_EQ(parse_contract("flash_bf16").spell(), parse_contract("bf16 p=bf16 exponent=fma").spell());
  EXPECT_EQ(parse_contract("flash_fp16").spell(), parse_contract("fp16 p=fp16 exponent=fma").spell());
  EXPECT_EQ(parse_contract("flash_bf16 p=fp32").p, &formats::fp32) << "a field given overrides the preset's";
  EXPECT_EQ(parse_contract("flash_bf16 acc=fp16").p, &formats::bf16) << "and p does not follow acc";
  EXPECT_NE(parse_contract("flash_bf16").spell(), parse_contract("bf16").spell());
}

TEST(BoundContract, ErrorsNameTheField) {
  const auto message = [](const char* text) {
    try {
      parse_contract(text);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(message("in=fp17").find("fp17"), std::string::npos);
  EXPECT_NE(message("bf17").find("bf16_out_fp32"), std::string::npos) << "lists the presets";
  EXPECT_NE(message("order=random").find("oblivious"), std::string::npos);
  EXPECT_NE(message("kind=mma(24)").find("mma(F,K0)"), std::string::npos);
  EXPECT_NE(message("kind=mma(99,8)").find("mma(F,K0)"), std::string::npos);
  EXPECT_NE(message("exp=-1").find("exp"), std::string::npos);
  EXPECT_NE(message("exp=2x").find("2x"), std::string::npos);
  EXPECT_NE(message("acc=int8").find("floating"), std::string::npos);
  EXPECT_NE(message("speed=fast").find("speed"), std::string::npos);
  EXPECT_NE(message("p_scale=half").find("normalised"), std::string::npos);
  EXPECT_NE(message("l=both").find("unrounded"), std::string::npos);
  EXPECT_NE(message("exponent=base2").find("difference, fma"), std::string::npos);
  EXPECT_NE(message("tile=0").find("whole number from 1"), std::string::npos);
  EXPECT_NE(message("splits=2.5").find("splits"), std::string::npos);
  EXPECT_NE(message("split_min=-1").find("split_min"), std::string::npos);
  EXPECT_NE(message("partial=int9").find("int9"), std::string::npos);
  EXPECT_NE(message("p_scale=normalised l=rounded").find("before p is rounded"), std::string::npos);
  EXPECT_NE(message("in=bf16 fp32").find("field=value"), std::string::npos);
  EXPECT_NE(message("").find("nothing"), std::string::npos);
}

TEST(BoundContract, ReadingIsScoped) {
  EXPECT_EQ(reading().contract, nullptr);
  const Contract c = parse_contract("bf16");
  {
    ReadingScope scope({&c, true, 7});
    EXPECT_EQ(reading().contract, &c);
    {
      ReadingScope inner({nullptr, false, 8});
      EXPECT_EQ(reading().contract, nullptr);
    }
    EXPECT_TRUE(reading().emulate);
    EXPECT_EQ(reading().z, 7);
  }
  EXPECT_EQ(reading().contract, nullptr);
}

}  // namespace
}  // namespace assay
