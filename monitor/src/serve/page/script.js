// The monitor's page. Everything shown comes from /api/v1; names and words are put in as text, never as markup.
'use strict';

const main = document.getElementById('main');
const clock = document.getElementById('clock');
let picture = null;
let over = null;

// -- small helpers ---------------------------------------------------------------------------------------------------------------------------

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === 'text') node.textContent = value;
    else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function time(nanos) {
  if (nanos === null || nanos === undefined) return '–';
  const units = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];
  const [size, unit] = units.find(([size]) => nanos >= size) || [1, 'ns'];
  const value = nanos / size;
  return `${value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)} ${unit}`;
}

function share(lost, sent) {
  if (!sent) return '–';
  if (!lost) return '0 %';
  const percent = (100 * lost) / sent;
  return `${percent >= 10 ? percent.toFixed(0) : percent.toPrecision(2)} %`;
}

const two = (number) => String(number).padStart(2, '0');
function moment(second, withDay) {
  const at = new Date(second * 1000);
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} `;
  return `${withDay ? day : ''}${two(at.getHours())}:${two(at.getMinutes())}${withDay ? '' : `:${two(at.getSeconds())}`}`;
}

const enc = encodeURIComponent;
const cellLink = (cell) => `#/cell/${enc(picture.hosts[cell.from].name)}/${enc(picture.hosts[cell.to].name)}/${cell.over}`;

// -- what a cell looks like ------------------------------------------------------------------------------------------------------------------

const STATES = {
  fine: ['fine', '', 'as usual'], slower: ['slow2', '▲', 'slower than usual'], faster: ['fast', '▼', 'faster than usual'],
  loses: ['lost', '×', 'loses requests'], silent: ['silent', '×', 'nothing is answered'],
  disturbed: ['none', '', 'the host that asks is late itself'], unknown: ['none', '', 'not known'],
};
const WORST = ['silent', 'loses', 'slower', 'disturbed', 'unknown', 'faster', 'fine'];

function fill(cell) {
  if (cell.state === 'slower') {
    const ratio = cell.usual_ns && cell.p50_ns ? cell.p50_ns / cell.usual_ns : 1.3;
    return color(ratio < 1.25 ? 'slow1' : ratio < 2 ? 'slow2' : 'slow3');
  }
  return color(STATES[cell.state][0]);
}

// A half square, or a whole one; what is not known is hatched, so that it is never taken for good.
function paint(context, x, y, size, cell, half) {
  context.save();
  context.beginPath();
  if (half === 'upper') { context.moveTo(x, y); context.lineTo(x + size, y); context.lineTo(x, y + size); }
  else if (half === 'lower') { context.moveTo(x + size, y); context.lineTo(x + size, y + size); context.lineTo(x, y + size); }
  else context.rect(x, y, size, size);
  context.closePath();
  context.clip();
  context.fillStyle = cell ? fill(cell) : color('paper');
  context.fillRect(x, y, size, size);
  if (cell && (cell.state === 'unknown' || cell.state === 'disturbed')) {
    context.strokeStyle = color('hatch');
    const lean = cell.state === 'disturbed' ? -1 : 1;
    for (let at = -size; at < 2 * size; at += 4) {
      context.beginPath();
      context.moveTo(x + at, lean > 0 ? y + size : y);
      context.lineTo(x + at + size, lean > 0 ? y : y + size);
      context.stroke();
    }
  }
  const glyph = cell ? STATES[cell.state][1] : '';
  if (glyph && size >= 10) {
    context.fillStyle = cell.state === 'slower' || cell.state === 'faster' ? color('text') : color('paper');
    context.font = `${Math.floor(size * (half ? 0.42 : 0.7))}px sans-serif`;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    const shift = half === 'upper' ? 0.3 : half === 'lower' ? 0.7 : 0.5;
    context.fillText(glyph, x + size * shift, y + size * shift);
  }
  context.restore();
}

function canvas(width, height) {
  const scale = window.devicePixelRatio || 1;
  const node = make('canvas', { width: Math.round(width * scale), height: Math.round(height * scale) });
  node.style.width = `${width}px`;
  node.style.height = `${height}px`;
  const context = node.getContext('2d');
  context.scale(scale, scale);
  return [node, context];
}

