"""Named limits and rules: the commands that ask for them, and their answers."""

from __future__ import annotations

import hashlib
import ipaddress
import time
from collections.abc import Callable, Mapping

from .decision import Decision, Limit, headers, name_of, unexpected
from .limiter import AsyncLimiter, Limiter, Unavailable

MAX_IDENTITY_BYTES = 128  # of the part of a key that a client chooses


class _Asker:
    """Asks for decisions. A denial that is known is not asked for."""

    def __init__(self, limiter: Limiter | AsyncLimiter):
        self.limiter = limiter

    def take(self, *described) -> Decision:
        """Decides with a Limiter. Raises Unavailable."""
        known, command, decide = self._prepare(*described)
        return known or self._read(decide, self.limiter.command(*command))

    async def take_async(self, *described) -> Decision:
        """Decides with an AsyncLimiter. Raises Unavailable."""
        known, command, decide = self._prepare(*described)
        return known or self._read(decide, await self.limiter.command(*command))

    def _read(self, decide: Callable, reply: object) -> Decision:
        try:
            return decide(reply)
        except (ValueError, TypeError, IndexError) as error:
            self.limiter.report(unexpected(reply))
            raise Unavailable(str(error)) from error


class Limits(_Asker):
    """The limits of a name, which is a part of all keys. A request takes one token from the limit
    of its address and, if it has a key, from the limit of the key: all or none.
    """

    def __init__(self, limiter: Limiter | AsyncLimiter, name: str, *, per_address: Limit, per_key: Limit | None = None):
        super().__init__(limiter)
        limiter.claim(name)
        self._name, self._per_address, self.per_key = name, per_address, per_key
        self._policies = [per_address.policy(f"{name}/address")]
        if per_key:
            self._policies.append(per_key.policy(f"{name}/key"))

    def _prepare(self, address: str, key: str | None = None):
        takes = [(self._per_address, f"{self._name}:ip:{bounded(network(address))}")]
        if self.per_key and key:
            takes.append((self.per_key, f"{self._name}:key:{bounded(key)}"))
        policies, asked = ", ".join(self._policies[:len(takes)]), time.monotonic()

        def decide(reply):
            _, binding, *replies = reply
            decisions = []
            for (_, full), policy, one in zip(takes, self._policies, replies):
                decisions.append(Decision.parse(one, name=name_of(policy), policies=policies))
                if not decisions[-1].allowed:
                    self.limiter.denied.put(full, decisions[-1], asked)
            return decisions[binding]

        known = next(filter(None, (self.limiter.denied.get(full, asked) for _, full in takes)), None)
        return known, ["RL.ALL", *(word for limit, full in takes for word in limit.arguments(full))], decide


class Rules(_Asker):
    """The rules of a domain on the server. take gets the attributes of a request."""

    def __init__(self, limiter: Limiter | AsyncLimiter, domain: str):
        super().__init__(limiter)
        self._domain = domain

    def _prepare(self, attributes: Mapping[str, str]):
        described = [word for pair in attributes.items() for word in pair]
        key, asked = "\0".join([self._domain, *described]), time.monotonic()

        def decide(reply):
            words = [word.decode("latin-1") if isinstance(word, bytes) else str(word) for word in [reply[6], *reply[7]]]
            found = dict(zip(words[1::2], words[2::2]))
            decision = Decision.parse(
                reply, reason=words[0], name=name_of(found.get("RateLimit", "")), policies=found.get("RateLimit-Policy", ""))
            if not decision.allowed:
                self.limiter.denied.put(key, decision, asked)
            return decision

        return self.limiter.denied.get(key, asked), ["RL.CHECK", self._domain, *described, "HEADERS"], decide


def refusal(decision: Decision | None, fails_open: bool, before: list[Decision]) -> tuple[int, dict, dict] | None:
    """Returns status, headers and body of a refusal, or None for a request that passes.

    decision is None if limitsrv is unavailable. It is added to before, the decisions of a response.
    """
    if decision is None:
        return None if fails_open else (503, {"Retry-After": "1"}, {"error": "the rate limiter does not answer"})
    before.append(decision)
    return None if decision.allowed else (429, headers(before), decision.body())


def digest(secret: str) -> str:
    """Returns the first 32 hexadecimal digits of the SHA-256 of a secret, "" for ""."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()[:32] if secret else ""


def bounded(identity: str) -> str:
    return digest(identity) if len(identity.encode("utf-8", "surrogateescape")) > MAX_IDENTITY_BYTES else identity


def network(address: str) -> str:
    """Returns an IPv4 address, or the /64 network of an IPv6 address: a client may have all its addresses."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.version == 6 and parsed.ipv4_mapped:
        parsed = parsed.ipv4_mapped
    return str(parsed) if parsed.version == 4 else str(ipaddress.ip_network((parsed, 64), strict=False))
