#!/usr/bin/env python3
"""Minutes of abuse against one daemon while an honest client goes on: 10,000 idle connections,
slow clients, half requests, a flood of pipelined requests that are never read, garbage, and 50,000
distinct keys a second against a bounded table. Prints the honest client's latencies in each phase
and the daemon's memory, sampled; ends with 1 when memory grew, the honest client failed, or the
daemon died."""

import argparse
import json
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/integration"))
sys.dont_write_bytecode = True

from harness import Daemon, RawConnection, SLUICE, check_body, limits  # noqa: E402

HEAD = b"POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"


def load_command(daemon, seconds, body, *more):
    return [SLUICE, "load", "--json", "--url", daemon.url(), "-b", body,
            "-d", f"{int(seconds * 1000)}ms", *map(str, more)]


class Idle:
    """Connections that say nothing, or half a word, until the phase is over."""

    def __init__(self, count, words):
        self.count, self.words = count, words

    def __call__(self, daemon, until):
        open_now = [RawConnection(daemon.port) for _ in range(self.count)]
        for raw in open_now:
            raw.send(self.words)
        while time.monotonic() < until:
            time.sleep(0.1)
        for raw in open_now:
            raw.close()


def drip(daemon, until):
    """A byte a second on each of a hundred connections."""
    slow = [RawConnection(daemon.port) for _ in range(100)]
    data = HEAD + b"Content-Length: 1000\r\n\r\n"
    position = 0
    while time.monotonic() < until:
        for raw in slow:
            try:
                raw.send(data[position:position + 1])
            except OSError:
                pass  # It has been given up, as it should be.
        position = (position + 1) % len(data)
        time.sleep(min(1, max(0, until - time.monotonic())))
    for raw in slow:
        raw.close()


def flood(daemon, until):
    """Pipelined requests as fast as the socket takes them, answers never read."""
    body = check_body("t", {"k": "flood"}).encode()
    data = (HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)) * 200
    while time.monotonic() < until:
        with RawConnection(daemon.port) as raw:
            raw.socket.settimeout(1)
            try:
                while time.monotonic() < until:
                    raw.socket.send(data)
            except OSError:
                pass


def garbage(daemon, until):
    """Random bytes, and good requests with random bytes in the middle."""
    chance = random.Random(1)
    body = check_body("t", {"k": "g"}).encode()
    good = HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    while time.monotonic() < until:
        data = bytearray(good * 3 if chance.random() < 0.8 else chance.randbytes(3000))
        for _ in range(chance.randrange(1, 8)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        with RawConnection(daemon.port) as raw:
            try:
                raw.send(bytes(data))
                raw.socket.settimeout(0.02)
                raw.socket.recv(65536)
            except OSError:
                pass


def distinct_keys(daemon, until):
    seconds = max(0.5, until - time.monotonic())
    command = load_command(daemon, seconds, check_body("t", {"k": "{rand:1000000000}"}),
                           "-r", 50_000, "-c", 16, "-p", 32)
    report = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    print(f"    distinct keys: {report['rate']:.0f}/s, failed {report['failed']}, "
          f"unsent {report['unsent']}, evictions "
          f"{daemon.metric('sluice_table_evictions_total'):.0f}")


def run_phase(daemon, name, abuse, seconds):
    """True when the honest client was served and the daemon's memory ended flat."""
    until = time.monotonic() + seconds
    honest = subprocess.Popen(load_command(daemon, seconds, check_body("t", {"honest": "a"}),
                                           "-r", 200, "-c", 2, "--timeout", "5s"),
                              stdout=subprocess.PIPE)
    wrong = []

    def guarded():
        try:
            abuse(daemon, until)
        except Exception as error:  # Of ours: the phase did not do what it says.
            wrong.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    samples = []
    while time.monotonic() < until and daemon.process.poll() is None:
        samples.append(daemon.rss())
        time.sleep(0.1)
    thread.join()
    report = json.loads(honest.communicate()[0])
    half = len(samples) // 2
    growth = max(samples[half:]) - max(samples[:half])
    print(f"{name:28}{max(samples) / 1e6:9.1f} MB{growth / 1e6:+9.2f} MB in the second half"
          f"   honest: {report['allowed']} allowed, {report['failed']} failed,"
          f" p50 {report['latency_ms']['p50']:.2f} p99 {report['latency_ms']['p99']:.2f} ms",
          flush=True)
    for error in wrong:
        print(f"    the abuse itself failed: {error}")
    alive = daemon.process.poll() is None and not wrong
    return alive and report["failed"] == 0 and report["unexpected"] == 0 and growth < 8e6


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="a second a phase, fewer connections")
    parser.add_argument("--seconds", type=float, default=60, help="of each phase")
    options = parser.parse_args()
    seconds = 1 if options.smoke else options.seconds
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    connections = min(200 if options.smoke else 10_000, most - 100)

    folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-bench-"))
    daemon = Daemon(folder, limits(k=1_000_000_000, honest=1_000_000_000),
                    ["--table-keys-max", "100000", "--limits-request-timeout", "2s"])
    try:
        phases = [(f"{connections} idle connections", Idle(connections, b"")),
                  (f"{connections} half requests", Idle(connections, b"POST /v1/che")),
                  ("a byte a second", drip), ("floods never read", flood), ("garbage", garbage),
                  ("50,000 distinct keys/s", distinct_keys)]
        results = [run_phase(daemon, name, abuse, seconds) for name, abuse in phases]
        status = daemon.stop()
        print(f"ended with {status}; {sum(results)} of {len(results)} phases held")
        return 0 if all(results) and status == 0 else 1
    finally:
        daemon.kill()
        shutil.rmtree(folder, ignore_errors=True)


sys.exit(main())