function legend() {
  const list = make('ul', { class: 'legend' });
  for (const state of ['fine', 'slower', 'faster', 'loses', 'silent', 'disturbed', 'unknown']) {
    const [node, context] = canvas(14, 14);
    node.setAttribute('aria-hidden', 'true');
    paint(context, 0, 0, 14, { state, usual_ns: 1, p50_ns: 1.5 });
    list.append(make('li', {}, node, STATES[state][2]));
  }
  return list;
}

function describe(cell) {
  const from = picture.hosts[cell.from].name;
  const to = picture.hosts[cell.to].name;
  const usual = cell.usual_ns ? `, usually ${time(cell.usual_ns)}` : '';
  const reply = cell.probe && cell.probe.reply ? `, latest reply ${cell.probe.reply}` : '';
  // A date has 8.64e12 seconds at most.
  const until = cell.probe && cell.probe.certified_until_s < 8e12 ? cell.probe.certified_until_s : 0;
  const certificate = until ? `, certificate until ${new Date(until * 1000).toISOString().slice(0, 10)}` : '';
  return `${from} → ${to} by ${cell.over}: ${STATES[cell.state][2]}${reply}${certificate}; p50 ${time(cell.p50_ns)}${usual}, p99 ${time(cell.p99_ns)}, ${share(cell.lost, cell.sent)} lost in the last whole minute`;
}

// -- the mesh --------------------------------------------------------------------------------------------------------------------------------

const MOST_HOSTS = 64;
const zoneOf = (host) => host.zone || '';

function cellsNow() { return picture.cells.filter((cell) => cell.over === over); }

// Squares by the places of two things; a square has what goes each way.
function matrix(names, groups, cells, open, label) {
  const count = names.length;
  const size = Math.max(6, Math.min(44, Math.floor(Math.min(main.clientWidth - 140, 640) / Math.max(count, 1))));
  const named = size >= 12;
  const margin = named ? 120 : 24;
  const [node, context] = canvas(margin + count * size + 1, margin + count * size + 1);
  const byPlace = new Map();
  for (const [one, other, cell] of cells) {
    const key = one <= other ? one * count + other : other * count + one;
    const pair = byPlace.get(key) || {};
    const side = one <= other ? 'upper' : 'lower';
    if (!pair[side] || WORST.indexOf(cell.state) < WORST.indexOf(pair[side].state)) pair[side] = cell;
    byPlace.set(key, pair);
  }
  context.font = '11px sans-serif';
  context.fillStyle = color('text');
  for (let row = 0; row < count; row += 1) {
    for (let column = row; column < count; column += 1) {
      const pair = byPlace.get(row * count + column);
      if (!pair) continue;
      const [x, y] = [margin + column * size, margin + row * size];
      if (row === column) paint(context, x, y, size - 1, pair.upper);
      else { paint(context, x, y, size - 1, pair.upper, 'upper'); paint(context, x, y, size - 1, pair.lower, 'lower'); }
    }
  }
  context.strokeStyle = color('quiet');
  let last = null;
  names.forEach((name, at) => {
    if (groups && groups[at] !== last) {
      last = groups[at];
      const edge = margin + at * size - 0.5;
      context.beginPath();
      context.moveTo(edge, margin); context.lineTo(edge, edge);
      context.moveTo(edge, edge); context.lineTo(margin + count * size, edge);
      context.stroke();
    }
    if (!named) return;
    context.fillStyle = color('text');
    const short = name.length > 16 ? `${name.slice(0, 15)}…` : name;
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    context.fillText(short, margin + at * size - 6, margin + at * size + size / 2);
    context.save();
    context.translate(margin + at * size + size / 2, margin - 6);
    context.rotate(-Math.PI / 3);
    context.textAlign = 'left';
    context.fillText(short, 0, 0);
    context.restore();
  });
  const readout = make('p', { class: 'readout quiet', role: 'status', text: label });
  const frame = make('div', { class: 'frame', hidden: '' });
  let cursor = [0, Math.min(1, count - 1)];
  const tell = () => {
    frame.hidden = false;
    const across = node.clientWidth / (margin + count * size + 1);
    frame.style.left = `${(margin + cursor[1] * size) * across}px`;
    frame.style.top = `${(margin + cursor[0] * size) * across}px`;
    frame.style.width = frame.style.height = `${size * across}px`;
    const pair = byPlace.get(cursor[0] * count + cursor[1]);
    const lines = pair ? [pair.upper, pair.lower].filter(Boolean).map((cell) => cell.words || describe(cell)) : ['not asked'];
    readout.textContent = `${names[cursor[0]]} and ${names[cursor[1]]}. ${lines.join('. ')}`;
  };
  const at = (event) => {
    const box = node.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left) * (margin + count * size + 1) / box.width - margin) / size);
    const row = Math.floor(((event.clientY - box.top) * (margin + count * size + 1) / box.height - margin) / size);
    return row >= 0 && column >= row && column < count ? [row, column] : null;
  };
  node.addEventListener('mousemove', (event) => { const place = at(event); if (place) { cursor = place; tell(); } });
  const enter = () => { const pair = byPlace.get(cursor[0] * count + cursor[1]); if (pair) open(pair, cursor); };
  node.addEventListener('click', (event) => { const place = at(event); if (place) { cursor = place; tell(); enter(); } });
  node.tabIndex = 0;
  node.setAttribute('role', 'application');
  node.setAttribute('aria-label', `${label} Arrow keys move, Enter opens.`);
  node.addEventListener('keydown', (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (step) {
      const [row, column] = [cursor[0] + step[0], cursor[1] + step[1]];
      if (row >= 0 && column < count && row <= column) { cursor = [row, column]; tell(); }
      event.preventDefault();
    } else if (event.key === 'Enter') enter();
  });
  node.addEventListener('focus', () => { if (node.matches(':focus-visible')) tell(); });
  return make('div', {}, make('div', { class: 'scroll' }, make('div', { class: 'grid' }, node, frame)), readout);
}

