#!/usr/bin/env python3
"""A web server of media that speaks nothing but HTTP/2, for tests.

    h2_server.py --certificate PEM --log FILE --together N

Answers the first request of a connection at once, and the others when N of them are open: those that come one after
another wait for ever. Prints its port and its process, then serves until its parent is gone. The log has a line for each
connection and each request.
"""
import argparse, asyncio, os, ssl

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import RequestReceived

JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01"


class Connection(asyncio.Protocol):
    def __init__(self, log, together):
        self.log = log
        self.together = together
        self.wanted = 1
        self.open = {}
        self.state = H2Connection(H2Configuration(client_side=False))

    def connection_made(self, transport):
        self.transport = transport
        print("connection", file=self.log, flush=True)
        self.state.initiate_connection()
        transport.write(self.state.data_to_send())

    def data_received(self, data):
        for event in self.state.receive_data(data):
            if isinstance(event, RequestReceived):
                self.open[event.stream_id] = dict(event.headers)[b":path"]
                print(self.open[event.stream_id].decode(), file=self.log, flush=True)
        if len(self.open) >= self.wanted:
            self.wanted = self.together
            for stream, path in self.open.items():
                self.state.send_headers(stream, [(":status", "200")])
                self.state.send_data(stream, JPEG + path, end_stream=True)
            self.open = {}
        self.transport.write(self.state.data_to_send())


async def main():
    parser = argparse.ArgumentParser(description="Serves media over HTTP/2.")
    parser.add_argument("--certificate", required=True, help="the key is in the same file")
    parser.add_argument("--log", required=True)
    parser.add_argument("--together", type=int, required=True)
    chosen = parser.parse_args()
    parent = os.getppid()
    log = open(chosen.log, "w")
    secure = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    secure.load_cert_chain(chosen.certificate)
    secure.set_alpn_protocols(["h2"])
    make = lambda: Connection(log, chosen.together)
    listening = await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0, backlog=1024, ssl=secure)
    print(listening.sockets[0].getsockname()[1], os.getpid(), flush=True)
    while os.getppid() == parent:
        await asyncio.sleep(0.5)
    os._exit(0)


# The tests' pipes, which this process inherits, would never end as long as it has them.
os.closerange(3, 1 << 16)
asyncio.run(main())
