// The one binary. Each command lives in its own file of this folder and registers itself here with
// its flags, its help and a callback that sets the exit status; this file holds no logic.
//
// Exit status: what the command says; 2 for a usage error.
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "check.h"
#include "explain.h"
#include "key.h"
#include "load.h"
#include "serve.h"
#include "validate.h"

namespace {

constexpr int kUsageError = 2;

int run(int argc, char** argv) {
  CLI::App app{"Sluice: rate limiting as a daemon and its tools.", "sluice"};
  app.set_version_flag("--version", std::string("sluice ") + SLUICE_VERSION);
  app.require_subcommand(1);
  app.footer("sluice COMMAND --help shows the flags of a command and an example.");

  int exit_status = 0;
  // One line for each command, in the order of the help.
  sluice::add_serve(app, exit_status);
  sluice::add_check(app, exit_status);
  sluice::add_key(app, exit_status);
  sluice::add_load(app, exit_status);
  sluice::add_validate(app, exit_status);
  sluice::add_explain(app, exit_status);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  }
  return exit_status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sluice: %s\n", error.what());
    return 1;
  }
}
