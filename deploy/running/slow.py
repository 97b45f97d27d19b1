"""Holds connections and says next to nothing on them: slow.py ADDRESS [SECONDS].

256 connections from two addresses of this machine send the beginning of a request and then a byte every second, and are
opened again where they are closed. Asks /healthz each half second meanwhile, and prints how many were answered and how
long the slowest took; fails where one took a second or was not answered.
"""
import http.client, socket, sys, time


def hold(address, number):
    connection = socket.create_connection(address, timeout=5, source_address=(f"127.0.0.{1 + number % 2}", 0))
    connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ")
    return connection


def drip(address, held):
    """A byte on each; those that the service has closed are opened again."""
    for number, connection in enumerate(held):
        try:
            connection.sendall(b"x")
        except OSError:
            connection.close()
            held[number] = hold(address, number)


def probe(host, port):
    """The seconds until the answer; None if there is none."""
    began = time.monotonic()
    try:
        connection = http.client.HTTPConnection(host, port, timeout=5)
        connection.request("GET", "/healthz")
        isAnswered = connection.getresponse().status == 200
        connection.close()
        return time.monotonic() - began if isAnswered else None
    except OSError:
        return None


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    address = (host, int(port))
    held = [hold(address, number) for number in range(256)]
    times = []
    end = time.monotonic() + float(sys.argv[2] if len(sys.argv) > 2 else 120)
    while time.monotonic() < end:
        if len(times) % 2 == 0:
            drip(address, held)
        times.append(probe(*address))
        time.sleep(0.5)
    answered = [seconds for seconds in times if seconds is not None]
    print(f"{len(answered)} of {len(times)} answered, the slowest after {max(answered, default=0) * 1000:.0f} ms")
    sys.exit(len(answered) < len(times) or max(answered) >= 1)


main()
