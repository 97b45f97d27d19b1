import Testing

@testable import Stores

struct ContactCacheTests {
    private final class Cache {
        var cache: ContactCache

        init(capacity: Int) { cache = ContactCache(capacity: capacity) }

        func name(_ id: String) -> String? {
            var name = "nobody"
            let isKnown = id.withBytes { id in
                cache.find(id, of: id, KeyIndex.hash(id, id)) { found, _ in name = found.bytes.text }
            }
            return isKnown == nil ? nil : name
        }

        func insert(_ id: String, _ name: String) {
            id.withBytes { cache.insert(owner: $0, id: $0, name: Array(name.utf8), KeyIndex.hash($0, $0)) }
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
