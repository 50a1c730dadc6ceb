"""A small HTTP server that says what a test tells it to, and keeps what it was asked."""

import contextlib
import socket
import threading


class Server:
    """Answers what `answer(number, head, body)` returns: bytes, or None to close the connection."""

    def __init__(self, answer):
        self.answer, self.seen, self.lock = answer, [], threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        stream = connection.makefile("rb")
        try:
            while first := stream.readline():
                head = {}
                while (line := stream.readline()) not in (b"\r\n", b""):
                    name, value = line.decode().split(":", 1)
                    head[name.lower()] = value.strip()
                body = stream.read(int(head.get("content-length", 0)))
                with self.lock:
                    number = len(self.seen)
                    self.seen.append((first.decode().split()[:2], head, body))
                if (answer := self.answer(number, head, body)) is None:
                    break
                connection.sendall(answer)
                if b"connection: close" in answer.lower():
                    break
        except OSError:
            pass
        finally:
            stream.close()
            connection.close()

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)  # close() alone would leave accept() at it.
        self.listener.close()


def response(status=200, body=b"ok", *headers):
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body
