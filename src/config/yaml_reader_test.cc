#include "config/yaml_reader.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::HasSubstr;

struct Read {
  YamlValue value;
  bool is_read = false;
  Problem problem;
};

Read read_text(const std::string& text) {
  std::istringstream in{text};
  YamlReader reader(in);
  Read read;
  if (reader.next().kind == YamlEvent::Kind::document) {
    read.is_read = read_tree(reader, reader.next(), read.value);
  }
  read.problem = reader.problem();
  return read;
}

TEST(YamlReader, KeepsTheOrderAndTheLinesOfAMapping) {
  const Read read = read_text("b: 1\na:\n  - x\n  - 'y'\nb: ~\n");
  ASSERT_TRUE(read.is_read);
  ASSERT_EQ(read.value.fields.size(), 3U);
  EXPECT_EQ(read.value.fields[0].key, "b");
  EXPECT_EQ(read.value.fields[1].value.items[1].line, 4U);
  EXPECT_FALSE(read.value.fields[1].value.items[1].is_plain);
  EXPECT_EQ(read.value.fields[2].value.kind, YamlValue::Kind::null);
}

TEST(YamlReader, TellsWhereTextIsNotYaml) {
  for (const char* text : {"a: [1, 2", "a: 'x", "\"\"\"", "\t- a", "a: b: c", "? [x]: y"}) {
    const Read read = read_text(text);
    EXPECT_FALSE(read.is_read) << text;
    EXPECT_GT(read.problem.line, 0U) << text;
  }
}

TEST(YamlReader, RefusesAnchorsAndAliases) {
  EXPECT_THAT(read_text("a: &x 1").problem.message, HasSubstr("anchors"));
  EXPECT_THAT(read_text("a: *x").problem.message, HasSubstr("aliases"));
}

TEST(YamlReader, BoundsDepthAndSizeOfATree) {
  EXPECT_TRUE(read_text(std::string(kYamlDepthMax, '[') + std::string(kYamlDepthMax, ']')).is_read);
  EXPECT_THAT(read_text(std::string(100'000, '[')).problem.message, HasSubstr("nested deeper"));
  EXPECT_THAT(read_text("a: " + std::string(kYamlTreeBytesMax, 'x')).problem.message,
              HasSubstr("more than 65536 bytes"));
}

TEST(YamlReader, WritesJson) {
  const Read read =
      read_text("n: 1.5\ns: '1.5'\nv: 1.5.1\nt: true\nz: ~\nq: \"a\\\"\\n\"\nl: [01, -2]\nm: {}\n");
  EXPECT_EQ(json_text(read.value),
            R"({"n":1.5,"s":"1.5","v":"1.5.1","t":true,"z":null,"q":"a\"\u000a","l":["01",-2],)"
            R"("m":{}})");
}

}  // namespace
}  // namespace sluice
