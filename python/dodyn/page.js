'use strict';
// Plays the motions of a page that report.py wrote. `window.dodyn` lists the players, for whoever wants to look.

const COLOURS = ['#1f6fb2', '#e07b1a', '#2a9d5c', '#c8324a', '#5e60ce', '#8c564b', '#17a2b8', '#7f7f7f'];
window.dodyn = [];

// [base64 of 16-bit integers, columns, offset and scale per column] as rows of numbers.
function unpacked(packed) {
  if (!packed) return null;
  const [text, columns, offset, scale] = packed;
  const raw = atob(text), count = raw.length / 2 / columns, rows = [];
  for (let r = 0, at = 0; r < count; ++r) {
    const row = new Float64Array(columns);
    for (let c = 0; c < columns; ++c, at += 2) {
      let k = raw.charCodeAt(at) | (raw.charCodeAt(at + 1) << 8);
      if (k > 32767) k -= 65536;
      row[c] = k === -32768 ? NaN : offset[c] + (k + 32767) * scale[c];
    }
    rows.push(row);
  }
  return rows;
}

// A view: which way is right, up and away.
const VIEWS = { side: [0, 0], front: [Math.PI / 2, 0], top: [0, Math.PI / 2], orbit: [-0.6, 0.35] };
function camera(dimension, yaw, pitch) {
  if (dimension === 2) return { right: [1, 0], up: [0, 1], away: [0, 0] };
  const c = Math.cos(yaw), s = Math.sin(yaw), C = Math.cos(pitch), S = Math.sin(pitch);
  return { right: [c, s, 0], up: [-s * S, c * S, C], away: [-s * C, c * C, -S] };
}
const dot = (a, b) => { let sum = 0; for (let i = 0; i < a.length; ++i) sum += a[i] * b[i]; return sum; };

function rotated(dimension, attitude, v) {
  if (dimension === 2) {
    const c = Math.cos(attitude[0]), s = Math.sin(attitude[0]);
    return [c * v[0] - s * v[1], s * v[0] + c * v[1]];
  }
  let [w, x, y, z] = attitude;
  const n = Math.hypot(w, x, y, z) || 1;
  w /= n; x /= n; y /= n; z /= n;
  const t = [2 * (y * v[2] - z * v[1]), 2 * (z * v[0] - x * v[2]), 2 * (x * v[1] - y * v[0])];
  return [v[0] + w * t[0] + y * t[2] - z * t[1], v[1] + w * t[1] + z * t[0] - x * t[2], v[2] + w * t[2] + x * t[1] - y * t[0]];
}

function sharp(canvas) { // a canvas at the resolution of the screen: its context, width and height in CSS pixels
  const ratio = window.devicePixelRatio || 1, height = Number(canvas.dataset.height || (canvas.dataset.height = canvas.height));
  const width = canvas.clientWidth || 600;
  canvas.style.height = height + 'px';
  if (canvas.width !== Math.round(width * ratio)) { canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio); }
  const pen = canvas.getContext('2d');
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { pen, width, height };
}

function ticks(low, high, about) {
  if (!(high > low)) return [low];
  const raw = (high - low) / about, ten = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map(f => f * ten).find(s => s >= raw), found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k) found.push(k * step);
  return found;
}
const short = x => Number.isFinite(x) ? String(Number(x.toPrecision(4))) : '-';

