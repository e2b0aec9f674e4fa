// The state of a page that report.py wrote: the rows of a study, which row is chosen, which are selected, and what shows them.
// charts.js draws the rows, scene.js the motions. `window.dodyn` lists the studies.

const make = (name, attributes = {}, ...children) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== false) node.setAttribute(key, value === true ? '' : value);
  node.append(...children);
  return node;
};
const short = (x, digits = 5) => x === null || !Number.isFinite(x) ? '-' : Math.abs(x) >= 1e6 || (x !== 0 && Math.abs(x) < 1e-4) ? x.toExponential(2) : String(Number(x.toPrecision(digits)));
const unitOf = unit => unit && unit !== '1' ? ' ' + unit : '';
const labelOf = quantity => quantity.name + (quantity.unit && quantity.unit !== '1' ? ` [${quantity.unit}]` : '');

// "1-3,7" of sorted numbers, and back.
function ranges(numbers) {
  const found = [];
  for (const n of numbers) {
    const last = found[found.length - 1];
    if (last && n === last[1] + 1) last[1] = n; else found.push([n, n]);
  }
  return found.map(([a, b]) => a === b ? `${a}` : `${a}-${b}`).join(',');
}
function numbersOf(text) {
  const found = [];
  for (const word of text.split(',')) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(word);
    if (match) for (let n = Number(match[1]); n <= Number(match[2] || match[1]) && found.length < 1e6; ++n) found.push(n);
  }
  return found;
}

class Study {
  constructor(article, number, data) {
    this.article = article; this.number = number; this.views = []; this.row = null; this.other = null; this.subset = null;
    this.take(data);
  }

  // New data of the same study. The chosen row and the selection stay.
  take(data) {
    this.data = data; this.variables = data.variables; this.metrics = data.metrics;
    const rows = data.rows;
    this.count = rows.id.length; this.ids = rows.id;
    this.at = new Map(rows.id.map((id, i) => [id, i]));
    const numbers = column => Float64Array.from(column, x => x === null ? NaN : x);
    this.cost = numbers(rows.cost); this.stderr = rows.stderr ? numbers(rows.stderr) : null;
    this.columns = new Map(); // every quantity by its name
    this.columns.set('cost', this.cost);
    data.variables.forEach((v, k) => this.columns.set(v.name, numbers(rows.design[k])));
    data.metrics.forEach((m, k) => { if (!this.columns.has(m.name)) this.columns.set(m.name, numbers(rows.metrics[k])); });
    for (const name of ['wall_time', 'rank', 'warm_start_id']) if (!this.columns.has(name)) this.columns.set(name, numbers(rows[name]));
    if (this.stderr && !this.columns.has('cost_stderr')) this.columns.set('cost_stderr', this.stderr);
    if (!this.columns.has('id')) this.columns.set('id', numbers(rows.id));
    this.front = new Set(data.front);
    const first = this.columns.get(data.objectives[0]);
    const order = d3.range(this.count).filter(i => Number.isFinite(first[i]) && rows.feasible[i]).sort((a, b) => first[a] - first[b]);
    this.rank = new Float64Array(this.count).fill(NaN); // of the feasible rows: 0 is the best, 1 the worst
    order.forEach((i, k) => { this.rank[i] = order.length > 1 ? k / (order.length - 1) : 0; });
    if (this.row !== null && !this.at.has(this.row)) this.row = null;
    if (this.row === null) this.row = data.best !== null ? data.best : data.front.length ? data.front[0] : this.count ? this.ids[0] : null;
  }

