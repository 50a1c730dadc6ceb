#!/usr/bin/env python3
"""The shell completions that ship know every command and flag of this binary, and bash's work."""

import subprocess
import unittest

from harness import ROOT, SLUICE, Case


class Completions(Case):
    def test_are_what_the_binary_says(self):
        run = subprocess.run([ROOT / "tools/make_completions", SLUICE, "--check"],
                             capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)

    def complete(self, *words):
        """What bash offers for the last word."""
        script = (f"source {ROOT}/deploy/completions/sluice.bash; COMP_WORDS=(\"$@\"); "
                  f"COMP_CWORD={len(words)}; _sluice; echo \"${{COMPREPLY[@]}}\"")
        run = subprocess.run(["bash", "-c", script, "bash", "sluice", *words], text=True,
                             capture_output=True, check=True)
        return run.stdout.split()

    def test_bash_offers_commands_and_flags(self):
        self.assertEqual(self.complete("val"), ["validate"])
        self.assertEqual(self.complete("key", "re"), ["reset"])
        self.assertEqual(self.complete("load", "--url", "x", "--thr"), ["--threshold"])
        self.assertIn("--rules", self.complete("serve", "--"))
        self.assertEqual(self.complete("check", "--no-such"), [])


if __name__ == "__main__":
    unittest.main()