// Draws and plays one motion. `set(motion)` gives it another one of the same scene.
class Player {
  constructor(root, scene) {
    this.root = root; this.scene = scene; this.dimension = scene.dimension;
    const find = name => root.querySelector('.' + name);
    this.stage = find('stage'); this.slider = find('at'); this.button = find('play'); this.clock = find('time');
    this.speed = find('speed'); this.view = find('view'); this.graph = find('graph'); this.choice = find('series');
    this.time = 0; this.step = 0; this.playing = false; this.frames = 0;
    [this.yaw, this.pitch] = VIEWS.side;
    for (const s of [64, 32, 16, 8, 4, 2, 1, 0.5, 0.25, 0.1, 0.02]) this.speed.add(new Option('× ' + s, s));
    if (this.dimension === 2) root.querySelector('.views').style.display = 'none';
    this.view.onchange = () => { [this.yaw, this.pitch] = VIEWS[this.view.value]; this.draw(); };
    this.button.onclick = () => this.play(!this.playing);
    this.slider.oninput = () => { this.play(false); this.seek(this.start + this.slider.value / 1000 * (this.end - this.start)); };
    this.stage.onpointerdown = e => { this.held = [e.clientX, e.clientY]; this.stage.setPointerCapture(e.pointerId); };
    this.stage.onpointerup = () => { this.held = null; };
    this.stage.onpointermove = e => {
      if (!this.held || this.dimension === 2) return;
      this.yaw -= (e.clientX - this.held[0]) * 0.01;
      this.pitch = Math.max(-1.57, Math.min(1.57, this.pitch + (e.clientY - this.held[1]) * 0.01));
      this.held = [e.clientX, e.clientY]; this.view.value = 'orbit'; this.draw();
    };
    if (this.graph) {
      scene.series.forEach(([name, unit], k) => this.choice.add(new Option(name + (unit && unit !== '1' ? ' [' + unit + ']' : ''), k)));
      if (!scene.series.length) root.querySelector('.graph-part').style.display = 'none';
      this.choice.onchange = () => { this.legend(); this.draw(); };
      this.graph.onpointerdown = e => { this.play(false); this.seek(this.timeAt(e)); this.scrub = true; };
      this.graph.onpointermove = e => { if (this.scrub) this.seek(this.timeAt(e)); };
      window.addEventListener('pointerup', () => { this.scrub = false; });
    }
    window.addEventListener('resize', () => this.draw());
    window.dodyn.push(this);
  }

  set(motion) {
    this.t = unpacked(motion.t).map(row => row[0]);
    this.points = unpacked(motion.points);
    this.forces = (motion.forces || []).map(unpacked);
    this.positions = unpacked(motion.positions); this.attitudes = unpacked(motion.attitudes);
    this.shapes = motion.shapes || []; this.series = (motion.series || []).map(unpacked); this.stride = motion.stride;
    this.start = this.t[0]; this.end = this.t[this.t.length - 1];
    const length = this.end - this.start, wanted = length > 12 ? length / 8 : length < 0.4 ? length / 2 : length < 3 && this.stride ? 0.5 : 1;
    if (!this.chosen) this.speed.value = [...this.speed.options].map(o => Number(o.value)).reduce((a, b) => Math.abs(Math.log(b / wanted)) < Math.abs(Math.log(a / wanted)) ? b : a);
    this.speed.onchange = () => { this.chosen = true; };
    this.step = 0; this.frame(); this.legend(); this.seek(this.start);
  }

  // What there is to see: box of all places, longest force.
  frame() {
    const d = this.dimension, low = Array(d).fill(Infinity), high = Array(d).fill(-Infinity);
    const meet = p => { for (let i = 0; i < d; ++i) if (Number.isFinite(p[i])) { low[i] = Math.min(low[i], p[i]); high[i] = Math.max(high[i], p[i]); } };
    for (const row of this.points || []) for (let k = 0; k < row.length; k += d) meet(row.slice(k, k + d));
    let radius = 0;
    if (this.positions) {
      const reach = this.scene.bodies.map(() => 0);
      this.shapes.forEach((corners, s) => {
        const body = this.scene.shapes[s][0];
        for (let k = 0; k < corners.length; k += d) reach[body] = Math.max(reach[body], Math.hypot(...corners.slice(k, k + d)));
      });
      const moves = this.scene.bodies.map((_, b) => this.positions.some(row => { for (let i = 0; i < d; ++i) if (Math.abs(row[b * d + i] - this.positions[0][b * d + i]) > 1e-9) return true; return false; }));
      this.still = moves.map(moving => !moving && moves.some(Boolean));
      const some = moves.some(Boolean), moving = reach.filter((_, b) => moves[b] && reach[b] > 0);
      const large = moving.length ? 4 * Math.max(...moving) : Infinity; // a floor is drawn, but does not set the scale
      for (const row of this.positions) for (let b = 0; b < this.scene.bodies.length; ++b)
        if (!some || moves[b] || reach[b] <= large) {
          const at = row.slice(b * d, b * d + d), r = reach[b] || 0;
          meet(at.map(x => x - r)); meet(at.map(x => x + r));
        }
    }
    this.low = low.map(x => Number.isFinite(x) ? x : 0); this.high = high.map((x, i) => Number.isFinite(x) ? x : this.low[i] + 1);
    this.size = Math.max(...this.high.map((x, i) => x - this.low[i]), 1e-9);
    this.greatest = Math.max(1e-12, ...this.forces.flatMap(f => f.map(row => Math.hypot(...row.map(x => x || 0)))));
  }