function hostMatrix(chosen) {
  const order = picture.hosts.map((host, place) => [host, place]).filter(([host]) => !chosen || chosen.includes(zoneOf(host)));
  order.sort(([one], [other]) => zoneOf(one).localeCompare(zoneOf(other)) || one.name.localeCompare(other.name, undefined, { numeric: true }));
  const places = new Map(order.map(([, place], at) => [place, at]));
  const cells = cellsNow().filter((cell) => places.has(cell.from) && places.has(cell.to)).map((cell) => [places.get(cell.from), places.get(cell.to), cell]);
  const open = (pair) => { location.hash = cellLink(pair.upper && pair.lower ? (WORST.indexOf(pair.upper.state) <= WORST.indexOf(pair.lower.state) ? pair.upper : pair.lower) : pair.upper || pair.lower); };
  return matrix(order.map(([host]) => host.name), order.map(([host]) => zoneOf(host)), cells, open, 'Each square is a pair of hosts: its upper half the way from the row’s host to the column’s, its lower half the way back.');
}

function zoneMatrix(zones) {
  const place = new Map(zones.map((zone, at) => [zone, at]));
  const sums = new Map();
  for (const cell of cellsNow()) {
    const [one, other] = [place.get(zoneOf(picture.hosts[cell.from])), place.get(zoneOf(picture.hosts[cell.to]))];
    const key = `${one}/${other}`;
    const sum = sums.get(key) || { one, other, counts: {}, all: 0 };
    sum.counts[cell.state] = (sum.counts[cell.state] || 0) + 1;
    sum.all += 1;
    sums.set(key, sum);
  }
  const cells = [...sums.values()].map((sum) => {
    // One bad host of many does not colour a zone: a twentieth does. What is less is told in the readout.
    const wrong = WORST.find((state) => state !== 'fine' && (sum.counts[state] || 0) >= Math.max(1, sum.all / 20)) || 'fine';
    const counts = Object.entries(sum.counts).map(([state, count]) => `${count} ${state}`).join(', ');
    return [sum.one, sum.other, { state: wrong, words: `zone ${zones[sum.one] || '–'} → zone ${zones[sum.other] || '–'}: ${counts} of ${sum.all} cells` }];
  });
  const open = (pair, [row, column]) => { location.hash = `#/zones/${enc(zones[row])}/${enc(zones[column])}`; };
  return matrix(zones.map((zone) => zone || '–'), null, cells, open, 'Each square is a pair of zones; open it for its hosts.');
}

