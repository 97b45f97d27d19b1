// What each part of the page shows.
const colors = {
  'modified': 'blue', 'passed': 'teal', 'best-attempt': 'amber', 'original': 'orange', 'expired': 'violet',
  'dead-letter': 'red',
};
const throughput = new Chart('throughput', [
  { key: 'consumed', label: 'taken', color: 'grey' },
  { key: 'published', label: 'published', color: 'blue' },
], number);
const latency = new Chart('latency', [
  { key: 'message50', label: 'message, median', color: 'teal' },
  { key: 'message99', label: '99 %', color: 'blue' },
  { key: 'whole99', label: 'end to end, 99 %', color: 'violet' },
], duration);

function tile(label, value, note) {
  return node('div', { class: 'tile' },
    node('span', {}, label), node('b', {}, value), node('span', {}, note || ''));
}

function showTiles(now, before) {
  const lag = sum(now, 'pushmill_consumer_lag_records');
  const paused = sum(now, 'pushmill_consumer_paused');
  const failures = sum(now, 'pushmill_checkpoint_failures_total');
  const published = before && rate(before, now, 'pushmill_records_published_total');
  const ages = matching(now, 'pushmill_oldest_unfinished_seconds').map(sample => sample.value);
  // The lag of a partition is unknown until the partition is read.
  const least = matching(now, 'pushmill_consumer_lag_records').length < ages.length ? 'at least ' : '';
  const busy = before ? values(now, 'pushmill_shard_busy_seconds_total', 'shard').map(shard =>
    (100 * rate(before, now, 'pushmill_shard_busy_seconds_total', { shard })).toFixed(0) + ' %') : [];
  const slowest = name => before ? duration(quantile(.99, before, now, name)) : '–';
  at('tiles').replaceChildren(
    tile('Published', before ? number(published) + '/s' : '–',
      number(sum(now, 'pushmill_records_published_total')) + ' total'),
    tile('In flight', number(sum(now, 'pushmill_in_flight_messages')),
      bytes(sum(now, 'pushmill_in_flight_bytes'))),
    tile('Oldest unfinished', duration(Math.max(0, ...ages)), `${least}${number(lag)} ${lag === 1 ? 'record' : 'records'} left`),
    tile('Partitions', number(ages.length), paused ? `${paused} paused` : 'none paused'),
    tile('Message, 99 %', slowest('pushmill_message_seconds'), 'last 30 seconds'),
    tile('Checkpoint, 99 %', slowest('pushmill_checkpoint_seconds'),
      failures ? `${failures} failed` : 'none failed'),
    tile('Producer queue', number(sum(now, 'pushmill_producer_queue_messages')),
      bytes(sum(now, 'pushmill_producer_queue_bytes'))),
    tile('Cores busy', busy.join(', ') || '–', 'share of time spent working'),
    tile('CPU', before ? (100 * rate(before, now, 'process_cpu_seconds_total')).toFixed(0) + ' %' : '–',
      bytes(sum(now, 'process_resident_memory_bytes')) + ' resident'));
}

function showOutcomes(now, before) {
  const total = sum(now, 'pushmill_records_published_total');
  const bars = values(now, 'pushmill_records_published_total', 'outcome').map(outcome => {
    const count = sum(now, 'pushmill_records_published_total', { outcome });
    const each = before ? rate(before, now, 'pushmill_records_published_total', { outcome }) : 0;
    const share = total ? count / total : 0;
    return bar(outcome, share, `${number(count)} · ${number(each)}/s`, colors[outcome] || 'grey');
  });
  const letters = matching(now, 'pushmill_dead_letters_total').filter(sample => sample.value > 0).map(
    sample => `${sample.labels.reason} ${number(sample.value)}`);
  if (letters.length) bars.push(node('p', { class: 'empty' }, 'Dead letters: ' + letters.join(', ')));
  at('outcomes').replaceChildren(...bars);
}

function showLag(now) {
  const ages = matching(now, 'pushmill_oldest_unfinished_seconds').sort(
    (one, other) => other.value - one.value);
  const most = Math.max(1, ...ages.map(sample => sample.value));
  at('lag').replaceChildren(...ages.map(({ labels, value }) => {
    const paused = sum(now, 'pushmill_consumer_paused', labels) > 0;
    const [lag] = matching(now, 'pushmill_consumer_lag_records', labels);
    const records = lag ? number(lag.value) : '?';
    return bar(`${labels.topic}/${labels.partition}`, value / most, `${duration(value)} · ${records}`,
      paused ? 'amber' : 'blue', paused ? 'paused' : '');
  }));
  if (!ages.length) at('lag').replaceChildren(node('p', { class: 'empty' }, 'No partition is assigned.'));
}

function showStages(now, before) {
  const titles = ['Stage', 'Messages/s', 'Median', '99 %', 'Deadlines', 'Still running', 'Results'];
  const head = node('tr', {}, ...titles.map(title => node('th', { scope: 'col' }, title)));
  const rows = values(now, 'pushmill_stage_seconds_count', 'stage').map(stage => {
    const results = matching(now, 'pushmill_stage_results_total', { stage }).filter(({ value }) => value > 0)
      .map(({ labels, value }) =>
        `${labels.result}${labels.reason ? ':' + labels.reason : ''} ${number(value)}`).join(', ');
    const time = share =>
      before ? duration(quantile(share, before, now, 'pushmill_stage_seconds', { stage })) : '–';
    const messages = before ? number(rate(before, now, 'pushmill_stage_results_total', { stage })) : '–';
    const cells = [stage, messages, time(.5), time(.99),
      number(sum(now, 'pushmill_deadlines_expired_total', { stage })),
      number(sum(now, 'pushmill_stages_abandoned', { stage })), results];
    return node('tr', {}, ...cells.map(
      (cell, index) => node('td', index === 6 ? { class: 'wide' } : {}, cell)));
  });
  at('stages').replaceChildren(rows.length ? node('table', {}, head, ...rows)
    : node('p', { class: 'empty' }, 'No stage is configured.'));
}

function push(content, title) {
  const card = node('div', { class: 'push' }, node('small', {}, title));
  if (content.title) card.append(node('b', { dir: 'auto' }, content.title));
  if (content.subtitle) card.append(node('b', { dir: 'auto' }, content.subtitle));
  card.append(node('span', { dir: 'auto' }, content.body || ''));
  if (content.badge) card.append(node('i', {}, String(content.badge)));
  return card;
}

function showNotifications(list) {
  at('lockscreen').hidden = false;
  at('notifications').replaceChildren(...list.map(each => node('div', { class: 'pair' },
    node('p', {}, `${each.recipient} · ${each.outcome} · ${each.stages}`),
    push(each.before, 'as sent'), push(each.after, 'as published'))));
}