  // Rows before and after a time, and the share of the second.
  bracket(time, rows) {
    let k = 0;
    while (k + 2 < this.t.length && this.t[k + 1] <= time) ++k;
    const span = this.t[k + 1] - this.t[k], w = span > 0 ? Math.min(1, Math.max(0, (time - this.t[k]) / span)) : 0;
    return [Math.min(k, rows - 1), Math.min(k + 1, rows - 1), w];
  }
  at(rows, time) {
    const [a, b, w] = this.bracket(time, rows.length);
    return Array.from(rows[a], (x, i) => (1 - w) * x + w * rows[b][i]);
  }

  play(on) {
    if (this.playing === on) return;
    this.playing = on; this.button.textContent = on ? 'Pause' : 'Play'; this.button.classList.toggle('on', on);
    if (on) { if (!this.stride && this.time >= this.end) this.time = this.start; this.last = null; requestAnimationFrame(now => this.tick(now)); }
  }
  tick(now) {
    if (!this.playing) return;
    if (this.last !== null) {
      let time = this.time + Math.min(100, now - this.last) / 1000 * Number(this.speed.value);
      while (time > this.end) {
        if (this.end <= this.start) { time = this.start; break; }
        time -= this.end - this.start; ++this.step;
      }
      ++this.frames; this.seek(time);
    }
    this.last = now;
    requestAnimationFrame(next => this.tick(next));
  }
  seek(time) {
    this.time = Math.min(this.end, Math.max(this.start, time));
    this.slider.value = this.end > this.start ? Math.round(1000 * (this.time - this.start) / (this.end - this.start)) : 0;
    this.clock.textContent = short(this.time) + ' of ' + short(this.end) + ' s';
    this.draw();
  }

  // The points of step number `step` at a time: steps of a gait follow each other, names exchanged.
  stepped(points, step) {
    if (!this.stride) return points;
    const d = this.dimension, [order, shift, mirrored] = this.stride;
    let now = points;
    for (let s = 0; s < step; ++s) {
      // mirrored steps undo each other, plain ones add up
      now = now.map(p => p.map((x, i) => (mirrored && i === 1 ? -x : x) + shift[i]));
    }
    return now;
  }
  // Legs keep their colours though they change names: the two ends of the chain take turns.
  whose(point, step) {
    let k = point;
    if (this.stride) for (let s = 0; s < step % 2; ++s) k = this.stride[0][k];
    return k;
  }

  draw() {
    if (!this.t) return;
    const { pen, width, height } = sharp(this.stage), d = this.dimension, view = camera(d, this.yaw, this.pitch);
    pen.fillStyle = '#fbfcfe'; pen.fillRect(0, 0, width, height);
    const low = this.low.slice(), high = this.high.slice();
    const travelled = this.stride ? this.stepped([Array(d).fill(0)], this.step % 1000)[0] : Array(d).fill(0);
    if (this.stride) { // the camera goes with the walker
      const w = (this.time - this.start) / (this.end - this.start || 1), shift = this.stride[1];
      for (let i = 0; i < d; ++i) {
        const move = this.stride[2] && i === 1 ? 0 : (this.step % 1000 + w - 0.5) * shift[i];
        low[i] += move; high[i] += move;
      }
      low[0] -= 0.4 * this.size; high[0] += 0.4 * this.size;
      if (d === 3) { const half = 0.5 * Math.max(0.6 * this.size, high[1] - low[1]), mid = 0.5 * (this.low[1] + this.high[1]); low[1] = mid - half; high[1] = mid + half; }
    }
    const middle = low.map((x, i) => 0.5 * (x + high[i]));
    let across = 1e-9, tall = 1e-9;
    for (let corner = 0; corner < 1 << d; ++corner) {
      const p = middle.map((m, i) => (corner >> i & 1 ? high[i] : low[i]) - m);
      across = Math.max(across, Math.abs(dot(p, view.right))); tall = Math.max(tall, Math.abs(dot(p, view.up)));
    }
    const scale = Math.min((width - 60) / 2 / across, (height - 60) / 2 / tall);
    const project = p => { const q = p.map((x, i) => x - middle[i]); return [width / 2 + scale * dot(q, view.right), height / 2 - scale * dot(q, view.up), dot(q, view.away)]; };
    this.grid(pen, width, height, middle, scale, view);

    const jobs = []; // [distance, how to draw]: what is far is drawn first
    if (this.positions) this.bodies(pen, project, view, jobs);
    if (this.points) this.skeleton(pen, project, jobs, travelled);
    jobs.sort((a, b) => b[0] - a[0]);
    for (const [, job] of jobs) job();
    this.ruler(pen, height, scale);
    this.plot();
  }

