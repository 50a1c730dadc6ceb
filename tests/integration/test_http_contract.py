#!/usr/bin/env python3
"""The daemon's HTTP contract, as a client sees it: statuses, headers, bodies, problem documents."""

import json
import unittest

from harness import Case, RawConnection, check_body, sluice

RULES = """
domain: t
descriptors:
  - key: k
    rate_limit: {requests_per_unit: 3, unit: year}
  - key: zero
    rate_limit: {requests_per_unit: 0, unit: year}
  - key: bucket
    rate_limit: {algorithm: token_bucket, requests_per_unit: 1, unit: hour, burst: 2}
  - key: queue
    rate_limit: {algorithm: leaky_bucket, requests_per_unit: 1, unit: hour, burst: 1}
  - key: permits
    rate_limit: {algorithm: concurrency, requests_per_unit: 2, permit_ttl: 1h}
  - key: shadow
    shadow_mode: true
    rate_limit: {requests_per_unit: 1, unit: year}
  - key: free
    rate_limit: {unlimited: true}
"""


class Contract(Case):
    def setUp(self):
        super().setUp()
        self.daemon = self.serve(RULES)

    def check(self, descriptor, **more):
        return self.daemon.check("t", descriptor, **more)

    def test_allows_counts_down_and_denies(self):
        for left in (2, 1, 0):
            answer = self.check({"k": "a"})
            self.assertEqual(answer.status, 200)
            self.assertEqual(answer.json["verdict"], "allowed")
            self.assertEqual((answer.json["limit"], answer.json["remaining"]), (3, left))
            self.assertEqual(answer.json["retry_after_ms"], 0)
            self.assertEqual(answer.json["rule"], "k")
            self.assertEqual(len(answer.json["descriptors"]), 1)
        answer = self.check({"k": "a"})
        self.assertEqual((answer.status, answer.json["verdict"]), (429, "denied"))
        self.assertGreater(answer.json["retry_after_ms"], 0)
        self.assertEqual(self.check({"k": "b"}).status, 200)

    def test_headers_describe_the_limit_that_decides(self):
        answer = self.check({"k": "a"}, hits=3)
        self.assertEqual(answer.headers["Content-Type"], "application/json")
        self.assertEqual(answer.headers["RateLimit-Policy"].split(";")[:2], ['"k"', "q=3"])
        self.assertRegex(answer.headers["RateLimit"], r'^"k";r=0;t=\d+$')
        self.assertEqual(answer.headers["X-RateLimit-Limit"], "3")
        self.assertEqual(answer.headers["X-RateLimit-Remaining"], "0")
        self.assertIsNone(answer.headers["Retry-After"])
        denied = self.check({"k": "a"})
        wait = denied.json["retry_after_ms"]
        self.assertEqual(int(denied.headers["Retry-After"]), max(1, -(-wait // 1000)))
        self.assertEqual(int(denied.headers["X-RateLimit-Reset"]),
                         -(-denied.json["reset_after_ms"] // 1000))

    def test_a_cost_that_never_fits_has_no_end(self):
        for descriptor, hits in (({"k": "a"}, 4), ({"zero": "a"}, 1), ({"k": "a"}, 2**32 - 1)):
            answer = self.check(descriptor, hits=hits)
            self.assertEqual(answer.status, 429)
            self.assertIsNone(answer.json["retry_after_ms"])
            self.assertIsNone(answer.headers["Retry-After"])
        self.assertEqual(self.check({"k": "a"}, hits=3).status, 200)  # Nothing was charged.

    def test_cost_zero_is_allowed_when_empty(self):
        self.check({"k": "a"}, hits=3)
        for descriptor in ({"k": "a"}, {"zero": "a"}):
            self.assertEqual(self.check(descriptor, hits=0).status, 200)

    def test_what_no_rule_matches_is_allowed_without_rate_headers(self):
        for domain, descriptor in (("t", {"other": "a"}), ("t", {"free": "a"}), ("u", {"k": "a"})):
            answer = self.daemon.check(domain, descriptor)
            self.assertEqual(answer.status, 200)
            self.assertIsNone(answer.json["limit"])
            self.assertIsNone(answer.json["remaining"])
            self.assertFalse([h for h in answer.headers if "ratelimit" in h.lower()])

    def test_several_limits_are_charged_all_or_none(self):
        self.check({"k": "a"}, hits=3)
        answer = self.daemon.check("t", {"bucket": "a"}, {"k": "a"})
        self.assertEqual(answer.status, 429)
        self.assertEqual(answer.json["rule"], "k")
        self.assertEqual([d["verdict"] for d in answer.json["descriptors"]],
                         ["allowed", "denied"])
        self.assertEqual(self.check({"bucket": "a"}).json["remaining"], 1)

    def test_takes_the_long_form_with_hits_and_a_limit_of_its_own(self):
        entries = [{"key": "k", "value": "a"}]
        self.assertEqual(self.check({"entries": entries, "hits": 2}).json["remaining"], 1)
        limit = {"requests_per_unit": 7, "unit": "year"}
        answer = self.check({"entries": entries, "limit": limit})
        self.assertEqual((answer.json["limit"], answer.json["remaining"]), (7, 6))
        self.assertEqual(self.check({"k": "a"}).json["remaining"], 0)

    def test_peek_charges_nothing_and_refund_gives_back(self):
        body = check_body("t", {"k": "a"})
        self.check({"k": "a"}, hits=3)
        self.assertEqual(self.daemon.post("/v1/peek", body).status, 429)
        self.assertEqual(self.daemon.post("/v1/refund", body).status, 200)
        self.assertEqual(self.daemon.post("/v1/peek", body).json["remaining"], 1)
        self.assertEqual(self.daemon.post("/v1/refund", check_body("t", {"k": "a"}, hits=99))
                         .json["remaining"], 3)

    def test_permits_are_held_renewed_and_given_back(self):
        first, second = (self.check({"permits": "a"}) for _ in range(2))
        self.assertEqual((first.status, second.status), (200, 200))
        self.assertNotEqual(first.json["permit"], second.json["permit"])
        self.assertEqual(self.check({"permits": "a"}).status, 429)
        permit = {"permit": first.json["permit"]}
        self.assertEqual(self.daemon.post("/v1/renew", permit).status, 200)
        for _ in range(2):  # Twice is fine.
            self.assertEqual(self.daemon.post("/v1/release", permit).status, 200)
        self.assertEqual(self.check({"permits": "a"}).status, 200)
        self.assertEqual(self.check({"permits": "a"}).status, 429)
        for bad in ("", "x", "A" * 83, first.json["permit"][:-1]):
            self.assertIn(self.daemon.post("/v1/release", {"permit": bad}).status, (400, 404))

    def test_a_leaky_bucket_says_how_long_to_hold(self):
        self.assertEqual(self.check({"queue": "a"}).json["delay_ms"], 0)
        held = self.check({"queue": "a"})
        self.assertEqual(held.status, 200)
        self.assertGreater(held.json["delay_ms"], 3_590_000)
        self.assertEqual(self.check({"queue": "a"}).status, 429)

    def test_a_shadow_rule_denies_nobody_and_counts(self):
        for _ in range(3):
            self.assertEqual(self.check({"shadow": "a"}).status, 200)
        name = 'sluice_decisions_total{domain="t",rule="shadow",verdict="shadow_denied"}'
        self.assertEqual(self.daemon.metrics()[name], 2)

    def test_speaks_the_other_limiters_json(self):
        body = {"domain": "t", "descriptors": [{"entries": [{"key": "k", "value": "a"}]}]}
        answer = self.daemon.post("/json", body)
        self.assertEqual((answer.status, answer.json["overallCode"]), (200, "OK"))
        self.assertEqual(answer.json["statuses"][0]["limitRemaining"], 2)
        body["hitsAddend"] = 3
        answer = self.daemon.post("/json", body)
        self.assertEqual((answer.status, answer.json["overallCode"]), (429, "OVER_LIMIT"))

    def test_health_answers_get_and_head(self):
        for path in ("/healthz", "/readyz"):
            self.assertEqual(self.daemon.get(path).status, 200)
            with RawConnection(self.daemon.port) as raw:
                raw.send(b"HEAD %s HTTP/1.1\r\nHost: h\r\n\r\n" % path.encode())
                raw.send(b"GET %s HTTP/1.1\r\nHost: h\r\n\r\n" % path.encode())
                # The answer to HEAD has no body, so the next one starts right behind its head.
                self.assertEqual(raw.stream.readline().split()[1], b"200")
                while raw.stream.readline() != b"\r\n":
                    pass
                self.assertEqual(raw.stream.readline().split()[1], b"200")

    def test_wrong_paths_methods_and_types_are_problems(self):
        body = check_body("t", {"k": "a"})
        self.assert_problem(self.daemon.get("/nope"), 404)
        answer = self.daemon.get("/v1/check")
        self.assert_problem(answer, 405)
        self.assertIn("POST", answer.headers["Allow"])

        def post_as(content_type):
            return self.daemon.post("/v1/check", body, {"Content-Type": content_type})

        self.assert_problem(post_as("text/plain"), 415)
        for fine in ("application/json; charset=utf-8", "Application/JSON"):
            self.assertEqual(post_as(fine).status, 200)

    def test_a_problem_names_the_field(self):
        for body, field in (({"domain": 5, "descriptors": []}, "domain"),
                            ({"descriptors": [{"k": "a"}]}, "domain"),
                            ({"domain": "t", "descriptors": [{"k": 1}]}, "descriptors[0].k"),
                            ({"domain": "t", "descriptors": [{"k": "a"}], "hits": -1}, "hits"),
                            ({"domain": "t", "descriptors": [{"k": "a"}], "hitz": 1}, "hitz"),
                            ({"domain": "t"}, "descriptors"),
                            ({"domain": "t", "descriptors": {}}, "descriptors")):
            answer = self.daemon.post("/v1/check", body)
            self.assert_problem(answer, 400)
            self.assertEqual(answer.json["field"], field, body)

    def test_keeps_the_connection_and_answers_in_order(self):
        with RawConnection(self.daemon.port) as raw:
            bodies = [check_body("t", {"k": "a"}), check_body("t", {"k": 1}),
                      check_body("t", {"k": "a"}), check_body("t", {"k": "a"}),
                      check_body("t", {"k": "a"})]
            raw.send(b"".join(
                b"POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n%s" % (len(b), b.encode()) for b in bodies))
            self.assertEqual([raw.answer().status for _ in bodies], [200, 400, 200, 200, 429])

    def test_closes_when_asked(self):
        with RawConnection(self.daemon.port) as raw:
            raw.send(b"GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            answer = raw.answer()
            self.assertEqual(answer.headers["Connection"].lower(), "close")
            self.assertTrue(raw.is_closed())

    def test_values_are_bytes_and_never_meet(self):
        values = ["a", "A", " a", "a ", "a\u0000", "\u0000a", "ä", "a\u0308", "a:b", "a/b", "a|b",
                  "", "%61", "\u2028", "\U0001f980", "a" * 200, "a" * 201]
        for value in values:
            self.assertEqual(self.check({"k": value}, hits=3).json["remaining"], 0, repr(value))
        for value in values:
            self.assertEqual(self.check({"k": value}).status, 429, repr(value))

    def test_check_command_tells_allowed_from_denied(self):
        ask = ("check", "--server", f"127.0.0.1:{self.daemon.port}", "--domain", "t", "k=shell")
        self.assertEqual([sluice(*ask).returncode for _ in range(4)], [0, 0, 0, 3])
        self.assertEqual(json.loads(sluice(*ask, "--json").stdout)["verdict"], "denied")
        self.assertEqual(sluice(*ask, "--hits", "9").returncode, 3)
        self.assertEqual(sluice(*ask[:-1], "unknown=x").returncode, 0)


class Admin(Case):
    def setUp(self):
        super().setUp()
        self.daemon = self.serve(RULES)

    def test_looks_at_and_resets_one_key(self):
        for value in ("a", "a&b c"):
            self.daemon.check("t", {"k": value}, hits=3)
        server = ("--server", f"127.0.0.1:{self.daemon.admin_port}", "--domain", "t")
        view = json.loads(sluice("key", "get", *server, "k=a&b c", "--json").stdout)["keys"]
        self.assertEqual([(v["rule"], v["remaining"]) for v in view], [("k", 0)])
        self.assertEqual(sluice("key", "reset", *server, "k=a&b c").returncode, 0)
        self.assertEqual(self.daemon.check("t", {"k": "a&b c"}).status, 200)
        self.assertEqual(self.daemon.check("t", {"k": "a"}).status, 429)
        self.assertEqual(sluice("key", "get", *server[:-1], "nope", "k=a").returncode, 1)

    def test_the_kill_switch_allows_and_still_counts(self):
        self.daemon.check("t", {"k": "a"}, hits=3)
        switch = {"domain": "t", "rule": "k", "on": True}
        self.assertEqual(self.daemon.admin("PUT", "/v1/kill-switch", switch).status, 200)
        self.assertEqual(self.daemon.check("t", {"k": "a"}).status, 200)
        name = 'sluice_decisions_total{domain="t",rule="k",verdict="shadow_denied"}'
        self.assertEqual(self.daemon.metrics()[name], 1)
        self.assertIn('"k"', self.daemon.admin("GET", "/v1/kill-switch").body.decode())
        self.daemon.admin("PUT", "/v1/kill-switch", {**switch, "on": False})
        self.assertEqual(self.daemon.check("t", {"k": "a"}).status, 429)
        self.assert_problem(
            self.daemon.admin("PUT", "/v1/kill-switch", {**switch, "rule": "nope"}), 404)

    def test_shows_rules_and_metrics_that_add_up(self):
        for _ in range(5):
            self.daemon.check("t", {"k": "a"})
        rules = self.daemon.admin("GET", "/v1/rules").json["domains"][0]["rules"]
        self.assertIn("token_bucket", [r["limit"]["algorithm"] for r in rules if "limit" in r])
        self.assertIn(b"t.k: unit=YEAR requests_per_unit=3",
                      self.daemon.admin("GET", "/rlconfig").body)
        metrics = self.daemon.metrics()
        self.assertEqual(metrics['sluice_requests_total{domain="t",verdict="allowed"}'], 3)
        self.assertEqual(metrics['sluice_requests_total{domain="t",verdict="denied"}'], 2)
        self.assertEqual(self.daemon.metric("sluice_hits_total"), 5)
        self.assertEqual(self.daemon.admin("GET", "/healthz").status, 200)


if __name__ == "__main__":
    unittest.main()
