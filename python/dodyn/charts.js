// Charts of the rows of a study, with D3: scales, axes, brushes, contours. Dots are drawn on a canvas: ten thousand stay quick.

const styleOf = name => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
const tip = make('div', { class: 'tip', 'aria-hidden': 'true' });
document.body.append(tip);
function showTip(lines, x, y) {
  tip.replaceChildren(...lines.map(line => make('div', {}, line)));
  tip.style.display = 'block';
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(innerWidth - box.width - 4, x + 14)) + 'px';
  tip.style.top = (y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18) + 'px';
}
const hideTip = () => { tip.style.display = 'none'; };

// A canvas at the resolution of the screen.
function sharp(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.style.width = width + 'px'; canvas.style.height = height + 'px';
  canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext('2d');
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

// A range that shows the numbers. A few far above may fall off it.
function rangeOf(values, trimmed = true) {
  const sorted = Float64Array.from(values).filter(Number.isFinite).sort();
  if (!sorted.length) return [0, 1];
  let low = sorted[0], high = sorted[sorted.length - 1];
  if (trimmed && sorted.length > 7) {
    const middle = d3.quantile(sorted, 0.75);
    high = Math.min(high, Math.max(middle + 4 * (middle - low), low));
  }
  if (!(high > low)) { const pad = Math.abs(low) * 0.1 || 1; return [low - pad, high + pad]; }
  const pad = 0.06 * (high - low);
  return [low - pad, high + pad];
}

function viridis(share) { // of the rank: the best stands out from the paper in both schemes
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  return d3.interpolateViridis(dark ? 0.95 - 0.75 * share : 0.05 + 0.85 * share);
}
const statusColour = status => styleOf({ ok: 'c1', infeasible: 'c8', not_converged: 'c5', failed: 'c2', timed_out: 'c4', lost: 'c7' }[status] || 'ink');

// A chart of rows: `options.model()` gives what to draw now: {x, y: {low, high, label, choices, log}, xs, ys, colour(i), under(pen, x, y),
// over(pen, x, y)}. A row without y is a cross at the foot.
class Chart {
  constructor(study, root, options) {
    this.study = study; this.options = options; this.height = options.height || 260;
    this.frame = make('div', { class: 'frame', tabindex: 0, role: 'application', 'aria-roledescription': 'chart', 'aria-label': `${options.label}. Arrow keys go from dot to dot, the space bar selects.` });
    this.canvas = make('canvas', { 'aria-hidden': 'true' });
    this.svg = d3.create('svg').attr('aria-hidden', 'true').attr('focusable', 'false');
    this.axes = this.svg.append('g'); this.brushed = this.svg.append('g').attr('class', 'brush');
    this.frame.append(this.canvas, this.svg.node());
    root.append(this.frame);
    this.frame.addEventListener('keydown', event => this.key(event));
    const node = this.svg.node();
    node.addEventListener('pointermove', event => this.hover(event));
    node.addEventListener('pointerleave', hideTip);
    node.addEventListener('click', event => { const i = this.nearest(event, 24); if (i !== null) { if (event.ctrlKey || event.shiftKey) study.toggle(study.ids[i]); else this.pick(i); } });
    study.add(this.frame, () => this.draw());
  }
  pick(i) { this.study.choose(this.study.ids[i]); if (this.options.picked) this.options.picked(i); }

  scale(axis, from, to) {
    const made = axis.log ? d3.scaleLog() : d3.scaleLinear();
    return made.domain([axis.low, axis.high]).range([from, to]);
  }
  draw() {
    const { study } = this, model = this.model = this.options.model(), width = this.frame.clientWidth, height = this.height;
    if (!width) return;
    this.tree = null;
    const text = { left: 44, right: 14, top: 24, bottom: 38 };
    const y = this.y = this.scale(model.y, height - text.bottom, text.top);
    const yAxis = this.axis(d3.axisLeft(y), model.y, Math.max(3, height / 50));
    text.left = 16 + 6.6 * Math.max(...this.marks(y, model.y, Math.max(3, height / 50)).map(mark => mark.length), 3);
    const x = this.x = this.scale(model.x, text.left, width - text.right), about = Math.max(2, (width - text.left) / 85);
    this.svg.attr('width', width).attr('height', height);
    this.axes.selectAll('*').remove();
    this.axes.append('g').attr('class', 'axis').attr('transform', `translate(0,${height - text.bottom})`).call(this.axis(d3.axisBottom(x), model.x, about).tickSizeInner(text.top + text.bottom - height).tickSizeOuter(0).tickPadding(7));
    this.axes.append('g').attr('class', 'axis').attr('transform', `translate(${text.left},0)`).call(yAxis.tickSizeInner(text.left + text.right - width).tickSizeOuter(0).tickPadding(6));
    this.axes.append('text').attr('class', 'name').attr('x', (text.left + width - text.right) / 2).attr('y', height - 4).attr('text-anchor', 'middle').text(fit(model.x.label, width - text.left - text.right));
    this.axes.append('text').attr('class', 'name').attr('x', 4).attr('y', 13).text(fit(model.y.label, width - 10));

    const pen = sharp(this.canvas, width, height), foot = height - text.bottom;
    pen.save();
    pen.beginPath(); pen.rect(text.left, text.top - 6, width - text.left - text.right + 6, foot - text.top + 12); pen.clip();
    if (model.under) model.under(pen, x, y);
    const px = this.px = new Float64Array(study.count).fill(NaN), py = this.py = new Float64Array(study.count).fill(NaN);
    const radius = study.count > 3000 ? 2 : study.count > 300 ? 3 : 4.5, pale = styleOf('faint'), paper = styleOf('paper'), ink = styleOf('ink');
    const order = d3.range(study.count).sort((a, b) => study.shown(a) - study.shown(b) || (Number.isNaN(study.rank[b]) ? 2 : study.rank[b]) - (Number.isNaN(study.rank[a]) ? 2 : study.rank[a]));
    for (const i of order) {
      if (!Number.isFinite(model.xs[i])) continue;
      const value = model.ys[i], above = value > model.y.high;
      px[i] = x(model.xs[i]); py[i] = Number.isFinite(value) ? above ? text.top : y(Math.max(value, model.y.low)) : foot - 6;
      const colour = study.shown(i) ? model.colour(i) : pale;
      if (!Number.isFinite(value)) { cross(pen, px[i], py[i], 3.5, colour); continue; }
      if (study.shown(i) && study.stderr && study.stderr[i] > 0 && model.errors && study.count <= 300) {
        pen.strokeStyle = colour; pen.lineWidth = 1; pen.beginPath(); pen.moveTo(px[i], y(value - 1.96 * study.stderr[i])); pen.lineTo(px[i], y(value + 1.96 * study.stderr[i])); pen.stroke();
      }
      pen.beginPath();
      if (above) { pen.moveTo(px[i] - radius, text.top + radius); pen.lineTo(px[i] + radius, text.top + radius); pen.lineTo(px[i], text.top - radius); pen.closePath(); } else pen.arc(px[i], py[i], radius, 0, 7);
      if (study.violates(i)) { pen.fillStyle = paper; pen.fill(); pen.strokeStyle = colour; pen.lineWidth = 1.5; pen.stroke(); } else {
        pen.fillStyle = colour; pen.fill();
        if (study.count <= 300) { pen.strokeStyle = paper; pen.lineWidth = 1; pen.stroke(); }
      }
    }
    if (model.over) model.over(pen, x, y);
    for (const [id, dash] of [[study.other, [3, 2]], [study.row, []]]) {
      const i = id === null ? undefined : study.at.get(id);
      if (i === undefined || !Number.isFinite(px[i])) continue;
      pen.setLineDash(dash); pen.strokeStyle = ink; pen.lineWidth = 2.2; pen.beginPath(); pen.arc(px[i], py[i], radius + 4, 0, 7); pen.stroke(); pen.setLineDash([]);
    }
    pen.restore();
    this.brush = d3.brush().extent([[text.left, text.top], [width - text.right, foot]]).touchable(false).on('end', given => this.selected(d3.event || given)); // D3 5 has d3.event, later ones hand it over
    this.brushed.selectAll('*').remove();
    this.brushed.call(this.brush);
  }
  marks(scale, axis, about) {
    if (axis.choices && axis.choices.length) return axis.choices;
    return scale.ticks(about).filter(v => !axis.whole || v === Math.round(v)).map(v => axis.log ? short(v) : tickText(scale, about)(v));
  }
  axis(made, axis, about) {
    if (axis.choices && axis.choices.length) return made.tickValues(d3.range(axis.choices.length)).tickFormat(k => fit(axis.choices[k], 90));
    made.ticks(about).tickFormat(axis.log ? null : tickText(made.scale(), about));
    if (axis.whole) made.tickValues(made.scale().ticks(about).filter(v => v === Math.round(v))).tickFormat(d3.format('d'));
    if (axis.log) made.tickFormat((v, k) => made.scale().ticks(about).length > 8 && String(v).replace(/[0.]/g, '')[0] !== '1' ? '' : short(v));
    return made;
  }
  selected(event) {
    const area = event.selection;
    if (!area || !event.sourceEvent) return;
    const [[a, b], [c, d]] = area, found = [];
    for (let i = 0; i < this.study.count; ++i) if (this.px[i] >= a && this.px[i] <= c && this.py[i] >= b && this.py[i] <= d) found.push(this.study.ids[i]);
    this.study.select(found);
  }
  nearest(event, reach) {
    if (!this.px) return null;
    const box = this.frame.getBoundingClientRect();
    if (!this.tree) this.tree = d3.quadtree().x(i => this.px[i]).y(i => this.py[i]).addAll(d3.range(this.study.count).filter(i => Number.isFinite(this.px[i])));
    const found = this.tree.find(event.clientX - box.left, event.clientY - box.top, reach);
    return found === undefined ? null : found;
  }
  hover(event) {
    if (event.pointerType === 'touch') return;
    const i = this.nearest(event, 14);
    if (i === null) hideTip(); else showTip(this.study.describe(i), event.clientX, event.clientY);
  }
  key(event) {
    const { study } = this, there = d3.range(study.count).filter(i => Number.isFinite(this.px[i]));
    if (!there.length || event.altKey || event.ctrlKey || event.metaKey) return;
    const sideways = event.key === 'ArrowRight' || event.key === 'ArrowLeft' || event.key === 'Home' || event.key === 'End';
    const a = sideways ? this.px : this.py, b = sideways ? this.py : this.px;
    there.sort((i, j) => a[i] - a[j] || b[i] - b[j] || i - j);
    const now = there.indexOf(study.at.get(study.row)), last = there.length - 1;
    const to = { ArrowRight: now + 1, ArrowLeft: now - 1, ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: last }[event.key];
    if (to !== undefined) this.pick(there[Math.max(0, Math.min(last, to))]);
    else if (event.key === ' ') study.toggle(study.row);
    else if (event.key === 'Enter' && this.options.picked) this.options.picked(study.at.get(study.row));
    else if (event.key === 'Escape') study.select(null);
    else return;
    event.preventDefault();
  }
}

// As D3 writes ticks; with exponents where it would write many zeros.
function tickText(scale, about) {
  const most = Math.max(...scale.domain().map(Math.abs));
  return most < 1e-3 || most >= 1e7 ? d3.format('~e') : scale.tickFormat(about);
}
function cross(pen, x, y, r, colour) {
  pen.strokeStyle = colour; pen.lineWidth = 1.6; pen.beginPath();
  pen.moveTo(x - r, y - r); pen.lineTo(x + r, y + r); pen.moveTo(x - r, y + r); pen.lineTo(x + r, y - r); pen.stroke();
}
function fit(text, width) { // of about 6.6 pixels a letter
  const most = Math.max(3, Math.floor(width / 6.6));
  return text.length > most ? text.slice(0, most - 1) + '…' : text;
}
function line(pen, xs, ys, x, y) {
  pen.beginPath();
  let down = false;
  for (let k = 0; k < xs.length; ++k) {
    if (ys[k] === null || !Number.isFinite(ys[k])) { down = false; continue; }
    if (down) pen.lineTo(x(xs[k]), y(ys[k])); else pen.moveTo(x(xs[k]), y(ys[k]));
    down = true;
  }
  pen.stroke();
}
function band(pen, xs, low, high, x, y) {
  const inside = d3.range(xs.length).filter(k => Number.isFinite(low[k]) && Number.isFinite(high[k]) && low[k] !== null && high[k] !== null);
  if (!inside.length) return;
  pen.beginPath();
  for (const k of inside) pen.lineTo(x(xs[k]), y(high[k]));
  for (const k of inside.reverse()) pen.lineTo(x(xs[k]), y(low[k]));
  pen.closePath(); pen.fill();
}

// The model at the values of a label or a whole number: nothing is between them.
function levels(pen, slice, x, y) {
  const colour = styleOf('c1');
  slice.x.forEach((at, k) => {
    if (slice.median[k] === null) return;
    const px = x(at), top = y(slice.upper[k]), bottom = y(slice.lower[k]), middle = y(slice.median[k]);
    pen.fillStyle = colour; pen.globalAlpha = 0.16; pen.fillRect(px - 9, top, 18, bottom - top); pen.globalAlpha = 1;
    pen.strokeStyle = colour; pen.lineWidth = 1.8; pen.beginPath(); pen.moveTo(px - 9, middle); pen.lineTo(px + 9, middle); pen.stroke();
  });
}

function axisOf(study, name) {
  const v = study.variables.find(one => one.name === name);
  if (!v) { const [low, high] = rangeOf(study.columns.get(name)); return { low, high, label: name === 'cost' ? 'cost' : labelOf(study.quantity(name)) }; }
  if (v.choices.length) return { low: -0.5, high: v.choices.length - 0.5, label: v.name, choices: v.choices };
  if (v.log) return { low: v.lower / 1.05, high: v.upper * 1.05, label: labelOf(v), log: true };
  const pad = 0.02 * (v.upper - v.lower || 1);
  return { low: v.lower - pad, high: v.upper + pad, label: labelOf(v) };
}
// Rows of a label would hide each other: they are drawn beside each other.
function placed(study, name) {
  const v = study.variables.find(one => one.name === name), column = study.columns.get(name);
  return v && v.choices.length ? column.map((x, i) => x + ((i * 0.618034) % 1 - 0.5) * 0.5) : column;
}
const byStatus = study => { const colours = study.data.statuses.map(statusColour); return i => colours[study.data.rows.status[i]]; };
const byRank = study => { const failed = byStatus(study); return i => Number.isNaN(study.rank[i]) ? failed(i) : viridis(study.rank[i]); };

function choice(label, names, chosen, onchange) {
  const select = make('select', { 'aria-label': label });
  for (const name of names) select.add(new Option(name, name, name === chosen, name === chosen));
  select.onchange = () => onchange(select.value);
  return make('label', { class: 'choice' }, label + ' ', select);
}
const plotted = study => [...new Set([...study.data.objectives, 'cost', ...study.metrics.map(m => m.name)])].filter(name => study.columns.has(name));

function history_(study, root) {
  let name = study.data.objectives[0];
  root.append(make('div', { class: 'bar' }, choice('show', plotted(study), name, value => { name = value; study.redraw(); })));
  new Chart(study, root, {
    label: 'History of the evaluations', model: () => {
      const ys = study.columns.get(name), least = new Float64Array(study.count), objective = study.data.objectives.includes(name);
      let best = NaN;
      for (let i = 0; i < study.count; ++i) { if (study.feasible(i) && Number.isFinite(ys[i]) && !(best <= ys[i])) best = ys[i]; least[i] = best; }
      return {
        x: { low: -0.5, high: Math.max(1, study.count - 0.5), label: 'evaluation, in order', whole: true }, y: axisOf(study, name),
        xs: Float64Array.from(d3.range(study.count)), ys, colour: byStatus(study), errors: name === 'cost',
        under: (pen, x, y) => {
          if (!objective) return;
          pen.strokeStyle = styleOf('c2'); pen.lineWidth = 2; pen.beginPath();
          for (let i = 0; i < study.count; ++i) if (Number.isFinite(least[i])) { pen.lineTo(x(i), y(least[i])); pen.lineTo(x(Math.min(i + 1, study.count - 0.5)), y(least[i])); }
          pen.stroke();
        },
      };
    },
  });
}

function slices(study, root) {
  const { data } = study, single = study.variables.length === 1;
  let name = data.objectives[0], iteration = data.iterations ? data.iterations.value.length - 1 : -1, names = study.variables.map(v => v.name);
  if (data.importance && data.importance.variables) names = [...data.importance.variables].sort((a, b) => b.total - a.total).map(v => v.name).concat(names.filter(n => !data.importance.variables.some(v => v.name === n)));
  const bar = make('div', { class: 'bar' }, choice('show', plotted(study), name, value => { name = value; study.redraw(); })), grid = make('div', { class: single ? '' : 'small' });
  root.append(bar, grid);
  if (iteration > 0) {
    const slider = make('input', { type: 'range', min: 0, max: iteration, value: iteration, class: 'iterations', 'aria-label': 'iteration of the search' }), which = make('span', { class: 'which' });
    const tell = () => { which.textContent = `iteration ${iteration + 1} of ${Number(slider.max) + 1}`; };
    slider.oninput = () => { iteration = Number(slider.value); tell(); study.redraw(); };
    tell(); bar.append(slider, which);
    study.followIteration = last => { const at = iteration === Number(slider.max); slider.max = last; if (at) iteration = last; slider.value = iteration; tell(); };
  }
  for (const variable of names.slice(0, 12)) {
    new Chart(study, grid, {
      height: single ? 340 : 220, label: `Cost over ${variable}`, model: () => {
        const y = axisOf(study, name), k = study.variables.findIndex(v => v.name === variable), curves = study.data.iterations, model = study.data.model;
        const objective = name === 'cost';
        if (objective && single && curves && iteration >= 0) { // the part of the surrogate that is near the costs
          const span = y.high - y.low, near = curves.value[iteration].filter(v => v !== null && v > y.low - 0.5 * span && v < y.high + 0.3 * span);
          if (near.length) { y.low = Math.min(y.low, d3.min(near)); y.high = Math.max(y.high, d3.max(near)); }
        }
        return {
          x: axisOf(study, variable), y, xs: placed(study, variable), ys: study.columns.get(name), colour: single ? byStatus(study) : byRank(study), errors: name === 'cost',
          under: (pen, x, yy) => {
            const draw = (grid_, value, low, high) => {
              pen.fillStyle = styleOf('c1'); pen.globalAlpha = 0.16; band(pen, grid_, low, high, x, yy); pen.globalAlpha = 1;
              pen.strokeStyle = styleOf('c1'); pen.lineWidth = 1.8; line(pen, grid_, value, x, yy);
            };
            if (!objective) return;
            if (single && curves && iteration >= 0) {
              draw(curves.grid, curves.value[iteration], curves.lower[iteration], curves.upper[iteration]);
              const next = curves.next[iteration];
              if (next !== null) { pen.strokeStyle = styleOf('c2'); pen.lineWidth = 1.4; pen.setLineDash([4, 4]); pen.beginPath(); pen.moveTo(x(next), -10); pen.lineTo(x(next), 2000); pen.stroke(); pen.setLineDash([]); }
            } else if (model && model.slices[k] && study.variables[k].levels) levels(pen, model.slices[k], x, yy);
            else if (model && model.slices[k]) draw(model.slices[k].x, model.slices[k].median, model.slices[k].lower, model.slices[k].upper);
          },
        };
      },
    });
  }
  if (names.length > 12) root.append(make('p', { class: 'hint' }, `The first 12 of ${names.length} variables.`));
}

function pairs(study, root) {
  let names = study.variables.map(v => v.name);
  const all = names, found = study.data.importance && study.data.importance.variables;
  if (found) names = [...found].sort((a, b) => b.total - a.total).map(v => v.name);
  const grid = make('div', { class: all.length > 2 ? 'small' : '' }), shown = [];
  const contours = (pen, first, second, x, y) => {
    const model = study.data.model, i = all.indexOf(first), j = all.indexOf(second);
    const pair = model && model.pairs.find(p => (p.i === i && p.j === j) || (p.i === j && p.j === i));
    if (!pair) return;
    const median = unpacked(pair.median).map(row => row[0]), turned = pair.i !== i, n = pair.x.length, m = pair.y.length, finite = median.filter(Number.isFinite);
    if (!finite.length) return;
    const worst = d3.max(finite), values = median.map(v => Number.isFinite(v) ? v : worst), levels = d3.range(1, 9).map(k => d3.quantile([...finite].sort((a, b) => a - b), k / 9));
    const at = (list, k) => { const f = Math.max(0, Math.min(list.length - 1, k - 0.5)), a = Math.floor(f), b = Math.min(list.length - 1, a + 1); return list[a] + (f - a) * (list[b] - list[a]); };
    const to = d3.geoTransform({ point(u, v) { const px = at(pair.x, u), py = at(pair.y, v); this.stream.point(...(turned ? [x(py), y(px)] : [x(px), y(py)])); } });
    const path = d3.geoPath(to, pen);
    const [a, b, c, d] = turned ? [pair.y[0], pair.x[0], pair.y[m - 1], pair.x[n - 1]] : [pair.x[0], pair.y[0], pair.x[n - 1], pair.y[m - 1]];
    pen.save(); pen.beginPath(); pen.rect(x(a) + 1, y(d) + 1, x(c) - x(a) - 2, y(b) - y(d) - 2); pen.clip(); // contours close along the edges of the ranges
    pen.strokeStyle = styleOf('pale'); pen.lineWidth = 1; pen.globalAlpha = 0.8;
    for (const level of d3.contours().size([n, m]).thresholds(levels)(values)) { pen.beginPath(); path(level); pen.stroke(); }
    pen.restore();
  };
  const add = (parent, one, height) => shown.push(new Chart(study, parent, {
    height, label: `${one.x} and ${one.y}`, model: () => ({
      x: axisOf(study, one.x), y: axisOf(study, one.y), xs: placed(study, one.x), ys: placed(study, one.y), colour: byRank(study),
      under: (pen, x, y) => contours(pen, one.x, one.y, x, y),
    }),
  }));
  if (all.length > 4) {
    const one = { x: names[0], y: names[1] };
    root.append(make('div', { class: 'bar' }, choice('across', all, one.x, value => { one.x = value; study.redraw(); }), choice('up', all, one.y, value => { one.y = value; study.redraw(); })));
    grid.className = ''; root.append(grid);
    add(grid, one, 380);
  } else {
    root.append(grid);
    for (let j = 1; j < names.length; ++j) for (let i = 0; i < j; ++i) add(grid, { x: names[i], y: names[j] }, names.length === 2 ? 340 : 260);
  }
  root.append(rankKey());
}
function rankKey() {
  const key = make('div', { class: 'ranks', role: 'img', 'aria-label': 'colours of the rank, from the best to the worst' }), inner = make('span', { class: 'ramp' });
  inner.style.background = `linear-gradient(to right, ${d3.range(9).map(k => viridis(k / 8)).join(', ')})`;
  key.append('best ', inner, ' worst');
  return key;
}

function pareto(study, root) {
  const names = [...study.data.objectives];
  if (names.length > 2) root.append(make('div', { class: 'bar' }, choice('across', study.data.objectives, names[0], value => { names[0] = value; study.redraw(); }), choice('up', study.data.objectives, names[1], value => { names[1] = value; study.redraw(); })));
  new Chart(study, root, {
    height: 340, label: `Pareto front of ${study.data.objectives.join(', ')}`, model: () => {
      const xs = study.columns.get(names[0]), ys = study.columns.get(names[1]), status = byStatus(study), front = styleOf('c2');
      return {
        x: axisOf(study, names[0]), y: axisOf(study, names[1]), xs: xs.map((x, i) => Number.isFinite(ys[i]) ? x : NaN), ys, colour: i => study.front.has(study.ids[i]) ? front : status(i),
        under: (pen, x, y) => {
          if (study.data.objectives.length !== 2) return;
          const on = study.data.front.map(id => study.at.get(id)).sort((a, b) => xs[a] - xs[b]);
          pen.strokeStyle = front; pen.lineWidth = 1.5; pen.beginPath();
          on.forEach((i, k) => { if (k) pen.lineTo(x(xs[i]), y(ys[on[k - 1]])); pen.lineTo(x(xs[i]), y(ys[i])); });
          pen.stroke();
        },
      };
    },
  });
}

// A line per row across an axis per variable and objective. A brush along an axis selects.
function parallel(study, root) {
  const names = [...study.variables.map(v => v.name), ...study.data.objectives, ...study.data.constraints.map(c => c[0])].filter((name, k, all) => all.indexOf(name) === k && study.columns.has(name));
  const outer = make('div', { class: 'scroll across', tabindex: 0, role: 'region', 'aria-label': 'Parallel coordinates' }), height = 330, top = 46, foot = height - 26;
  const frame = make('div', { class: 'frame', tabindex: 0, role: 'application', 'aria-roledescription': 'chart', 'aria-label': 'Parallel coordinates. Arrow keys go from line to line by rank, the space bar selects.' });
  const canvas = make('canvas', { 'aria-hidden': 'true' }), svg = d3.create('svg').attr('aria-hidden', 'true').attr('focusable', 'false'), chosen = new Map();
  frame.append(canvas, svg.node()); outer.append(frame); root.append(outer, rankKey());
  let scales = [], x = null, order = [], shownSubset = undefined;
  const draw = () => {
    const width = Math.max(outer.clientWidth - 2, 96 * names.length);
    frame.style.width = width + 'px';
    x = d3.scalePoint().domain(names).range([50, width - 50]);
    scales = names.map(name => {
      const axis = axisOf(study, name);
      return { axis, column: placed(study, name), scale: (axis.log ? d3.scaleLog() : d3.scaleLinear()).domain([axis.low, axis.high]).range([foot, top]).clamp(true) };
    });
    const pen = sharp(canvas, width, height), colour = byRank(study), pale = styleOf('faint');
    const key = i => Number.isNaN(study.rank[i]) ? 2 : study.rank[i];
    order = d3.range(study.count).sort((a, b) => key(a) - key(b) || a - b);
    const trace = i => {
      pen.beginPath();
      let open = false;
      scales.forEach(({ column, scale }, k) => { const v = column[i]; if (Number.isFinite(v)) { if (open) pen.lineTo(x(names[k]), scale(v)); else pen.moveTo(x(names[k]), scale(v)); open = true; } else open = false; });
      pen.stroke();
    };
    const lines = [...order].reverse().sort((a, b) => study.shown(a) - study.shown(b));
    pen.lineWidth = study.count > 1000 ? 0.7 : 1.4;
    for (const i of lines) {
      pen.strokeStyle = study.shown(i) ? colour(i) : pale; pen.globalAlpha = study.count > 1000 ? 0.4 : 0.8;
      pen.setLineDash(study.violates(i) ? [8, 3] : Number.isNaN(study.rank[i]) ? [2, 3] : []);
      trace(i);
    }
    pen.setLineDash([]); pen.globalAlpha = 1;
    for (const [id, dash] of [[study.other, [5, 3]], [study.row, []]]) {
      const i = id === null ? undefined : study.at.get(id);
      if (i !== undefined) { pen.strokeStyle = styleOf('ink'); pen.lineWidth = 3; pen.setLineDash(dash); trace(i); pen.setLineDash([]); }
    }
    if (shownSubset !== study.subset && !study.brushing) chosen.clear();
    shownSubset = study.subset;
    svg.attr('width', width).attr('height', height).selectAll('*').remove();
    names.forEach((name, k) => {
      const group = svg.append('g').attr('transform', `translate(${x(name)},0)`), { axis, scale } = scales[k];
      const made = d3.axisRight(scale).ticks(5).tickFormat(axis.log ? null : tickText(scale, 5));
      if (axis.choices) made.tickValues(d3.range(axis.choices.length)).tickFormat(v => axis.choices[v]);
      if (axis.log) made.tickFormat((v, m) => m % 3 ? '' : short(v));
      group.append('g').attr('class', 'axis solid').call(made);
      group.append('text').attr('class', 'name').attr('text-anchor', 'middle').attr('y', k % 2 && width / names.length < 120 ? 34 : 16).text(fit(axis.label, 2 * width / names.length - 20)).append('title').text(axis.label);
      const brush = d3.brushY().extent([[-12, top], [12, foot]]).touchable(false).on('end', given => {
        const event = d3.event || given;
        if (!event.sourceEvent) return;
        if (event.selection) chosen.set(name, event.selection); else if (!chosen.delete(name)) return;
        const tests = [...chosen].map(([one, area]) => [scales[names.indexOf(one)], area]);
        study.brushing = true;
        study.select(tests.length ? study.ids.filter((_, i) => tests.every(([s, [a, b]]) => { const at = s.scale(s.column[i]); return at >= a && at <= b; })) : null);
        requestAnimationFrame(() => { study.brushing = false; });
      });
      const held = group.append('g').attr('class', 'brush').call(brush);
      if (chosen.has(name)) held.call(brush.move, chosen.get(name));
    });
  };
  frame.addEventListener('keydown', event => {
    const now = order.indexOf(study.at.get(study.row)), last = order.length - 1;
    const to = { ArrowRight: now + 1, ArrowDown: now + 1, ArrowLeft: now - 1, ArrowUp: now - 1, Home: 0, End: last }[event.key];
    if (to !== undefined) study.choose(study.ids[order[Math.max(0, Math.min(last, to))]]);
    else if (event.key === ' ') study.toggle(study.row);
    else if (event.key === 'Escape') study.select(null);
    else return;
    event.preventDefault();
  });
  svg.node().addEventListener('click', event => { // the line that passes nearest
    const box = frame.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top;
    let found = null, least = 12;
    for (const i of order) for (let k = 0; k + 1 < names.length; ++k) {
      const a = x(names[k]), b = x(names[k + 1]);
      if (px < a || px > b) continue;
      const p = scales[k].scale(scales[k].column[i]), q = scales[k + 1].scale(scales[k + 1].column[i]), away = Math.abs(p + (q - p) * (px - a) / (b - a) - py);
      if (away < least) { least = away; found = i; }
    }
    if (found !== null) study.choose(study.ids[found]);
  });
  study.add(outer, draw);
}