  grid(pen, width, height, middle, scale, view) {
    pen.strokeStyle = '#e6ebf1'; pen.lineWidth = 1; pen.beginPath();
    const upright = this.dimension === 2 ? 1 : 2;
    if (this.dimension === 2 || Math.abs(view.up[2]) > 0.999) { // a vertical plane: lines at round places, the ground where there is one
      const right = this.dimension === 2 ? 0 : Math.abs(view.right[0]) > 0.5 ? 0 : 1, sign = view.right[right] > 0 ? 1 : -1;
      const step = ticks(0, Math.max(width, height) / scale, 10)[1] || 1;
      const from = middle[right] - width / 2 / scale, to = middle[right] + width / 2 / scale;
      for (let k = Math.ceil(from / step); k * step <= to; ++k) { const x = width / 2 + sign * scale * (k * step - middle[right]); pen.moveTo(x, 0); pen.lineTo(x, height); }
      const bottom = middle[upright] - height / 2 / scale, top = middle[upright] + height / 2 / scale;
      for (let k = Math.ceil(bottom / step); k * step <= top; ++k) { const y = height / 2 - scale * (k * step - middle[upright]); pen.moveTo(0, y); pen.lineTo(width, y); }
      pen.stroke();
      if (this.points && this.forces.length) { pen.strokeStyle = '#8796a5'; pen.lineWidth = 1.5; pen.beginPath(); const y = height / 2 + scale * middle[upright]; pen.moveTo(0, y); pen.lineTo(width, y); pen.stroke(); }
      return;
    }
    const step = ticks(0, 2 * this.size, 8)[1] || 1, ground = this.points ? 0 : this.low[2];
    const x0 = Math.floor((middle[0] - 1.5 * this.size) / step), x1 = Math.ceil((middle[0] + 1.5 * this.size) / step);
    const y0 = Math.floor((middle[1] - 1.5 * this.size) / step), y1 = Math.ceil((middle[1] + 1.5 * this.size) / step);
    const place = (x, y) => { const q = [x - middle[0], y - middle[1], ground - middle[2]]; return [width / 2 + scale * dot(q, view.right), height / 2 - scale * dot(q, view.up)]; };
    for (let i = x0; i <= x1; ++i) { pen.moveTo(...place(i * step, y0 * step)); pen.lineTo(...place(i * step, y1 * step)); }
    for (let j = y0; j <= y1; ++j) { pen.moveTo(...place(x0 * step, j * step)); pen.lineTo(...place(x1 * step, j * step)); }
    pen.stroke();
  }

  ruler(pen, height, scale) {
    const most = 140 / scale, ten = Math.pow(10, Math.floor(Math.log10(most))), length = [5, 2, 1].map(f => f * ten).find(x => x <= most);
    pen.strokeStyle = pen.fillStyle = '#5b6b7c'; pen.lineWidth = 2; pen.font = '12px system-ui, sans-serif';
    pen.beginPath(); pen.moveTo(14, height - 14); pen.lineTo(14 + length * scale, height - 14); pen.stroke();
    pen.fillText(short(length) + ' m', 16, height - 20);
  }

