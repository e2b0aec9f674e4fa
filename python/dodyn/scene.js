// Motions with three.js: bodies and skeletons on a ground with their shadows, played and scrubbed, two designs at once, and what was
// recorded over time under a common cursor. World coordinates: z is up; a motion in the plane lies in x and z.

// [base64 of 16-bit integers, columns, offset and scale per column] as rows of numbers.
function unpacked(packed) {
  if (!packed) return null;
  const [text, columns, offset, scale] = packed, raw = atob(text), count = raw.length / 2 / columns, rows = [];
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

// One motion, unpacked, and its places at any time.
class Motion {
  constructor(scene, packed) {
    this.scene = scene; this.dimension = scene.dimension;
    this.t = unpacked(packed.t).map(row => row[0]);
    this.points = unpacked(packed.points);
    this.forces = (packed.forces || []).map(unpacked);
    this.positions = unpacked(packed.positions); this.attitudes = unpacked(packed.attitudes);
    this.shapes = packed.shapes || []; this.series = (packed.series || []).map(unpacked); this.stride = packed.stride || null;
    this.start = this.t[0]; this.end = this.t[this.t.length - 1];
  }
  at(rows, time) {
    const k = Math.max(0, Math.min(this.t.length - 2, d3.bisectRight(this.t, time) - 1)), a = rows[Math.min(k, rows.length - 1)], b = rows[Math.min(k + 1, rows.length - 1)];
    const span = this.t[k + 1] - this.t[k], w = span > 0 ? Math.max(0, Math.min(1, (time - this.t[k]) / span)) : 0;
    return Array.from(a, (x, i) => (1 - w) * x + w * b[i]);
  }
  // A place of the first step as it is in step number `step`. Mirrored steps undo each other, plain ones add up.
  stepped(p, step) {
    if (!this.stride) return p;
    const [, shift, mirrored] = this.stride;
    let q = p;
    for (let s = 0; s < step; ++s) q = q.map((x, i) => (mirrored && i === 1 ? -x : x) + shift[i]);
    return q;
  }
}
const toWorld = p => p.length === 2 ? new THREE.Vector3(p[0], 0, p[1]) : new THREE.Vector3(p[0], p[1], p[2]);

// Which of three colours a segment has: 0 the trunk (or what is no leg), 1 and 2 the legs. Legs are what the exchange at the end of a
// step swaps.
function legOf(scene, stride, [a, b]) {
  if (!stride) return 1;
  const order = stride[0], swapped = [order[a], order[b]];
  if ((swapped[0] === a && swapped[1] === b) || (swapped[0] === b && swapped[1] === a)) return 0;
  return a + b < swapped[0] + swapped[1] ? 1 : 2;
}

// The parts of a motion in a three.js scene.
class Figure {
  constructor(motion, size, colours, opacity) {
    this.motion = motion; this.group = new THREE.Group(); this.shadows = new THREE.Group(); this.size = size;
    const { scene } = motion, material = (colour, options = {}) => new THREE.MeshLambertMaterial({ color: new THREE.Color(colour), transparent: opacity < 1, opacity, ...options });
    this.solids = []; this.links = []; this.joints = []; this.arrows = [];
    const add = (mesh, shaded = true) => {
      this.group.add(mesh);
      if (shaded && opacity === 1) {
        const shadow = new THREE.Mesh(mesh.geometry, this.shade || (this.shade = new THREE.MeshBasicMaterial({ color: new THREE.Color(colours.shadow) })));
        shadow.matrixAutoUpdate = false; shadow.frustumCulled = false; mesh.shadow = shadow;
        this.shadows.add(shadow);
      }
      return mesh;
    };
    if (motion.points) {
      const legs = scene.segments.map(pair => legOf(scene, motion.stride, pair)), one = !motion.stride;
      const fine = scene.segments.length > 60, kinds = [0, 1, 2].map(k => material(one ? colours.parts[0] : [colours.trunk, colours.parts[0], colours.parts[1]][k]));
      const round = new THREE.CylinderGeometry(1, 1, 1, 14), ball = new THREE.SphereGeometry(1, 16, 12);
      this.radius = fine ? 0.004 * size : 0.016 * size;
      scene.segments.forEach((pair, k) => this.links.push({ pair, mesh: add(new THREE.Mesh(round, kinds[legs[k]]), !fine), leg: legs[k], kinds }));
      const joint = material(colours.joint);
      if (!fine) motion.scene.points.forEach((_, p) => this.joints.push({ p, mesh: add(new THREE.Mesh(ball, joint)) }));
      const red = material(colours.force), cone = new THREE.ConeGeometry(1, 1, 14);
      motion.forces.forEach((rows, f) => this.arrows.push({ rows, point: scene.forces[f], shaft: add(new THREE.Mesh(round, red), false), head: add(new THREE.Mesh(cone, red), false) }));
      this.greatest = Math.max(1e-12, ...motion.forces.map(rows => d3.max(rows, row => Math.hypot(...row.map(x => x || 0)))));
    }
    if (motion.positions) {
      const moves = scene.bodies.map((_, b) => motion.positions.some(row => { for (let i = 0; i < motion.dimension; ++i) if (Math.abs(row[b * motion.dimension + i] - motion.positions[0][b * motion.dimension + i]) > 1e-9) return true; return false; }));
      this.still = moves.map(moving => !moving && moves.some(Boolean));
      let next = 0;
      this.colours = scene.bodies.map((_, b) => this.still[b] ? colours.still : colours.parts[next++ % colours.parts.length]);
      const edge = new THREE.LineBasicMaterial({ color: new THREE.Color(colours.edge), transparent: opacity < 1, opacity });
      motion.shapes.forEach((corners, s) => {
        const [body, faces] = scene.shapes[s], geometry = solid(motion.dimension, corners, faces, 0.05 * size);
        const mesh = add(new THREE.Mesh(geometry, material(this.colours[body], { flatShading: true, side: THREE.DoubleSide })), !this.still[body]);
        mesh.add(new THREE.LineSegments(new THREE.EdgesGeometry(geometry, 20), edge));
        this.solids.push({ body, mesh });
      });
      if (!motion.shapes.length) scene.bodies.forEach((_, body) => this.solids.push({ body, mesh: add(new THREE.Mesh(new THREE.BoxGeometry(0.08 * size, 0.05 * size, 0.05 * size), material(this.colours[body]))) }));
    }
  }
  // Puts the parts where they are at a time of step number `step`.
  pose(time, step, flatten) {
    const { motion } = this, d = motion.dimension, turn = d === 2 ? 1 : 4, up = new THREE.Vector3(0, 1, 0);
    if (motion.points) {
      const row = motion.at(motion.points, time), places = [];
      for (let k = 0; k < row.length; k += d) places.push(toWorld(motion.stepped(row.slice(k, k + d), step)));
      const put = (mesh, from, to, radius) => {
        const along = to.clone().sub(from), length = along.length();
        mesh.visible = Number.isFinite(length) && length > 1e-9;
        if (!mesh.visible) return;
        mesh.position.copy(from).addScaledVector(along, 0.5); mesh.scale.set(radius, length, radius); mesh.quaternion.setFromUnitVectors(up, along.divideScalar(length));
      };
      for (const { pair, mesh, leg, kinds } of this.links) {
        put(mesh, places[pair[0]], places[pair[1]], this.radius);
        if (motion.stride && leg) mesh.material = kinds[step % 2 ? 3 - leg : leg]; // a leg keeps its colour when it changes its name
      }
      for (const { p, mesh } of this.joints) { mesh.visible = Number.isFinite(places[p].x); mesh.position.copy(places[p]); mesh.scale.setScalar(1.35 * this.radius); }
      for (const { rows, point, shaft, head } of this.arrows) {
        const value = motion.at(rows, time).map((x, i) => motion.stride && motion.stride[2] && i === 1 && step % 2 ? -x : x), along = toWorld(value).multiplyScalar(0.35 * this.size / this.greatest), length = along.length();
        const visible = Number.isFinite(length) && length > 0.01 * this.size, tip = Math.min(0.05 * this.size, 0.5 * length);
        shaft.visible = head.visible = visible;
        if (!visible) continue;
        const from = places[point], to = from.clone().add(along), neck = to.clone().addScaledVector(along, -tip / length);
        put(shaft, from, neck, 0.006 * this.size); put(head, neck, to, 0.018 * this.size);
      }
    }
    if (motion.positions) {
      const place = motion.at(motion.positions, time), attitude = motion.at(motion.attitudes, time);
      for (const { body, mesh } of this.solids) {
        const a = attitude.slice(body * turn, body * turn + turn);
        mesh.position.copy(toWorld(place.slice(body * d, body * d + d)));
        if (d === 2) mesh.rotation.set(0, -a[0], 0); else mesh.quaternion.set(a[1], a[2], a[3], a[0]).normalize();
      }
    }
    this.group.updateMatrixWorld(true);
    for (const mesh of this.group.children) if (mesh.shadow) { mesh.shadow.visible = mesh.visible && flatten !== null; if (mesh.shadow.visible) mesh.shadow.matrix.multiplyMatrices(flatten, mesh.matrixWorld); }
    this.shadows.updateMatrixWorld(true);
  }
}

// A convex part; in the plane a plate of this thickness.
function solid(dimension, corners, faces, thickness) {
  const geometry = new THREE.BufferGeometry(), vertices = [], at = [];
  for (let k = 0; k < corners.length; k += dimension) at.push(corners.slice(k, k + dimension));
  const triangle = (...three) => { for (const p of three) vertices.push(...p); };
  for (const ring of faces) {
    if (dimension === 3) { for (let k = 1; k + 1 < ring.length; ++k) triangle(at[ring[0]], at[ring[k]], at[ring[k + 1]]); continue; }
    const side = y => ring.map(k => [at[k][0], y, at[k][1]]), near = side(-thickness / 2), far = side(thickness / 2);
    for (let k = 1; k + 1 < ring.length; ++k) { triangle(near[0], near[k], near[k + 1]); triangle(far[0], far[k + 1], far[k]); }
    for (let k = 0; k < ring.length; ++k) { const n = (k + 1) % ring.length; triangle(near[k], far[k], far[n]); triangle(near[k], far[n], near[n]); }
  }
  geometry.setAttribute('position', new THREE.Float32BufferAttribute(vertices, 3));
  geometry.computeVertexNormals();
  return geometry;
}

const VIEWS = { side: [0, 0], front: [Math.PI / 2, 0], top: [0, Math.PI / 2], orbit: [-0.55, 0.32] };
const SPEEDS = [64, 32, 16, 8, 4, 2, 1, 0.5, 0.25, 0.1, 0.02];

class Player {
  constructor(root, scene, label) {
    this.scene = scene; this.time = 0; this.step = 0; this.playing = false; this.frames = 0; this.motions = []; this.figures = []; this.zoom = 1; this.onseek = () => {};
    this.stage = make('div', { class: 'stage', tabindex: 0, role: 'application', 'aria-roledescription': 'animation', 'aria-label': `${label}. The space bar plays, arrow keys turn the view, plus and minus zoom.` });
    this.button = make('button', { type: 'button', class: 'play' }, 'Play'); this.slider = make('input', { type: 'range', min: 0, max: 1000, value: 0, class: 'at', 'aria-label': 'time' });
    this.clock = make('span', { class: 'time' });
    this.speed = make('select', { 'aria-label': 'speed' }); for (const s of SPEEDS) this.speed.add(new Option('× ' + s, s));
    this.view = make('select', { 'aria-label': 'view', class: 'view' }); for (const name of Object.keys(VIEWS)) this.view.add(new Option(name, name));
    this.ruler = make('span', { class: 'ruler', 'aria-hidden': 'true' });
    this.key = make('div', { class: 'legend' });
    root.append(this.stage, make('div', { class: 'bar' }, this.button, this.slider, this.clock, this.speed, this.view), this.key);
    this.look(scene.dimension === 3 || scene.forces.length ? 'orbit' : 'side');
    if (scene.dimension === 2 && scene.forces.length) [this.yaw, this.pitch] = [-0.3, 0.16];
    this.button.onclick = () => this.play(!this.playing);
    this.slider.oninput = () => { this.play(false); this.seek(this.start + this.slider.value / 1000 * (this.end - this.start)); };
    this.speed.onchange = () => { this.chosen = true; };
    this.view.onchange = () => { this.look(this.view.value); this.draw(); };
    this.stage.onpointerdown = event => { if (event.pointerType === 'mouse') { this.held = [event.clientX, event.clientY]; this.stage.setPointerCapture(event.pointerId); } };
    this.stage.onpointerup = () => { this.held = null; };
    this.stage.onpointermove = event => { if (this.held) { this.turn((this.held[0] - event.clientX) * 0.01, (event.clientY - this.held[1]) * 0.01); this.held = [event.clientX, event.clientY]; } };
    this.stage.onkeydown = event => {
      const turns = { ArrowLeft: [0.1, 0], ArrowRight: [-0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[event.key];
      if (turns) this.turn(...turns);
      else if (event.key === ' ') this.play(!this.playing);
      else if (event.key === '+' || event.key === '=') { this.zoom *= 1.2; this.draw(); } else if (event.key === '-') { this.zoom /= 1.2; this.draw(); } else return;
      event.preventDefault();
    };
  }
  look(name) { [this.yaw, this.pitch] = VIEWS[name]; this.view.value = name; }
  turn(yaw, pitch) { this.yaw += yaw; this.pitch = Math.max(-0.02, Math.min(Math.PI / 2, this.pitch + pitch)); this.view.value = 'orbit'; this.draw(); }

  // The motions shown: the first one, and perhaps another one behind it.
  set(motions) {
    this.motions = motions;
    this.start = d3.min(motions, m => m.start); this.end = d3.max(motions, m => m.end);
    const length = this.end - this.start, wanted = length > 12 ? length / 8 : length < 0.4 ? length / 2 : length < 3 && motions[0].stride ? 0.5 : 1;
    if (!this.chosen) this.speed.value = SPEEDS.reduce((a, b) => Math.abs(Math.log(b / wanted)) < Math.abs(Math.log(a / wanted)) ? b : a);
    this.step = 0; this.built = false;
    if (draws(this.scene)) this.measure();
    this.seek(Math.min(Math.max(this.time, this.start), this.end));
  }
  // The box of all places. What does not move is drawn, but does not set the scale when it is large.
  measure() {
    const box = this.box = new THREE.Box3();
    const meet = (p, r) => { if (p.every(Number.isFinite)) { const at = toWorld(p); box.expandByPoint(at.clone().addScalar(r)); box.expandByPoint(at.clone().addScalar(-r)); } };
    for (const motion of this.motions) {
      const d = motion.dimension;
      for (const row of motion.points || []) for (let k = 0; k < row.length; k += d) meet(Array.from(row.slice(k, k + d)), 0);
      if (!motion.positions) continue;
      const reach = this.scene.bodies.map(() => 0);
      motion.shapes.forEach((corners, s) => { const body = this.scene.shapes[s][0]; for (let k = 0; k < corners.length; k += d) reach[body] = Math.max(reach[body], Math.hypot(...corners.slice(k, k + d))); });
      const moves = this.scene.bodies.map((_, b) => motion.positions.some(row => { for (let i = 0; i < d; ++i) if (Math.abs(row[b * d + i] - motion.positions[0][b * d + i]) > 1e-9) return true; return false; }));
      const moving = reach.filter((r, b) => moves[b] && r > 0), large = moving.length ? 4 * Math.max(...moving) : Infinity;
      for (const row of motion.positions) for (let b = 0; b < reach.length; ++b) if (moves[b] || !moves.some(Boolean) || reach[b] <= large) meet(Array.from(row.slice(b * d, b * d + d)), reach[b]);
    }
    if (box.isEmpty()) box.set(new THREE.Vector3(-1, -1, -1), new THREE.Vector3(1, 1, 1));
    const extent = box.getSize(new THREE.Vector3());
    this.size = Math.max(extent.x, extent.y, extent.z, 1e-9);
    this.floor = this.ground();
  }
  // The height of the ground: that of the feet, or the top of the body that carries the others; null where nothing carries (free craft).
  ground() {
    const motion = this.motions[0];
    if (motion.points) return this.scene.forces.length ? 0 : null;
    if (motion.dimension === 2) return null;
    const d = motion.dimension;
    let top = null;
    motion.shapes.forEach((corners, s) => {
      const body = this.scene.shapes[s][0], row = motion.positions[0], last = motion.positions[motion.positions.length - 1], own = Array.from(row.slice(body * d, body * d + d));
      if (own.some((x, i) => Math.abs(x - last[body * d + i]) > 1e-9)) return;
      let high = -Infinity;
      for (let k = 0; k < corners.length; k += d) high = Math.max(high, toWorld(own.map((x, i) => x + corners[k + i])).z);
      if (high <= this.box.min.z + 0.35 * this.size && (top === null || high > top)) top = high;
    });
    return top;
  }
  build() {
    const colours = { parts: d3.range(1, 9).map(k => styleOf('c' + k)), trunk: styleOf('trunk'), joint: styleOf('ink'), force: styleOf('c2'), still: styleOf('still'), edge: styleOf('edge'), shadow: styleOf('shadow') };
    this.world = new THREE.Scene(); this.scheme = colours.trunk;
    this.world.add(new THREE.AmbientLight(0xffffff, 0.6)); // lights that the renderer without WebGL has, too
    for (const [strength, ...from] of [[0.36, -1, -1.4, 2], [0.12, 1.5, -0.4, 0.5]]) { const light = new THREE.DirectionalLight(0xffffff, strength); light.position.set(...from); this.world.add(light); }
    this.figures = this.motions.map((motion, k) => new Figure(motion, this.size, k ? { ...colours, parts: [styleOf('c4'), styleOf('c4')], trunk: styleOf('c4'), joint: styleOf('c4'), force: styleOf('c4') } : { ...colours, parts: colours.parts.filter((_, c) => c !== 1 || this.scene.bodies.length) }, k ? 0.45 : 1));
    for (const figure of this.figures) this.world.add(figure.group, figure.shadows);
    const cells = 24, step = d3.tickStep(0, this.size, 6), grid = new THREE.GridHelper(cells * step, cells, new THREE.Color(styleOf('grid')), new THREE.Color(styleOf('grid')));
    grid.material.vertexColors = false; grid.material.color.set(styleOf('grid')); // the renderer without WebGL knows no colours of vertices
    this.grid = grid; this.cell = step;
    const lies = this.floor !== null;
    if (lies) {
      grid.rotation.x = Math.PI / 2; grid.position.z = this.floor;
      const plane = new THREE.Mesh(new THREE.PlaneGeometry(cells * step, cells * step), new THREE.MeshBasicMaterial({ color: new THREE.Color(styleOf('ground')), polygonOffset: true, polygonOffsetFactor: 2, polygonOffsetUnits: 2 }));
      plane.position.z = this.floor - 1e-3 * this.size; plane.renderOrder = -2; grid.renderOrder = -1; this.plane = plane; this.world.add(plane);
    } else { // where there is no ground: lines below, or behind a plane
      this.plane = null;
      if (this.scene.dimension === 3) { grid.rotation.x = Math.PI / 2; grid.position.z = this.box.min.z; } else grid.position.y = 0.2 * this.size;
    }
    this.world.add(grid);
    // Shadows: along the light on the ground, z' = floor.
    const light = [0.35, 0.25, -1], h = (lies ? this.floor : 0) + 5e-4 * this.size;
    this.flatten = lies ? new THREE.Matrix4().set(1, 0, light[0], -light[0] * h, 0, 1, light[1], -light[1] * h, 0, 0, 0, h, 0, 0, 0, 1) : null;
    this.camera = this.camera || new THREE.OrthographicCamera(-1, 1, 1, -1, 0.01, 1000);
    this.camera.up.set(0, 0, 1);
    if (!this.renderer) {
      try { this.renderer = new THREE.WebGLRenderer({ antialias: true, alpha: true, preserveDrawingBuffer: true }); this.renderer.setPixelRatio(window.devicePixelRatio || 1); } catch (error) {
        if (THREE.SVGRenderer) this.renderer = new THREE.SVGRenderer(); // no WebGL here
        else { this.stage.textContent = 'This browser has no WebGL to show motions.'; return false; }
      }
      this.renderer.domElement.setAttribute('aria-hidden', 'true');
      this.stage.replaceChildren(this.renderer.domElement, this.ruler);
    }
    this.key.replaceChildren();
    const named = (name, colour) => { const mark = make('span', { class: 'key' }); mark.style.background = colour; this.key.append(make('span', {}, mark, name)); };
    const first = this.figures[0];
    if (first.motion.stride && first.links.some(l => l.leg)) { named('stance leg at the start', colours.parts[0]); named('swing leg', colours.parts[2]); if (first.links.some(l => !l.leg)) named('trunk', colours.trunk); }
    if (first.colours) { const seen = new Set(); this.scene.bodies.forEach((name, b) => { if (!first.still[b] && seen.size < 8) { seen.add(first.colours[b]); named(name, first.colours[b]); } }); }
    if (this.motions.length > 1) named('the other design', styleOf('c4'));
    this.built = true;
    return true;
  }
  draw() {
    const width = this.stage.clientWidth, height = this.stage.clientHeight;
    if (!this.motions.length || !width || !draws(this.scene)) return;
    if ((!this.built || this.scheme !== styleOf('trunk')) && !this.build()) return;
    this.figures.forEach((figure, k) => figure.pose(Math.max(figure.motion.start, Math.min(figure.motion.end, this.time)), figure.motion.stride ? this.step % 1000 : 0, k ? null : this.flatten));
    const centre = this.box.getCenter(new THREE.Vector3()), extent = this.box.getSize(new THREE.Vector3()), stride = this.motions[0].stride;
    if (stride) { // the camera goes with the walker
      const w = (this.time - this.start) / (this.end - this.start || 1), shift = toWorld(stride[1].map((x, i) => stride[2] && i === 1 ? 0 : x));
      centre.addScaledVector(shift, this.step % 1000 + w - 0.5);
      extent.x *= 1.15;
    }
    const away = new THREE.Vector3(Math.sin(this.yaw) * Math.cos(this.pitch), -Math.cos(this.yaw) * Math.cos(this.pitch), Math.sin(this.pitch));
    const { camera } = this;
    camera.up.set(0, 0, 1);
    if (this.pitch > 1.5) camera.up.set(-Math.sin(this.yaw), Math.cos(this.yaw), 0);
    camera.position.copy(centre).addScaledVector(away, 20 * this.size); camera.lookAt(centre); camera.near = 0.01 * this.size; camera.far = 60 * this.size;
    camera.updateMatrixWorld(true);
    let across = 1e-9, tall = 1e-9;
    for (let corner = 0; corner < 8; ++corner) {
      const p = new THREE.Vector3(corner & 1 ? 0.5 : -0.5, corner & 2 ? 0.5 : -0.5, corner & 4 ? 0.5 : -0.5).multiply(extent).applyQuaternion(camera.quaternion.clone().inverse());
      across = Math.max(across, Math.abs(p.x)); tall = Math.max(tall, Math.abs(p.y));
    }
    const scale = this.zoom * Math.min((width - 40) / 2 / across, (height - 50) / 2 / tall); // pixels for a metre
    camera.left = -width / 2 / scale; camera.right = width / 2 / scale; camera.top = height / 2 / scale; camera.bottom = -height / 2 / scale;
    camera.updateProjectionMatrix();
    this.grid.position.x = Math.round(centre.x / this.cell) * this.cell;
    if (this.plane) this.plane.position.x = this.grid.position.x;
    if (this.plane || this.scene.dimension === 3) { this.grid.position.y = Math.round(centre.y / this.cell) * this.cell; if (this.plane) this.plane.position.y = this.grid.position.y; } else this.grid.position.z = Math.round(centre.z / this.cell) * this.cell;
    this.renderer.setSize(width, height);
    if (this.renderer.setClearColor) this.renderer.setClearColor(new THREE.Color(styleOf('sky')), 1);
    this.renderer.render(this.world, camera);
    const [unit, factor] = this.scene.length, most = 130 / scale * factor, ten = Math.pow(10, Math.floor(Math.log10(most))), length = [5, 2, 1].map(f => f * ten).find(x => x <= most);
    this.ruler.textContent = short(length, 3) + unitOf(unit); this.ruler.style.width = length / factor * scale + 'px';
  }
  play(on) {
    if (this.playing === on || !this.motions.length) return;
    this.playing = on; this.button.textContent = on ? 'Pause' : 'Play';
    if (on) { if (!this.motions[0].stride && this.time >= this.end) this.time = this.start; this.last = null; requestAnimationFrame(now => this.tick(now)); }
  }
  tick(now) {
    if (!this.playing) return;
    if (this.last !== null) {
      let time = this.time + Math.min(100, now - this.last) / 1000 * Number(this.speed.value);
      while (time > this.end) { if (this.end <= this.start) { time = this.start; break; } time -= this.end - this.start; ++this.step; }
      ++this.frames; this.seek(time);
    }
    this.last = now;
    requestAnimationFrame(next => this.tick(next));
  }
  seek(time) {
    this.time = Math.min(this.end, Math.max(this.start, time));
    this.slider.value = this.end > this.start ? Math.round(1000 * (this.time - this.start) / (this.end - this.start)) : 0;
    this.slider.setAttribute('aria-valuetext', timeText(this.scene, this.time));
    this.clock.textContent = `${short(this.time * this.scene.time[1], 4)} of ${timeText(this.scene, this.end)}`;
    this.draw(); this.onseek();
  }
}

const timeText = (scene, seconds) => short(seconds * scene.time[1], 4) + unitOf(scene.time[0]);
const draws = scene => scene.points.length + scene.bodies.length > 0;

// Everything recorded over time, a chart for each channel, a cursor through all.
class SeriesView {
  constructor(root, scene, player) { this.root = root; this.scene = scene; this.player = player; this.charts = []; }
  set(motions) {
    this.root.replaceChildren(); this.charts = [];
    this.scene.series.forEach(([name, unit, names, stairs, description], s) => {
      const of = motions.map(m => ({ t: m.t, rows: m.series[s] })).filter(m => m.rows);
      if (!of.length) return;
      const frame = make('div', { class: 'frame', tabindex: 0, role: 'slider', 'aria-label': `${name} over time`, 'aria-valuemin': this.player.start, 'aria-valuemax': this.player.end, 'aria-valuenow': this.player.time });
      const canvas = make('canvas', { 'aria-hidden': 'true' }), svg = d3.create('svg').attr('aria-hidden', 'true').attr('focusable', 'false'), legend = make('div', { class: 'legend' }), values = [];
      frame.append(canvas, svg.node());
      names.forEach((one, c) => {
        const mark = make('span', { class: 'key line' + (c > 7 ? ' dashed' : '') }), value = make('span', { class: 'value' });
        mark.style.borderColor = `var(--c${c % 8 + 1})`;
        values.push(value); legend.append(make('span', {}, mark, one.replaceAll('_', ' ') + ' ', value));
      });
      this.root.append(make('figure', {}, make('figcaption', { title: description }, `${name}${unit && unit !== '1' ? ' [' + unit + ']' : ''}`), frame, legend));
      const chart = { frame, canvas, svg, of, stairs, values, count: names.length };
      const there = event => { const box = frame.getBoundingClientRect(); this.player.play(false); this.player.seek(chart.x.invert(event.clientX - box.left)); };
      frame.onpointerdown = event => { chart.held = event.pointerType === 'mouse'; there(event); };
      frame.onpointermove = event => { if (chart.held && event.buttons) there(event); };
      frame.onkeydown = event => {
        const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10, Home: -1e9, End: 1e9 }[event.key];
        if (by === undefined) return;
        event.preventDefault(); this.player.play(false); this.player.seek(this.player.time + by * (this.player.end - this.player.start) / 100);
      };
      this.charts.push(chart);
    });
    this.draw();
  }
  draw() {
    for (const chart of this.charts) {
      const width = chart.frame.clientWidth, height = 130;
      if (!width) continue;
      const y = d3.scaleLinear().domain(rangeOf(chart.of.flatMap(m => m.rows.flatMap(row => Array.from(row))), false)).range([height - 22, 6]);
      const left = 16 + 6.6 * Math.max(...y.ticks(4).map(v => tickText(y, 4)(v).length)), x = chart.x = d3.scaleLinear().domain([this.player.start, this.player.end]).range([left, width - 10]).clamp(true);
      const [unit, factor] = this.scene.time, written = x.copy().domain(x.domain().map(time => time * factor));
      chart.svg.attr('width', width).attr('height', height).selectAll('*').remove();
      chart.svg.append('g').attr('class', 'axis').attr('transform', `translate(0,${height - 22})`).call(d3.axisBottom(written).ticks(width / 90).tickFormat(v => short(v, 6) + unitOf(unit)).tickSizeInner(-height + 28).tickSizeOuter(0).tickPadding(6));
      chart.svg.append('g').attr('class', 'axis').attr('transform', `translate(${left},0)`).call(d3.axisLeft(y).ticks(4).tickFormat(tickText(y, 4)).tickSizeInner(left + 10 - width).tickSizeOuter(0).tickPadding(5));
      chart.cursor = chart.svg.append('line').attr('class', 'cursor').attr('y1', 4).attr('y2', height - 22);
      const pen = sharp(chart.canvas, width, height);
      chart.of.forEach(({ t, rows }, k) => {
        for (let c = 0; c < chart.count; ++c) {
          pen.strokeStyle = styleOf('c' + (c % 8 + 1)); pen.lineWidth = k ? 1 : 1.7; pen.globalAlpha = k ? 0.55 : 1; pen.setLineDash(c > 7 ? [6, 3] : []);
          pen.beginPath();
          let down = false;
          rows.forEach((row, r) => {
            if (!Number.isFinite(row[c])) { down = false; return; }
            if (down) pen.lineTo(x(t[r]), y(row[c])); else pen.moveTo(x(t[r]), y(row[c]));
            if (chart.stairs) pen.lineTo(x(t[r + 1]), y(row[c]));
            down = true;
          });
          pen.stroke();
        }
      });
      pen.globalAlpha = 1; pen.setLineDash([]);
    }
    this.seek();
  }
  seek() {
    const { time } = this.player;
    for (const chart of this.charts) {
      if (!chart.x) continue;
      chart.cursor.attr('x1', chart.x(time)).attr('x2', chart.x(time));
      chart.frame.setAttribute('aria-valuenow', Number(time.toPrecision(4))); chart.frame.setAttribute('aria-valuetext', timeText(this.scene, time));
      const { t, rows } = chart.of[0], k = Math.max(0, Math.min(rows.length - 1, d3.bisectRight(t, time) - 1));
      chart.values.forEach((value, c) => { value.textContent = short(rows[k][c], 4); });
    }
  }
}

// Where a motion is not in the page, it is asked for (dodyn watch).
const motionOf = async (study, kind, id, scenario) => {
  const there = kind === 'runs' ? study.data.runs : study.data.others[scenario] || study.data.motions;
  if (there[id] !== undefined || !study.ask) return there[id];
  return there[id] = await study.ask(kind, id, scenario);
};

class MotionView {
  constructor(study, root) {
    this.study = study; this.shown = ''; this.cache = new Map();
    const { data } = study;
    this.scenario = make('select', { 'aria-label': 'scenario' });
    for (const name of data.scenarios) this.scenario.add(new Option(name, name));
    this.other = make('select', { 'aria-label': 'compare with' });
    this.note = make('span', { class: 'hint' });
    const two = make('div', { class: 'motion' }), left = make('div', { class: 'left' }), right = make('div', { class: 'series' });
    two.append(left, right);
    if (!draws(data.scene)) { left.classList.add('no-stage'); two.classList.add('flat'); } // numbers over time alone
    root.append(make('div', { class: 'bar' }, ...(data.scenarios.length > 1 ? [make('label', {}, 'scenario ', this.scenario)] : []), make('label', {}, 'compare with ', this.other), this.note), two);
    this.player = new Player(left, data.scene, 'Motion of the chosen design');
    this.series = new SeriesView(right, data.scene, this.player);
    this.player.onseek = () => this.series.seek();
    this.scenario.onchange = () => { this.shown = ''; this.draw(); };
    this.other.onchange = () => study.compare(this.other.value === '' ? null : Number(this.other.value));
    study.player = this.player;
    study.add(root, () => this.draw());
  }
  fill() {
    const { study } = this, ids = study.ids.filter((id, i) => study.ask ? study.status(i) === 'ok' : study.data.motions[id] !== undefined), key = ids.length + ' ' + ids[ids.length - 1];
    if (key === this.filled) return;
    this.filled = key;
    const best = study.data.best, order = ids.length > 400 ? [...ids].sort((a, b) => study.rank[study.at.get(a)] - study.rank[study.at.get(b)]).slice(0, 400) : ids;
    this.other.replaceChildren(new Option('none', ''), ...order.map(id => new Option(`${id}${id === best ? ' (recommended)' : ''}: ${study.costText(study.at.get(id))}`, id)));
  }
  async draw() {
    const { study } = this, scenario = this.scenario.value;
    this.fill();
    this.other.value = study.other === null ? '' : study.other;
    const wanted = [study.row, study.other].join() + scenario;
    if (wanted !== this.shown) {
      this.shown = wanted;
      const found = [];
      for (const id of [study.row, study.other]) {
        if (id === null || id === undefined) continue;
        const packed = await motionOf(study, 'motions', id, scenario);
        if (packed) found.push(new Motion(study.data.scene, packed)); else if (id === study.row) { this.note.textContent = `Evaluation ${id} has no motion here. The last motion stays.`; return; }
      }
      if (!found.length) return;
      this.note.textContent = '';
      const on = this.player.playing;
      this.player.play(false); this.player.set(found); this.series.set(found); this.player.play(on);
      return;
    }
    this.player.draw(); this.series.draw();
  }
}

// The initial states of a design, coloured by how they end. One of them plays its run.
class StartsView {
  constructor(study, root) {
    this.study = study; this.chosen = 0;
    const two = make('div', { class: 'motion even' }), left = make('div'), right = make('div', { class: 'left' });
    two.append(left, right); this.note = make('p', { class: 'hint' }); root.append(this.note, two);
    const self = this, rows = {
      get count() { return self.study.data.starts.length; }, get ids() { return d3.range(self.study.data.starts.length); }, stderr: null, subset: null, other: null,
      get row() { return self.chosen; }, at: { get: k => k }, shown: () => true, violates: () => false, get rank() { return new Float64Array(self.study.data.starts.length); }, add: (frame, draw) => study.add(frame, draw),
      choose: k => self.choose(k, false), toggle: () => {}, select: () => {}, describe: k => [self.word(k)],
    };
    this.chart = new Chart(rows, left, {
      height: 400, label: 'Initial states', picked: k => { this.choose(k, true); }, model: () => {
        const at = study.data.starts, [low, high] = rangeOf(at.map(p => p[0]).concat(0), false), [bottom, top] = rangeOf(at.map(p => p[1]).concat(0), false);
        const span = Math.max((high - low) / Math.max(left.clientWidth - 60, 100), (top - bottom) / 340), xs = at.map(p => p[0]), ys = at.map(p => p[1]); // equal scales
        const half = span * Math.max(left.clientWidth - 60, 100) / 2, tall = span * 340 / 2, mid = (low + high) / 2, centre = (top + bottom) / 2;
        return { x: { low: mid - half, high: mid + half, label: study.data.startLabels[0] }, y: { low: centre - tall, high: centre + tall, label: study.data.startLabels[1] }, xs, ys, colour: k => this.colour(k), under: (pen, x, y) => this.waiting(pen, x, y) };
      },
    });
    this.legend = make('div', { class: 'legend' }); left.append(this.legend);
    if (study.data.runScene) this.player = study.runner = new Player(right, study.data.runScene, 'Run from the chosen initial state');
    study.starts = this;
    study.add(root, () => this.draw());
  }
  // The first body where it waits, if the motion is in the plane.
  waiting(pen, x, y) {
    const scene = this.study.data.runScene;
    if (!this.runs || !this.runs.motions || !scene || scene.dimension !== 2 || scene.bodies.length < 2) return;
    const f = scene.length[1], at = unpacked(this.runs.motions[0][1])[0], turn = unpacked(this.runs.motions[0][2])[0][0], c = Math.cos(turn), s = Math.sin(turn);
    pen.fillStyle = styleOf('faint'); pen.strokeStyle = styleOf('pale'); pen.lineWidth = 1;
    this.runs.shapes.forEach((corners, k) => {
      if (scene.shapes[k][0] !== 0) return;
      pen.beginPath();
      for (const i of scene.shapes[k][1][0]) pen.lineTo(x(f * (at[0] + c * corners[2 * i] - s * corners[2 * i + 1])), y(f * (at[1] + s * corners[2 * i] + c * corners[2 * i + 1])));
      pen.closePath(); pen.fill(); pen.stroke();
    });
  }
  colourOf(name, k) { return name === this.study.data.success ? styleOf('c3') : styleOf('c' + [8, 2, 5, 4, 1, 6, 7][(k > this.study.data.outcomes.indexOf(this.study.data.success) ? k - 1 : k) % 7]); }
  colour(k) { const kind = this.runs && this.runs.outcome[k]; return kind === undefined || kind === null || kind < 0 ? styleOf('ink') : this.colourOf(this.study.data.outcomes[kind], kind); }
  word(k) { const kind = this.runs ? this.study.data.outcomes[this.runs.outcome[k]] : undefined; return `initial state ${k + 1}: ${kind || 'no outcome'}${this.runs ? ` after ${short(this.runs.after[k], 4)}${unitOf(this.runs.afterUnit)}` : ''}`; }
  async draw() {
    const runs = await motionOf(this.study, 'runs', this.study.row);
    this.note.textContent = runs ? `Evaluation ${this.study.row}: ${this.study.design(this.study.at.get(this.study.row), 4)}` : `The runs of evaluation ${this.study.row} are not in this page.${this.runs ? ' The last ones stay.' : ''}`;
    if (runs && runs !== this.runs) {
      this.runs = runs;
      const seen = {};
      for (const k of runs.outcome) seen[k] = (seen[k] || 0) + 1;
      this.legend.replaceChildren(...Object.keys(seen).map(k => { const mark = make('span', { class: 'key' }), name = this.study.data.outcomes[k] || 'none'; mark.style.background = this.colourOf(name, Number(k)); return make('span', {}, mark, `${name} ${seen[k]}`); }));
      if (this.chart.frame.view.near) this.chart.draw();
      this.choose(Math.min(this.chosen, runs.outcome.length - 1), this.player ? this.player.playing : false);
    } else if (this.player) this.player.draw();
  }
  choose(k, play) {
    this.chosen = k;
    if (this.chart.px) this.chart.draw();
    say(this.word(k));
    if (!this.player || !this.runs || !this.runs.motions) return;
    const [t, positions, attitudes] = this.runs.motions[k];
    this.player.play(false); this.player.time = -Infinity; this.player.set([new Motion(this.study.data.runScene, { t, positions, attitudes, shapes: this.runs.shapes })]);
    this.player.play(play);
  }
}
