#!/usr/bin/env python3
"""What strangers send: the daemon answers with a clear 4xx or closes, serves others meanwhile, and
neither grows nor dies. bench/hostile.py does the same for minutes."""

import json
import os
import resource
import unittest

from harness import Case, RawConnection, check_body, limits, load, wait_until

MEMORY_FACTOR = int(os.environ.get("SLUICE_MEMORY_FACTOR", "1"))
HEAD = b"POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"


def framed(body):
    return HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body


class Hostile(Case):
    def setUp(self):
        super().setUp()
        self.daemon = self.serve(limits(k=1_000_000), "--limits-request-timeout", "1s")

    def tearDown(self):
        answer = self.daemon.check("t", {"k": "still there"})
        self.assertEqual(answer.status, 200)
        self.assertIsNone(self.daemon.process.poll())

    def send(self, data):
        """The first answer to these bytes; None when the daemon just closed."""
        with RawConnection(self.daemon.port) as raw:
            try:
                raw.send(data)
            except (BrokenPipeError, ConnectionResetError):
                pass  # It may answer before it has read all.
            return raw.answer()

    def assert_refused(self, data, *statuses):
        answer = self.send(data)
        self.assertIsNotNone(answer, data[:80])
        self.assertIn(answer.status, statuses or range(400, 500), data[:80])
        self.assertEqual(answer.headers["Content-Type"], "application/problem+json")
        self.assertTrue(json.loads(answer.body)["detail"])

    def test_malformed_requests_get_400(self):
        for data in (b"\x00\x01\x02\x03\r\n\r\n", b"GET\r\n\r\n", b"GET /\r\n\r\n",
                     b"GET / HTTP/3.0\r\nHost: h\r\n\r\n", b"GET  / HTTP/1.1\r\nHost: h\r\n\r\n",
                     b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost: h\r\n: empty\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost: h\r\nA b: c\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost: h\r\nA: b\x00c\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost : h\r\n\r\n",
                     b"GET /\xff HTTP/1.1\r\nHost: h\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost: h\r\n folded: x\r\n\r\n",
                     HEAD + b"Content-Length: -1\r\n\r\n", HEAD + b"Content-Length: x\r\n\r\n",
                     HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
                     HEAD + b"Content-Length: 99999999999999999999\r\n\r\n",
                     HEAD + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                     HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
                     HEAD + b"Transfer-Encoding: gzip\r\n\r\n"):
            with self.subTest(data=data[:60]):
                self.assert_refused(data, 400, 404, 411, 413, 414, 417, 421, 501, 505)

    def test_no_request_is_smuggled_behind_a_refused_one(self):
        hidden = framed(check_body("t", {"k": "smuggled"}).encode())
        for data in (HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n" + hidden,
                     HEAD + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + hidden):
            self.send(data)
        self.assertEqual(self.daemon.check("t", {"k": "smuggled"}).json["remaining"], 999_999)

    def test_oversized_heads_get_431_and_bodies_413(self):
        start = b"GET /healthz HTTP/1.1\r\nHost: h\r\n"
        self.assert_refused(start + b"X: y\r\n" * 100_000 + b"\r\n", 431)
        self.assert_refused(start + b"X: " + b"y" * 10_000_000 + b"\r\n\r\n", 431)
        self.assert_refused(b"GET /" + b"y" * 10_000_000 + b" HTTP/1.1\r\n\r\n", 414, 431)
        self.assert_refused(HEAD + b"Content-Length: 1000000000\r\n\r\n", 413)
        self.assert_refused(framed(b" " * 20_000_000), 413)
        chunk = b"FFFF\r\n" + b" " * 0xFFFF + b"\r\n"
        self.assert_refused(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 300, 413)

    def test_json_of_every_wrong_shape_gets_400(self):
        good = {"domain": "t", "descriptors": [{"k": "a"}]}
        shapes = [None, True, 0, -1, 1.5, 1e400, "", "x", [], [1], {}, {"": 1}]
        bodies = [json.dumps(shape) for shape in shapes]
        for field in good:
            bodies += [json.dumps({**good, field: shape}) for shape in shapes
                       if not (field == "domain" and shape in ("", "x"))]
        for shape in shapes:
            bodies.append(json.dumps({**good, "descriptors": [shape]}))
            if shape not in ("", "x"):
                bodies.append(json.dumps({**good, "descriptors": [{"k": shape}]}))
                bodies.append(json.dumps({**good, "descriptors": [{"entries": shape}]}))
            bodies.append(json.dumps({**good, "descriptors": [{"entries": [shape]}]}))
            if shape not in (0, None) or shape is False:
                bodies.append(json.dumps({**good, "hits": shape}))
            bodies.append(json.dumps({**good, "extra": shape}))
        text = json.dumps(good)
        bodies += [text[:n] for n in range(len(text))] + [text + "x", text + text, "{" * 30_000,
                   "[" * 30_000, '{"domain":"t","domain":"t","descriptors":[{"k":"a"}]}',
                   '{"domain":"t","descriptors":[{"k":"a","k":"b"}]}', "NaN", "'t'",
                   "\ufeff" + text]
        raw_bodies = [b.encode() for b in bodies]
        raw_bodies += [b"\x00", b"\xff\xfe", text.encode("utf-16"),
                       b'{"domain":"t","descriptors":[{"k":"\xff"}]}',
                       b'{"domain":"t","descriptors":[{"k":"\x00"}]}',
                       b'{"domain":"t","descriptors":[{"k":"\xc0\x80"}]}',
                       b'{"domain":"t","descriptors":[{"k":"\\ud800"}]}']
        with RawConnection(self.daemon.port) as raw:  # One connection: none of them costs it.
            for body in raw_bodies:
                raw.send(framed(body))
                answer = raw.answer()
                self.assertIsNotNone(answer, body[:80])
                self.assertEqual(answer.status, 400, body[:80])
                self.assertTrue(json.loads(answer.body)["detail"])

    def test_too_many_or_too_long_parts_get_400(self):
        many = json.dumps({"domain": "t", "descriptors": [{"k": "a"}] * 2000}).encode()
        entries = json.dumps({"domain": "t", "descriptors": [
            {"entries": [{"key": "k", "value": "a"}] * 1000}]}).encode()
        long = json.dumps({"domain": "t", "descriptors": [{"k": "a" * 20_000}]}).encode()
        for body in (many, entries, long):
            self.assert_refused(framed(body), 400, 413)

    def test_a_client_that_sends_a_byte_at_a_time_is_given_up(self):
        with RawConnection(self.daemon.port) as slow:
            bytes_left = list(framed(b"{}"))

            def drip():
                """A byte each time it is asked; true once the daemon has had enough."""
                try:
                    slow.send(bytes([bytes_left.pop(0)])) if len(bytes_left) > 40 else None
                except (BrokenPipeError, ConnectionResetError):
                    return True
                self.assertEqual(self.daemon.check("t", {"k": "other"}).status, 200)
                slow.socket.settimeout(0.1)
                try:
                    return slow.socket.recv(12) in (b"", b"HTTP/1.1 408")
                except TimeoutError:
                    return False
                except ConnectionResetError:
                    return True

            wait_until(drip, "the daemon to give up a slow request")

    def test_many_idle_and_half_open_connections_leave_room_for_others(self):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        count = min(2000, most // 4)
        before = self.daemon.rss()
        idle = [RawConnection(self.daemon.port) for _ in range(count)]
        for index, raw in enumerate(idle):
            self.addCleanup(raw.close)
            if index % 2:
                raw.send(b"POST /v1/ch")
        self.assertEqual(self.daemon.check("t", {"k": "a"}).status, 200)
        self.assertLess(self.daemon.rss() - before, count * 8192 * MEMORY_FACTOR)

    def test_a_pipelining_flood_that_never_reads_is_not_buffered(self):
        before = self.daemon.rss()
        flood = framed(check_body("t", {"k": "flood"}).encode()) * 200
        with RawConnection(self.daemon.port) as raw:
            raw.socket.settimeout(0.5)
            sent = 0
            try:
                while sent < 200_000_000:
                    sent += raw.socket.send(flood)
            except (TimeoutError, ConnectionError):
                pass  # It no longer reads from who does not read.
            self.assertLess(sent, 200_000_000)
            self.assertEqual(self.daemon.check("t", {"k": "other"}).status, 200)
            self.assertLess(self.daemon.rss() - before, 32_000_000 * MEMORY_FACTOR)


class Flood(Case):
    def test_distinct_keys_fill_a_bounded_table_and_no_more(self):
        daemon = self.serve(limits(k=5), "--table-keys-max", "20000")
        body = check_body("t", {"k": "{i}"})
        load("--url", daemon.url(), "-n", 60_000, "-p", 32, "-c", 4, "-b", body,
             "--threshold", "allowed==60000")
        full = daemon.rss()
        load("--url", daemon.url(), "-n", 120_000, "-p", 32, "-c", 4, "-b",
             check_body("t", {"k": "more{i}"}), "--threshold", "allowed==120000")
        self.assertLess(daemon.rss() - full, 4_000_000 * MEMORY_FACTOR)
        # At least so many fit; the bound is the table's own, in whole buckets.
        self.assertLess(daemon.metric("sluice_table_keys"), 40_000)
        self.assertGreater(daemon.metric("sluice_table_evictions_total"), 0)

    def test_a_table_that_refuses_answers_503(self):
        daemon = self.serve(limits(k=5), "--table-keys-max", "1024", "--table-when-full", "refuse")
        report = load("--url", daemon.url(), "-n", 20_000, "-p", 32, "-c", 4, "-b",
                      check_body("t", {"k": "{i}"}), "--expect-status", "200,503")
        self.assertEqual(report["unexpected"], 0)
        self.assertGreater(report["status"]["503"], 0)


if __name__ == "__main__":
    unittest.main()