  bodies(pen, project, view, jobs) {
    const d = this.dimension, turn = d === 2 ? 1 : 4, at = this.at(this.positions, this.time), attitude = this.at(this.attitudes, this.time);
    const place = (b, v) => { const r = rotated(d, attitude.slice(b * turn, b * turn + turn), v); return r.map((x, i) => x + at[b * d + i]); };
    this.shapes.forEach((corners, s) => {
      const [body, faces] = this.scene.shapes[s], world = [];
      for (let k = 0; k < corners.length; k += d) world.push(place(body, corners.slice(k, k + d)));
      for (const ring of faces) {
        const flat = ring.map(k => project(world[k]));
        if (d === 3) { // faces that look away are hidden: bodies are convex and solid
          let area = 0;
          flat.forEach((p, k) => { const q = flat[(k + 1) % flat.length]; area += p[0] * q[1] - q[0] * p[1]; });
          if (area >= 0) continue;
        }
        const depth = flat.reduce((sum, p) => sum + p[2], 0) / flat.length;
        const wide = Math.max(...flat.map(p => Math.hypot(p[0] - flat[0][0], p[1] - flat[0][1]))) > 3000;
        jobs.push([wide ? 1e9 : depth, () => {
          pen.beginPath(); flat.forEach((p, k) => k ? pen.lineTo(p[0], p[1]) : pen.moveTo(p[0], p[1])); pen.closePath();
          pen.globalAlpha = d === 2 ? 0.75 : 0.92; pen.fillStyle = this.shade(body, world, ring); pen.fill();
          pen.globalAlpha = 1; pen.strokeStyle = '#243240'; pen.lineWidth = 1; pen.stroke();
        }]);
      }
    });
    if (!this.shapes.length) this.scene.bodies.forEach((_, b) => { // no shapes in the archive: a mark with its attitude
      const p = project(at.slice(b * d, b * d + d)), q = project(place(b, d === 2 ? [0.05 * this.size, 0] : [0.05 * this.size, 0, 0]));
      jobs.push([p[2], () => {
        pen.fillStyle = pen.strokeStyle = COLOURS[b % COLOURS.length]; pen.lineWidth = 2;
        pen.beginPath(); pen.arc(p[0], p[1], 6, 0, 7); pen.fill(); pen.beginPath(); pen.moveTo(p[0], p[1]); pen.lineTo(q[0], q[1]); pen.stroke();
      }]);
    });
  }
  shade(body, world, ring) {
    const colour = this.still[body] ? '#b9c4cf' : COLOURS[body % COLOURS.length]; // what never moves is grey
    if (this.dimension === 2) return colour;
    const [a, b, c] = [0, 1, 2].map(k => world[ring[k]]), u = b.map((x, i) => x - a[i]), v = c.map((x, i) => x - a[i]);
    const n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]], length = Math.hypot(...n) || 1;
    const light = 0.62 + 0.38 * Math.max(0, dot(n.map(x => x / length), [-0.4, -0.5, 0.77]));
    return '#' + [1, 3, 5].map(k => Math.round(Math.min(255, parseInt(colour.slice(k, k + 2), 16) * light + 40 * light)).toString(16).padStart(2, '0')).join('');
  }

  skeleton(pen, project, jobs) {
    const d = this.dimension, row = this.at(this.points, this.time), points = [];
    for (let k = 0; k < row.length; k += d) points.push(row.slice(k, k + d));
    const step = this.step % 1000, now = this.stepped(points, step), middle = (points.length - 1) / 2;
    const ghost = this.stride ? [this.start, this.start + 0.5 * (this.end - this.start)] : [];
    for (const time of ghost) { // where it was, pale
      const old = this.at(this.points, time), then = [];
      for (let k = 0; k < old.length; k += d) then.push(old.slice(k, k + d));
      const flat = this.stepped(then, step).map(project);
      jobs.push([1e8, () => { pen.strokeStyle = '#e1e7ee'; pen.lineWidth = 4; pen.lineCap = 'round'; pen.beginPath(); for (const [a, b] of this.scene.segments) { pen.moveTo(flat[a][0], flat[a][1]); pen.lineTo(flat[b][0], flat[b][1]); } pen.stroke(); }]);
    }
    const flat = now.map(project);
    for (const [a, b] of this.scene.segments) {
      const side = (this.whose(a, step) + this.whose(b, step)) / 2 - middle;
      const colour = !this.stride ? COLOURS[0] : Math.abs(side) < 1e-9 ? '#46535f' : side < 0 ? COLOURS[0] : COLOURS[1];
      jobs.push([(flat[a][2] + flat[b][2]) / 2, () => {
        pen.strokeStyle = colour; pen.lineWidth = 6; pen.lineCap = 'round';
        pen.beginPath(); pen.moveTo(flat[a][0], flat[a][1]); pen.lineTo(flat[b][0], flat[b][1]); pen.stroke();
      }]);
    }
    flat.forEach(p => jobs.push([p[2] - 1e-3 * this.size, () => { pen.fillStyle = '#1d2733'; pen.beginPath(); pen.arc(p[0], p[1], 4, 0, 7); pen.fill(); }]));
    this.forces.forEach((force, f) => {
      const value = this.at(force, this.time).map((x, i) => this.stride && this.stride[2] && i === 1 && step % 2 ? -x : x);
      if (value.some(x => !Number.isFinite(x))) return;
      const foot = now[this.scene.forces[f]], tip = foot.map((x, i) => x + value[i] / this.greatest * 0.35 * this.size);
      const p = project(foot), q = project(tip), length = Math.hypot(q[0] - p[0], q[1] - p[1]);
      jobs.push([-1e8, () => {
        if (length < 2) return;
        const u = [(q[0] - p[0]) / length, (q[1] - p[1]) / length];
        pen.strokeStyle = pen.fillStyle = '#c8324a'; pen.lineWidth = 2.5;
        pen.beginPath(); pen.moveTo(p[0], p[1]); pen.lineTo(q[0] - 6 * u[0], q[1] - 6 * u[1]); pen.stroke();
        pen.beginPath(); pen.moveTo(q[0], q[1]); pen.lineTo(q[0] - 9 * u[0] + 4 * u[1], q[1] - 9 * u[1] - 4 * u[0]); pen.lineTo(q[0] - 9 * u[0] - 4 * u[1], q[1] - 9 * u[1] + 4 * u[0]); pen.fill();
      }]);
    });
  }

  // ---- the graph below -----------------------------------------------------------------------------------------
  legend() {
    if (!this.graph || !this.scene.series.length) return;
    const [, , names, , description] = this.scene.series[this.choice.value || 0];
    const box = this.root.querySelector('.graph-part .legend');
    box.replaceChildren(...names.map((name, k) => {
      const item = document.createElement('span'), key = document.createElement('span');
      key.className = 'key'; key.style.background = COLOURS[k % COLOURS.length];
      item.append(key, name.replaceAll('_', ' ')); return item;
    }));
    box.title = description;
  }
  timeAt(event) {
    const box = this.graph.getBoundingClientRect();
    return this.start + (event.clientX - box.left - 60) / (box.width - 74) * (this.end - this.start);
  }
  plot() {
    if (!this.graph || !this.scene.series.length) return;
    const which = Number(this.choice.value || 0), rows = this.series[which], stairs = this.scene.series[which][3];
    const { pen, width, height } = sharp(this.graph), left = 60, right = 14, top = 8, bottom = 24;
    pen.fillStyle = '#fff'; pen.fillRect(0, 0, width, height);
    let low = Infinity, high = -Infinity;
    for (const row of rows) for (const x of row) if (Number.isFinite(x)) { low = Math.min(low, x); high = Math.max(high, x); }
    if (!(high > low)) { const pad = Math.abs(low) * 0.1 || 1; low = (Number.isFinite(low) ? low : 0) - pad; high = low + 2 * pad; }
    const X = t => left + (t - this.start) / (this.end - this.start || 1) * (width - left - right), Y = v => height - bottom - (v - low) / (high - low) * (height - top - bottom);
    pen.font = '12px system-ui, sans-serif'; pen.fillStyle = '#5b6b7c'; pen.strokeStyle = '#edf1f5'; pen.lineWidth = 1;
    pen.textAlign = 'right'; for (const v of ticks(low, high, 6)) { pen.beginPath(); pen.moveTo(left, Y(v)); pen.lineTo(width - right, Y(v)); pen.stroke(); pen.fillText(short(v), left - 6, Y(v) + 4); }
    pen.textAlign = 'center'; for (const t of ticks(this.start, this.end, 8)) pen.fillText(short(t) + ' s', X(t), height - 7);
    pen.textAlign = 'left';
    for (let c = 0; c < rows[0].length; ++c) {
      pen.strokeStyle = COLOURS[c % COLOURS.length]; pen.lineWidth = 1.6; pen.beginPath();
      let pen_down = false;
      rows.forEach((row, k) => {
        if (!Number.isFinite(row[c])) { pen_down = false; return; }
        if (pen_down) pen.lineTo(X(this.t[k]), Y(row[c])); else pen.moveTo(X(this.t[k]), Y(row[c]));
        if (stairs) pen.lineTo(X(this.t[k + 1]), Y(row[c]));
        pen_down = true;
      });
      pen.stroke();
    }
    pen.strokeStyle = '#1d2733'; pen.lineWidth = 1; pen.beginPath(); pen.moveTo(X(this.time), top); pen.lineTo(X(this.time), height - bottom); pen.stroke();
  }
}

