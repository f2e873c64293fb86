"""Tests the configuration of a proxy as docs/proxies.md has it, for example: python3 check.py nginx."""

import contextlib
import http.client
import http.server
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

from link import Link, call
from ports import free_ports
from report import Between, address, expect, run

PROXY = sys.argv[1]
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "proxies.md"

# Seconds to start a proxy and to answer a request, with a margin for a busy machine.
PATIENCE = 60

# The time that a proxy waits for limitsrv on the page, and here, where nothing may be late, or limitsrv is.
TIMEOUT, LONG, SHORT = "100ms", "30s", "1s"

NGINX = """daemon off;
master_process off;
pid %(folder)s/pid;
error_log stderr;
events {}
http {
access_log off;
client_body_temp_path %(folder)s/body;
proxy_temp_path %(folder)s/proxy;
fastcgi_temp_path %(folder)s/fastcgi;
uwsgi_temp_path %(folder)s/uwsgi;
scgi_temp_path %(folder)s/scgi;
%(text)s}
"""

CADDY = """{
	admin off
}
%(text)s"""

# By proxy: its heading and the language of its block on the page, the file around it, and its command.
# Traefik's command is on the page too, and the program that the environment names runs in its place.
PROXIES = {
    "nginx": ("nginx", "nginx", NGINX, ".build/nginx/usr/sbin/nginx -e stderr -c FILE"),
    "caddy": ("Caddy", "caddyfile", CADDY, ".build/caddy/usr/bin/caddy run --adapter caddyfile --config FILE"),
    "traefik": ("Traefik", "yaml", "%(text)s", None),
}

# Traefik gives clients no headers with an allowed request, and can not let requests pass without limitsrv. It answers
# 404 before it has read its file.
IS_TRAEFIK = PROXY == "traefik"

# The ports of the page.
CLIENTS, LIMITSRV, PASSING, APPLICATION = "8080", "9380", "9381", "8000"

# The lines that let requests pass without limitsrv.
OPEN = re.compile(r"^ *\t*# open\n.*?# end\n", re.MULTILINE | re.DOTALL)


