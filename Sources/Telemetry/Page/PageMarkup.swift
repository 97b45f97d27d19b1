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