function worst() {
  const wrong = cellsNow().filter((cell) => cell.state !== 'fine' && cell.state !== 'unknown');
  wrong.sort((one, other) => WORST.indexOf(one.state) - WORST.indexOf(other.state) || ratio(other) - ratio(one));
  if (!wrong.length) return make('p', { class: 'quiet', text: 'No cell differs from what is usual.' });
  const rows = wrong.slice(0, 20).map((cell) => make('tr', {},
    make('td', {}, make('a', { href: cellLink(cell), text: `${picture.hosts[cell.from].name} → ${picture.hosts[cell.to].name}` })),
    make('td', { class: 'words', text: STATES[cell.state][2] }), make('td', { text: time(cell.p50_ns) }), make('td', { text: share(cell.lost, cell.sent) })));
  const more = wrong.length > 20 ? make('p', { class: 'quiet', text: `and ${wrong.length - 20} more` }) : null;
  return make('div', {}, table(['cell', 'state', 'p50', 'lost'], rows), ...(more ? [more] : []));
}

const ratio = (cell) => (cell.usual_ns && cell.p50_ns ? cell.p50_ns / cell.usual_ns : 0);

function table(heads, rows) {
  return make('div', { class: 'scroll' }, make('table', {}, make('thead', {}, make('tr', {}, ...heads.map((head) => make('th', { scope: 'col', text: head })))), make('tbody', {}, ...rows)));
}

const wrong = () => picture.incidents.filter((incident) => incident.kind !== 'faster');

function summary() {
  const count = wrong().length;
  const better = picture.incidents.length - count;
  const silent = picture.hosts.filter((host) => host.agent && host.agent.standing !== 'measuring').length;
  const told = silent ? ` ${silent} of ${picture.hosts.filter((host) => host.agent).length} agents do not tell.` : '';
  const faster = better ? ` ${better} ${better === 1 ? 'change' : 'changes'} for the better.` : '';
  const text = `${count === 0 ? 'Nothing is' : `${count} ${count === 1 ? 'thing is' : 'things are'}`} wrong.${faster}${told}`;
  return make('h1', { class: count || silent ? 'found' : 'well', text });
}

function overChoice() {
  const all = [...new Set(picture.cells.map((cell) => cell.over))];
  if (!all.includes(over)) over = all[0] || 'udp';
  if (all.length < 2) return null;
  const select = make('select', { onchange: (event) => { over = event.target.value; show(); } }, ...all.map((each) => {
    const option = make('option', { value: each, text: each });
    option.selected = each === over;
    return option;
  }));
  return make('label', { class: 'choices' }, 'by ', select);
}

// Faults of the monitor itself.
function faults() {
  const told = [];
  if (picture.store_fault) told.push(`History is not kept: ${picture.store_fault}. The agents hold it until it is.`);
  if (picture.collector && picture.collector.fault) told.push(`The OpenTelemetry collector does not take the metrics: ${picture.collector.fault}.`);
  return told.map((text) => make('p', { class: 'found', role: 'alert', text }));
}

function meshView(chosen) {
  const zones = [...new Set(picture.hosts.map(zoneOf))].sort();
  const choice = overChoice();
  const byZones = !chosen && picture.hosts.length > MOST_HOSTS && zones.length > 1;
  const grid = byZones ? zoneMatrix(zones) : hostMatrix(chosen);
  const head = chosen ? make('h2', { text: `Zones ${[...new Set(chosen)].map((zone) => zone || '–').join(' and ')}` }) : null;
  return [summary(), ...faults(), make('div', { class: 'columns' },
      make('section', {}, ...[head, choice].filter(Boolean), grid, legend()),
      make('section', {}, make('h2', { text: 'Incidents' }), incidentList(picture.incidents), make('h2', { text: 'Worst first' }), worst()))];
}

