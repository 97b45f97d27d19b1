import Testing

@testable import Stores

struct ContactCacheTests {
    private final class Cache {
        var cache: ContactCache

        init(capacity: Int) { cache = ContactCache(capacity: capacity) }

        func name(_ id: String) -> String? {
            var text: [UInt8] = []
            let answer = id.withBytes { cache.append(nameOf: $0, for: $0, KeyIndex.hash($0, $0), to: &text) }
            guard case .known(let direction) = answer else { return nil }
            return direction == nil ? "nobody" : String(decoding: text, as: UTF8.self)
        }

        func insert(_ id: String, _ name: String) {
            var text: [UInt8] = []
            let direction = id.withBytes { id in
                cache.insert(owner: id, id: id, name: Array(name.utf8), KeyIndex.hash(id, id), to: &text)
            }
            #expect(text == Array(name.utf8))
            #expect((direction == nil) == name.isEmpty)
        }
    }

    @Test("Names and absences are remembered, and nothing else is known")
    func remembering() {
        let cache = Cache(capacity: 10)
        cache.insert("a", "Anna")
        cache.insert("b", "")
        #expect(cache.name("a") == "Anna")
        #expect(cache.name("b") == "nobody")
        #expect(cache.name("c") == nil)
        cache.cache.removeAll()
        #expect(cache.name("a") == nil)
    }

    @Test("A full cache stays in its bounds and keeps what is asked for again and again")
    func bounds() {
        let cache = Cache(capacity: 8)
        cache.insert("favourite", "Anna")
        for number in 0..<1000 {
            cache.insert("other \(number)", "Other")
            #expect(cache.name("favourite") == "Anna")
        }
        #expect(cache.cache.count == 8)
        #expect(cache.name("other 999") == "Other")
    }

    @Test("A name too long for the cache is not kept")
    func tooLong() {
        let cache = Cache(capacity: 8)
        cache.insert("a", String(repeating: "x", count: 70_000))
        #expect(cache.name("a") == nil)
    }
}
