/// The page around the data.
enum ReportPage {
    /// The policy lets nothing be loaded, and no script run but the page's own: not one within a record, should it ever
    /// get to be markup.
    static let head = """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; \
        style-src 'nonce-pushmill'; script-src 'nonce-pushmill'; base-uri 'none'; form-action 'none'">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="referrer" content="no-referrer">
        <title>Replay · Pushmill</title>
        <link rel="icon" href="data:,">
        <style nonce="pushmill">
        \(style)
        </style>
        </head>
        <body>
        <header><h1>Replay</h1><p id="verdict"></p></header>
        <main>
        <section id="tiles" aria-label="Totals"></section>
        <section class="half"><h2>Outcomes</h2><table id="outcomes"></table></section>
        <section class="half"><h2>Fields that changed</h2><div class="scroll"><table id="fields"></table></div></section>
        <section id="differences">
        <h2>Differences</h2>
        <form id="filter">
        <label>Kind of change <select id="kind"></select></label>
        <label>Containing <input id="text" type="search" placeholder="text, key or source"></label>
        <output id="matching"></output>
        </form>
        <div id="list"></div>
        <p id="more"></p>
        </section>
        </main>
        <noscript>The differences are drawn by a script.</noscript>

        """

    static let foot = """
        <script nonce="pushmill">
        \(difference)
        \(cards)
        \(list)
        </script>
        </body>
        </html>

        """
}
