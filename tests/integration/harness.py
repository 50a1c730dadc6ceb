"""What the black-box tests share: daemons and other processes that never outlive their test, and
HTTP spoken the way a user speaks it. Python's standard library only. Every wait is for a condition
with a deadline; ports are chosen by the kernel; files live in a temporary folder."""

import atexit
import http.client
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SLUICE = os.environ.get("SLUICE_BINARY", str(ROOT / "build/release/sluice"))
# How long anything may take before a test says that it hangs; sanitizers are slow.
PATIENCE = float(os.environ.get("SLUICE_TEST_PATIENCE", "30"))

_alive = []


def _kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


@atexit.register
def _kill_all():
    for process in _alive:
        _kill_group(process)


def wait_until(condition, what):
    """The first true value of condition(); fails after PATIENCE."""
    deadline = time.monotonic() + PATIENCE
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {PATIENCE:.0f} s for {what}")
        time.sleep(0.005)
    return value


def start(command, **options):
    """A process in a group of its own, killed with it at the end at the latest."""
    process = subprocess.Popen(command, start_new_session=True, **options)
    _alive.append(process)
    return process


def sluice(*arguments, **options):
    """Runs the binary to its end: exit status, stdout, stderr."""
    return subprocess.run([SLUICE, *map(str, arguments)], capture_output=True, text=True,
                          timeout=PATIENCE * 4, **options)


def load(*arguments, status=0):
    """Runs `sluice load --json` and returns its report."""
    run = sluice("load", "--json", *arguments)
    if run.returncode != status:
        raise AssertionError(f"sluice load: exit {run.returncode}, not {status}\n"
                             f"{run.stdout}{run.stderr}")
    return json.loads(run.stdout)


def check_body(domain, *descriptors, **more):
    return json.dumps({"domain": domain, "descriptors": list(descriptors), **more})


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


def request(port, method, path, body=None, headers=None, host="127.0.0.1"):
    connection = http.client.HTTPConnection(host, port, timeout=PATIENCE)
    try:
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        sent = {"Content-Type": "application/json"} if body is not None else {}
        connection.request(method, path, body, {**sent, **(headers or {})})
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read())
    finally:
        connection.close()


class Daemon:
    """`sluice serve` on ports of the kernel's choice. Its output goes to files, so that it never
    blocks on a full pipe."""

    def __init__(self, folder, rules=None, arguments=(), environment=None, listen="127.0.0.1:0",
                 admin="127.0.0.1:0", ready=True, prefix=()):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=folder))
        self.rules = self.folder / "rules.yaml"
        command = [*prefix, SLUICE, "serve"]
        if listen:
            command += ["--listen", listen]
        if admin:
            command += ["--admin", admin]
        if rules is not None:
            self.write_rules(rules)
            command += ["--rules", str(self.rules)]
        self.stdout, self.stderr = self.folder / "stdout", self.folder / "stderr"
        clean = {k: v for k, v in os.environ.items() if not k.startswith("SLUICE_")}
        with open(self.stdout, "wb") as out, open(self.stderr, "wb") as err:
            self.process = start([*command, *map(str, arguments)], stdin=subprocess.DEVNULL,
                                 stdout=out, stderr=err, cwd=self.folder,
                                 env={**clean, **(environment or {})})
        self.port = self.admin_port = None
        if ready:
            self.wait_ready()

    def write_rules(self, text):
        """Replaces the file in one step, as editors and config maps do."""
        fresh = self.rules.with_suffix(".new")
        fresh.write_text(text)
        fresh.rename(self.rules)

    def output(self):
        return self.stdout.read_text() + self.stderr.read_text()

    def listening(self):
        """(data port, admin port) once it has said so."""
        found = re.search(r"listens on \S*?:(\d+),.* admin on \S*:(\d+),", self.output())
        return tuple(map(int, found.groups())) if found else None

    def wait_ready(self):
        def said():
            if self.process.poll() is not None:
                raise AssertionError(f"the daemon ended: {self.process.returncode}\n"
                                     f"{self.output()}")
            return self.listening()

        self.port, self.admin_port = wait_until(said, "the daemon's ports")
        wait_until(self.is_ready, "/readyz")

    def is_ready(self):
        try:
            return request(self.port, "GET", "/readyz").status == 200
        except OSError:
            return False

    def url(self, path="/v1/check"):
        return f"http://127.0.0.1:{self.port}{path}"

    def post(self, path, body, headers=None):
        return request(self.port, "POST", path, body, headers)

    def check(self, domain, *descriptors, **more):
        return self.post("/v1/check", check_body(domain, *descriptors, **more))

    def get(self, path, **more):
        return request(self.port, "GET", path, **more)

    def admin(self, method, path, body=None):
        return request(self.admin_port, method, path, body)

    def metrics(self):
        """{"name{labels}": value}"""
        page = self.admin("GET", "/metrics").body.decode()
        samples = (line.rsplit(" ", 1) for line in page.splitlines() if line and line[0] != "#")
        return {name: float(value) for name, value in samples}

    def metric(self, name):
        """The sum over all label sets."""
        return sum(v for n, v in self.metrics().items() if n == name or n.startswith(name + "{"))

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self):
        return self.process.wait(timeout=PATIENCE)

    def stop(self):
        """SIGTERM; the exit status."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self):
        _kill_group(self.process)

    def rss(self):
        """Resident bytes."""
        pages = pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * resource.getpagesize()

    def cpu_seconds(self):
        """User and system time of the process so far."""
        stat = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text()
        fields = stat.rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Case(unittest.TestCase):
    """A test with a folder; what it starts ends with it."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def serve(self, rules=None, *arguments, **options):
        daemon = Daemon(self.folder, rules, arguments, **options)
        self.addCleanup(daemon.kill)
        return daemon

    def assert_problem(self, answer, status, *words):
        self.assertEqual(answer.status, status, answer.body)
        self.assertEqual(answer.headers["Content-Type"], "application/problem+json")
        self.assertEqual(answer.json["status"], status)
        for word in words:
            self.assertIn(word, json.dumps(answer.json))


def limits(domain="t", **rates):
    """Rules of one fixed window a key: limits(k=5) allows 5 a year for each value of k."""
    lines = [f"domain: {domain}", "descriptors:"]
    for key, count in rates.items():
        lines += [f"  - key: {key}", "    rate_limit:",
                  f"      requests_per_unit: {count}", "      unit: year"]
    return "\n".join(lines) + "\n"


class RawConnection:
    """A socket for bytes that no HTTP library would send."""

    def __init__(self, port, host="127.0.0.1"):
        self.socket = socket.create_connection((host, port), timeout=PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.stream.close()
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def answer(self):
        """The next answer; None when the peer closed instead."""
        try:
            first = self.stream.readline()
            if not first:
                return None
            status = int(first.split()[1])
            headers = http.client.parse_headers(self.stream)
            return Answer(status, headers, self.stream.read(int(headers.get("Content-Length", 0))))
        except ConnectionResetError:
            return None

    def is_closed(self):
        """Waits for the peer's end and says whether nothing came before it."""
        try:
            return self.stream.read(1) == b""
        except ConnectionResetError:
            return True
