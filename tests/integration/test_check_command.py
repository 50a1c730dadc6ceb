#!/usr/bin/env python3
"""`sluice check` and `sluice key`: what they send, what they say, and their exit status."""

import json
import unittest

from harness import Case, sluice
from stub_server import Server, response


class AgainstAStub(Case):
    def ask(self, status, body, *arguments, command=("check", "--domain", "d", "k=v")):
        text = body if isinstance(body, str) else json.dumps(body)
        server = Server(lambda *_: response(status, text.encode()))
        self.addCleanup(server.close)
        address = server.url.removeprefix("http://")
        run = sluice(*command, "--server", address, *arguments)
        self.assertNotIn("\x1b", run.stdout)  # No colours into a pipe.
        return run, server

    def test_exit_status_follows_the_verdict(self):
        shed = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
        for status, body, expected, word in (
                (200, {"verdict": "allowed", "limit": None}, 0, "allowed"),
                (429, {"verdict": "denied", "limit": 5, "retry_after_ms": 900}, 3, "denied"),
                (503, {"type": shed, "title": "Busy"}, 3, "shed"),
                (503, {"detail": "the table is full"}, 4, "undecided"),
                (400, {"detail": "must be a string", "field": "domain"}, 2, "refused"),
                (404, "not here", 4, "no answer")):
            run, _ = self.ask(status, body)
            self.assertEqual(run.returncode, expected, (status, body))
            self.assertTrue(run.stdout.startswith(word), run.stdout)

    def test_says_the_numbers_in_words(self):
        answer = {"verdict": "denied", "rule": "login", "limit": 5, "remaining": 0,
                  "retry_after_ms": 61_001, "reset_after_ms": 7_200_000}
        run, _ = self.ask(429, answer)
        self.assertEqual(
            run.stdout, "denied  login: 0 of 5 left, try again in 1m 2s, as new in 2h 0m\n")
        run, _ = self.ask(429, {**answer, "retry_after_ms": None})
        self.assertIn("this can never fit", run.stdout)
        run, _ = self.ask(400, {"detail": "must be a string", "field": "domain"})
        self.assertEqual(run.stdout, "refused  must be a string (domain)\n")

    def test_sends_the_entries_in_order_and_as_they_are(self):
        _, server = self.ask(200, {"verdict": "allowed"}, "--hits", 3, command=(
            "check", "--domain", 'a"b', "k=v=w", "k=", "ключ=значение {i}"))
        (method, target), head, body = server.seen[0]
        self.assertEqual((method, target), ("POST", "/v1/check"))
        self.assertEqual(head["content-type"], "application/json")
        entries = [("k", "v=w"), ("k", ""), ("ключ", "значение {i}")]
        self.assertEqual(json.loads(body), {
            "domain": 'a"b', "hits": 3,
            "descriptors": [{"entries": [{"key": k, "value": v} for k, v in entries]}]})

    def test_peeks_without_charging(self):
        _, server = self.ask(200, {"verdict": "allowed"}, "--peek")
        self.assertEqual(server.seen[0][0][1], "/v1/peek")

    def test_prints_the_answer_as_it_is_on_request(self):
        run, _ = self.ask(429, {"verdict": "denied", "x": [1]}, "--json")
        self.assertEqual((json.loads(run.stdout), run.returncode),
                         ({"verdict": "denied", "x": [1]}, 3))

    def test_says_when_there_is_no_daemon(self):
        server = Server(lambda *_: None)
        server.close()
        address = server.url.removeprefix("http://")
        for command in (("check",), ("key", "get"), ("key", "reset")):
            run = sluice(*command, "--domain", "d", "k=v", "--server", address)
            self.assertEqual(run.returncode, 4)
            self.assertIn("Connection refused", run.stderr)

    def test_asks_the_admin_port_about_keys(self):
        command = ("--domain", "a b", "k=v&w=ü")
        _, server = self.ask(200, {"keys": []}, command=("key", "get", *command))
        self.assertEqual(server.seen[0][0],
                         ["GET", "/v1/keys?domain=a%20b&k=v%26w%3D%C3%BC"])
        run, server = self.ask(200, {"reset": 2}, command=("key", "reset", *command))
        self.assertEqual(server.seen[0][0][0], "DELETE")
        self.assertEqual(run.stdout, "2 reset\n")
        run, _ = self.ask(404, {"detail": "no such domain"}, command=("key", "get", *command))
        self.assertEqual(run.returncode, 1)
        self.assertIn("no such domain", run.stderr)

    def test_refuses_wrong_usage_with_2(self):
        for arguments in (["check"], ["check", "--domain", "d"], ["check", "--domain", "d", "k"],
                          ["check", "--domain", "d", "=v"], ["check", "k=v"], ["key"],
                          ["check", "--domain", "d", "k=v", "--hits", "-1"],
                          ["key", "get", "--domain", "d"], ["key", "drop", "--domain", "d", "k=v"]):
            run = sluice(*arguments)
            self.assertEqual(run.returncode, 2, arguments)
            self.assertTrue(run.stderr, arguments)


if __name__ == "__main__":
    unittest.main()
