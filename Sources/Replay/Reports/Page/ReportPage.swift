/// One self-contained page: totals, and every difference as a lock screen would show it before and after. What records
/// say reaches it as data alone, and the script puts it on the page as text alone.
package final class HTMLReport: ReplayReport {
    /// More than this a page does not hold well; the rest is counted.
    static let limit = 50_000
    private static let chunk = 500

    private var file: ReportFile
    private var changes: [UInt8] = []
    private var count = 0

    package init(path: String) throws(ReplayError) {
        file = try ReportFile(path: path)
        try file.write(ReportPage.head)
    }

    package func add(_ change: RecordChange) throws(ReplayError) {
        guard count < Self.limit else { return }
        if !changes.isEmpty { changes.append(UInt8(ascii: ",")) }
        changes += change.json.object
        count += 1
        if count.isMultiple(of: Self.chunk) { try flush() }
    }

    package func finish(_ summary: ReplaySummary) throws(ReplayError) {
        try flush()
        var members = summary.json
        members.add("shown", count)
        try write(members.object, id: "summary")
        try file.write(ReportPage.foot)
        try file.close()
    }

    private func flush() throws(ReplayError) {
        guard !changes.isEmpty else { return }
        try write([UInt8(ascii: "[")] + changes + [UInt8(ascii: "]")], id: nil)
        changes.removeAll(keepingCapacity: true)
    }

    /// JSON within a script ends at the first `</script`, wherever that stands: no `<` is left in it.
    private func write(_ json: [UInt8], id: String?) throws(ReplayError) {
        var text = Array("<script type=\"application/json\" ".utf8)
        text += Array((id.map { "id=\"\($0)\">" } ?? "class=\"changes\">").utf8)
        for byte in json {
            if byte == UInt8(ascii: "<") { text += Array("\\u003c".utf8) } else { text.append(byte) }
        }
        text += Array("</script>\n".utf8)
        try file.write(text)
    }
}

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

extension ReportPage {
    /// Marks in two texts what is not in the other: the longest common run of words.
    static let difference = #"""
        "use strict";
        const words = text => text.match(/\p{L}[\p{L}\p{M}\p{N}]*|\p{N}+|\s+|./gsu) || [];

        // [kept, text] pieces for the old and for the new text.
        function difference(before, after) {
          const a = words(before), b = words(after);
          let start = 0, end = 0;
          while (start < a.length && start < b.length && a[start] === b[start]) start++;
          while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
          const x = a.slice(start, a.length - end), y = b.slice(start, b.length - end);
          const keptX = new Uint8Array(x.length), keptY = new Uint8Array(y.length);
          // Beyond this the table would be too large; all between the common ends is marked then.
          if (x.length * y.length <= 1000000) {
            const width = y.length + 1, table = new Uint16Array((x.length + 1) * width);
            for (let i = x.length - 1; i >= 0; i--)
              for (let j = y.length - 1; j >= 0; j--)
                table[i * width + j] = x[i] === y[j] ? table[(i + 1) * width + j + 1] + 1
                  : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
            for (let i = 0, j = 0; i < x.length && j < y.length;) {
              if (x[i] === y[j]) { keptX[i++] = 1; keptY[j++] = 1; }
              else if (table[(i + 1) * width + j] >= table[i * width + j + 1]) i++;
              else j++;
            }
          }
          const pieces = (all, middle, kept) => {
            const list = [];
            const add = (isKept, text) => {
              const last = list[list.length - 1];
              if (last && last[0] === isKept) last[1] += text; else if (text) list.push([isKept, text]);
            };
            all.slice(0, start).forEach(text => add(true, text));
            middle.forEach((text, i) => add(kept[i] === 1, text));
            all.slice(all.length - end).forEach(text => add(true, text));
            return list;
          };
          return [pieces(a, x, keptX), pieces(b, y, keptY)];
        }
        """#
}
