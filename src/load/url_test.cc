#include "load/url.h"

#include <gtest/gtest.h>

namespace sluice::load {
namespace {

TEST(Url, TakesApartHostPortAndTarget) {
  const auto url = parse_url("http://127.0.0.1:8080/v1/check?x=1#part");
  ASSERT_TRUE(url.has_value());
  EXPECT_EQ(url->host, "127.0.0.1");
  EXPECT_EQ(url->port, "8080");
  EXPECT_EQ(url->authority, "127.0.0.1:8080");
  EXPECT_EQ(url->target, "/v1/check?x=1");
}

TEST(Url, FillsInWhatWasLeftOut) {
  const auto url = parse_url("example.test?q=http://other");
  ASSERT_TRUE(url.has_value());
  EXPECT_EQ(url->host, "example.test");
  EXPECT_EQ(url->port, "80");
  EXPECT_EQ(url->target, "/?q=http://other");
}

TEST(Url, ReadsAnAddressOfIpVersion6) {
  const auto url = parse_url("http://[::1]:81/");
  ASSERT_TRUE(url.has_value());
  EXPECT_EQ(url->host, "::1");
  EXPECT_EQ(url->port, "81");
  EXPECT_EQ(url->authority, "[::1]:81");
  EXPECT_EQ(parse_url("[::1]")->port, "80");
}

TEST(Url, RefusesWhatItCannotServe) {
  for (const char* text : {"https://a/", "ftp://a/", "http://", "http:///x", "http://a:0/", "[::1",
                           "http://a:65536/", "http://a:x/", "http://u@a/", "http://a/b c",
                           "http://[::1/", "http://a/\x01", "", "[]:80"}) {
    const auto url = parse_url(text);
    EXPECT_FALSE(url.has_value()) << text;
  }
}

}  // namespace
}  // namespace sluice::load
