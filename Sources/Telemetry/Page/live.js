// Polls the service, and goes on after it restarts.
const gap = { consumed: null, published: null, message50: null, message99: null, whole99: null };
let snapshots = [], history = [], lastAnswer = null, lastLines = '';

async function get(path) {
  const answer = await fetch(path, { signal: AbortSignal.timeout(5000) });
  // A service that is not ready answers 503 with its reasons.
  if (!answer.ok && path !== '/readyz') throw new Error(`${path}: ${answer.status}`);
  return answer;
}

function setState(kind, text, since) {
  document.body.className = kind;
  at('state').textContent = text;
  at('since').textContent = since;
}

function remember(point) {
  history = [...history, point].slice(-keep);
  throughput.update(history);
  latency.update(history);
}

async function refreshMetrics() {
  const answer = await get('/metrics');
  const samples = parse(await answer.text());
  const now = { time: performance.now() / 1000, samples };
  const last = snapshots[snapshots.length - 1];
  const start = sum(now, 'process_start_time_seconds');
  // A restarted process counts from zero.
  if (last && sum(last, 'process_start_time_seconds') !== start) snapshots = [];
  const step = snapshots[snapshots.length - 1];
  remember(step ? {
    consumed: rate(step, now, 'pushmill_records_consumed_total'),
    published: rate(step, now, 'pushmill_records_published_total'),
    message50: quantile(.5, step, now, 'pushmill_message_seconds'),
    message99: quantile(.99, step, now, 'pushmill_message_seconds'),
    whole99: quantile(.99, step, now, 'pushmill_end_to_end_seconds'),
  } : gap);
  snapshots = [...snapshots, now].slice(-shortly - 1);
  const before = snapshots.length > 1 ? snapshots[0] : null;
  showTiles(now, before);
  showOutcomes(now, before);
  showLag(now);
  showStages(now, before);
  const build = matching(now, 'pushmill_build_info')[0];
  at('version').textContent = build ? build.labels.version : '';
  // By the service's clock: the browser's may differ.
  return Math.max(0, Date.parse(answer.headers.get('Date')) / 1000 - start);
}

async function refreshState(uptime) {
  const { reasons } = await (await get('/readyz')).json();
  setState(reasons.length ? 'waiting' : 'ready', reasons.length ? 'Not ready' : 'Ready', `up ${span(uptime)}`);
  at('reasons').hidden = !reasons.length;
  at('reasons').replaceChildren(...reasons.map(
    ({ reason, detail }) => node('li', {}, node('code', {}, reason), detail)));
}

async function refreshLog() {
  if (at('hold').checked) return;
  const query = new URLSearchParams({ level: at('level').value, contains: at('contains').value, limit: 200 });
  const text = await (await get(`/logs?${query}`)).text();
  if (text === lastLines) return;
  lastLines = text;
  const place = at('lines');
  const isAtEnd = place.scrollTop + place.clientHeight >= place.scrollHeight - 20;
  place.replaceChildren(...text.split('\n').filter(Boolean).map(line => {
    const { time, level, message, ...fields } = JSON.parse(line);
    const rest = Object.entries(fields).map(([name, value]) => ` ${name}=${value}`).join('');
    return node('div', { class: `line ${level}` }, node('time', { datetime: time }, time.slice(11, 23)),
      node('span', { class: 'mark' }, level), node('p', {}, message, node('em', {}, rest)));
  }));
  if (isAtEnd) place.scrollTop = place.scrollHeight;
}

async function refresh() {
  try {
    await refreshState(await refreshMetrics());
    await refreshLog();
    if (document.body.dataset.notifications) {
      showNotifications(await (await get('/notifications')).json());
    }
    lastAnswer = new Date();
  } catch (error) {
    setState('gone', 'No answer',
      lastAnswer ? `since ${lastAnswer.toLocaleTimeString()}; trying again` : 'trying again');
    remember(gap);
  }
  setTimeout(refresh, period * 1000);
}

for (const id of ['level', 'contains', 'hold']) {
  at(id).addEventListener('input', () => refreshLog().catch(() => {}));
}
at('filter').addEventListener('submit', event => event.preventDefault());
refresh();
