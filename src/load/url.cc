// One pass over the text; what a URL may also have (user names, fragments) is refused or dropped.
#include "load/url.h"

#include <algorithm>
#include <charconv>

namespace sluice::load {
namespace {

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), port);
  return code == std::errc{} && end == text.data() + text.size() && port >= 1 && port <= 65535;
}

Error bad_url(std::string_view text, std::string_view reason) {
  return {ErrorCode::invalid_argument, "'" + std::string{text} + "': " + std::string{reason}};
}

bool is_visible(char c) {
  return c > ' ' && c < '\x7f';
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
  constexpr std::string_view kScheme = "http://";
  std::string_view rest = text;
  if (rest.starts_with("https://")) return bad_url(text, "https is not supported, use http://");
  if (rest.starts_with(kScheme)) rest.remove_prefix(kScheme.size());
  if (rest.find("://") < rest.find_first_of("/?"))
    return bad_url(text, "use http://HOST[:PORT]/PATH");
  if (!std::all_of(rest.begin(), rest.end(), is_visible)) {
    return bad_url(text, "has a space or a control character; write it as %XX");
  }
  rest = rest.substr(0, rest.find('#'));

  const std::size_t target_at = std::min(rest.find_first_of("/?"), rest.size());
  Url url;
  url.authority = rest.substr(0, target_at);
  url.target = rest.substr(target_at);
  if (!url.target.starts_with('/')) url.target.insert(0, "/");
  if (url.authority.find('@') != std::string::npos) {
    return bad_url(text, "user names in a URL are not supported, send a header");
  }

  const std::size_t host_end =
      url.authority.starts_with('[') ? url.authority.find(']') + 1 : url.authority.find(':');
  const std::string_view authority = url.authority;
  std::string_view host = authority.substr(0, host_end);
  const std::string_view port = authority.substr(std::min(host.size(), authority.size()));
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  if (host.empty()) return bad_url(text, "has no host");
  if (!port.empty() && (port[0] != ':' || !is_port(port.substr(1)))) {
    return bad_url(text, "the port is not a number from 1 to 65535");
  }
  url.host = host;
  url.port = port.empty() ? "80" : port.substr(1);
  return url;
}

}  // namespace sluice::load
