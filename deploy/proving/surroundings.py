"""The simulated environment of an instance: its wall clock, and its connection to each broker."""
import asyncio, mmap, struct, threading, time

from processes import compiled


class Surroundings:
    """For one instance, which sees it through the preloaded `surroundings.c`."""

    def __init__(self, file, ports):
        self.ways = {port: Way(port) for port in ports}
        table = [number for port, way in self.ways.items() for number in (port, way.port)]
        file.write_bytes(struct.pack(f"=q{len(table)}H", 0, *table).ljust(4096, b"\0"))
        with open(file, "r+b") as opened:
            self.memory = mmap.mmap(opened.fileno(), 4096)
        library = compiled("proving/surroundings.c", "-shared", "-fPIC")
        self.environment = {"LD_PRELOAD": str(library), "SURROUNDINGS": str(file)}

    def set_clock(self, ahead):
        """Sets the clock ahead by this many seconds; back if negative."""
        self.memory[:8] = struct.pack("=q", int(ahead * 1e9))


class Way:
    """A port that forwards to a broker's port and back, `delay` seconds later; forwards nothing while `is_cut`."""

    loop = None

    def __init__(self, broker):
        self.broker, self.delay, self.is_cut = broker, 0.0, False
        if Way.loop is None:
            Way.loop = asyncio.new_event_loop()
            threading.Thread(target=Way.loop.run_forever, daemon=True).start()
        opened = asyncio.run_coroutine_threadsafe(asyncio.start_server(self.connect, "127.0.0.1", 0), Way.loop)
        self.server = opened.result()
        self.port = self.server.sockets[0].getsockname()[1]

    async def connect(self, reader, writer):
        try:
            others = await asyncio.open_connection("127.0.0.1", self.broker)
        except OSError:
            return writer.close()
        await asyncio.gather(self.carry(reader, others[1]), self.carry(others[0], writer))

    async def carry(self, reader, writer):
        """Data in transit during a cut arrives afterwards, as with TCP retransmission."""
        queue = asyncio.Queue()
        delivery = asyncio.create_task(self.deliver(queue, writer))
        try:
            while data := await reader.read(1 << 16):
                queue.put_nowait((time.monotonic() + self.delay, data))
        except OSError:
            pass
        queue.put_nowait((0, b""))
        await delivery

    async def deliver(self, queue, writer):
        try:
            while (item := await queue.get())[1]:
                while self.is_cut or time.monotonic() < item[0]:
                    await asyncio.sleep(0.02 if self.is_cut else max(0, item[0] - time.monotonic()))
                writer.write(item[1])
                await writer.drain()
        except OSError:
            pass
        writer.close()
