extension ReportPage {
    /// Light and dark, wide and narrow.
    static let style = #"""
        :root { color-scheme: light dark;
          --page: #f4f5f7; --card: #fff; --text: #1b1f24; --quiet: #5b6570; --line: #dfe3e8;
          --blue: #2463d6; --gone: #ffd9dd; --come: #c9f0d6; --gone-text: #8a1024; --come-text: #0b5a2c;
          --wall: linear-gradient(160deg, #6d83c9, #b48bb8); --push: rgb(255 255 255 / .86); --push-text: #16181c;
          --push-quiet: #4a4f57; }
        @media (prefers-color-scheme: dark) { :root {
          --page: #101317; --card: #191e24; --text: #e6eaef; --quiet: #98a3af; --line: #2c343d;
          --blue: #6ea0ff; --gone: #5a1f2a; --come: #17472b; --gone-text: #ffc2cb; --come-text: #b9f3cf;
          --wall: linear-gradient(160deg, #27315a, #4a2f55); --push: rgb(30 34 42 / .82); --push-text: #eef1f5;
          --push-quiet: #b3bcc7; } }
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--page); color: var(--text);
          font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
        header, main { max-width: 1180px; margin: 0 auto; padding: 0 16px; }
        header { display: flex; flex-wrap: wrap; gap: 4px 24px; align-items: baseline; padding-top: 18px; }
        h1 { font-size: 22px; margin: 0; } h2 { font-size: 15px; margin: 0 0 10px; }
        h3 { font-size: 14px; margin: 22px 0 8px; overflow-wrap: anywhere; } h3 span { color: var(--quiet);
          font-weight: 400; }
        #verdict { margin: 0; }
        main { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 14px; padding: 14px 16px 40px; }
        section { grid-column: 1 / -1; background: var(--card); border: 1px solid var(--line); border-radius: 10px;
          padding: 14px 16px; }
        section.half { grid-column: auto; }
        #tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: 14px 20px; }
        .tile b { display: block; font-size: 24px; font-weight: 600; line-height: 1.25; }
        .tile span { color: var(--quiet); font-size: 13px; }
        b, td { font-variant-numeric: tabular-nums; }
        .scroll { max-height: 260px; overflow: auto; }
        table { border-collapse: collapse; width: 100%; }
        th, td { text-align: right; padding: 5px 0 5px 16px; border-bottom: 1px solid var(--line); font-weight: 400;
          vertical-align: top; }
        th { color: var(--quiet); font-size: 13px; }
        th:first-child, td:first-child { text-align: left; padding-left: 0; overflow-wrap: anywhere; }
        tr:last-child > td { border-bottom: 0; }
        form { display: flex; flex-wrap: wrap; align-items: center; gap: 8px 18px; color: var(--quiet); }
        input, select { font: inherit; color: var(--text); background: var(--page); border: 1px solid var(--line);
          border-radius: 6px; padding: 3px 8px; max-width: 100%; }
        select { width: 320px; } input { width: 240px; }
        button { font: inherit; color: var(--blue); background: none; border: 0; padding: 0; cursor: pointer;
          text-align: left; overflow-wrap: anywhere; }
        :focus-visible { outline: 2px solid var(--blue); outline-offset: 2px; }
        article { border-top: 1px solid var(--line); padding: 14px 0; content-visibility: auto;
          contain-intrinsic-size: auto 320px; }
        .place { margin: 0 0 8px; color: var(--quiet); font-size: 13px; overflow-wrap: anywhere; }
        .pair { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 12px; padding: 14px;
          border-radius: 14px; background: var(--wall); }
        .side > p { margin: 0 0 6px; color: #fff; font-size: 12px; }
        .push { background: var(--push); color: var(--push-text); border-radius: 16px; padding: 10px 14px; min-width: 0;
          position: relative; overflow-wrap: anywhere; max-height: 300px; overflow-y: auto; }
        .push small { display: block; color: var(--push-quiet); font-size: 12px; padding-right: 34px; }
        .push b, .push span { display: block; unicode-bidi: plaintext; white-space: pre-wrap; text-align: start; }
        .push b { font-weight: 600; } .push .subtitle { font-weight: 500; }
        .push i { position: absolute; right: 12px; top: 10px; background: #d92038; color: #fff; font-style: normal;
          font-size: 12px; border-radius: 10px; padding: 0 7px; }
        .none { color: #fff; opacity: .8; font-size: 14px; }
        .field { display: grid; grid-template-columns: minmax(120px, 240px) minmax(0, 1fr); gap: 4px 16px;
          padding: 8px 0 0; }
        .field code { color: var(--quiet); font-size: 13px; overflow-wrap: anywhere; }
        .texts { display: grid; gap: 3px; } .texts p { margin: 0; padding: 2px 8px; border-radius: 6px;
          unicode-bidi: plaintext; text-align: start; white-space: pre-wrap; overflow-wrap: anywhere; max-height: 240px;
          overflow-y: auto; border: 1px solid var(--line); }
        .texts .absent { color: var(--quiet); font-style: italic; }
        del, ins { text-decoration: none; border-radius: 3px; padding: 0 1px; }
        del { background: var(--gone); color: var(--gone-text); text-decoration: line-through; }
        ins { background: var(--come); color: var(--come-text); text-decoration: underline; }
        .sign { font: 11px ui-monospace, Menlo, Consolas, monospace; border: 1px solid; border-radius: 3px;
          padding: 0 3px; margin: 0 1px; unicode-bidi: isolate; opacity: .8; }
        #more { color: var(--quiet); min-height: 1px; }
        @media (max-width: 760px) {
          section.half { grid-column: 1 / -1; } .pair, .field { grid-template-columns: minmax(0, 1fr); }
          #tiles { grid-template-columns: 1fr 1fr; } select, input { width: 100%; } label { width: 100%; } }
        """#
}