  status(i) { return this.data.statuses[this.data.rows.status[i]]; }
  feasible(i) { return this.data.rows.feasible[i] === 1; }
  violates(i) { return this.status(i) === 'ok' && !this.feasible(i); }
  reason(i) { return this.data.reasons[this.data.rows.reason[i]]; }
  shown(i) { return this.subset === null || this.subset.has(this.ids[i]); }
  quantity(name) { return [...this.variables, ...this.metrics].find(q => q.name === name) || { name, unit: name === 'wall_time' ? 's' : '' }; }
  value(variable, x, digits = 5) {
    if (variable.choices.length && variable.choices[x] !== undefined) return variable.choices[x];
    return short(x, digits) + unitOf(variable.unit);
  }
  design(i, digits) { return this.variables.map(v => `${v.name} = ${this.value(v, this.columns.get(v.name)[i], digits)}`).join(', '); }
  costText(i) {
    const error = this.stderr && this.stderr[i] > 0 ? ` ± ${short(this.stderr[i], 2)}` : '';
    return Number.isFinite(this.cost[i]) ? `cost ${short(this.cost[i], 6)}${error}` : 'no cost';
  }
  describe(i) {
    const others = this.data.objectives.filter(name => name !== 'cost').map(name => `${name} ${short(this.columns.get(name)[i])}${unitOf(this.quantity(name).unit)}`);
    const why = this.reason(i);
    return [`evaluation ${this.ids[i]}: ${this.status(i)}, ${this.costText(i)}`, ...others, this.design(i), ...(why ? [why] : [])];
  }

  choose(id, from) {
    if (!this.at.has(id)) return;
    this.row = id; this.followsBest = id === this.data.best; this.remember(); this.redraw();
    say(this.describe(this.at.get(id)).join('; '));
  }
  // The selection: ids, or null where nothing is selected.
  select(ids) {
    const known = ids === null ? [] : ids.filter(id => this.at.has(id)).sort((a, b) => a - b);
    this.subset = known.length ? new Set(known) : null;
    this.remember(); this.redraw();
    say(this.subset ? `${this.subset.size} of ${this.count} evaluations are selected` : 'nothing is selected');
  }
  toggle(id) {
    const next = new Set(this.subset || []);
    if (!next.delete(id)) next.add(id);
    this.select([...next]);
  }
  compare(id) { this.other = id; this.remember(); this.redraw(); }

  // The address of the page holds what is chosen: a link to it shows the same.
  remember() {
    const words = [];
    if (this.number) words.push(`study=${this.number}`);
    if (this.row !== null) words.push(`row=${this.row}`);
    if (this.other !== null) words.push(`with=${this.other}`);
    if (this.subset) words.push(`rows=${ranges([...this.subset])}`);
    const wanted = '#' + words.join('&');
    if (location.hash !== wanted) history.replaceState(history.state, '', wanted);
  }
  recall(words) {
    if (words.rows) { const known = numbersOf(words.rows).filter(id => this.at.has(id)); this.subset = known.length ? new Set(known) : null; } else this.subset = null;
    if (words.row !== undefined && this.at.has(Number(words.row))) this.row = Number(words.row);
    this.other = words.with !== undefined && this.at.has(Number(words.with)) ? Number(words.with) : null;
    this.redraw();
  }

  add(root, draw) {
    const view = { root, draw, stale: true, near: false };
    this.views.push(view);
    nearby.observe(root);
    root.view = view;
    return view;
  }
  redraw() {
    for (const view of this.views) view.stale = true;
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.refresh(); });
  }
  refresh() {
    for (const view of this.views) if (view.stale && view.near) { view.stale = false; view.draw(); }
  }

  csv() {
    const quote = text => /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
    const cell = x => Number.isFinite(x) ? String(x) : '';
    const head = ['id', ...this.variables.map(labelOf), 'cost', ...(this.stderr ? ['cost_stderr'] : []), ...this.metrics.map(m => labelOf(m)), 'status', 'wall_time [s]', 'reason'];
    const lines = [head.map(quote).join(',')];
    for (let i = 0; i < this.count; ++i) {
      if (!this.shown(i)) continue;
      const designs = this.variables.map((v, k) => { const x = this.columns.get(v.name)[i]; return v.choices.length ? quote(v.choices[x] || cell(x)) : cell(x); });
      const metrics = this.data.rows.metrics.map(column => column[i] === null ? '' : String(column[i]));
      lines.push([this.ids[i], ...designs, cell(this.cost[i]), ...(this.stderr ? [cell(this.stderr[i])] : []), ...metrics, this.status(i), cell(this.columns.get('wall_time')[i]), quote(this.reason(i))].join(','));
    }
    return lines.join('\n') + '\n';
  }

  // Ids of the rows that satisfy "knee < 0.4, status = failed"; throws a text where it cannot be read.
  matching(text) {
    const tests = text.split(/,|\band\b/).map(word => word.trim()).filter(Boolean).map(word => {
      const match = /^(.+?)\s*(<=|>=|!=|<|>|=|~)\s*(.+)$/.exec(word);
      if (!match) throw `${word}: expected a comparison, such as cost < 0.2`;
      const [, name, sign, wanted] = match, number = Number(wanted);
      if (name === 'status' || name === 'reason') {
        const value = name === 'status' ? i => this.status(i) : i => this.reason(i);
        if (sign === '=') return i => value(i) === wanted;
        if (sign === '!=') return i => value(i) !== wanted;
        if (sign === '~') return i => value(i).includes(wanted);
        throw `${word}: ${name} is a text; expected =, != or ~`;
      }
      const column = this.columns.get(name);
      if (!column) throw `${name}: no such column; there are ${[...this.columns.keys()].slice(0, 5).join(', ')}, status, reason`;
      const variable = this.variables.find(v => v.name === name), label = variable ? variable.choices.indexOf(wanted) : -1;
      const limit = label >= 0 ? label : number;
      if (Number.isNaN(limit)) throw `${wanted}: expected a number`;
      return { '<': i => column[i] < limit, '<=': i => column[i] <= limit, '>': i => column[i] > limit, '>=': i => column[i] >= limit,
        '=': i => column[i] === limit, '!=': i => column[i] !== limit, '~': () => false }[sign];
    });
    return this.ids.filter((_, i) => tests.every(test => test(i)));
  }
}