// The map of a design's starts; a click plays a run.
class StartMap {
  constructor(root, data) {
    this.root = root; this.data = data; this.svg = root.querySelector('.map');
    this.player = data.runScene ? new Player(root, data.runScene) : null;
    window.dodynMaps = (window.dodynMaps || []).concat(this);
  }
  set(id) {
    const runs = this.data.runs[id];
    this.svg.replaceChildren(); this.runs = runs;
    if (!runs) return;
    const at = this.data.starts;
    const xs = at.map(p => p[0]).concat(0), ys = at.map(p => p[1]).concat(0), size = 460;
    const low = [Math.min(...xs), Math.min(...ys)], high = [Math.max(...xs), Math.max(...ys)];
    const scale = (size - 40) / Math.max(high[0] - low[0], high[1] - low[1], 1e-9);
    const place = p => [20 + (p[0] - low[0]) * scale, 20 + (high[1] - p[1]) * scale];
    const make = (name, attributes) => { const node = document.createElementNS('http://www.w3.org/2000/svg', name); for (const k in attributes) node.setAttribute(k, attributes[k]); return node; };
    this.svg.setAttribute('viewBox', `0 0 ${(high[0] - low[0]) * scale + 40} ${(high[1] - low[1]) * scale + 40}`);
    if (runs.motions && this.data.runScene.dimension === 2 && this.data.runScene.bodies.length > 1) { // who waits
      const still = unpacked(runs.motions[0][1])[0], turn = unpacked(runs.motions[0][2])[0];
      runs.shapes.forEach((corners, s) => {
        if (this.data.runScene.shapes[s][0] !== 0) return;
        const ring = this.data.runScene.shapes[s][1][0].map(k => { const r = rotated(2, [turn[0]], corners.slice(2 * k, 2 * k + 2)); return place([r[0] + still[0], r[1] + still[1]]).join(' '); });
        this.svg.append(make('polygon', { points: ring.join(' '), fill: '#cfd8e1', stroke: '#5b6b7c' }));
      });
    }
    at.forEach((p, k) => {
      const [x, y] = place(p), [name, colour] = this.data.outcomes[runs.outcome[k]] || ['?', '#000'];
      const dot = make('circle', { cx: x, cy: y, r: 5, fill: colour, class: 'pick', 'data-start': k });
      const title = make('title', {}); title.textContent = `start ${k + 1}: ${name} after ${runs.seconds[k]} s`; dot.append(title);
      dot.onclick = () => this.choose(k, true);
      this.svg.append(dot);
    });
    const seen = {}; runs.outcome.forEach(k => { seen[k] = (seen[k] || 0) + 1; });
    this.root.querySelector('.legend').replaceChildren(...Object.keys(seen).map(k => {
      const item = document.createElement('span'), key = document.createElement('span'), [name, colour] = this.data.outcomes[k] || ['?', '#000'];
      key.className = 'key'; key.style.background = colour; item.append(key, `${name} ${seen[k]}`); return item;
    }));
    this.choose(0, false);
  }
  choose(k, play) {
    this.svg.querySelectorAll('.chosen').forEach(node => node.classList.remove('chosen'));
    const dot = this.svg.querySelector(`[data-start="${k}"]`); if (dot) dot.classList.add('chosen');
    this.start = k;
    if (!this.player || !this.runs.motions) return;
    const [t, positions, attitudes] = this.runs.motions[k];
    this.player.play(false); this.player.set({ t, positions, attitudes, shapes: this.runs.shapes });
    this.player.play(play);
  }
}

