#!/usr/bin/env python3
"""README's first minute, word for word: the code block is taken out of the file and run as a
newcomer would paste it. Ports that another program may hold are the only thing replaced."""

import os
import re
import shutil
import subprocess
import unittest

from harness import PATIENCE, ROOT, SLUICE, Case


class Readme(Case):
    def setUp(self):
        super().setUp()
        readme = (ROOT / "README.md").read_text()
        section = readme.split("## The first minute")[1].split("\n## ")[0]
        self.script = re.search(r"```sh\n(.*?)```", section, re.S).group(1)
        self.daemon = self.serve(None, "--rules", ROOT / "examples/quickstart.yaml")
        # `build/release/sluice` relative to the tree, whatever the build folder of this run is.
        tree = self.folder / "tree"
        (tree / "build/release").mkdir(parents=True)
        os.symlink(SLUICE, tree / "build/release/sluice")
        for port, ours in (("8080", self.daemon.port), ("6070", self.daemon.admin_port)):
            self.script = self.script.replace(f"127.0.0.1:{port}", f"127.0.0.1:{ours}")
        self.script = re.sub(r"sluice check\b",
                             f"sluice check --server 127.0.0.1:{self.daemon.port}", self.script)
        self.tree = tree

    def run_script(self):
        return subprocess.run(["bash", "-c", self.script], cwd=self.tree, capture_output=True,
                              text=True, timeout=PATIENCE)

    @unittest.skipUnless(shutil.which("curl"), "README uses curl")
    def test_the_first_minute_works_as_written(self):
        run = self.run_script()
        self.assertEqual(run.returncode, 0, run.stderr)
        lines = run.stdout.splitlines()
        self.assertEqual(lines[:6], ["200"] * 5 + ["429"])  # Five attempts to log in, then none.
        self.assertIn("HTTP/1.1 429 Too Many Requests", run.stdout)
        self.assertRegex(run.stdout, r"(?m)^Retry-After: \d+")
        self.assertRegex(run.stdout, r'"retry_after_ms":\d+')
        self.assertRegex(run.stdout, r"(?m)^allowed .*\n0$")
        self.assertRegex(run.stdout, r'(?m)^sluice_decisions_total\{domain="api",rule="login",'
                                     r'verdict="denied"\} 2$')

    def test_names_only_files_that_exist(self):
        for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / "README.md").read_text()):
            self.assertTrue((ROOT / target).exists(), target)


if __name__ == "__main__":
    unittest.main()