// -- incidents, hosts, wall ------------------------------------------------------------------------------------------------------------------

const MOST_INCIDENTS = 50;
const silent = (incident) => (incident.silent_until ? `, silenced until ${moment(incident.silent_until, true)}${incident.silent_why ? ` (${incident.silent_why})` : ''}` : '');
function incidentList(incidents) {
  if (!incidents.length) return make('p', { class: 'quiet', text: 'None.' });
  const more = incidents.length - MOST_INCIDENTS;
  return make('ul', { class: 'incidents' }, ...incidents.slice(0, MOST_INCIDENTS).map((incident) => make('li', { class: incident.ended ? 'over' : '' },
    make('a', { href: `#/incident/${incident.id}`, text: incident.text }),
    make('span', { class: 'quiet', text: ` incident ${incident.id}, noticed ${moment(incident.found, true)}${incident.ended ? `, over ${moment(incident.ended, true)}` : ''}${silent(incident)}` }))), ...(more > 0 ? [make('li', { class: 'over', text: `and ${more} more` })] : []));
}

function incidentsView(id) {
  const all = [...picture.incidents, ...picture.past];
  if (id === null) return [summary(), make('h2', { text: 'Now' }), incidentList(picture.incidents), make('h2', { text: 'Over' }), incidentList(picture.past)];
  const incident = all.find((each) => String(each.id) === id);
  if (!incident) return [make('h1', { text: `Incident ${id} is not among those that are shown` })];
  const named = incident.scope.split('=').slice(1).join('=').split('>');
  const cells = picture.cells.filter((cell) => named.includes(picture.hosts[cell.from].name) || named.includes(picture.hosts[cell.to].name)).slice(0, 40);
  const rows = cells.map((cell) => make('tr', {}, make('td', {}, make('a', { href: cellLink(cell), text: `${picture.hosts[cell.from].name} → ${picture.hosts[cell.to].name}` })),
    make('td', { class: 'words', text: STATES[cell.state][2] }), make('td', { text: time(cell.p50_ns) }), make('td', { text: time(cell.usual_ns) }), make('td', { text: share(cell.lost, cell.sent) })));
  return [make('h1', { class: incident.ended ? 'well' : 'found', text: incident.text }),
    make('p', { text: `Incident ${incident.id} began between ${moment(incident.onset_from)} and ${moment(incident.onset_to)}, was noticed at ${moment(incident.found, true)}${incident.ended ? ` and was over at ${moment(incident.ended, true)}` : ' and goes on'}${silent(incident)}.` }),
    make('h2', { text: 'Cells of those named' }), table(['cell', 'state now', 'p50', 'usually', 'lost'], rows)];
}

const STANDING = { starting: 'is being reached', measuring: 'measures', quiet: 'tells nothing', 'catching-up': 'tells what it kept', away: 'is not reached' };

function hostsView() {
  const rows = picture.hosts.map((host) => {
    const agent = host.agent;
    const words = agent ? `${STANDING[agent.standing]} since ${moment(agent.since, true)}` : 'is asked only';
    return make('tr', {}, make('td', { text: host.name }), make('td', { text: host.zone || '–' }), make('td', { class: 'words', text: words }),
      make('td', { text: agent && agent.slip_ns !== null ? time(agent.slip_ns) : '–' }), make('td', { text: agent && agent.cpu_pressure !== null ? `${(100 * agent.cpu_pressure).toFixed(0)} %` : '–' }),
      make('td', { text: (agent && agent.version) || '–' }), make('td', { class: 'words', text: agent ? agent.troubles.join('; ') : '' }));
  });
  return [make('h1', { text: `${picture.hosts.length} hosts` }), make('p', { class: 'quiet', text: 'Late: the longest that one of its own requests left after it was due, in its latest second. Waits: share of that second in which something waited for a processor.' }),
    table(['host', 'zone', 'agent', 'late', 'waits', 'version', 'troubles'], rows)];
}