function open_study(article, data) {
  const listeners = [], byId = new Map(data.evaluations.map(e => [e[0], e]));
  const choices = [...article.querySelectorAll('.choice')];
  const choose = id => {
    article.querySelectorAll('[data-id].chosen').forEach(node => node.classList.remove('chosen'));
    article.querySelectorAll(`[data-id="${id}"]`).forEach(node => node.classList.add('chosen'));
    const [, design, cost, status, error] = byId.get(id);
    article.querySelectorAll('.record').forEach(node => { node.textContent = `${status}; cost ${cost === null ? '-' : cost}${error ? ' ± ' + error : ''}; ${design}`; });
    for (const listener of listeners) listener(id);
  };
  const part = article.querySelector('.player');
  if (part) {
    const player = new Player(part, data.scene);
    const scenario = part.querySelector('.scenario');
    for (const name of data.scenarios) scenario.add(new Option(name, name));
    part.querySelector('.scenarios').style.display = data.scenarios.length > 1 ? '' : 'none';
    let shown = null;
    const show = id => {
      const motion = (data.others[scenario.value] || data.motions)[id];
      if (!motion) return;
      const on = player.playing;
      player.play(false); player.set(motion); part.querySelector('.choice').value = shown = id; player.play(on);
    };
    scenario.onchange = () => show(shown);
    listeners.push(show);
  }
  const map = article.querySelector('.map-part');
  if (map) { const starts = new StartMap(map, data); listeners.push(id => { if (data.runs[id]) { starts.set(id); map.querySelector('.choice').value = id; } }); }
  for (const choice of choices) {
    const there = choice.closest('.player') ? data.motions : data.runs;
    for (const [id, design] of data.evaluations) if (there[id]) choice.add(new Option(`${id}${data.marks[id] ? ` (${data.marks[id]})` : ''}: ${design}`, id));
    choice.onchange = () => choose(Number(choice.value));
  }
  article.addEventListener('click', event => {
    const node = event.target.closest('[data-id]');
    if (node) choose(Number(node.dataset.id));
  });
  const slider = article.querySelector('.iterations');
  if (slider) slider.oninput = () => {
    article.querySelectorAll('.iteration').forEach(node => { node.style.display = node.dataset.k === slider.value ? '' : 'none'; });
    article.querySelector('.which').textContent = `${Number(slider.value) + 1} of ${Number(slider.max) + 1}`;
  };
  article.querySelectorAll('table.evaluations th').forEach((head, column) => head.onclick = () => {
    const body = head.closest('table').tBodies[0], down = head.dataset.down = head.dataset.down === '1' ? '' : '1';
    const value = row => { const text = row.cells[column].textContent, x = parseFloat(text); return Number.isNaN(x) ? text : x; };
    const rank = v => typeof v === 'number' ? 0 : 1;
    const rows = [...body.rows].sort((a, b) => { const x = value(a), y = value(b); return (rank(x) - rank(y)) || (x < y ? -1 : x > y ? 1 : 0); });
    body.append(...(down ? rows : rows.reverse()));
  });
  const first = data.best !== null ? data.best : Number(Object.keys(data.motions)[0] ?? Object.keys(data.runs)[0] ?? (data.evaluations[0] || [])[0]);
  if (byId.has(first)) choose(first);
}

document.querySelectorAll('article[id^=study-]').forEach(article => open_study(article, JSON.parse(document.getElementById(article.id.replace('study', 'data')).textContent)));
