/// The page at `/`: one document without external assets that draws what `/metrics`, `/readyz` and `/logs` return. Its
/// parts are the files next to this one.
enum Page {
    /// With `nonce`, the content security policy admits the styles and scripts of this one answer.
    static func html(nonce: String, showsNotifications: Bool) -> String {
        pieces.joined(separator: nonce).replacing("@notifications@", with: showsNotifications ? "1" : "")
    }

    /// The document, split where the nonce belongs.
    private static let pieces: [Substring] = {
        let script = [
            PackageResources.samples_js, PackageResources.drawing_js, PackageResources.panels_js,
            PackageResources.live_js,
        ]
        return text(PackageResources.page_html)
            .replacing("@style@", with: text(PackageResources.page_css))
            .replacing("@script@", with: script.map(text).joined(separator: "\n"))
            .split(separator: "@nonce@")
    }()

    private static func text(_ resource: [UInt8]) -> String { String(decoding: resource, as: UTF8.self) }

    static func policy(nonce: String) -> String {
        "default-src 'none'; style-src 'nonce-\(nonce)'; script-src 'nonce-\(nonce)'; connect-src 'self'; "
            + "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    }
}

extension AdminRoute {
    /// `notifications` returns the latest ones, which are content, to be drawn as well: a JSON array of `{"recipient",
    /// "outcome", "stages", "before", "after"}`, the last two with `title`, `subtitle`, `body` and `badge` if present.
    package static func page(notifications: (@Sendable () -> [UInt8])? = nil) -> [AdminRoute] {
        let page = AdminRoute("GET", "/") { _ in
            var random = SystemRandomNumberGenerator()
            let nonce = String(random.next(), radix: 36) + String(random.next(), radix: 36)
            return AdminResponse(
                contentType: "text/html; charset=utf-8",
                body: .bytes(Array(Page.html(nonce: nonce, showsNotifications: notifications != nil).utf8)),
                headers: [("Content-Security-Policy", Page.policy(nonce: nonce))])
        }
        guard let notifications else { return [page] }
        return [page, AdminRoute("GET", "/notifications") { _ in .json(notifications()) }]
    }
}
