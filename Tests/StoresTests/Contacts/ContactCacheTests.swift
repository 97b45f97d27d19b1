import PushmillPayload
import PushmillTestSupport
import Testing

@testable import PushmillStores

struct ContactCacheTests {
    private final class Cache {
        var cache: ContactCache

        init(capacity: Int) { cache = ContactCache(capacity: capacity) }

        func name(_ id: String) -> String? {
            guard let contact = id.withBytes({ cache.contact($0, $0, KeyIndex.hash($0, $0)) }) else { return nil }
            var name = "nobody"
            _ = contact.giveName { found, _ in name = found.bytes.text }
            return name
        }

        func insert(_ id: String, _ name: String) {
            id.withBytes { id in
                cache.insert(CachedContact(id, id, KeyIndex.hash(id, id), name: Array(name.utf8)))
            }
        }
    }

    @Test("The cache remembers names and known absences until it is cleared")
    func remembering() {
        let cache = Cache(capacity: 10)
        cache.insert("a", "Anna")
        cache.insert("b", "")
        expect(cache.name("a"), is: "Anna")
        expect(cache.name("b"), is: "nobody")
        #expect(cache.name("c") == nil)
        cache.cache.removeAll()
        #expect(cache.name("a") == nil)
    }

    @Test("The cache keeps no contact with a long identifier or name")
    func long() {
        let cache = Cache(capacity: 8)
        let name = String(repeating: "x", count: 300)
        cache.insert(name, "")
        cache.insert("a", name + name)
        #expect(cache.name(name) == nil && cache.name("a") == nil)
        expect(cache.cache.count, is: 0)
    }

    @Test("A full cache stays within its capacity and keeps a contact that is often asked for")
    func bounds() {
        let cache = Cache(capacity: 8)
        cache.insert("favourite", "Anna")
        for number in 0..<1000 {
            cache.insert("other \(number)", "Other")
            expect(cache.name("favourite"), is: "Anna")
        }
        expect(cache.cache.count, is: 8)
        expect(cache.name("other 999"), is: "Other")
    }
}