function wallView() {
  return [make('div', { class: 'wall' }, summary(), ...faults(), incidentList(wrong()))];
}

// -- one cell --------------------------------------------------------------------------------------------------------------------------------

const RANGES = [['1 h', 3600, 'minute'], ['6 h', 21600, 'minute'], ['1 d', 86400, 'minute'], ['14 d', 1209600, 'hour'], ['400 d', 34560000, 'day']];
const LENGTH = { minute: 60, hour: 3600, day: 86400 };
let shownCell = null;

// `place` is one of the ranges until now, or the first second of a minute: then the hour around it is shown, and that minute is told.
async function cellView(from, to, by, place) {
  const minute = place >= RANGES.length ? place - (place % 60) : null;
  const range = minute === null ? place : null;
  const [, seconds, step] = RANGES[range || 0];
  const since = minute === null ? Math.max(0, picture.at - seconds) : Math.max(0, minute - 1800);
  const until = minute === null ? picture.at : minute + 1800;
  const address = `api/v1/cell?from=${enc(from)}&to=${enc(to)}&over=${enc(by)}&since=${since}&by=${step}${minute === null ? '' : `&until=${until}`}`;
  const key = `${minute === null ? address.replace(/since=\d+/, '') : address}/${Math.floor(picture.at / 60)}`;
  if (!shownCell || shownCell.key !== key) {
    const answer = await fetch(address);
    if (!answer.ok) return [make('h1', { text: `${from} → ${to}` }), make('p', { class: 'found', text: await answer.text() })];
    shownCell = { key, intervals: await answer.json() };
  }
  const intervals = shownCell.intervals;
  const places = Object.fromEntries(picture.hosts.map((host, place) => [host.name, place]));
  const cell = picture.cells.find((each) => each.from === places[from] && each.to === places[to] && each.over === by);
  const back = `#/cell/${enc(to)}/${enc(from)}/${by}`;
  const choices = make('p', { class: 'choices' }, ...RANGES.map(([name], at) => at === range ? make('strong', { text: name }) : make('a', { href: `#/cell/${enc(from)}/${enc(to)}/${by}/${at}`, text: name })), make('a', { href: back, text: 'the other way' }));
  const detail = make('div', {});
  const wanted = intervals.find((each) => each.at === minute);
  if (wanted) tellInterval(wanted, step, detail);
  else if (minute !== null) detail.append(make('p', { class: 'found', text: `Of the minute from ${moment(minute, true)} nothing is kept${picture.at < minute + 120 ? ' yet: it comes when the minute is over' : ''}.` }));
  const rows = intervals.slice(-30).reverse().map((each) => intervalRow(each, step, detail));
  return [make('h1', { text: `${from} → ${to} by ${by}` }), make('p', { text: cell ? describe(cell) : 'This cell is not asked at present.' }), choices,
    intervals.length ? heatMap(intervals, since, until, LENGTH[step], detail, step) : make('p', { class: 'quiet', text: 'Nothing is kept of this time.' }), detail,
    make('h2', { text: `By ${step}, the latest first` }), table(['from', 'p50', 'p99', 'longest', 'sent', 'lost', 'there', 'back', 'disturbed'], rows)];
}

function intervalRow(each, step, detail) {
  return make('tr', {}, make('td', {}, make('button', { text: moment(each.at, true), onclick: () => tellInterval(each, step, detail) })), make('td', { text: time(each.p50_ns) }), make('td', { text: time(each.p99_ns) }), make('td', { text: time(each.max_ns) }),
    make('td', { text: String(each.sent) }), make('td', { text: share(each.lost, each.sent) }), make('td', { text: each.lost_out ? String(each.lost_out) : '–' }), make('td', { text: each.lost_back ? String(each.lost_back) : '–' }), make('td', { text: each.disturbed ? `${each.disturbed} s` : '–' }));
}