def block(language, heading="Proxies"):
    """Returns the first block of a language behind a heading of the page."""
    return re.search(rf"^#+ {heading}.*?^```{language}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL).group(1)


class Application(http.server.BaseHTTPRequestHandler):
    """Answers with the request that it got; /forbidden with 403."""

    protocol_version = "HTTP/1.1"

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        got = {"method": self.command, "path": self.path, "body": body.decode(), "from": self.headers.get("X-Forwarded-For"),
               "login": self.headers.get("Authorization")}
        self.server.got.append(got)
        text = json.dumps(got).encode()
        self.send_response(403 if self.path == "/forbidden" else 200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = handle_any

    def log_message(self, *_):
        pass


class Broken(Application):
    """Answers each request with 503."""

    def handle_any(self):
        self.send_response(503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = handle_any


@contextlib.contextmanager
def serve(handler):
    """Serves HTTP; yields the server, which collects the requests that it got."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.got = []
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield server
        server.shutdown()


@contextlib.contextmanager
def proxy(limitsrv, is_open, timeout=LONG):
    """Runs the proxy before an application; yields both. is_open: with the lines that let requests pass without limitsrv."""
    heading, language, around, command = PROXIES[PROXY]
    text = block(language, heading)
    command = command or block("text", heading).replace("traefik ", os.environ["TRAEFIK"] + " ", 1).replace("limit.yaml", "FILE")
    expect([port for port in (CLIENTS, LIMITSRV, APPLICATION) if f"127.0.0.1:{port}" not in text + command], [])
    expect((OPEN.search(text) is not None, TIMEOUT in text), (not IS_TRAEFIK, not IS_TRAEFIK))
    text = text.replace(TIMEOUT, timeout)
    if not is_open:
        text = OPEN.sub("", text).replace(f" 127.0.0.1:{PASSING}", "")
    with serve(Application) as application, tempfile.TemporaryDirectory(prefix="limitsrv-proxy-") as folder:
        clients, passing = free_ports(2)
        ports = {CLIENTS: clients, PASSING: passing, LIMITSRV: limitsrv.split(":")[1], APPLICATION: str(application.server_port)}
        text, command = (re.sub(r"(?<=127\.0\.0\.1:)\d+", lambda port: ports[port.group()], part) for part in (text, command))
        file = pathlib.Path(folder, "configuration.yaml")
        file.write_text(around % {"folder": folder, "text": text})
        process = subprocess.Popen(command.replace("FILE", str(file)).split(), stdout=sys.stderr, env=os.environ | {"HOME": folder})
        try:
            front = Proxy(int(clients))
            eventually(lambda: listens(process, front.port) and not (IS_TRAEFIK and front.ask("GET", "/")[0] == 404))
            application.got.clear()
            yield front, application
        finally:
            process.kill()
            process.wait()


def eventually(happens):
    """Waits until happens returns true."""
    deadline = time.monotonic() + PATIENCE
    while not happens():
        expect(time.monotonic() < deadline, True)
        time.sleep(0.05)


def listens(process, port):
    """Reports whether a process accepts connections."""
    expect(process.poll(), None)
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


class Proxy:
    """Sends requests to a proxy, from addresses of this machine."""

    def __init__(self, port):
        self.port = port

    def ask(self, method, path, body=None, source="127.0.0.1", **headers):
        """Returns the status, the headers and the body of the response."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE, source_address=(source, 0))
        with contextlib.closing(connection):
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            response = connection.getresponse()
            return response.status, response.headers, response.read().decode()


def limits(headers):
    """Returns the values of a response's headers, None for a missing one."""
    names = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After")
    return [None if headers[name] is None else int(headers[name]) for name in names]


def told(limit, remaining):
    """Returns the limits of an allowed request, as the proxy's client gets them."""
    return [None] * 4 if IS_TRAEFIK else [limit, remaining, TIME, None]


RULED = os.environ["LIMITSRV_HTTP_ADDR"]
TIME = Between(1, 7200)


def allowed():
    with proxy(RULED, False) as (front, application):
        for remaining in (999, 998):
            status, headers, _ = front.ask("GET", "/", X_Api_Key="allowed")
            expect((status, limits(headers)), (200, told(1000, remaining)))
        status, headers, _ = front.ask("GET", "/", X_RateLimit_Limit="7")
        expect((status, limits(headers)), (200, [None] * 4))
        expect(len(application.got), 3)


def refused():
    with proxy(RULED, True) as (front, application):
        for remaining in (2, 1, 0):
            status, headers, _ = front.ask("POST", "/login?next=/", "name", "127.0.0.2")
            expect((status, limits(headers)), (200, told(3, remaining)))
        status, headers, body = front.ask("POST", "/x/../login", "name", "127.0.0.2")
        expect((status, limits(headers)), (429, [3, 0, TIME, TIME]))
        expect("error" in json.loads(body) or "violated-policies" in json.loads(body), True)
        expect(len(application.got), 3)
        expect(front.ask("GET", "/login", None, "127.0.0.2")[0], 200)


def untouched():
    body = "0123456789" * 50_000
    with proxy(RULED, True) as (front, _):
        status, _, text = front.ask("PUT", "/a/b?c=d&e=%20", body, Authorization="Bearer token")
        got = json.loads(text)
        expect(got.pop("body") == body, True)
        expect(got, {"method": "PUT", "path": "/a/b?c=d&e=%20", "from": "127.0.0.1", "login": "Bearer token"})
        status, headers, text = front.ask("GET", "/forbidden", X_Api_Key="untouched")
        expect((status, json.loads(text)["path"], limits(headers)), (403, "/forbidden", told(1000, 999)))


def addresses():
    """A client's X-Forwarded-For has no effect."""
    with proxy(RULED, False) as (front, application):
        for n, status in enumerate((200, 200, 200, 429)):
            expect(front.ask("POST", "/login", "name", "127.0.0.3", X_Forwarded_For=f"203.0.113.{n}")[0], status)
        expect(front.ask("POST", "/login", "name", "127.0.0.4", X_Forwarded_For="127.0.0.3")[0], 200)
        expect(application.got[-1]["from"].split(", ")[-1], "127.0.0.4")


def fail_open():
    outage(True)


def fail_closed():
    outage(False)


def outage(is_open):
    """limitsrv is down, then up, then stalls with open connections, and then answers 503."""
    with Link(to(RULED)) as link, proxy(link.address, is_open, SHORT) as (front, application):
        expect_passed(front, application, is_open)
        link.open()
        eventually(lambda: answered(front.ask("GET", "/", X_Api_Key=f"outage-{is_open}")))
        link.stall()
        expect_passed(front, application, is_open)
    with serve(Broken) as broken, proxy(f"127.0.0.1:{broken.server_port}", is_open, SHORT) as (front, application):
        expect_passed(front, application, is_open)


def answered(response):
    """Reports whether limitsrv allowed a request."""
    status, headers, _ = response
    return status == 200 if IS_TRAEFIK else limits(headers)[0] == 1000


def expect_passed(front, application, passed):
    """Expects a request to reach the application once or not at all."""
    application.got.clear()
    status, _, _ = front.ask("POST", "/orders", "two", X_Api_Key="outage")
    expect((status < 300, status >= 500), (passed, not passed))
    expect([got["body"] for got in application.got], ["two"] * passed)


def to(at):
    host, port = at.split(":")
    return {"host": host, "port": int(port)}


CASES = {
    "allowed": allowed,
    "refused": refused,
    "untouched": untouched,
    "address": addresses,
    "fail-open": fail_open,
    "fail-closed": fail_closed,
}
if IS_TRAEFIK:
    del CASES["fail-open"]

if __name__ == "__main__":
    call(address("LIMITSRV_ADDR"), "RL.RULES", "LOAD", block("yaml"))
    sys.exit(run(CASES))
