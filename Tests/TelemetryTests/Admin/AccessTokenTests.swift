import PushmillTestSupport
import Testing

@testable import PushmillTelemetry

@Suite struct AccessTokenTests {
    @Test(
        "Only the token grants access, as a bearer token or as any user's password",
        arguments: [
            ("Bearer s3cret", true), ("bearer s3cret", true), ("Basic YW55OnMzY3JldA==", true),
            ("Basic OnMzY3JldA", true), (nil, false), ("", false), ("Bearer", false), ("Bearer ", false),
            ("Bearer s3cre", false), ("Bearer s3crets3cret", false), ("Bearer S3cret", false), ("s3cret", false),
            ("Digest s3cret", false), ("Basic s3cret", false), ("Basic !!!", false), ("Basic czNjcmV0", false),
            ("Basic YW55OndyMG5n", false), ("Bearer  s3cret", true), ("Bearer s3cret ", true),
            ("Bearer s3 cret", false),
        ] as [(String?, Bool)])
    func admits(_ authorization: String?, _ expected: Bool) throws {
        let token = try #require(AccessToken("s3cret"))
        expect(token.admits(authorization), is: expected)
    }

    @Test("An empty token counts as none, and no description shows a token")
    func hidden() throws {
        #expect(AccessToken("") == nil)
        let token = try #require(AccessToken("s3cret"))
        var dumped = ""
        dump(token, to: &dumped)
        let shown = "\(token) \(String(reflecting: token)) \(dumped)"
        // As text, and as bytes: 115 is the letter s.
        #expect(!shown.contains("s3cret") && !shown.contains("115"))
    }
}
