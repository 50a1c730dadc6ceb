#!/usr/bin/env python3
"""Start, settings, reload, drain: what an operator does to a daemon, also under load."""

import json
import os
import signal
import socket
import unittest

from harness import SLUICE, Case, RawConnection, check_body, limits, sluice, start, wait_until


class Load:
    """`sluice load` in the background until it ends by itself."""

    def __init__(self, case, daemon, *arguments, body=None):
        self.process = start([SLUICE, "load", "--json", "--url", daemon.url(), "-b",
                              body or check_body("t", {"k": "{rand:50}"}), *map(str, arguments)],
                             stdout=-1, stderr=-1, text=True)
        case.addCleanup(self.process.stdout.close)
        case.addCleanup(self.process.stderr.close)
        wait_until(lambda: daemon.metric("sluice_requests_total") > 200, "load to flow")

    def report(self):
        output, errors = self.process.communicate()
        if not output:
            raise AssertionError(errors)
        return json.loads(output)


class Start(Case):
    def test_runs_without_arguments_on_a_built_in_example(self):
        daemon = self.serve()
        answer = daemon.check("api", {"api_key": "k1"})
        self.assertEqual(answer.status, 200)
        self.assertIn("try: curl", daemon.output())

    def test_says_which_address_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            for flags in (("--listen", address, "--admin", "127.0.0.1:0"),
                          ("--listen", "127.0.0.1:0", "--admin", address)):
                run = sluice("serve", *flags)
                self.assertEqual(run.returncode, 1, run)
                self.assertIn(address, run.stderr)

    def test_refuses_bad_files_with_file_and_line(self):
        bad = self.folder / "bad.yaml"
        bad.write_text("domain: t\ndescriptors:\n  - key: k\n    rate_limit:\n"
                       "      request_per_unit: 5\n      unit: minute\n")
        run = sluice("serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--rules", bad)
        self.assertEqual(run.returncode, 1)
        self.assertIn(f"{bad}:5:", run.stderr)
        self.assertIn("requests_per_unit", run.stderr)
        missing = self.folder / "missing.yaml"
        run = sluice("serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--rules",
                     missing)
        self.assertEqual(run.returncode, 1)
        self.assertIn("missing.yaml", run.stderr)
        settings = self.folder / "settings.yaml"
        settings.write_text("lisen: []\n")
        run = sluice("serve", "--config", settings)
        self.assertEqual(run.returncode, 1)
        self.assertIn(f"{settings}:1:", run.stderr)

    def test_refuses_wrong_usage_with_2(self):
        for flags in (["--no-such-flag"], ["--listen", "nowhere"], ["stray"],
                      ["--workers", "many"]):
            run = sluice("serve", "--admin", "127.0.0.1:0", *flags)
            self.assertEqual(run.returncode, 2, (flags, run.stderr))
            self.assertTrue(run.stderr)

    def test_an_open_admin_port_needs_a_token(self):
        run = sluice("serve", "--listen", "127.0.0.1:0", "--admin", "0.0.0.0:0")
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("token", run.stderr)

    def test_flags_win_over_environment_over_file(self):
        settings = self.folder / "settings.yaml"
        settings.write_text("workers: 1\nlimits: {body_bytes_max: 1000}\n")

        def largest(environment, *flags):
            daemon = self.serve(limits(k=5), "--config", settings, *flags, environment=environment)
            body = check_body("t", {"k": "a"})
            for size in (1000, 2000, 3000, 4000):
                status = daemon.post("/v1/check", body.ljust(size + 1)).status
                if status == 413:
                    return size
            return None

        variable = {"SLUICE_LIMITS_BODY_BYTES_MAX": "2000"}
        self.assertEqual(largest({}), 1000)
        self.assertEqual(largest(variable), 2000)
        self.assertEqual(largest(variable, "--limits-body-bytes-max", "3000"), 3000)

    def test_takes_the_token_of_a_listener(self):
        token = self.folder / "token"
        token.write_text("secret\n")
        settings = self.folder / "settings.yaml"
        settings.write_text("listen:\n  - address: 127.0.0.1:0\n    token_file: %s\n" % token)
        daemon = self.serve(limits(k=5), "--config", settings, listen=None, ready=False)
        daemon.port, daemon.admin_port = wait_until(daemon.listening, "ports")
        body = check_body("t", {"k": "a"})
        self.assertEqual(daemon.post("/v1/check", body).status, 401)
        self.assertEqual(daemon.post("/v1/check", body, {"Authorization": "Bearer no"}).status, 401)
        self.assertEqual(
            daemon.post("/v1/check", body, {"Authorization": "Bearer secret"}).status, 200)


