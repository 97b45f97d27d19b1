"""Holds connections and says next to nothing on them: slow.py ADDRESS [SECONDS [INTERVAL]].

256 connections from two addresses of this machine send the beginning of a request and then a byte every INTERVAL seconds,
20 unless given, and are opened again as soon as they are closed. Asks /healthz each half second meanwhile, for SECONDS,
120 unless given, and prints how many were answered and how long the slowest took; fails where one took a second or was
not answered.
"""
import http.client, select, socket, sys, time


def hold(address, number):
    connection = socket.create_connection(address, timeout=5, source_address=(f"127.0.0.{1 + number % 2}", 0))
    connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ")
    return connection


def reopen(address, held):
    """Those that the service has closed: an answer, or the end, can be read of them."""
    closed, _, _ = select.select(held, [], [], 0)
    for connection in closed:
        number = held.index(connection)
        connection.close()
        held[number] = hold(address, number)


def drip(held):
    """A byte on each."""
    for connection in held:
        try:
            connection.sendall(b"x")
        except OSError:
            # Closed, and opened again next.
            pass


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
    seconds, interval = [float(word) for word in sys.argv[2:]] + [120, 20][len(sys.argv) - 2:]
    held = [hold(address, number) for number in range(256)]
    times = []
    due = time.monotonic() + interval
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if time.monotonic() >= due:
            due += interval
            drip(held)
        reopen(address, held)
        times.append(probe(*address))
        time.sleep(0.5)
    answered = [seconds for seconds in times if seconds is not None]
    print(f"{len(answered)} of {len(times)} answered, the slowest after {max(answered, default=0) * 1000:.0f} ms")
    sys.exit(len(answered) < len(times) or max(answered) >= 1)


main()
