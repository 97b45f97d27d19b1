"""Watches a service as many would at once: crowd.py ADDRESS PID, until that process has ended.

100 followers of /logs, of whom half never read what they are sent, and 10 scrapes of /metrics a second. Prints how many
scrapes were answered.
"""
import os, selectors, socket, sys, time


def ask(address, pid, path, header):
    """A connection on which this was asked, as soon as there is one; ProcessLookupError where there will be none."""
    while True:
        os.kill(pid, 0)
        try:
            connection = socket.create_connection(address, timeout=5)
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n".encode())
            return connection
        except OSError:
            time.sleep(0.05)


def scrape(address, pid):
    """Whether it was answered to the end."""
    with ask(address, pid, "/metrics", "Connection: close\r\n") as connection:
        try:
            answer = connection.recv(1 << 16)
            while connection.recv(1 << 16):
                pass
            return answer.startswith(b"HTTP/1.1 200")
        except OSError:
            return False


def read(follower):
    """False at the end."""
    try:
        return bool(follower.recv(1 << 16))
    except OSError:
        return False


def watch(address, pid):
    """Whether a scrape was answered, for each."""
    readers = selectors.DefaultSelector()
    followers = []
    for number in range(100):
        follower = ask(address, pid, "/logs?follow=1&level=debug", "")
        followers.append(follower)
        if number % 2:
            readers.register(follower, selectors.EVENT_READ)
    due = time.monotonic()
    while True:
        os.kill(pid, 0)
        for key, _ in readers.select(max(0, due - time.monotonic())):
            if not read(key.fileobj):
                readers.unregister(key.fileobj)
        if time.monotonic() >= due:
            due += 0.1
            yield scrape(address, pid)


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    answered = 0
    try:
        for is_answered in watch((host, int(port)), int(sys.argv[2])):
            answered += is_answered
    except ProcessLookupError:
        print(answered)


main()
