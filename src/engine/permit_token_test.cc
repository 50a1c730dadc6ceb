#include "engine/permit_token.h"

#include <random>

#include <gtest/gtest.h>

namespace sluice {
namespace {

const PermitPlace kPlace{
    .ttl = std::chrono::seconds{60}, .hash = {0x0123456789abcdefU, 42}, .id = {7, 9}};

std::string text_of(std::vector<PermitPlace> places) {
  std::string text;
  encode_permit(places, text);
  return text;
}

TEST(PermitToken, CarriesEveryPlace) {
  PermitPlace second = kPlace;
  second.hash.low = 43;
  second.id.low = 10;
  second.ttl = std::chrono::hours{1};
  std::vector<PermitPlace> places;
  EXPECT_TRUE(decode_permit(text_of({kPlace, second}), places));
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(places[0].hash, kPlace.hash);
  EXPECT_EQ(places[0].id, kPlace.id);
  EXPECT_EQ(places[1].hash, second.hash);
  EXPECT_EQ(places[1].id, second.id);
  EXPECT_EQ(places[1].ttl, second.ttl);
}

TEST(PermitToken, IsShortAndSafeInAnAddressOrAHeader) {
  const std::string text = text_of({kPlace});
  EXPECT_EQ(text.size(), 75U);
  EXPECT_EQ(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                   "0123456789-_"),
            std::string::npos);
}

TEST(PermitToken, TextWithOneCharacterChangedIsNotOurs) {
  const std::string good = text_of({kPlace});
  std::vector<PermitPlace> places;
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char c : std::string_view{"Aaz09-_ =+\0\xff", 12}) {
      std::string bad = good;
      if (bad[i] == c) continue;
      bad[i] = c;
      EXPECT_FALSE(decode_permit(bad, places)) << "character " << i;
    }
  }
}

TEST(PermitToken, CutOrExtendedTextIsNotOurs) {
  const std::string good = text_of({kPlace});
  std::vector<PermitPlace> places;
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(decode_permit(std::string_view{good}.substr(0, size), places)) << size;
  }
  EXPECT_FALSE(decode_permit(good + "A", places));
  EXPECT_FALSE(decode_permit(good + good, places));
}

TEST(PermitToken, AnyBytesOfAnyLengthAreRefused) {
  std::mt19937_64 random(20260706);  // NOLINT(cert-msc51-cpp): the same text on every run.
  std::vector<PermitPlace> places;
  for (int i = 0; i < 2000; ++i) {
    std::string text(random() % 9000, '\0');
    for (char& c : text) c = static_cast<char>(random());
    EXPECT_FALSE(decode_permit(text, places));
  }
}

TEST(PermitToken, HoldsAsManyPlacesAsACheckMayHave) {
  std::vector<PermitPlace> places;
  EXPECT_TRUE(decode_permit(text_of(std::vector<PermitPlace>(kPermitPlacesMax, kPlace)), places));
  EXPECT_EQ(places.size(), kPermitPlacesMax);
}

}  // namespace
}  // namespace sluice
