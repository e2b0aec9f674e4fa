// The page of `dodyn watch`: asks its server for new rows when it announces them, and for a motion when it is looked at.

function showProgress(found, error) {
  const list = make('dl');
  for (const [name, text] of [...found.facts, ...(error ? [['problem', error]] : [])]) list.append(make('dt', {}, name), make('dd', {}, text));
  const table = make('table', {}, make('thead', {}, make('tr', {}, ...['rank', 'host', 'evaluations', 'mean time', 'last result'].map(word => make('th', { scope: 'col' }, word)))),
    make('tbody', {}, ...found.ranks.map(row => make('tr', {}, ...row.map(cell => make('td', {}, String(cell)))))));
  document.getElementById('live').replaceChildren(make('h2', {}, found.running ? 'Running now' : 'Not running'), list, make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Ranks' }, table));
}

// What decides which views a page has.
const shapeOf = data => [Boolean(data.scene), Boolean(data.starts), Boolean(data.iterations), data.rows.id.length > 0, data.statuses.length > 0, Boolean(data.rows.stderr)].join();

async function refresh(study) {
  const answer = await fetch('/data');
  if (!answer.ok) { showProgress({ running: false, facts: [['problem', await answer.text()]], ranks: [] }, ''); return; }
  const found = await answer.json();
  showProgress(found.progress, found.error);
  document.getElementById('summary-0').innerHTML = found.summary;
  if (shapeOf(found.study) !== shapeOf(study.data)) { location.reload(); return; } // the address has the selection
  const { motions, others, runs } = study.data, newest = study.followsBest && study.row === study.data.best;
  study.take({ ...found.study, motions, others, runs });
  if (newest) study.row = study.data.best;
  if (study.followIteration && study.data.iterations) study.followIteration(study.data.iterations.value.length - 1);
  study.redraw();
  document.documentElement.dataset.version = found.version;
}

function follow() {
  const study = window.dodyn.studies[0];
  study.ask = async (kind, id, scenario) => {
    const answer = await fetch(`/${kind}/${id}${scenario ? '?scenario=' + encodeURIComponent(scenario) : ''}`);
    return answer.ok ? await answer.json() : null;
  };
  study.followsBest = !location.hash.includes('row=');
  let busy = false, again = false;
  const look = async () => {
    if (busy) { again = true; return; }
    busy = true;
    try { do { again = false; await refresh(study); } while (again); } catch (error) { showProgress({ running: false, facts: [['problem', 'the server of dodyn watch does not answer']], ranks: [] }, ''); } finally { busy = false; }
  };
  const source = new EventSource('/events');
  source.onmessage = look;
  setInterval(look, 30000); // times since the last results
  study.redraw();
}
