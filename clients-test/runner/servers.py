"""The servers of one client."""

import contextlib
import os
import pathlib
import random
import signal
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time

PASSWORD = "correct horse"

# Options of a front and its node, which a front with a password requires.
SECRET = ("--cluster-secret", "of the fronts and nodes of these tests")

# Seconds to listen, and to shut down.
START_TIMEOUT = 60
STOP_TIMEOUT = 60

# Seconds to build and run the program that creates certificates.
CERTIFY_TIMEOUT = 300

# Ports below the ephemeral range: a client that keeps reconnecting while its server is
# down can't connect to itself.
PORTS = range(20000, 32000)

# The program of LIMITSRV_RESTART. It sends a request to the runner, the parent of the server.
RESTART_PROGRAM = """#!{python}
import socket
with socket.socket(socket.AF_UNIX) as asked:
    asked.connect({path!r})
    answer = asked.recv(100).decode()
raise SystemExit(0 if answer == "ok" else "restart: " + (answer or "the runner has ended"))
"""


def has_cluster_mode(binary):
    """Reports whether the server has --cluster-mode."""
    text = subprocess.run([binary, "--help"], check=True, text=True, stdout=subprocess.PIPE, timeout=120).stdout
    return "--cluster-mode" in text


class Server:
    """A server without keys, at an address that it keeps across restarts."""

    def __init__(self, binary, log, *options, password=None):
        self.binary, self.log, self.options = binary, log, options
        self.process = None
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("LIMITSRV_")}
        if password is not None:
            self.environment["LIMITSRV_PASSWORD"] = password
        for port in random.sample(PORTS, 20):
            self.address = f"127.0.0.1:{port}"
            try:
                return self.start()
            except RuntimeError as problem:
                last = problem
        raise last

    def start(self):
        """Starts it and waits until it listens. Raises RuntimeError if it does not."""
        with open(self.log, "ab") as log:
            before = log.tell()
            self.process = subprocess.Popen(
                [self.binary, "--listen", self.address, *self.options], env=self.environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + START_TIMEOUT
        while self.process.poll() is None and time.monotonic() < deadline:
            if b"msg=listening" in self.log.read_bytes()[before:]:
                return
            time.sleep(0.005)
        self.process.kill()
        self.process.wait()
        said = self.log.read_bytes()[before:].decode(errors="replace").strip()
        with open(self.log, "ab") as log:
            log.truncate(before)
        raise RuntimeError(f"the server does not listen at {self.address}: {said or 'no output'}")

    def stop(self):
        """Stops it, and returns complaints about its shutdown."""
        self.process.terminate()
        try:
            status = self.process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return [f"the server at {self.address} did not stop within {STOP_TIMEOUT} s of SIGTERM"]
        return [f"the server at {self.address} ended with status {status}"] if status != 0 else []

    def warnings(self):
        """Returns its log messages at the level of a warning or above, and any other output."""
        lines = self.log.read_text(errors="backslashreplace").splitlines()
        return [f"the server logged: {line}" for line in lines if " level=INFO " not in line]


class Front(Server):
    """A front before a node of a cluster of one. It is a Server with the address of the front."""

    def __init__(self, binary, log, *options, password=None):
        self.raft, = free_addresses(1)
        super().__init__(binary, log, "--front", self.raft, *SECRET, *options, password=password)

    def start(self):
        """Starts a node without keys, and the front. Raises RuntimeError if they do not get ready."""
        data = tempfile.mkdtemp(dir=self.log.parent)
        mode = [option for name, value in zip(self.options, self.options[1:]) if name == "--cluster-mode" for option in (name, value)]
        self.node = Node(self.binary, self.log.with_suffix(".node.log"), "--data", data, "--raft", self.raft, "--peers", self.raft,
                         *SECRET, *mode)
        try:
            await_ready(self.node)
            super().start()
            await_ready(self)
        except RuntimeError:
            if self.process is not None and self.process.poll() is None:
                super().stop()
            self.node.stop()
            raise

    def stop(self):
        return super().stop() + self.node.stop()


def await_ready(server):
    """Waits until a server is ready. Raises RuntimeError if it does not get ready."""
    asked = subprocess.run([server.binary, "ping", "--wait", f"{START_TIMEOUT}s", server.address], env=server.environment,
                           capture_output=True, text=True, timeout=2 * START_TIMEOUT)
    if asked.returncode != 0:
        raise RuntimeError(f"the server at {server.address} does not get ready: {asked.stderr.strip()}")


class Node(Server):
    """A node of a cluster. A client may kill it, and then the other nodes log warnings."""

    def stop(self):
        return [] if self.process.poll() == -signal.SIGKILL else super().stop()

    def warnings(self):
        return []


def free_addresses(n):
    """Returns n unused addresses."""
    with contextlib.ExitStack() as all_bound:
        found = []
        for port in random.sample(PORTS, len(PORTS)):
            if len(found) == n:
                break
            bound = all_bound.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                bound.bind(("127.0.0.1", port))
                found.append(f"127.0.0.1:{port}")
        return found


def certify(folder):
    """Creates cert.pem, which is its own CA, and key.pem for 127.0.0.1 with Go's generate_cert.go."""
    root = subprocess.run(["go", "env", "GOROOT"], check=True, text=True, stdout=subprocess.PIPE, timeout=120).stdout.strip()
    subprocess.run(["go", "run", f"{root}/src/crypto/tls/generate_cert.go", "-host", "127.0.0.1", "-ecdsa-curve", "P256", "-ca"],
                   cwd=folder, check=True, capture_output=True, timeout=CERTIFY_TIMEOUT)


class Servers:
    """One server of each kind, for the duration of the context."""

    def __init__(self, binary, has_cluster, nodes_mode, has_tls, has_http, front=False):
        self.binary, self.has_cluster, self.nodes_mode, self.has_tls, self.has_http = binary, has_cluster, nodes_mode, has_tls, has_http
        self.kind = Front if front else Server
        self.complaints = []  # complete after the context
        self.servers = []

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="limitsrv-servers-")
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_):
        self.restarts.shutdown()
        self.restarts.server_close()
        self.stop()

    def start(self):
        folder = pathlib.Path(self.folder.name)

        def server(name, *options, password=None):
            self.servers.append(self.kind(self.binary, folder / f"{name}.log", *options, password=password))
            return self.servers[-1]

        again = server("restart")
        over_http = free_addresses(1) if self.has_http else []
        self.environment = {
            "LIMITSRV_PROGRAM": str(self.binary.resolve()),
            "LIMITSRV_ADDR": server("plain", *(f"--rls-http={address}" for address in over_http)).address,
            "LIMITSRV_PASSWORD_ADDR": server("password", password=PASSWORD).address,
            "LIMITSRV_PASSWORD": PASSWORD,
            "LIMITSRV_RESTART_ADDR": again.address,
            "LIMITSRV_RESTART": str(folder / "restart"),
        }
        if self.has_http:
            self.environment["LIMITSRV_HTTP_ADDR"] = over_http[0]
        if self.has_cluster:
            self.environment["LIMITSRV_CLUSTER_ADDR"] = server("cluster", "--cluster-mode", "on" if self.kind is Front else "emulated").address
        if self.has_tls:
            certify(folder)
            over_tls, files = free_addresses(1)[0], ("--tls-cert", folder / "cert.pem", "--tls-key", folder / "key.pem")
            server("tls", "--tls-listen", over_tls, *files)
            self.environment |= {"LIMITSRV_TLS_ADDR": over_tls, "LIMITSRV_TLS_CA": str(folder / "cert.pem")}
        if self.nodes_mode is not None:
            self.environment |= self.start_nodes(folder)
        self.restarts = serve_restarts(again, str(folder / "socket"), self.complaints)
        program = folder / "restart"
        program.write_text(RESTART_PROGRAM.format(python=sys.executable, path=str(folder / "socket")))
        program.chmod(0o755)
        return self

    def start_nodes(self, folder):
        """Starts three nodes of one cluster. It does not wait for the bootstrap."""
        peers = free_addresses(3)
        nodes = []
        for number, peer in enumerate(peers):
            nodes.append(Node(
                self.binary, folder / f"node{number}.log", "--data", str(folder / f"node{number}"), "--cluster-mode", self.nodes_mode,
                "--raft", peer, "--peers", ",".join(peers), "--election-timeout", "1s"))
            self.servers.append(nodes[-1])
        return {
            "LIMITSRV_NODES": " ".join(node.address for node in nodes),
            "LIMITSRV_NODE_PIDS": " ".join(str(node.process.pid) for node in nodes),
        }

    def stop(self):
        for server in self.servers:
            self.complaints += server.stop() + server.warnings()
        self.folder.cleanup()


def serve_restarts(server, path, complaints):
    """Serves the program LIMITSRV_RESTART: restarts the server for each connection."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            complaints.extend(server.stop())
            try:
                server.start()
                self.request.sendall(b"ok")
            except RuntimeError as problem:
                self.request.sendall(str(problem).encode()[:100])

    restarts = socketserver.UnixStreamServer(path, Handler)
    threading.Thread(target=restarts.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    return restarts