// Views are drawn when they come near the screen.
const nearby = new IntersectionObserver(entries => {
  for (const { target, isIntersecting } of entries) {
    const view = target.view;
    view.near = isIntersecting;
    if (isIntersecting && view.stale) { view.stale = false; view.draw(); }
  }
}, { rootMargin: '300px' });

let speaking = null;
function say(text) { // to screen readers, when the keys rest
  clearTimeout(speaking);
  speaking = setTimeout(() => { document.getElementById('said').textContent = text; }, 250);
}

// ---- the bar of what is chosen ----------------------------------------------------------------------------------------

function selectionBar(study, root) {
  const labelled = (sign, text) => make('button', { type: 'button', title: text }, make('span', { 'aria-hidden': 'true' }, sign), make('span', { class: 'unseen' }, text));
  const id = make('input', { type: 'number', min: 0, 'aria-label': 'evaluation', class: 'row-number' });
  const back = labelled('‹', 'previous evaluation'), on = labelled('›', 'next evaluation');
  const record = make('span', { class: 'record' }), filter = make('input', { type: 'text', placeholder: 'cost < 0.2, status = ok', 'aria-label': 'select by a filter', class: 'filter', spellcheck: 'false' });
  const clear = make('button', { type: 'button' }, 'clear'), save = make('button', { type: 'button', class: 'csv' }, 'CSV'), wrong = make('span', { class: 'refused', role: 'alert' });
  const tally = make('span', { class: 'tally' });
  const step = by => {
    const order = study.subset ? study.ids.filter(x => study.subset.has(x)) : study.ids, k = order.indexOf(study.row);
    study.choose(order[Math.max(0, Math.min(order.length - 1, (k < 0 ? 0 : k + by)))]);
  };
  back.onclick = () => step(-1); on.onclick = () => step(1);
  id.onchange = () => study.choose(Number(id.value));
  filter.onchange = () => {
    wrong.textContent = '';
    if (!filter.value.trim()) { study.select(null); return; }
    try {
      const found = study.matching(filter.value);
      if (found.length) study.select(found); else wrong.textContent = 'no evaluation fits';
    } catch (error) { wrong.textContent = String(error); }
  };
  clear.onclick = () => { filter.value = ''; wrong.textContent = ''; study.select(null); };
  save.onclick = () => {
    const link = make('a', { download: study.data.name + '.csv' });
    link.href = URL.createObjectURL(new Blob([study.csv()], { type: 'text/csv' }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  root.append(make('span', { class: 'group' }, make('span', { class: 'word' }, 'Evaluation'), back, id, on), record, make('span', { class: 'group grow' }, filter, clear, save), tally, wrong);
  study.add(root, () => {
    if (document.activeElement !== id) id.value = study.row === null ? '' : study.row;
    const i = study.at.get(study.row);
    record.textContent = i === undefined ? '' : `${study.status(i)}${study.violates(i) ? ' (violates a constraint)' : ''}, ${study.costText(i)}: ${study.design(i, 4)}`;
    tally.textContent = study.subset ? `${study.subset.size} of ${study.count} selected` : `${study.count} rows`;
    clear.disabled = !study.subset; save.setAttribute('aria-label', study.subset ? 'save the selected rows as CSV' : 'save all rows as CSV');
  });
}

// ---- tables --------------------------------------------------------------------------------------------------------------

// A table of rows of the study: a page of them at a time, sorted by a click on a head. `rows()` gives their indices.
function rowTable(study, root, columns, rows, pageSize) {
  let sort = columns[0], down = false, page = 0, followed = null;
  const head = make('tr'), body = make('tbody'), pager = make('div', { class: 'bar pager' });
  const scroll = make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': root.dataset.label }, make('table', { class: root.dataset.class || '' }, make('thead', {}, head), body));
  for (const column of columns) {
    const button = make('button', { type: 'button' }, column.label);
    const cell = make('th', { class: column.text ? '' : 'n', scope: 'col' }, button);
    if (column.title) button.title = column.title;
    button.onclick = () => { down = sort === column ? !down : false; sort = column; page = 0; followed = study.row; draw(); };
    column.cell = cell;
    head.append(cell);
  }
  const before = make('button', { type: 'button' }, 'previous'), after = make('button', { type: 'button' }, 'next'), where = make('span', { class: 'hint' });
  before.onclick = () => { --page; draw(); }; after.onclick = () => { ++page; draw(); };
  pager.append(before, where, after);
  root.append(scroll, pager);
  body.onclick = event => { const row = event.target.closest('tr'); if (row) { event.preventDefault(); followed = Number(row.dataset.id); study.choose(followed); } };
  const draw = () => {
    const wanted = rows(), key = i => sort.value(i);
    const order = (a, b) => { const x = key(a), y = key(b), p = typeof x === 'number' && Number.isNaN(x), q = typeof y === 'number' && Number.isNaN(y); return p - q || (x < y ? -1 : x > y ? 1 : 0) * (p ? 1 : down ? -1 : 1); };
    wanted.sort(order);
    if (followed !== study.row) { // to the page of the row that was chosen elsewhere
      const k = wanted.indexOf(study.at.get(study.row));
      if (k >= 0) page = Math.floor(k / pageSize);
      followed = study.row;
    }
    page = Math.max(0, Math.min(page, Math.ceil(wanted.length / pageSize) - 1));
    const there = wanted.slice(page * pageSize, (page + 1) * pageSize);
    body.replaceChildren(...there.map(i => {
      const row = make('tr', { 'data-id': study.ids[i], class: study.ids[i] === study.row ? 'chosen' : '', 'aria-current': study.ids[i] === study.row ? 'true' : null });
      for (const column of columns) {
        const text = column.show(i);
        const cell = make('td', { class: column.text ? (text.length > 24 ? 'wide' : '') : 'n' });
        cell.append(column.link ? make('a', { href: `#row=${study.ids[i]}` }, text) : text);
        row.append(cell);
      }
      return row;
    }));
    for (const column of columns) column.cell.setAttribute('aria-sort', column === sort ? (down ? 'descending' : 'ascending') : 'none');
    pager.style.display = wanted.length > pageSize ? '' : 'none';
    where.textContent = `${page * pageSize + 1} to ${Math.min(wanted.length, (page + 1) * pageSize)} of ${wanted.length}`;
    before.disabled = page === 0; after.disabled = (page + 1) * pageSize >= wanted.length;
  };
  study.add(root, draw);
}

const numberColumn = (study, name, label, digits, title) => {
  return { label, title, value: i => study.columns.get(name)[i], show: i => short(study.columns.get(name)[i], digits) };
};
function quantityColumns(study, names) {
  return names.map(name => {
    const q = study.quantity(name), variable = study.variables.find(v => v.name === name);
    if (variable && variable.choices.length) return { label: name, text: true, value: i => study.columns.get(name)[i], show: i => study.value(variable, study.columns.get(name)[i]) };
    return numberColumn(study, name, labelOf(q), 6, q.description);
  });
}
const idColumn = study => ({ label: 'id', link: true, value: i => study.ids[i], show: i => String(study.ids[i]) });

function evaluationsTable(study, root) {
  const metrics = study.metrics.map(m => m.name).filter(name => study.columns.has(name) && name !== 'cost' && !study.variables.some(v => v.name === name));
  const named = [...study.data.objectives.filter(name => name !== 'cost'), ...study.data.constraints.map(c => c[0])].filter(name => metrics.includes(name));
  const others = [...new Set([...named, ...metrics])];
  rowTable(study, root, [idColumn(study), ...quantityColumns(study, study.variables.map(v => v.name)), numberColumn(study, 'cost', 'cost', 8, study.data.cost),
    ...(study.stderr ? [numberColumn(study, 'cost_stderr', 'standard error', 3)] : []), ...quantityColumns(study, others),
    { label: 'status', text: true, value: i => study.status(i), show: i => study.status(i) }, numberColumn(study, 'wall_time', 'wall_time [s]', 3), numberColumn(study, 'rank', 'rank', 6),
    { label: 'reason', text: true, value: i => study.reason(i), show: i => study.reason(i) }],
  () => d3.range(study.count).filter(i => study.shown(i)), 50);
}

function frontTable(study, root) {
  rowTable(study, root, [...quantityColumns(study, study.data.objectives), ...quantityColumns(study, study.variables.map(v => v.name)), idColumn(study)],
    () => study.data.front.map(id => study.at.get(id)), 50);
}

function causes(study, root) {
  study.add(root, () => {
    const groups = new Map();
    for (let i = 0; i < study.count; ++i) {
      const why = study.reason(i), key = study.status(i) + '\n' + why.replace(/[-+]?[0-9][0-9.]*(e[-+]?[0-9]+)?/g, '#');
      if (!groups.has(key)) groups.set(key, { status: study.status(i), why, ids: [], alike: true });
      const group = groups.get(key);
      group.ids.push(study.ids[i]);
      if (why !== group.why) group.alike = false;
    }
    const found = [...groups.values()].sort((a, b) => (a.status !== 'ok') - (b.status !== 'ok') || b.ids.length - a.ids.length);
    root.replaceChildren(make('ul', { class: 'causes' }, ...found.slice(0, 40).map(({ status, why: first, ids, alike }) => {
      const why = first && !alike ? first + ', for one' : first;
      const bar = make('span', { class: 'share', 'aria-hidden': 'true' }), button = make('button', { type: 'button' }, `${ids.length}`);
      button.setAttribute('aria-label', `select the ${ids.length} evaluations: ${status}${why ? ', ' + why : ''}`);
      bar.style.width = `${Math.max(1, 100 * ids.length / study.count)}%`; bar.classList.add('is-' + status);
      button.onclick = () => study.select(ids);
      return make('li', {}, button, make('span', { class: 'cause' }, make('b', {}, status), why ? ' ' + why : '', bar));
    })));
    if (found.length > 40) root.append(make('p', { class: 'hint' }, `and ${found.length - 40} more causes`));
  });
}

function importanceBars(study, root) {
  const found = study.data.importance;
  if (!found.variables) { root.append(make('p', {}, found.reason)); return; }
  const order = [...found.variables].sort((a, b) => b.total - a.total);
  root.append(make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Importance' }, make('table', { class: 'importance' }, make('thead', {}, make('tr', {}, make('th', { scope: 'col' }, 'variable'), make('th', { scope: 'col' }, 'share of the variance'), make('th', { scope: 'col', class: 'n' }, 'total'), make('th', { scope: 'col', class: 'n' }, 'alone'))),
    make('tbody', {}, ...order.map(v => {
      const bar = make('span', { class: 'share' }), alone = make('span', { class: 'share alone' });
      bar.style.width = `${100 * Math.min(1, Math.max(0, v.total))}%`; alone.style.width = `${100 * Math.min(1, Math.max(0, v.first))}%`;
      return make('tr', {}, make('td', {}, v.name), make('td', { class: 'bars' }, bar, alone), make('td', { class: 'n' }, short(v.total, 2)), make('td', { class: 'n' }, short(v.first, 2)));
    })))), make('p', { class: 'hint' }, found.note));
}

// ---- the page ---------------------------------------------------------------------------------------------------------------

function section(study, parent, title, hint, wide) {
  const body = make('div', { class: 'body' });
  const part = make('section', { class: wide ? 'wide' : '' }, make('h2', {}, title), body);
  if (hint) part.append(make('p', { class: 'hint' }, hint));
  parent.append(part);
  return body;
}
function labelled(body, label, class_) {
  const root = make('div', { 'data-label': label, 'data-class': class_ || '' });
  body.append(root);
  return root;
}

function openStudy(article, number, data) {
  const study = new Study(article, number, data), views = article.querySelector('.views');
  selectionBar(study, article.querySelector('.selection'));
  const many = study.variables.length, hollow = data.constraints.length ? ' Hollow: it violates a constraint.' : '';
  const how = ' Arrow keys go from dot to dot, the space bar selects; drag to select several.';
  if (data.scene) new MotionView(study, section(study, views, draws(data.scene) ? 'Motion' : 'Over time', data.unplayed, true));
  if (data.starts) new StartsView(study, section(study, views, 'Initial states and outcomes', data.runScene ? 'Each dot is an initial state. Choose one to play its run.' : 'Each dot is an initial state. This archive does not hold the runs.', true));
  if (study.count || data.running) {
    if (data.objectives.length > 1) {
      const body = section(study, views, 'Pareto front', 'Line and table: the front, where no other design is better in every objective.' + hollow, true);
      pareto(study, body);
      frontTable(study, labelled(body, 'Pareto front', 'front'));
    }
    history_(study, section(study, views, 'History', 'Line: the lowest value up to there. Crosses: no value.' + hollow + how));
    if (many) slices(study, section(study, views, many === 1 ? 'Cost over the design' : 'Slices', (data.model || data.iterations ? `Line and band: the surrogate model${many > 1 ? ' through the recommended design' : ''}.` : '') + (data.iterations ? ' Dashed: the next design of the search.' : '') + hollow, many > 3));
    if (many > 1) {
      pairs(study, section(study, views, 'Pairs', (data.model && data.model.pairs.length ? 'Lines: contours of the surrogate model through the recommended design. ' : '') + 'Colour: rank of the cost.' + hollow, many > 2));
      parallel(study, section(study, views, 'Parallel coordinates', 'Drag along an axis to select. Colour: rank of the cost.', true));
      if (data.importance) importanceBars(study, section(study, views, 'Importance'));
    }
    causes(study, section(study, views, 'How evaluations ended', 'A count selects these evaluations.'));
    evaluationsTable(study, labelled(section(study, views, 'Evaluations', '', true), 'evaluations', 'evaluations'));
  }
  study.redraw();
  return study;
}

function wordsOfAddress() {
  return Object.fromEntries(location.hash.slice(1).split('&').map(word => word.split('=')).filter(pair => pair.length === 2));
}
function followAddress() {
  const words = wordsOfAddress(), study = window.dodyn.studies[Number(words.study || 0)];
  if (study) study.recall(words);
}

// The text of a node that holds base64 of gzipped text: a library, or the data of a study.
async function unfolded(node) {
  const bytes = Uint8Array.from(atob(node.textContent), c => c.charCodeAt(0));
  return await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
}

async function openPage() {
  const begun = performance.now();
  window.dodyn = { studies: [] };
  for (const node of document.querySelectorAll('script.library')) document.head.append(make('script', {}, await unfolded(node)));
  for (const [number, article] of document.querySelectorAll('article[id^=study-]').entries())
    window.dodyn.studies.push(openStudy(article, number, JSON.parse(await unfolded(document.getElementById(`data-${number}`)))));
  if (typeof follow === 'function') follow();
  followAddress();
  window.addEventListener('hashchange', followAddress);
  let width = innerWidth;
  window.addEventListener('resize', () => { if (innerWidth !== width) { width = innerWidth; for (const study of window.dodyn.studies) study.redraw(); } });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { for (const study of window.dodyn.studies) study.redraw(); });
  const { refresh } = document.documentElement.dataset;
  if (refresh) setTimeout(() => location.reload(), 1000 * refresh);
  await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
  window.dodyn.milliseconds = performance.now() - begun;
  document.documentElement.dataset.ready = '1';
}
