import PushmillTestSupport
import Testing

@testable import PushmillStages

@Suite("Names of kept media")
struct MediaNameTests {
    private static let hash = ListedMedia.hash

    @Test("A name has the hash and the type", arguments: MediaType.allCases)
    func names(_ type: MediaType) throws {
        let media = Media(hash: Self.hash, type: type, size: 7)
        expect(media.name, is: "\(Self.hash).\(type.fileExtension)")
        expect(Media(name: media.name, size: 7), is: media)
        #expect(try #require(Media(name: media.name)).size == nil)
    }

    @Test(
        "A name that no kept file can have is rejected",
        arguments: [
            "", ".jpg", "\(hash)", "\(hash).", "\(hash).jpeg", "\(hash).JPG", "\(hash.dropLast()).jpg", "\(hash)0.jpg",
            "\(hash.uppercased()).jpg", "g\(hash.dropFirst()).jpg", "\(hash).jpg.jpg", "../\(hash).jpg",
        ])
    func others(_ name: String) { #expect(Media(name: name) == nil) }
}
