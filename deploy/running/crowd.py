"""Watches a service as many would at once: crowd.py ADDRESS PID TALLY, until that process has ended.

100 followers of /logs, of whom half never read what they are sent, and 10 scrapes of /metrics a second. How many scrapes
were answered goes to the file TALLY as a line.
"""
import os, selectors, socket, sys, time


def connect(address, request):
    connection = socket.create_connection(address, timeout=5)
    connection.sendall(request.encode())
    connection.setblocking(False)
    return connection


def watch(address, pid):
    """Gives the number of scrapes so far, after each."""
    while True:
        try:
            socket.create_connection(address, timeout=1).close()
            break
        except OSError:
            os.kill(pid, 0)
            time.sleep(0.05)
    readers = selectors.DefaultSelector()
    followers = []
    for number in range(100):
        follower = connect(address, "GET /logs?follow=1&level=debug HTTP/1.1\r\nHost: x\r\n\r\n")
        followers.append(follower)
        if number % 2:
            readers.register(follower, selectors.EVENT_READ)
    due, scrapes = time.monotonic(), 0
    while True:
        os.kill(pid, 0)
        for key, _ in readers.select(max(0, due - time.monotonic())):
            if not key.fileobj.recv(1 << 16):
                readers.unregister(key.fileobj)
        if time.monotonic() >= due:
            due += 0.1
            scrape = connect(address, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            scrape.setblocking(True)
            answer = scrape.recv(1 << 16)
            while scrape.recv(1 << 16):
                pass
            scrape.close()
            scrapes += answer.startswith(b"HTTP/1.1 200")
            yield scrapes


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    scrapes = 0
    try:
        for scrapes in watch((host, int(port)), int(sys.argv[2])):
            pass
    except (ProcessLookupError, ConnectionError):
        pass
    with open(sys.argv[3], "a") as tally:
        print(scrapes, file=tally)


main()
