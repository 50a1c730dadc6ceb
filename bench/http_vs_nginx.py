#!/usr/bin/env python3
"""POST /v1/check beside nginx's `return 200` for the same POST: server on one core, load on
another, runs interleaved, medians, ratios. CPU is the server's user and system time from /proc, so
the load generator's speed does not matter to it; the rate does depend on it. Also the daemon's idle
memory and how long it takes to answer after it was started."""

import argparse
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/integration"))
sys.dont_write_bytecode = True

from harness import Daemon, SLUICE, request, start, wait_until  # noqa: E402

SERVER_CORE, LOAD_CORE = "0", "1"
RULES = """
domain: api
descriptors:
  - key: api_key
    rate_limit: {algorithm: token_bucket, requests_per_unit: 1000000000, unit: second}
"""
BODY = json.dumps({"domain": "api", "descriptors": [{"api_key": "k1"}]})


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Nginx:
    """One worker; answers with as many bytes as the daemon does, so that both write alike."""

    def __init__(self, folder, headers, answer):
        self.port = free_port()
        binary = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
        if not binary:
            sys.exit("nginx is needed beside it: apt-get install nginx-light")
        lines = "".join(f"add_header {name} '{value}';\n" for name, value in headers)
        config = folder / "nginx.conf"
        config.write_text(f"""
daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 1h;
  client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; default_type application/json;
  server {{ listen 127.0.0.1:{self.port}; location / {{ {lines} return 200 '{answer}'; }} }}
}}
""")
        self.process = start(["taskset", "-c", SERVER_CORE, binary, "-c", str(config), "-p",
                              str(folder), "-e", f"{folder}/error.log"])
        wait_until(self.is_ready, "nginx")

    def is_ready(self):
        try:
            return request(self.port, "GET", "/").status == 200
        except OSError:
            return False

    cpu_seconds = Daemon.cpu_seconds


def run_load(server, seconds, connections):
    """(CPU microseconds a request, requests a second, p50 ms, p99 ms)"""
    url = f"http://127.0.0.1:{server.port}/v1/check"
    command = ["taskset", "-c", LOAD_CORE, SLUICE, "load", "--json", "-c", str(connections),
               "--url", url, "-b", BODY, "-d", f"{int(seconds * 1000)}ms"]
    before = server.cpu_seconds()
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    used = server.cpu_seconds() - before
    if report["failed"] or report["unexpected"] or report["rejected"]:
        sys.exit(f"the run is worthless: {report}")
    latency = report["latency_ms"]
    return used * 1e6 / report["answers"], report["rate"], latency["p50"], latency["p99"]


def start_milliseconds(folder):
    """From exec to the first 200 of /readyz."""
    port = free_port()
    begun = time.monotonic()
    daemon = Daemon(folder, RULES, listen=f"127.0.0.1:{port}", ready=False)
    daemon.port = port
    while not daemon.is_ready():
        time.sleep(0.0005)
    took = (time.monotonic() - begun) * 1000
    daemon.kill()
    return took


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="a second, to see that it works")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--connections", type=int, default=32)
    options = parser.parse_args()
    runs, seconds = (1, 0.3) if options.smoke else (options.runs, options.seconds)

    folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-bench-"))
    try:
        starts = [start_milliseconds(folder) for _ in range(1 if options.smoke else 5)]
        daemon = Daemon(folder, RULES, ["--workers", "1"], prefix=["taskset", "-c", SERVER_CORE])
        idle = daemon.rss()
        sample = daemon.check("api", {"api_key": "k1"})
        headers = [(n, v) for n, v in sample.headers.items()
                   if n not in ("Date", "Content-Type", "Content-Length")]
        servers = {"sluice": daemon, "nginx": Nginx(folder, headers, sample.body.decode().strip()),
                   "nginx, bare": Nginx(pathlib.Path(tempfile.mkdtemp(dir=folder)), [], "ok")}
        results = {name: [] for name in servers}
        for _ in range(runs):
            for name, server in servers.items():
                results[name].append(run_load(server, seconds, options.connections))
        middle = {name: [statistics.median(column) for column in zip(*rows)]
                  for name, rows in results.items()}
        print(f"POST /v1/check, {options.connections} connections, one server core, "
              f"medians of {runs} interleaved runs of {seconds} s")
        print(f"{'':14}{'CPU us/request':>16}{'requests/s':>13}{'p50 ms':>9}{'p99 ms':>9}"
              f"{'CPU ratio':>11}")
        for name, (cpu, rate, p50, p99) in middle.items():
            print(f"{name:14}{cpu:16.2f}{rate:13.0f}{p50:9.3f}{p99:9.3f}"
                  f"{middle['sluice'][0] / cpu:11.2f}")
        print(f"idle memory {idle / 1e6:.1f} MB, start to ready {statistics.median(starts):.0f} ms")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main()