function tellInterval(each, step, detail) {
  const most = Math.max(1, ...each.buckets.map(([, count]) => count));
  const rows = each.buckets.map(([middle, count]) => {
    const [bar, context] = canvas(Math.max(2, (200 * count) / most), 10);
    context.fillStyle = color('accent');
    context.fillRect(0, 0, 200, 10);
    bar.setAttribute('aria-hidden', 'true');
    return make('tr', {}, make('td', { text: time(middle) }), make('td', { text: String(count) }), make('td', { class: 'words' }, bar));
  });
  detail.replaceChildren(make('h2', { text: `The ${step} from ${moment(each.at, true)}` }),
    make('p', { text: `${each.sent} sent, ${each.lost} lost (${each.lost_out} on the way there, ${each.lost_back} on the way back, ${each.lost - each.lost_out - each.lost_back} not known which). p50 ${time(each.p50_ns)}, p99 ${time(each.p99_ns)}, longest ${time(each.max_ns)}.` }),
    table(['about', 'answers', ''], rows));
}

// Latency, logarithmic, against time: the darker the more answers. Both medians and p99 as lines, losses as marks below.
function heatMap(intervals, since, until, length, detail, step) {
  const width = Math.max(280, Math.min(main.clientWidth, 1100));
  const [height, left, below] = [280, 64, 40];
  const [node, context] = canvas(width, height);
  const values = intervals.flatMap((each) => each.buckets.map(([middle]) => middle));
  if (!values.length) return make('p', { class: 'quiet', text: 'Nothing was answered in this time.' });
  const [low, high] = [Math.log10(values.reduce((a, b) => Math.min(a, b))) - 0.05, Math.log10(values.reduce((a, b) => Math.max(a, b))) + 0.05];
  const rows = 48;
  const columns = Math.max(1, Math.ceil((until - since) / length));
  const group = Math.max(1, Math.ceil(columns / (width - left)));
  const x = (at) => left + ((at - since) / (columns * length)) * (width - left);
  const y = (nanos) => (height - below) * (1 - (Math.log10(nanos) - low) / (high - low));
  const heat = new Map();
  for (const each of intervals) {
    for (const [middle, count] of each.buckets) {
      const key = `${Math.floor((each.at - since) / length / group)}/${Math.min(rows - 1, Math.floor(((Math.log10(middle) - low) / (high - low)) * rows))}`;
      heat.set(key, (heat.get(key) || 0) + count);
    }
  }
  const most = Math.log(1 + [...heat.values()].reduce((a, b) => Math.max(a, b), 1));
  const dark = window.matchMedia('(prefers-color-scheme: dark)').matches;
  const [wide, tall] = [Math.max(1, x(since + group * length) - left), (height - below) / rows];
  for (const [key, count] of heat) {
    const [column, row] = key.split('/').map(Number);
    const weight = Math.log(1 + count) / most;
    const light = dark ? 22 + 60 * weight : 90 - 62 * weight;
    context.fillStyle = `hsl(205 55% ${light}%)`;
    context.fillRect(left + column * wide, height - below - (row + 1) * tall, Math.ceil(wide), Math.ceil(tall));
  }
  const line = (figure, name) => {
    context.strokeStyle = color(name);
    context.lineWidth = 1.5;
    context.beginPath();
    let last = null;
    for (const each of intervals) {
      if (each[figure] === null) { last = null; continue; }
      const place = [x(each.at + length / 2), y(each[figure])];
      if (last !== null && each.at - last <= length) context.lineTo(...place); else context.moveTo(...place);
      last = each.at;
    }
    context.stroke();
  };
  line('p50_ns', 'text');
  line('p99_ns', 'alarm');
  context.fillStyle = color('text');
  context.font = '11px sans-serif';
  context.textBaseline = 'middle';
  context.textAlign = 'right';
  for (let decade = Math.ceil(low); decade <= high; decade += 1) {
    for (const factor of high - low < 2.5 ? [1, 2, 5] : [1]) {
      const nanos = factor * 10 ** decade;
      if (Math.log10(nanos) > high) continue;
      context.fillText(time(nanos).replace(/\.0+ /, ' '), left - 6, y(nanos));
    }
  }
  context.textAlign = 'center';
  for (const each of intervals) {
    if (!each.lost) continue;
    context.fillStyle = color('lost');
    context.fillText('×', x(each.at + length / 2), height - below + 8);
  }
  for (const mark of picture.marks.filter((each) => each.at >= since && each.at < until)) {
    context.strokeStyle = color('accent');
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(x(mark.at), 0);
    context.lineTo(x(mark.at), height - below);
    context.stroke();
    context.setLineDash([]);
  }
  context.fillStyle = color('quiet');
  const days = columns * length > 86400;
  for (let tick = 0; tick <= 4; tick += 1) {
    const at = since + (tick * columns * length) / 4;
    context.textAlign = tick === 0 ? 'left' : tick === 4 ? 'right' : 'center';
    context.fillText(moment(at, days), left + (tick * (width - left)) / 4, height - 10);
  }
  node.setAttribute('role', 'img');
  node.setAttribute('aria-label', 'Response times over time; the table below has the same numbers.');
  node.addEventListener('click', (event) => {
    const box = node.getBoundingClientRect();
    const at = since + (((event.clientX - box.left) * width) / box.width - left) / (width - left) * columns * length;
    const nearest = intervals.reduce((best, each) => (Math.abs(each.at + length / 2 - at) < Math.abs(best.at + length / 2 - at) ? each : best));
    tellInterval(nearest, step, detail);
  });
  return make('figure', {}, node, make('figcaption', { class: 'quiet', text: 'The darker (on a dark screen: the lighter), the more answers. Lines: median and, in the colour of alarms, p99. × below: something was lost. Dashed: a mark. A click tells an interval.' }));
}

