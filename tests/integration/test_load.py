#!/usr/bin/env python3
"""`sluice load` against a small server of the test's own, which knows what it was asked."""

import threading
import unittest

from harness import SLUICE, Case, load, sluice, start
from stub_server import Server, response


class LoadTest(Case):
    def server(self, answer):
        server = Server(answer)
        self.addCleanup(server.close)
        return server

    def test_counts_statuses_headers_and_checks(self):
        def answer(number, _head, _body):
            instance = "X-Instance-ID: " + "ab"[number % 2]
            if number < 100:
                return response(200, b"ok", instance)
            if number < 240:
                return response(429, b"no", instance, "Retry-After: 1")
            return response(503, b"down")

        server = self.server(answer)
        report = load("--url", server.url, "-n", 250, "-c", 8, "--count-header", "X-Instance-ID",
                      "--expect-header", "X-Instance-ID", "--threshold", "allowed==100",
                      "--threshold", "rejected==140", "--threshold", "unexpected==10",
                      "--threshold", "missing_header==10", "--threshold", "checks_passed==480",
                      "--threshold", "X-Instance-ID[a]==120", "--threshold", "p99<30s")
        self.assertEqual(len(server.seen), 250)
        self.assertEqual(report["status"], {"200": 100, "429": 140, "503": 10})
        self.assertEqual(report["headers"]["X-Instance-ID"]["(missing)"]["answers"], 10)
        self.assertEqual(report["checks_failed"], 20)
        self.assertTrue(report["ok"])
        self.assertLessEqual(report["latency_ms"]["p50"], report["latency_ms"]["max"])

    def test_ends_with_99_when_a_threshold_fails(self):
        server = self.server(lambda *_: response(429))
        report = load("--url", server.url, "-n", 5, "--threshold", "allowed==5",
                      "--threshold", "rejected==5", status=99)
        self.assertEqual([t["ok"] for t in report["thresholds"]], [False, True])

    def test_sends_what_it_was_told_to(self):
        server = self.server(lambda *_: response())
        load("--url", server.url + "/k/{i}?r={rand:10}", "-X", "PUT", "-n", 20, "-c", 3,
             "-H", "X-Key: key-{i}", "-H", "Host: example.test", "-b", '{"n":"{i}","o":{}}')
        numbers = set()
        for (method, target), head, body in server.seen:
            self.assertEqual(method, "PUT")
            number = int(target.split("/")[2].split("?")[0])
            self.assertEqual(head["x-key"], f"key-{number}")
            self.assertEqual(head["host"], "example.test")
            self.assertEqual(body, b'{"n":"%d","o":{}}' % number)
            numbers.add(number)
        self.assertEqual(numbers, set(range(20)))

    def test_takes_urls_in_turn(self):
        servers = [self.server(lambda *_: response()) for _ in range(3)]
        load(*(word for s in servers for word in ("--url", s.url)), "-n", 100, "-c", 6)
        self.assertEqual([len(s.seen) for s in servers], [34, 33, 33])

    def test_keeps_several_requests_in_flight_on_one_connection(self):
        server = self.server(lambda *_: response())
        report = load("--url", server.url, "-n", 500, "-c", 1, "-p", 50)
        self.assertEqual(report["allowed"], 500)
        self.assertEqual(report["failed"], 0)

    def test_holds_a_rate(self):
        server = self.server(lambda *_: response())
        report = load("--url", server.url, "-n", 100, "-r", 400, "-c", 4)
        self.assertEqual(report["allowed"], 100)
        self.assertGreaterEqual(report["elapsed_ms"], 99 / 400 * 1000)

    def test_counts_latency_from_when_a_request_was_due(self):
        release = threading.Event()
        due = threading.Timer(0.5, release.set)
        due.start()
        self.addCleanup(due.cancel)
        server = self.server(lambda number, *_: release.wait() and response())
        report = load("--url", server.url, "-n", 50, "-r", 1000, "-c", 1)
        # The server stalled once, for the first request; all that were due meanwhile felt it.
        self.assertGreater(report["latency_ms"]["p50"], 400)

    def test_goes_on_over_connections_that_the_server_closes(self):
        server = self.server(lambda *_: response(200, b"", "Connection: close"))
        report = load("--url", server.url, "-n", 40, "-c", 4)
        self.assertEqual((report["allowed"], report["failed"]), (40, 0))

    def test_tells_lost_requests_from_answers(self):
        server = self.server(lambda number, *_: None if number % 4 == 3 else response())
        report = load("--url", server.url, "-n", 40, "-c", 1)
        self.assertEqual((report["requests"], report["allowed"], report["lost"]), (40, 30, 10))
        self.assertIn("closed", report["reasons"]["lost"])

    def test_gives_up_on_an_answer_that_does_not_come(self):
        held = threading.Event()
        self.addCleanup(held.set)
        server = self.server(lambda number, *_: response() if number else held.wait() and None)
        report = load("--url", server.url, "-n", 5, "-c", 1, "--timeout", "200ms")
        self.assertEqual((report["timeouts"], report["allowed"]), (1, 4))

    def test_counts_bytes_that_are_no_answer(self):
        server = self.server(lambda *_: b"220 mail.example.test ESMTP\r\n\r\n")
        report = load("--url", server.url, "-n", 3, "-c", 1)
        self.assertEqual(report["bad_answers"], 3)

    def test_says_when_nothing_listens(self):
        server = self.server(lambda *_: response())
        server.close()
        run = sluice("load", "--url", server.url, "-n", 5)
        self.assertEqual(run.returncode, 1)
        self.assertIn("Connection refused", run.stderr)
        run = sluice("load", "--url", "http://no-such-host.invalid/", "-n", 5)
        self.assertEqual(run.returncode, 1)
        self.assertIn("no-such-host.invalid", run.stderr)

    def test_reports_and_ends_when_interrupted(self):
        started = threading.Event()

        def answer(*_):
            started.set()
            return response()

        server = self.server(answer)
        process = start([SLUICE, "load", "--url", server.url, "-d", "1h"], stdout=-1, text=True)
        started.wait()
        process.terminate()
        output, _ = process.communicate()
        self.assertEqual(process.returncode, 0)
        self.assertRegex(output, r"allowed +\d+")

    def test_refuses_wrong_usage_with_2(self):
        for arguments in ([], ["--url", "https://x/"], ["--url", "x", "-n", "0"],
                          ["--url", "x", "-d", "5"], ["--url", "x", "-H", "no colon"],
                          ["--url", "x", "--threshold", "alowed==1"],
                          ["--url", "x", "--threshold", "p99<5"], ["--url", "x", "-b", "{rand:0}"],
                          ["--url", "x", "--body-file", str(self.folder / "missing")],
                          ["--url", "x", "--expect-status", "99"], ["--url", "x", "stray"]):
            run = sluice("load", *arguments)
            self.assertEqual(run.returncode, 2, arguments)
            self.assertTrue(run.stderr, arguments)

    def test_prints_no_progress_into_a_pipe(self):
        server = self.server(lambda *_: response())
        run = sluice("load", "--url", server.url, "-d", "600ms", "-c", 1)
        self.assertEqual(run.stderr, "")
        self.assertEqual(run.stdout.count("\r"), 0)


if __name__ == "__main__":
    unittest.main()
