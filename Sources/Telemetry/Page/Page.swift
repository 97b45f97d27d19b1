/// The page at `/`: one document without outside assets, which draws what `/metrics`, `/status` and `/logs` say.
enum Page {
    /// The nonce is what the content security policy lets styles and scripts of this one answer run by.
    static func html(nonce: String, showsNotifications: Bool) -> String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>Pushmill</title>
        <link rel="icon" href="data:,">
        <style nonce="\(nonce)">
        \(style)
        </style>
        </head>
        <body\(showsNotifications ? " data-notifications=\"1\"" : "")>
        \(markup)
        <script nonce="\(nonce)">
        \(samples)
        \(drawing)
        \(panels)
        \(live)
        </script>
        </body>
        </html>

        """
    }

    static func policy(nonce: String) -> String {
        "default-src 'none'; style-src 'nonce-\(nonce)'; script-src 'nonce-\(nonce)'; connect-src 'self'; "
            + "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    }
}

extension AdminRoute {
    /// The page, and `/status` with what `/readyz` says but always as a success, because the page asks again and again.
    /// `notifications` are the latest ones, which are content, to be drawn too: a JSON array of `{"recipient",
    /// "outcome", "stages", "before", "after"}`, the last two with `title`, `subtitle`, `body` and `badge` where there
    /// are any.
    package static func page(
        ready: @escaping Probe, notifications: (@Sendable () -> [UInt8])? = nil
    ) -> [AdminRoute] {
        let type = "text/html; charset=utf-8"
        let routes = [
            AdminRoute("GET", "/", offers: [type]) { _, _ in
                var random = SystemRandomNumberGenerator()
                let nonce = String(random.next(), radix: 36) + String(random.next(), radix: 36)
                return AdminResponse(
                    contentType: type,
                    body: .bytes(SharedBytes(Page.html(nonce: nonce, showsNotifications: notifications != nil).utf8)),
                    headers: [("Content-Security-Policy", Page.policy(nonce: nonce))])
            },
            AdminRoute("GET", "/status", offers: ["application/json"]) { _, _ in
                var response = AdminResponse.probe(ready())
                response.status = 200
                return response
            },
        ]
        guard let notifications else { return routes }
        return routes + [
            AdminRoute("GET", "/notifications", offers: ["application/json"]) { _, _ in .json(notifications()) }
        ]
    }
}

extension Page {
    /// What stands on the page before the script fills it.
    static let markup = #"""
        <header>
        <h1>Pushmill <small id="version"></small></h1>
        <p id="status" role="status"><span id="light"></span><b id="state">Connecting</b> <span id="since"></span></p>
        </header>
        <ul id="reasons" hidden></ul>
        <main>
        <section id="tiles" aria-label="Now"></section>
        <section class="half"><h2>Throughput <small>messages a second</small></h2>
        <div id="throughput" class="chart"></div></section>
        <section class="half"><h2>Latency <small>last five minutes</small></h2>
        <div id="latency" class="chart"></div></section>
        <section class="half"><h2>Outcomes</h2><div id="outcomes"></div></section>
        <section class="half"><h2>Lag <small>age of the oldest record, and records, by partition</small></h2><div id="lag"></div></section>
        <section><h2>Stages <small>last 30 seconds</small></h2><div class="scroll" id="stages"></div></section>
        <section id="lockscreen" hidden><h2>Notifications <small>as sent, and as they leave</small></h2>
        <div id="notifications"></div></section>
        <section><h2>Log</h2>
        <form id="filter"><label>Level <select id="level">
        <option>error<option>warning<option selected>info<option>debug<option>trace</select></label>
        <label>Contains <input id="contains" type="search" spellcheck="false"></label>
        <label><input id="hold" type="checkbox"> Hold</label></form>
        <div id="lines" class="scroll" tabindex="0" aria-label="Log lines"></div></section>
        </main>
        <footer><a href="/metrics">metrics</a> <a href="/readyz">readyz</a> <a href="/healthz">healthz</a>
        <a href="/logs">logs</a> <a href="/config">config</a></footer>
        <noscript>This page draws itself with JavaScript. The same is at /metrics, /readyz and /logs.</noscript>
        """#
}
