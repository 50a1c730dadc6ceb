#!/usr/bin/env python3
"""Several daemons that know nothing of each other: what `local` limits add up to behind a round
robin, and that windows end at the same instant everywhere."""

import os
import shutil
import socket
import subprocess
import time
import unittest

from harness import Case, check_body, limits, load, request, start, wait_until

NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Experiment(Case):
    """Limit 100, 250 requests of one API key: each daemon allows its own 100, no more, no less."""

    def setUp(self):
        super().setUp()
        self.daemons = [self.serve(limits(api_key=100)) for _ in range(2)]
        self.body = check_body("t", {"api_key": "k1"})

    def proxy(self):
        port = free_port()
        servers = "".join(f"server 127.0.0.1:{d.port};" for d in self.daemons)
        config = self.folder / "nginx.conf"
        config.write_text(f"""
daemon off; master_process off; pid {self.folder}/nginx.pid; error_log {self.folder}/error.log;
events {{ worker_connections 512; }}
http {{
  access_log off; client_body_temp_path {self.folder}/body; proxy_temp_path {self.folder}/proxy;
  fastcgi_temp_path {self.folder}/f; uwsgi_temp_path {self.folder}/u;
  scgi_temp_path {self.folder}/s;
  upstream sluice {{ {servers} keepalive 16; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://sluice; proxy_http_version 1.1; proxy_set_header Connection "";
      add_header X-Upstream $upstream_addr always;
    }}
  }}
}}
""")
        start([NGINX, "-c", str(config), "-p", str(self.folder), "-e", f"{self.folder}/error.log"],
              stderr=subprocess.DEVNULL)

        def answers():
            try:
                return request(port, "GET", "/healthz").status == 200
            except OSError:
                return False

        wait_until(answers, "nginx")
        return f"http://127.0.0.1:{port}/v1/check"

    def ask(self, url, requests, *more):
        return load("--url", url, "-n", requests, "-c", 5, "-b", self.body, *more)

    @unittest.skipUnless(NGINX, "needs nginx")
    def test_a_round_robin_of_two_allows_twice_the_limit(self):
        report = self.ask(self.proxy(), 250, "--count-header", "X-Upstream",
                          "--expect-header", "RateLimit", "--threshold", "allowed==200",
                          "--threshold", "rejected==50", "--threshold", "missing_header==0")
        counts = report["headers"]["X-Upstream"]
        self.assertEqual(sorted(v["allowed"] for v in counts.values()), [100, 100], counts)

    def test_taking_turns_without_a_proxy_gives_the_same(self):
        urls = [word for d in self.daemons for word in ("--url", d.url())]
        report = load(*urls, "-n", 250, "-c", 6, "-b", self.body)
        self.assertEqual((report["allowed"], report["rejected"]), (200, 50))

    def test_a_skewed_split_allows_the_sum_of_each_ones_share(self):
        reports = [self.ask(d.url(), n) for d, n in zip(self.daemons, (200, 50))]
        self.assertEqual([r["allowed"] for r in reports], [100, 50])
        self.assertEqual(sum(r["rejected"] for r in reports), 100)


RULES = """
domain: t
descriptors:
  - key: fixed
    rate_limit: {requests_per_unit: 5, unit: minute}
  - key: sliding
    rate_limit: {algorithm: sliding_window, requests_per_unit: 5, period: 7s}
"""


class Windows(Case):
    def test_daemons_started_seconds_apart_end_a_window_within_50_ms(self):
        first = self.serve(RULES)
        begun = time.monotonic()
        wait_until(lambda: time.monotonic() - begun > 3.3, "the daemons to be seconds apart")
        second = self.serve(RULES)

        def end_of_window(daemon):
            """Unix ms, as the daemon sees it: between the earliest and the latest it can be."""
            before = time.time() * 1000
            answer = daemon.check("t", {"fixed": "a"})
            after = time.time() * 1000
            reset = answer.json["reset_after_ms"]
            return before + reset, after + reset

        def differ():
            """None when the window ended between the two questions."""
            (a_low, a_high), (b_low, b_high) = map(end_of_window, (first, second))
            return None if abs(a_low - b_low) > 30_000 else max(a_high - b_low, b_high - a_low)

        gap = wait_until(differ, "both answers in one window")
        self.assertLess(gap, 50)
        # The end is a multiple of the period in Unix time.
        for end in end_of_window(first):
            self.assertLess(min(end % 60_000, -end % 60_000), 50)


if __name__ == "__main__":
    unittest.main()