// -- what is shown ---------------------------------------------------------------------------------------------------------------------------

let turn = 0;

async function show() {
  if (!picture) return;
  turn += 1;
  const mine = turn;
  document.getElementById('name').textContent = picture.name || '';
  document.title = `${wrong().length ? `(${wrong().length}) ` : ''}${picture.name || 'sonde monitor'}`;
  clock.textContent = moment(picture.at);
  clock.classList.remove('late');
  const words = location.hash.replace(/^#\/?/, '').split('/').map(decodeURIComponent);
  let content;
  if (words[0] === 'incidents') content = incidentsView(null);
  else if (words[0] === 'incident') content = incidentsView(words[1]);
  else if (words[0] === 'hosts') content = hostsView();
  else if (words[0] === 'wall') content = wallView();
  else if (words[0] === 'zones') content = meshView([words[1], words[2]]);
  else if (words[0] === 'cell') content = await cellView(words[1], words[2], words[3] || 'udp', Math.max(0, Math.floor(Number(words[4])) || 0));
  else content = meshView(null);
  // A view that was overtaken by another is not shown, and one in which somebody works with the keyboard is not taken from him.
  if (mine !== turn || (busy() && content)) return;
  main.replaceChildren(...content);
  if (turn === mine && !performance.getEntriesByName('shown').length) performance.mark('shown');
}

let entered = '';
function busy() {
  const same = entered === location.hash;
  entered = location.hash;
  return same && main.contains(document.activeElement) && document.activeElement !== main;
}

async function load() {
  try {
    const answer = await fetch('api/v1/now');
    if (!answer.ok) throw new Error(await answer.text());
    picture = await answer.json();
    await show();
  } catch (error) {
    clock.textContent = `The monitor does not answer: ${error.message}`;
    clock.classList.add('late');
  }
}

let planned = false;
function soon() {
  if (planned) return;
  planned = true;
  // A picture of many cells is megabytes: it is fetched less often.
  const wait = picture && picture.cells.length > 2000 ? 5000 : 1000;
  setTimeout(() => { planned = false; load(); }, wait);
}

window.addEventListener('hashchange', () => { show(); main.focus(); });
window.addEventListener('resize', show);
// Escape leads back to the mesh; there it lets go of the grid, which goes on with the news then.
window.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return;
  if (location.hash.replace(/^#\/?/, '')) location.hash = '#/';
  else if (document.activeElement) document.activeElement.blur();
});
load();
const events = new EventSource('api/v1/events');
events.addEventListener('message', soon);
events.addEventListener('error', () => { clock.textContent = 'The monitor does not answer; trying again'; clock.classList.add('late'); });
