#!/usr/bin/env python3
"""A web server of media that behaves as its paths say, well or badly, for tests and measurements.

    media_server.py [--address A] [--log FILE] [--certificate PEM]

Prints its port and its process, then serves until its parent is gone. Each request is a line of the log: the path, and
the headers that matter, as `name=value`.
"""
import argparse, asyncio, hashlib, os, ssl, urllib.parse, zlib

JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01"
TOLD = ("range", "if-range", "accept-encoding", "authorization", "cookie", "user-agent", "host")
HANG = 1 << 30


def picture(name, size=2000):
    """A JPEG, as far as its first bytes go, whose bytes depend on its name."""
    seed = hashlib.sha256(name.encode()).digest()
    return JPEG + (seed * (size // len(seed) + 1))[: size - len(JPEG)]


class Server:
    def __init__(self, log):
        self.log = log
        self.counts = {}
        self.events = {}
        self.together = {}
        self.readers = {}

    async def serve(self, reader, writer):
        self.readers[writer] = reader
        try:
            while await self.answer(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            del self.readers[writer]
            writer.close()

    async def answer(self, reader, writer):
        """One request; False ends the connection."""
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        target = lines[0].split(" ")[1]
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        if self.log:
            print(target, *(f"{name}={headers[name]}" for name in TOLD if name in headers), file=self.log, flush=True)
        number = self.counts[target] = self.counts.get(target, 0) + 1
        path, _, query = target.partition("?")
        kind = path.split("/")[1]
        behave = getattr(self, "on_" + kind.replace("-", "_"), None)
        if behave is None:
            return await self.send(writer, b"not here", status="404 Not Found")
        return await behave(writer, path, query, headers, number)

    async def send(self, writer, body, status="200 OK", length=None, more=(), keeps=True):
        head = [f"HTTP/1.1 {status}", *more]
        if length is not False:
            head.append(f"Content-Length: {len(body) if length is None else length}")
        writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + body)
        await writer.drain()
        return keeps

    async def on_fast(self, writer, path, query, headers, number):
        return await self.send(writer, picture(path, int(query or 2000)))

    async def on_held(self, writer, path, query, headers, number):
        """Goes on when it is released."""
        body = picture(path)
        await self.send(writer, body[:500], length=len(body))
        await self.event(path).wait()
        writer.write(body[500:])
        await writer.drain()
        return True

    async def on_release(self, writer, path, query, headers, number):
        """Is not there, and releases the path behind `/release`."""
        self.event(path[len("/release") :]).set()
        return await self.send(writer, b"", status="404 Not Found")

    def event(self, name):
        return self.events.setdefault(name, asyncio.Event())

    async def on_together(self, writer, path, query, headers, number):
        """Answers when as many of its run are asked for as its path says: `/together/COUNT/RUN/NAME`."""
        _, _, count, run, _ = path.split("/")
        paths = self.together.setdefault(run, set())
        paths.add(path)
        if len(paths) == int(count):
            self.event(run).set()
        await self.event(run).wait()
        return await self.send(writer, picture(path))

    async def on_slow(self, writer, path, query, headers, number):
        body = picture(path)
        await self.send(writer, body[:100], length=len(body))
        for start in range(100, len(body), 100):
            await asyncio.sleep(int(query or 20) / 1000)
            writer.write(body[start : start + 100])
            await writer.drain()
        return True

    async def on_hang(self, writer, path, query, headers, number):
        await asyncio.sleep(HANG)

    async def on_hang_within(self, writer, path, query, headers, number):
        """Stops until its client has gone."""
        try:
            await self.send(writer, picture(path)[:500], length=2000)
            await self.readers[writer].read()
        finally:
            self.event(path).set()

    async def on_after(self, writer, path, query, headers, number):
        """Is not there, and says so when the client of the path behind `/after` has gone, if it has had one."""
        path = path[len("/after") :]
        if path in self.counts:
            await self.event(path).wait()
        return await self.send(writer, b"", status="404 Not Found")

    # Broken connections: each breaks a third further on.

    async def part(
        self, writer, path, headers, number, more, breaks=2, ranges=True, version=1, most=30_000, whole=30_000
    ):
        body = picture(f"{path} {version}", 30_000)
        start, end, status = 0, len(body), "200 OK"
        asked = headers.get("range", "")
        tag, date = f'"{version}"', "Mon, 02 Nov 2026 10:00:00 GMT"
        if ranges and asked.startswith("bytes=") and headers.get("if-range", tag) in (tag, date):
            start = int(asked[len("bytes=") :].split("-")[0])
            if start >= end:
                return await self.send(writer, b"", "416 Range Not Satisfiable", more=more)
            end, status = min(start + most, len(body)), "206 Partial Content"
            more = [*more, f"Content-Range: bytes {start}-{end - 1}/{whole}"]
        rest = body[start:end]
        if number <= breaks:
            return await self.send(writer, rest[:10_000], status, len(rest), more, keeps=False)
        return await self.send(writer, rest, status, more=more)

    async def on_broken(self, writer, path, query, headers, number):
        return await self.part(writer, path, headers, number, ['ETag: "1"'])

    async def on_broken_unmeasured(self, writer, path, query, headers, number):
        """A part does not say how long the whole is."""
        return await self.part(writer, path, headers, number, ['ETag: "1"'], breaks=1, whole="*")

    async def on_broken_dated(self, writer, path, query, headers, number):
        return await self.part(writer, path, headers, number, ["Last-Modified: Mon, 02 Nov 2026 10:00:00 GMT"])

    async def on_broken_in_pieces(self, writer, path, query, headers, number):
        """The rest comes in parts that are whole, each less than was asked for."""
        return await self.part(writer, path, headers, number, ['ETag: "1"'], breaks=1, most=10_000)

    async def on_broken_unversioned(self, writer, path, query, headers, number):
        return await self.part(writer, path, headers, number, [])

    async def on_broken_for_now(self, writer, path, query, headers, number):
        """Breaks when it is released, and wants to be left alone for long then."""
        await self.send(writer, picture(path)[:1000], length=2000, more=["Retry-After: 3000"])
        await self.event(path).wait()

    async def on_broken_without_ranges(self, writer, path, query, headers, number):
        return await self.part(writer, path, headers, number, ['ETag: "1"'], ranges=False)

    async def on_broken_and_changed(self, writer, path, query, headers, number):
        return await self.part(writer, path, headers, number, [f'ETag: "{number}"'], version=number)

    async def on_broken_and_undated(self, writer, path, query, headers, number):
        """Has a date without a value, and changes."""
        return await self.part(writer, path, headers, number, ["Last-Modified:"], version=number)

    async def on_broken_and_wrong(self, writer, path, query, headers, number):
        """A later part is of other media, and says so."""
        body = picture(path, 30_000)
        if "range" not in headers:
            return await self.send(writer, body[:10_000], length=len(body), more=['ETag: "1"'], keeps=False)
        more = ['ETag: "2"', f"Content-Range: bytes 10000-{len(body) - 1}/{len(body)}"]
        return await self.send(writer, b"x" * 20_000, "206 Partial Content", more=more)

    async def on_stalls(self, writer, path, query, headers, number):
        """The first time it sends so many bytes and stops."""
        if number > 1:
            return await self.part(writer, path, headers, number, ['ETag: "1"'], breaks=0)
        if int(query):
            await self.send(writer, picture(f"{path} 1", 30_000)[: int(query)], length=30_000, more=['ETag: "1"'])
        await asyncio.sleep(HANG)

    async def on_broken_for_good(self, writer, path, query, headers, number):
        return await self.send(writer, picture(path)[:1000], length=2000, more=['ETag: "1"'], keeps=False)

    async def on_cut(self, writer, path, query, headers, number):
        """The first time it breaks off behind these words: in its headers, or before it has any."""
        if number > 1:
            return await self.send(writer, picture(path))
        writer.write(urllib.parse.unquote(query).encode())
        await writer.drain()
        return False

    async def on_refused(self, writer, path, query, headers, number):
        return False

    async def on_busy(self, writer, path, query, headers, number):
        if number <= 2:
            return await self.send(writer, b"busy", "503 Service Unavailable")
        return await self.send(writer, picture(path))

    async def on_later(self, writer, path, query, headers, number):
        return await self.send(writer, b"", "503 Service Unavailable", more=["Retry-After: 3000"])

    # Lies.

    async def on_short(self, writer, path, query, headers, number):
        """Says that it is longer than it is."""
        return await self.send(writer, picture(path), length=5000, keeps=False)

    async def on_announced(self, writer, path, query, headers, number):
        """Says that it is far too long, and stops."""
        await self.send(writer, picture(path), length=int(query))
        await asyncio.sleep(HANG)

    async def on_page(self, writer, path, query, headers, number):
        return await self.send(writer, b"<html><script>alert(1)</script>", more=["Content-Type: image/jpeg"])

    async def on_mislabelled(self, writer, path, query, headers, number):
        return await self.send(writer, picture(path), more=["Content-Type: text/html"])

    async def on_packed(self, writer, path, query, headers, number):
        return await self.send(writer, b"\x1f\x8b" + bytes(100), more=["Content-Encoding: gzip"])

    async def on_bomb(self, writer, path, query, headers, number):
        """A gigabyte in a megabyte, in an encoding that nobody has asked for and a client may undo all the same."""
        packer = zlib.compressobj(wbits=31)
        await self.send(writer, b"", length=False, more=["Transfer-Encoding: gzip, chunked"])
        for piece in (JPEG, *[bytes(1 << 20)] * 1024):
            packed = packer.compress(piece)
            if packed:
                writer.write(b"%x\r\n" % len(packed) + packed + b"\r\n")
                await writer.drain()

    async def on_wordless(self, writer, path, query, headers, number):
        """Headers without an end."""
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            writer.write(b"".join(b"X-%d: %s\r\n" % (n, b"x" * 1000) for n in range(64)))
            await writer.drain()

    async def on_lines(self, writer, path, query, headers, number):
        """So many lines of headers, or of one that continues."""
        count, line = query.split("-")
        start = b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n"
        writer.write(start + {"many": b"a:\r\n", "folded": b" c\r\n"}[line] * (int(count) - 2) + b"\r\n" + picture(path))
        await writer.drain()
        return True

    async def on_long_line(self, writer, path, query, headers, number):
        """A header without an end."""
        writer.write(b"HTTP/1.1 200 OK\r\nX: ")
        while True:
            writer.write(b"x" * (1 << 16))
            await writer.drain()

    async def on_empty(self, writer, path, query, headers, number):
        return await self.send(writer, b"")

    async def on_endless(self, writer, path, query, headers, number):
        head = {"image": JPEG, "audio": b"RIFF\xff\xff\xff\xffWAVE", "video": bytes(4) + b"ftypisom"}[query]
        await self.send(writer, head, length=False)
        while True:
            writer.write(bytes(1 << 16))
            await writer.drain()

    async def on_chunks(self, writer, path, query, headers, number):
        body = picture(path)
        await self.send(writer, b"", length=False, more=["Transfer-Encoding: chunked"])
        for start in range(0, len(body), 700):
            piece = body[start : start + 700]
            writer.write(b"%x\r\n" % len(piece) + piece + b"\r\n")
        writer.write(b"0\r\n\r\n")
        return True

    async def on_trailers(self, writer, path, query, headers, number):
        """So many kilobytes of what has the form of headers, behind the body."""
        body = picture(path)
        await self.send(writer, b"", length=False, more=["Transfer-Encoding: chunked"])
        writer.write(b"%x\r\n" % len(body) + body + b"\r\n0\r\n")
        writer.write(b"".join(b"X-%d: %s\r\n" % (n, b"x" * 1000) for n in range(int(query))) + b"\r\n")
        await writer.drain()
        return True

    # Redirects.

    async def on_loop(self, writer, path, query, headers, number):
        return await self.send(writer, b"again", "302 Found", more=[f"Location: {path}"])

    async def on_hops(self, writer, path, query, headers, number):
        left = int(path.split("/")[2])
        target = f"/hops/{left - 1}/{path.split('/')[3]}" if left > 1 else f"/fast/{path.split('/')[3]}"
        return await self.send(writer, b"there", "307 Temporary Redirect", more=[f"Location: {target}"])

    async def on_to(self, writer, path, query, headers, number):
        return await self.send(writer, b"", "302 Found", more=["Location: " + urllib.parse.unquote(query)])

    async def on_cookie(self, writer, path, query, headers, number):
        """Leaves a cookie for all of its paths on the way to the media."""
        more = ["Set-Cookie: visitor=1; Path=/", f"Location: /fast{path}"]
        return await self.send(writer, b"there", "302 Found", more=more)

    async def on_wordy(self, writer, path, query, headers, number):
        """A redirect with a body that does not end."""
        await self.send(writer, b"", "302 Found", length=False, more=["Location: /fast/after-words.jpg"])
        while True:
            writer.write(bytes(1 << 16))
            await writer.drain()


async def main():
    parser = argparse.ArgumentParser(description="Serves media, well or badly, as the path says.")
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--log")
    parser.add_argument("--certificate", help="serves TLS; the key is in the same file")
    chosen = parser.parse_args()
    parent = os.getppid()
    server = Server(open(chosen.log, "w") if chosen.log else None)
    secure = None
    if chosen.certificate:
        secure = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        secure.load_cert_chain(chosen.certificate)
    listening = await asyncio.start_server(server.serve, chosen.address, 0, backlog=8192, ssl=secure)
    print(listening.sockets[0].getsockname()[1], os.getpid(), flush=True)
    while os.getppid() == parent:
        await asyncio.sleep(0.5)
    os._exit(0)


# The tests' pipes, which this process inherits, would never end as long as it has them.
os.closerange(3, 1 << 16)
asyncio.run(main())
