extension Page {
    /// Light and dark, wide and narrow.
    static let style = #"""
        :root { color-scheme: light dark;
          --page: #f4f5f7; --card: #fff; --text: #1b1f24; --quiet: #5b6570; --line: #dfe3e8; --track: #eceff3;
          --blue: #2463d6; --teal: #0f8a83; --amber: #b26a00; --orange: #c2410c; --violet: #7c3aed; --red: #c81e3a;
          --green: #1a7f46;
          --wall: linear-gradient(160deg, #6d83c9, #b48bb8); }
        @media (prefers-color-scheme: dark) { :root {
          --page: #101317; --card: #191e24; --text: #e6eaef; --quiet: #98a3af; --line: #2c343d; --track: #262d36;
          --blue: #6ea0ff; --teal: #3fc2b8; --amber: #e5a53b; --orange: #fb8a4c; --violet: #b39bff; --red: #ff7187;
          --green: #53c88a;
          --wall: linear-gradient(160deg, #27315a, #4a2f55); } }
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--page); color: var(--text);
          font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
        header, main, footer, #reasons { max-width: 1180px; margin: 0 auto; padding: 0 16px; }
        header { display: flex; flex-wrap: wrap; gap: 4px 24px; align-items: baseline; padding-top: 18px; }
        h1 { font-size: 22px; margin: 0; } h2 { font-size: 15px; margin: 0 0 10px; }
        small { color: var(--quiet); font-weight: 400; font-size: 13px; }
        #status { margin: 0; } #since { color: var(--quiet); }
        #light { display: inline-block; width: 10px; height: 10px; border-radius: 50%; background: var(--quiet);
          margin-right: 7px; }
        .ready #light { background: var(--green); } .waiting #light { background: var(--amber); }
        .gone #light { background: var(--red); }
        .gone main { opacity: .55; }
        #reasons { list-style: none; margin-top: 12px; }
        #reasons li { background: var(--card); border-left: 4px solid var(--amber); border-radius: 6px;
          padding: 8px 12px; margin-bottom: 6px; }
        #reasons code { margin-right: 8px; color: var(--amber); }
        main { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 14px; padding-top: 14px; }
        section { grid-column: 1 / -1; background: var(--card); border: 1px solid var(--line); border-radius: 10px;
          padding: 14px 16px; }
        section.half { grid-column: auto; }
        #tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: 14px 20px; }
        .tile { display: flex; flex-direction: column; } .tile b { font-size: 24px; font-weight: 600;
          line-height: 1.25; }
        .tile span { color: var(--quiet); font-size: 13px; }
        b, td, .value { font-variant-numeric: tabular-nums; }
        .chart { height: 190px; } .chart svg { display: block; width: 100%; height: 160px; overflow: visible;
          touch-action: pan-y; }
        .chart text { fill: var(--quiet); font-size: 11px; } .grid { stroke: var(--line); }
        .cursor { stroke: var(--quiet); }
        .curve { fill: none; stroke-width: 2; stroke-linejoin: round; } .area { opacity: .13; }
        .legend { display: flex; flex-wrap: wrap; gap: 2px 18px; font-size: 13px; color: var(--quiet); }
        .legend i { display: inline-block; width: 12px; height: 3px; margin-right: 6px; vertical-align: middle;
          background: currentColor; }
        .legend b { color: var(--text); font-weight: 600; }
        .bar { display: grid; grid-template-columns: minmax(90px, 150px) 1fr auto; gap: 12px; align-items: center;
          padding: 3px 0; }
        .bar svg { width: 100%; height: 9px; display: block; border-radius: 5px; background: var(--track); }
        .bar .value { min-width: 104px; text-align: right; } .bar .name { overflow-wrap: anywhere; }
        .note { white-space: nowrap; color: var(--amber); font-size: 12px; margin-left: 6px; }
        .empty { color: var(--quiet); margin: 0; }
        #lag { max-height: 260px; overflow: auto; }
        table { border-collapse: collapse; width: 100%; white-space: nowrap; } .scroll { overflow-x: auto; }
        th, td { text-align: right; padding: 5px 0 5px 22px; border-bottom: 1px solid var(--line); font-weight: 400; }
        th { color: var(--quiet); font-size: 13px; } th:first-child, td:first-child { text-align: left;
          padding-left: 0; }
        tr:last-child td { border-bottom: 0; } td.wide, th:last-child { white-space: normal; min-width: 300px;
          text-align: left; }
        form { display: flex; flex-wrap: wrap; align-items: center; gap: 8px 18px; margin-bottom: 10px;
          color: var(--quiet); }
        input, select { font: inherit; color: var(--text); background: var(--page); border: 1px solid var(--line);
          border-radius: 6px; padding: 3px 8px; }
        #contains { width: 220px; max-width: 60vw; }
        #lines { height: 320px; overflow: auto;
          font: 12.5px/1.55 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
        .line { display: grid; grid-template-columns: 92px 62px 1fr; gap: 10px; padding: 1px 0; }
        .line time, .line em { color: var(--quiet); font-style: normal; } .line p { margin: 0;
          overflow-wrap: anywhere;
          }
        .error .mark { color: var(--red); } .warning .mark { color: var(--amber); } .info .mark { color: var(--blue);
          }
        #notifications { display: grid; grid-template-columns: minmax(0, 1fr); gap: 12px; }
        .pair { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 12px; padding: 14px;
          border-radius: 14px;
          background: var(--wall); }
        .pair > p { grid-column: 1 / -1; margin: 0; color: #fff; font-size: 12px; overflow-wrap: anywhere; }
        .push { background: rgb(255 255 255 / .82); color: #16181c; border-radius: 14px; padding: 10px 14px;
          min-width: 0;
          overflow-wrap: anywhere; position: relative; }
        .push b, .push span { display: block; } .push small { color: #4a4f57; } .push i { position: absolute;
          right: 12px; top: 10px;
          background: #d92038; color: #fff; font-style: normal; font-size: 12px; border-radius: 10px; padding: 0 7px;
          }
        .blue { color: var(--blue); } .teal { color: var(--teal); } .amber { color: var(--amber); }
        .orange { color: var(--orange); }
        .violet { color: var(--violet); } .red { color: var(--red); } .grey { color: var(--quiet); }
        footer { padding: 16px; } footer a { color: var(--quiet); margin-right: 14px; }
        a:focus-visible, input:focus-visible, select:focus-visible, #lines:focus-visible {
          outline: 2px solid var(--blue); outline-offset: 2px; }
        @media (max-width: 760px) {
          section.half { grid-column: 1 / -1; } .pair { grid-template-columns: minmax(0, 1fr); }
          #tiles { grid-template-columns: 1fr 1fr; } .tile b { font-size: 20px; }
          .line { grid-template-columns: 92px 1fr; } .line p { grid-column: 1 / -1; margin-bottom: 4px; }
          .bar { grid-template-columns: 118px 1fr auto; gap: 8px; } .bar .value { min-width: 70px; } }
        """#
}
