/// Values at fixed places that are used again. A handle names one stay of one value: when the value has left, its
/// handle finds nothing, whoever lives there now.
struct Slab<Element> {
    struct Handle: Hashable, Sendable {
        let index: UInt32
        fileprivate let generation: UInt32

        /// Never 0, so that it can travel where 0 means none.
        var rawValue: UInt64 { UInt64(generation) << 32 | UInt64(index) }

        init(rawValue: UInt64) {
            index = UInt32(truncatingIfNeeded: rawValue)
            generation = UInt32(truncatingIfNeeded: rawValue >> 32)
        }

        fileprivate init(_ index: UInt32, _ generation: UInt32) {
            self.index = index
            self.generation = generation
        }
    }

    fileprivate struct Place {
        /// Odd while a value lives here.
        var generation: UInt32 = 0
        var element: Element?
    }

    private var places: [Place] = []
    private var vacant: [UInt32] = []

    init(minimumCapacity: Int = 0) {
        places.reserveCapacity(minimumCapacity)
        vacant.reserveCapacity(minimumCapacity)
    }

    var count: Int { places.count - vacant.count }

    mutating func insert(_ element: Element) -> Handle {
        let index: UInt32
        if let free = vacant.popLast() {
            index = free
        } else {
            index = UInt32(places.count)
            places.append(Place())
        }
        places[Int(index)].generation &+= 1
        places[Int(index)].element = element
        return Handle(index, places[Int(index)].generation)
    }

    mutating func remove(_ handle: Handle) -> Element? {
        guard contains(handle) else { return nil }
        places[Int(handle.index)].generation &+= 1
        vacant.append(handle.index)
        return places[Int(handle.index)].element.take()
    }

    func contains(_ handle: Handle) -> Bool {
        handle.index < places.count && handle.generation & 1 == 1
            && places[Int(handle.index)].generation == handle.generation
    }

    subscript(handle: Handle) -> Element? {
        get { contains(handle) ? places[Int(handle.index)].element : nil }
        set {
            guard contains(handle), let newValue else { return }
            places[Int(handle.index)].element = newValue
        }
    }
}

extension Slab: Sendable where Element: Sendable {}
extension Slab.Place: Sendable where Element: Sendable {}
