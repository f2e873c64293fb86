"""Prometheus' redis_exporter, scraped once over HTTP."""

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request

from redis_cli import call
from report import Between, address, expect, run

EXPORTER = ".build/exporter/usr/bin/prometheus-redis-exporter"


def scrape(at, password=""):
    """Returns the metrics without labels by name, and the exporter's log."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    exporter = subprocess.Popen(
        [EXPORTER, "-redis.addr", f"redis://{os.environ[at]}", "-web.listen-address", f"127.0.0.1:{port}"],
        env=os.environ | {"REDIS_PASSWORD": password}, stderr=subprocess.PIPE, text=True)
    try:
        text = page(f"http://127.0.0.1:{port}/metrics")
    finally:
        exporter.terminate()
        _, log = exporter.communicate(timeout=60)
    return {name: float(value) for name, value in re.findall(r"^(\w+) (\S+)$", text, re.M)}, text, log


def page(url):
    """Returns the page at url. Waits up to 10 s for its server to start."""
    deadline = time.monotonic() + 10
    while True:
        try:
            with urllib.request.urlopen(url, timeout=60) as response:
                return response.read().decode()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def scraped():
    for n in range(3):
        call("RL.TOKEN", f"scraped-{n}", 10, "10/h")
    metrics, text, log = scrape("LIMITSRV_ADDR")
    expect(metrics["redis_up"], 1.0)
    expect(metrics["redis_exporter_last_scrape_error"] if "redis_exporter_last_scrape_error" in metrics else 0.0, 0.0)
    expect(re.search(r'^redis_db_keys\{db="db0"\} (\S+)$', text, re.M).group(1), "3")
    expect(re.search(r'^redis_instance_info\{.*role="master".*\} 1$', text, re.M) is not None, True)
    for name in ("redis_uptime_in_seconds", "redis_connected_clients", "redis_memory_used_bytes", "redis_commands_processed_total"):
        expect(name in metrics, True)
    expect(int(metrics["redis_connected_clients"]), Between(1, 10))
    expect([line for line in log.splitlines() if re.search("level=(warn|error)", line)], [])


def password():
    metrics, _, _ = scrape("LIMITSRV_PASSWORD_ADDR", os.environ["LIMITSRV_PASSWORD"])
    expect(metrics["redis_up"], 1.0)
    metrics, _, _ = scrape("LIMITSRV_PASSWORD_ADDR", "wrong")
    expect(metrics["redis_up"], 0.0)


CASES = {
    "scrape": scraped,
    "password": password,
}

if __name__ == "__main__":
    sys.exit(run(CASES))
