// Reads what /metrics says: rates, quantiles, and how numbers are written.
'use strict';
// Seconds between two polls, polls in five minutes, and polls in the last 30 seconds.
const period = 2, keep = 150, shortly = 15;

// Prometheus text as a map from a sample's name to its labels and values.
function parse(text) {
  const samples = new Map();
  for (const line of text.split('\n')) {
    const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!match) continue;
    const labels = {};
    for (const [, name, value] of (match[2] || '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      labels[name] = value.replace(/\\(.)/g, (_, character) => character === 'n' ? '\n' : character);
    }
    if (!samples.has(match[1])) samples.set(match[1], []);
    samples.get(match[1]).push({ labels, value: Number(match[3].replace('Inf', 'Infinity')) });
  }
  return samples;
}

function matching(snapshot, name, labels = {}) {
  return (snapshot.samples.get(name) || []).filter(
    sample => Object.entries(labels).every(([key, value]) => sample.labels[key] === value));
}

function sum(snapshot, name, labels) {
  return matching(snapshot, name, labels).reduce((total, sample) => total + sample.value, 0);
}

function values(snapshot, name, label) {
  return [...new Set(matching(snapshot, name).map(sample => sample.labels[label]))];
}

// What a counter gained per second between two snapshots.
function rate(from, to, name, labels) {
  return Math.max(0, sum(to, name, labels) - sum(from, name, labels)) / (to.time - from.time);
}

// Interpolates within a bucket, as Prometheus does; null if nothing was observed between the two snapshots.
function quantile(share, from, to, name, labels) {
  const before = new Map(
    matching(from, name + '_bucket', labels).map(({ labels: { le }, value }) => [le, value]));
  const buckets = matching(to, name + '_bucket', labels).map(({ labels: { le }, value }) => (
    { bound: Number(le.replace('Inf', 'Infinity')), count: value - (before.get(le) || 0) }));
  const total = buckets.length ? buckets[buckets.length - 1].count : 0;
  if (!(total > 0)) return null;
  let lower = 0, below = 0;
  for (const { bound, count } of buckets) {
    if (count >= share * total && count > below) {
      return bound === Infinity ? lower : lower + (bound - lower) * (share * total - below) / (count - below);
    }
    lower = bound; below = count;
  }
  return lower;
}

function number(value) {
  if (value >= 1e6) return (value / 1e6).toFixed(value >= 1e7 ? 1 : 2) + 'M';
  if (value >= 1e4) return (value / 1e3).toFixed(value >= 1e5 ? 0 : 1) + 'k';
  return value >= 100 || Number.isInteger(value) ? String(Math.round(value)) : value.toFixed(1);
}

function duration(seconds) {
  if (!seconds) return seconds === null ? '–' : '0 s';
  for (const [unit, size] of [['s', 1], ['ms', 1e-3], ['µs', 1e-6]]) {
    const value = seconds / size;
    if (value < 1 && unit !== 'µs') continue;
    return `${value >= 99.5 ? Math.round(value) : value.toPrecision(2)} ${unit}`;
  }
}

function bytes(value) {
  const units = [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB']];
  const [size, unit] = units.find(([size]) => value >= size) || units[2];
  return `${(value / size).toFixed(value ? 1 : 0)} ${unit}`;
}

function span(seconds) {
  const parts = [seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60];
  const [days, hours, minutes] = parts.map(Math.floor);
  if (days) return `${days} d ${hours} h`;
  if (hours) return `${hours} h ${minutes} min`;
  return minutes ? `${minutes} min` : 'under a minute';
}