class Reload(Case):
    def reload(self, daemon, rules, result):
        name = 'sluice_config_reloads_total{result="%s"}' % result
        before = daemon.metrics()[name]
        daemon.write_rules(rules)
        daemon.signal(signal.SIGHUP)
        wait_until(lambda: daemon.metrics()[name] > before, f"a reload that is a {result}")

    def test_good_rules_take_over_under_load_and_counts_stay(self):
        daemon = self.serve(limits(k=1_000_000, once=3))
        daemon.check("t", {"once": "a"}, hits=3)
        load = Load(self, daemon, "-d", "2s", "-c", 8)
        for k in range(5):
            self.reload(daemon, limits(k=1_000_000 + k, once=3), "ok")
        self.reload(daemon, limits(k=1_000_000, once=5), "ok")
        self.assertEqual(daemon.check("t", {"once": "a"}, hits=3).status, 429)
        self.assertEqual(daemon.check("t", {"once": "a"}, hits=2).json["remaining"], 0)
        report = load.report()
        self.assertEqual((report["failed"], report["unexpected"]), (0, 0))
        self.assertEqual(report["allowed"], report["requests"])

    def test_bad_rules_leave_the_old_ones_in_force(self):
        daemon = self.serve(limits(k=2))
        load = Load(self, daemon, "-d", "1s", "-c", 4)
        daemon.check("t", {"k": "a"}, hits=2)
        for broken in ("domain: [", "domain: t\ndescriptors: 5\n", limits(k=-1), ""):
            self.reload(daemon, broken, "failed")
            self.assertEqual(daemon.check("t", {"k": "a"}).status, 429)
        self.assertRegex(daemon.output(), r"rules\.yaml:\d+:")
        report = load.report()
        self.assertEqual((report["failed"], report["unexpected"]), (0, 0))


class Drain(Case):
    def test_loses_no_request_under_load(self):
        for arguments in (("-c", 32), ("-c", 4, "-p", 16)):
            daemon = self.serve(limits(k=1_000_000_000))
            load = Load(self, daemon, "-d", "30s", *arguments)
            daemon.signal(signal.SIGTERM)
            self.assertEqual(daemon.wait(), 0)
            load.process.send_signal(signal.SIGINT)
            report = load.report()
            # What came too late was refused a connection; what the daemon took, it answered.
            self.assertEqual((report["lost"], report["timeouts"], report["bad_answers"]),
                             (0, 0, 0), report)
            self.assertGreater(report["allowed"], 200)
            self.assertEqual(report["unexpected"], 0)
            self.assertIn("drained", daemon.output())

    def test_finishes_a_request_that_is_half_there(self):
        daemon = self.serve(limits(k=5))
        body = check_body("t", {"k": "a"}).encode()
        head = (b"POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n" % len(body))
        with RawConnection(daemon.port) as raw:
            raw.send(head + body[:10])
            daemon.get("/healthz")  # A turn of the loops: the half request has been read.
            daemon.signal(signal.SIGTERM)
            wait_until(lambda: "draining" in daemon.output(), "the drain to begin")
            raw.send(body[10:])
            answer = raw.answer()
            self.assertEqual(answer.status, 200)
            self.assertEqual(answer.headers["Connection"].lower(), "close")
            self.assertTrue(raw.is_closed())
        self.assertEqual(daemon.wait(), 0)

    def test_idle_connections_do_not_hold_it_up(self):
        daemon = self.serve(limits(k=5))
        connections = [RawConnection(daemon.port) for _ in range(50)]
        for raw in connections:
            self.addCleanup(raw.close)
        self.assertEqual(daemon.stop(), 0)
        self.assertTrue(all(raw.is_closed() for raw in connections))

    def test_the_port_is_free_again_at_once(self):
        daemon = self.serve(limits(k=5))
        address = f"127.0.0.1:{daemon.port}"
        self.assertEqual(daemon.check("t", {"k": "a"}).status, 200)
        self.assertEqual(daemon.stop(), 0)
        again = self.serve(limits(k=5), listen=address)
        self.assertEqual(again.check("t", {"k": "a"}).status, 200)

    def test_leaves_nothing_behind(self):
        daemon = self.serve(limits(k=5))
        files = set(os.listdir(daemon.folder))
        self.assertEqual(daemon.stop(), 0)
        self.assertEqual(set(os.listdir(daemon.folder)), files)


if __name__ == "__main__":
    unittest.main()
