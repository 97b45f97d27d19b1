// Elements, curves and bars.
const at = id => document.getElementById(id);

// Content is always set as text, so nothing from outside becomes markup.
function node(tag, attributes = {}, ...children) {
  const made = tag === 'svg' || at.shapes.has(tag)
    ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
at.shapes = new Set(['path', 'line', 'text', 'rect', 'circle']);

// Curves over time, newest at the right; a null is a gap. Hovering shows the values of that moment.
class Chart {
  constructor(id, series, format) {
    Object.assign(this, { place: at(id), series, format, hovered: null, points: [] });
    this.place.addEventListener('pointermove', event => {
      const box = this.place.getBoundingClientRect();
      this.hovered = Math.round((event.clientX - box.left) / box.width * (keep - 1));
      this.draw();
    });
    this.place.addEventListener('pointerleave', () => { this.hovered = null; this.draw(); });
    new ResizeObserver(() => this.draw()).observe(this.place);
  }

  update(points) { this.points = points; this.draw(); }

  draw() {
    const width = this.place.clientWidth, height = 160, foot = 16, room = height - foot - 8;
    const all = this.points.flatMap(point => this.series.map(({ key }) => point[key] || 0));
    const top = Chart.round(Math.max(0, ...all));
    const x = index => (keep - this.points.length + index) / (keep - 1) * width;
    const y = value => 8 + room * (1 - value / top);
    const svg = node('svg', { role: 'img', 'aria-label': this.series.map(each => each.label).join(', ') });
    for (const share of [0, .5, 1]) {
      svg.append(node('line', { class: 'grid', x1: 0, x2: width, y1: y(top * share), y2: y(top * share) }));
      if (share) svg.append(node('text', { x: 2, y: y(top * share) + 12 }, this.format(top * share)));
    }
    svg.append(node('text', { x: 0, y: height - 2 }, '5 minutes ago'),
      node('text', { x: width, y: height - 2, 'text-anchor': 'end' }, 'now'));
    for (const { key, color } of this.series) {
      let path = '', open = false;
      this.points.forEach((point, index) => {
        if (point[key] === null) { open = false; return; }
        path += `${open ? 'L' : 'M'}${x(index).toFixed(1)} ${y(point[key]).toFixed(1)}`;
        open = true;
      });
      svg.append(node('path', { class: `curve ${color}`, stroke: 'currentColor', d: path }));
    }
    const index = this.hovered === null ? this.points.length - 1 : this.hovered - (keep - this.points.length);
    const shown = this.points[Math.max(0, index)];
    if (this.hovered !== null && shown) {
      const here = x(Math.max(0, index));
      svg.append(node('line', { class: 'cursor', x1: here, x2: here, y1: 8, y2: 8 + room }));
    }
    const value = key => shown && shown[key] !== null ? this.format(shown[key]) : '–';
    const legend = node('div', { class: 'legend' }, ...this.series.map(({ key, label, color }) =>
      node('span', {}, node('i', { class: color }), label + ' ', node('b', {}, value(key)))));
    this.place.replaceChildren(svg, legend);
  }

  // Rounds up to 1, 2 or 5 times a power of ten.
  static round(value) {
    if (!(value > 0)) return 1;
    const power = 10 ** Math.floor(Math.log10(value));
    return power * [1, 2, 5, 10].find(step => step * power >= value);
  }
}

function bar(name, share, value, color, note) {
  const label = node('span', { class: 'name' }, name);
  if (note) label.append(node('span', { class: 'note' }, note));
  const svg = node('svg', { class: color, 'aria-hidden': 'true' },
    node('rect', { width: `${Math.max(share && .8, share * 100)}%`, height: 9, rx: 4, fill: 'currentColor' }));
  return node('div', { class: 'bar' }, label, svg, node('span', { class: 'value' }, value));
}
