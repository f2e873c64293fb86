"""Tests without a server: python -m unittest."""

import unittest

from limitsrv import AsyncLimiter, Decision, Limit, Limiter, Limits, digest
from limitsrv.decision import MAX_REMEMBERED, Memory, headers
from limitsrv.requests import bounded, network


def denial(wait_ms, reset_ms=0):
    return Decision(False, 1, 0, wait_ms, reset_ms)


class MemoryTest(unittest.TestCase):
    def test_is_bounded(self):
        memory = Memory(60)
        for i in range(2 * MAX_REMEMBERED):
            memory.put(str(i), denial(60_000), 0)
        self.assertEqual(len(memory.entries), MAX_REMEMBERED)
        self.assertIsNotNone(memory.get(str(2 * MAX_REMEMBERED - 1), 0))

    def test_ends(self):
        for wait, longest, after, want in (
            (10_000, 60, 9.999, (1, 10_001)),
            (10_000, 60, 10, None),
            (10_000, 5, 5, None),
            (-1, 5, 4, (-1, 16_000)),
            (-1, 5, 5, None),
            (10_000, 0, 0, None),
        ):
            with self.subTest(wait=wait, longest=longest, after=after):
                memory = Memory(longest)
                memory.put("k", denial(wait, 20_000), 0)
                got = memory.get("k", after)
                self.assertEqual(got and (got.wait_ms, got.reset_ms), want)


class LimitsTest(unittest.TestCase):
    def test_addresses_are_those_of_networks(self):
        for address, want in (
            ("203.0.113.7", "203.0.113.7"),
            ("::ffff:203.0.113.7", "203.0.113.7"),
            ("2001:DB8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
            ("fe80::1%eth0", "fe80::/64"),
            ("", ""),
        ):
            self.assertEqual(network(address), want)

    def test_identities_are_bounded(self):
        self.assertEqual(bounded("customer-7"), "customer-7")
        self.assertEqual(len(bounded("x" * 129)), 32)
        self.assertEqual(digest("secret"), "2bb80d537b1da3e38bd30361aa855686")

    def test_arguments_and_policies(self):
        self.assertEqual(Limit(5, per=1, burst=10).arguments("k"), ["TOKEN", "k", 10, "5/1000ms", 1])
        self.assertEqual(Limit(5, per=3600, algorithm="SLIDE").arguments("k"), ["SLIDE", "k", 5, "3600000ms", 1])
        self.assertEqual(Limit(5, per=1, burst=10).policy("n"), '"n";q=10;w=2')

    def test_a_wrong_configuration_is_an_error(self):
        for wrong in (dict(requests=0, per=1), dict(requests=1, per=0), dict(requests=1, per=1, algorithm="LEAKY"), dict(requests=1, per=1, burst=0)):
            self.assertRaises(ValueError, Limit, **wrong)
        self.assertRaises(ValueError, Limiter, fail="maybe")
        for limiter in (Limiter(), AsyncLimiter()):
            for name in ("", "a b", None):
                self.assertRaises(ValueError, Limits, limiter, name, per_address=Limit(1, 1))
            Limits(limiter, "a", per_address=Limit(1, 1))
            self.assertRaisesRegex(ValueError, "two limits have the name 'a'", Limits, limiter, "a", per_address=Limit(1, 1))

    def test_headers_name_all_limits_that_a_request_met(self):
        first = Decision(True, 10, 3, 0, 1, '"a"', '"a";q=10')
        got = headers([first, Decision(True, 20, 9, 0, 1, '"b"', '"b";q=20')])
        self.assertEqual(got["X-RateLimit-Limit"], "10")
        self.assertEqual(got["RateLimit"], '"a";r=3;t=1, "b";r=9;t=1')
        self.assertEqual(got["RateLimit-Policy"], '"a";q=10, "b";q=20')


if __name__ == "__main__":
    unittest.main()
