import Glibc

/// True if there is something to read now.
func isReadable(_ descriptor: Int32) -> Bool {
    var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&event, 1, 0) == 1
}
