// Additions by a click to a page that is whole without them: series that come and go, values at the pointer, another axis, an order
// and a choice of rows, copies of commands. It changes no number and loads nothing.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const SVG = "http://www.w3.org/2000/svg";

  const make = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  // An axis as the picture tells it: "log 4.1 6.5" are the ends in the scale's own steps.
  const axis = (text, from, to) => {
    const [scale, low, high] = text.split(" ");
    const step = { linear: (v) => v, log: Math.log10, tail: (v) => Math.min(9, -Math.log10(1 - v)) }[scale];
    return (value) => from + ((step(value) - low) / (high - low)) * (to - from);
  };
  const places = (svg) => {
    if (!svg.dataset.field) return null;
    const [left, top, right, bottom] = svg.dataset.field.split(" ").map(Number);
    return { left, top, right, bottom, x: axis(svg.dataset.x, left, right), y: axis(svg.dataset.y, bottom, top) };
  };

  // Files made here: from what the page holds, by the browser alone.
  const file = (name, extension, content) => {
    const plain = name.normalize("NFKD").replace(/[^A-Za-z0-9.]+/g, "-").replace(/^[-.]+|[-.]+$/g, "").slice(0, 80) || "sonde";
    const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content]));
    make("a", { href: url, download: `${plain}.${extension}` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  };
  const saving = (name, kinds) => make("span", { className: "saving" }, ...Object.entries(kinds).map(([kind, content]) => {
    const button = make("button", { type: "button", textContent: kind });
    const extension = kind === "Markdown" ? "md" : kind.toLowerCase();
    button.setAttribute("aria-label", `Save ${name} as ${kind}`);
    button.addEventListener("click", async () => file(name, extension, await content()));
    return button;
  }));
  // A field of CSV. A spreadsheet takes what begins so for a formula: a name from outside shall not be one.
  const field = (value) => {
    const text = typeof value === "string" && /^[=+@\t\r-]/.test(value) ? `'${value}` : String(value ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const csv = (rows) => `\ufeff${rows.map((row) => `${row.map(field).join(",")}\r\n`).join("")}`;
  const md = (text) => text.trim().replace(/\s+/g, " ").replace(/[\\|<>\[\]*_`]/g, "\\$&");
  const markdown = (rows) => {
    const line = (cells) => `| ${cells.map(md).join(" | ")} |\n`;
    return line(rows[0]) + line(rows[0].map(() => "---")) + rows.slice(1).map(line).join("");
  };
  // The base unit of a number, by the words that it is shown with.
  const unit = (text) => {
    const found = /(bit\/s|\/s|%|s)\)?$/.exec(text.trim());
    return found ? { "bit/s": "byte/s", "/s": "1/s", "%": "share", s: "ns" }[found[1]] : "";
  };
  const cells = (row) => [...row.cells].filter((cell) => !cell.classList.contains("choice"));
  const texts = (root) => [root.tHead.rows[0], ...root.tBodies[0].rows].map((row) => cells(row).map((cell) => cell.textContent.trim()));
  // Numbers as they were measured, in one unit that the head names; where a column has several, each number has its own words.
  const tableCsv = (root) => {
    const rows = [...root.tBodies[0].rows];
    const [head] = texts(root);
    const units = head.map((_, column) => {
      const numbers = rows.map((row) => row.cells[column]).filter((cell) => cell?.dataset.v !== undefined);
      const all = new Set(numbers.map((cell) => unit(cell.textContent)));
      return numbers.length && all.size === 1 ? [...all][0] : null;
    });
    const number = (cell, column) => (units[column] !== null && cell.dataset.v !== undefined ? Number(cell.dataset.v) : cell.textContent.trim());
    return csv([head.map((name, column) => (units[column] ? `${name} (${units[column]})` : name)), ...rows.map((row) => cells(row).map(number))]);
  };
  const chartCsv = ({ x, y, series, names }) => csv([
    ["series", x, y, "low", "high", "values"],
    ...series.flatMap(({ name, points }) => points.map(([at, value, , low, high, of]) => [name, names ? names[at] : at, value, low, high, of])),
  ]);
  // A chart by itself: its style goes with it, and its title stands above.
  const picture = (title, svg, light) => {
    const alone = svg.cloneNode(true);
    const { width, height } = svg.viewBox.baseVal;
    alone.querySelectorAll(".cursor").forEach((old) => old.remove());
    const size = { xmlns: SVG, width: width + 40, height: height + 70, viewBox: `-20 -50 ${width + 40} ${height + 70}` };
    for (const [name, value] of Object.entries(size)) alone.setAttribute(name, value);
    const part = (tag, attributes, text) => {
      const element = document.createElementNS(SVG, tag);
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
      element.textContent = text;
      return element;
    };
    const style = document.getElementById("chart-style").textContent;
    alone.prepend(
      part("style", {}, light ? style.replace("screen and (prefers-color-scheme: dark)", "not all") : style),
      part("rect", { class: "back", x: -20, y: -50, width: width + 40, height: height + 70 }, ""),
      part("text", { class: "title", x: 0, y: -22, "font-size": 15 }, title),
    );
    return new XMLSerializer().serializeToString(alone);
  };
  const png = async (title, svg) => {
    const image = new Image();
    image.src = `data:image/svg+xml,${encodeURIComponent(picture(title, svg, true))}`;
    await image.decode();
    const canvas = make("canvas", { width: image.naturalWidth * 2, height: image.naturalHeight * 2 });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => { canvas.toBlob(done, "image/png"); });
  };
  // Each measurement with its method, figures, warnings, quantiles and command, for an issue or a letter.
  const summary = () => {
    const text = (root, selector) => root.querySelector(selector)?.textContent || "";
    const parts = [...document.querySelectorAll("article:not(.cell)")].map((root) => {
      const title = text(root, "h2:not(.unseen)") || text(document, "h1");
      const method = text(root, ".method") || text(document, "header .method");
      const figures = [...root.querySelectorAll(".figures div")].map((one) => [text(one, "dt"), text(one, "dd")]);
      const numbers = root.querySelector("table.numbers");
      const warnings = [...root.querySelectorAll(".warnings li")].map((one) => `- ⚠ ${md(one.textContent)}\n`).join("");
      const command = text(root, "pre.command code");
      const fence = "`".repeat(3);
      return [
        `## ${md(title)}`, md(method), figures.length && markdown([["figure", "value"], ...figures]), warnings,
        numbers && markdown(texts(numbers)), md(text(root, ".when")), command && !command.includes(fence) && `${fence}\n${command}\n${fence}`,
      ].filter(Boolean).join("\n\n");
    });
    return `${parts.join("\n\n")}\n\n${md(document.querySelector("meta[name=generator]").content)}\n`;
  };

  // A figure holds its chart twice, for a column of text and for a telephone; the style shows one.
  const seen = (plot) => [...plot.querySelectorAll("svg")].find((svg) => svg.getBoundingClientRect().width) || plot.querySelector("svg");
  const within = (parts, selector) => parts.flatMap((part) => [...part.querySelectorAll(selector)]);

  // One figure: its tools above, its values at the pointer.
  const figure = (root) => {
    const chart = data.charts[root.dataset.chart];
    const { series } = chart;
    const plot = root.querySelector(".plot");
    const hidden = new Set();
    const after = [];
    const tools = make("div", { className: "tools" });
    plot.before(tools);
    const show = () => {
      for (const part of plot.querySelectorAll(".series")) part.classList.toggle("hidden", hidden.has(Number(part.dataset.series)));
      for (const key of plot.querySelectorAll(".key")) key.setAttribute("aria-pressed", String(!hidden.has(Number(key.dataset.series))));
    };
    // Series without a name belong to the named one before them.
    const owner = series.map(({ name }, number) => (name ? number : -1));
    owner.forEach((known, number) => { if (known < 0) owner[number] = number ? owner[number - 1] : 0; });
    const toggle = (number, on) => {
      owner.forEach((known, part) => { if (known === number) on ? hidden.delete(part) : hidden.add(part); });
      show();
    };
    // The legend is what shows and hides. A picture has no parts to operate, so it becomes a group.
    const operable = (parts) => {
      for (const key of within(parts, ".key")) {
        const number = Number(key.dataset.series);
        const press = () => toggle(number, hidden.has(number));
        key.closest("svg").setAttribute("role", "group");
        key.setAttribute("role", "button");
        key.setAttribute("tabindex", "0");
        key.addEventListener("click", press);
        key.addEventListener("keydown", (event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          event.stopPropagation();
          press();
        });
      }
      show();
    };
    operable([...plot.children]);
    const other = root.querySelector("template");
    if (other) {
      let waiting = [...other.content.children];
      operable(waiting);
      const button = make("button", { type: "button", textContent: "Linear axis" });
      button.addEventListener("click", () => {
        const shown = [...plot.children];
        plot.replaceChildren(...waiting);
        waiting = shown;
        button.textContent = button.textContent === "Linear axis" ? "Logarithmic axis" : "Linear axis";
        show();
        after.forEach((act) => act());
      });
      tools.append(button);
    }
    const title = root.querySelector("h3").textContent;
    const drawn = () => plot.querySelector("svg");
    tools.append(saving(title, { PNG: () => png(title, drawn()), SVG: () => picture(title, drawn(), false), CSV: () => chartCsv(chart) }));
    if (series.some(({ points }) => points.length)) readout(root, plot, chart, hidden);
    return { plot, toggle, swapped: (act) => after.push(act) };
  };

  // One tip for the whole page: beside the pointer, or beside the point that keys have reached.
  const tip = make("output", { className: "tip", hidden: true });
  tip.setAttribute("aria-live", "polite");
  document.body.append(tip);
  const point = (lines, x, y) => {
    tip.replaceChildren(...lines.map(([className, text]) => make("span", { className, textContent: text })));
    tip.hidden = !lines.length;
    const { width, height } = tip.getBoundingClientRect();
    const beside = (at, size, room) => Math.max(2, at + 6 + size <= room ? at + 6 : at - 6 - size);
    tip.style.left = `${beside(x, width, document.documentElement.clientWidth)}px`;
    tip.style.top = `${beside(y, height, innerHeight)}px`;
  };
  const unpoint = () => {
    tip.hidden = true;
    document.querySelectorAll(".cursor").forEach((old) => old.remove());
  };
  addEventListener("scroll", unpoint, { passive: true });
  addEventListener("keydown", (event) => { if (event.key === "Escape") unpoint(); });

  const readout = (root, plot, chart, hidden) => {
    const { series } = chart;
    plot.tabIndex = 0;
    plot.setAttribute("role", "group");
    plot.setAttribute("aria-label", `${root.querySelector("h3").textContent}: arrow keys read values`);
    let at = -1;
    const columns = [...new Set(series.flatMap(({ points }) => points.map(([x]) => x)))].sort((a, b) => a - b);
    const nearest = (points, x) => points.reduce((best, point) => (Math.abs(point[0] - x) < Math.abs(best[0] - x) ? point : best));
    // A line at `x` in this chart, and in those beside it that have the same axis.
    const cursors = (x) => {
      document.querySelectorAll(".cursor").forEach((old) => old.remove());
      const near = root.closest("article, section") || root;
      for (const one of near.querySelectorAll("figure[data-chart]")) {
        const known = data.charts[one.dataset.chart];
        const svg = one.querySelector(".plot svg") && seen(one.querySelector(".plot"));
        const place = svg && places(svg);
        if (!place || (one !== root && known.x !== chart.x)) continue;
        const line = document.createElementNS(SVG, "path");
        line.setAttribute("class", "cursor");
        line.setAttribute("d", `M${place.x(x)},${place.top}V${place.bottom}`);
        svg.append(line);
      }
    };
    // Content of the cell under the pointer.
    const cell = (place, x, y) => {
      const { columns: across, rows: up, counts } = chart.cells;
      const edge = (edges, of, wanted) => edges.findIndex((_, k) => k + 1 < edges.length
        && Math.min(of(edges[k]), of(edges[k + 1])) <= wanted && wanted < Math.max(of(edges[k]), of(edges[k + 1])));
      const [column, row] = [edge(across, place.x, x), edge(up, place.y, y)];
      const told = [[counts[column]?.[row], chart.cells.up[row]], [chart.cells.missing[column], "without a timely answer"]];
      return told.filter(([count]) => count).map(([count, what]) => ["", `${chart.cells.across[column]}, ${what}: ${count}`]);
    };
    const tell = (x, pointer) => {
      const svg = seen(plot);
      const place = places(svg);
      if (!place) return;
      const box = svg.getBoundingClientRect();
      const scale = box.width / svg.viewBox.baseVal.width;
      const lines = pointer && chart.cells ? cell(place, (pointer.x - box.left) / scale, (pointer.y - box.top) / scale) : [];
      const about = [];
      let where = null;
      series.forEach(({ name, about: settings, points }, number) => {
        if (hidden.has(number) || !points.length) return;
        const found = nearest(points, x);
        // Only those of several series that have a point close by are told.
        if (Math.abs(place.x(found[0]) - place.x(x)) > 12) return;
        where ||= [box.left + place.x(found[0]) * scale, box.top + place.y(found[1]) * scale];
        lines.push(["", name && series.length > 1 ? `${name}: ${found[2]}` : found[2]]);
        if (settings && !about.includes(settings)) about.push(settings);
      });
      cursors(x);
      const [left, top] = pointer ? [pointer.x, pointer.y] : where || [box.left, box.top];
      point([...lines, ...about.map((settings) => ["faint", settings])], left, top);
    };
    const follow = (event) => {
      const svg = seen(plot);
      const place = places(svg);
      if (!place) return;
      const box = svg.getBoundingClientRect();
      const wanted = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
      const away = (x) => Math.abs(place.x(x) - wanted);
      at = columns.reduce((best, x, number) => (away(x) < away(columns[best]) ? number : best), 0);
      tell(columns[at], { x: event.clientX, y: event.clientY });
    };
    plot.addEventListener("pointermove", follow);
    plot.addEventListener("pointerdown", follow);
    plot.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") unpoint(); });
    plot.addEventListener("blur", unpoint);
    plot.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1, PageUp: 10, PageDown: -10 }[event.key];
      if (event.key === "Home") at = 0;
      else if (event.key === "End") at = columns.length - 1;
      else if (by) at = Math.max(0, Math.min(columns.length - 1, at + by));
      else return;
      event.preventDefault();
      tell(columns[at]);
    });
  };

  // Rows in another order. Numbers go by their unit's base, rough ones (~) behind firm ones, and what is absent comes last either way.
  const table = (root) => {
    const body = root.tBodies[0];
    const heads = [...root.tHead.rows[0].cells];
    const key = (row, column) => {
      const { textContent, dataset } = row.cells[column];
      const text = textContent.trim();
      const rank = /^[–-]?$/.test(text) ? 2 : text.startsWith("~") ? 1 : 0;
      return { rank, value: dataset.v === undefined ? text : Number(dataset.v) };
    };
    heads.forEach((head, column) => {
      if (!head.textContent) return;
      const button = make("button", { type: "button", textContent: head.textContent });
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const order = ([a], [b]) => {
          if (a.rank !== b.rank) return a.rank - b.rank;
          const numbers = typeof a.value === "number" && typeof b.value === "number";
          const by = numbers ? a.value - b.value : String(a.value).localeCompare(String(b.value), undefined, { numeric: true });
          return up ? by : -by;
        };
        body.append(...[...body.rows].map((row) => [key(row, column), row]).sort(order).map(([, row]) => row));
      });
    });
  };

  // Only the rows that hold some words.
  const filter = (root, number) => {
    const body = root.tBodies[0];
    const input = make("input", { type: "search", id: `filter-${number}` });
    const label = make("label", { htmlFor: input.id, textContent: "Only those with" });
    const count = make("output", { className: "readout" });
    count.setAttribute("aria-live", "polite");
    root.closest(".scroll").before(make("div", { className: "tools" }, label, input, count));
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let left = 0;
      for (const row of body.rows) {
        const text = row.textContent.toLowerCase();
        const fits = words.every((word) => text.includes(word));
        row.classList.toggle("left-out", !fits);
        left += fits;
      }
      count.textContent = words.length ? `${left} of ${body.rows.length}` : "";
    });
  };

  // Curves that are chosen in the table, where there are many.
  const choice = (root, { plot, toggle, swapped }) => {
    const rows = [...root.tBodies[0].rows];
    if (!data.curves.length) return;
    const drawn = new Map(data.drawn.map((place, series) => [place, series]));
    const chosen = new Set();
    const draw = (number) => {
      for (const svg of plot.querySelectorAll("svg")) {
        const place = places(svg);
        const path = document.createElementNS(SVG, "path");
        path.setAttribute("class", `line c${number % 8}`);
        path.setAttribute("data-curve", number);
        path.setAttribute("d", `M${data.curves[number].map(([x, y]) => `${place.x(x).toFixed(1)},${place.y(y).toFixed(1)}`).join(" ")}`);
        svg.append(path);
      }
    };
    swapped(() => chosen.forEach((number) => plot.querySelector(`[data-curve="${number}"]`) || draw(number)));
    const head = make("th", { scope: "col", className: "choice", textContent: "drawn" });
    root.tHead.rows[0].append(head);
    rows.forEach((row, number) => {
      const box = make("input", { type: "checkbox", checked: drawn.has(number) });
      box.setAttribute("aria-label", `draw ${row.cells[0].textContent}`);
      box.disabled = !data.curves[number].length;
      box.addEventListener("change", () => {
        if (drawn.has(number)) return toggle(drawn.get(number), box.checked);
        if (box.checked) {
          chosen.add(number);
          draw(number);
        } else {
          chosen.delete(number);
          plot.querySelectorAll(`[data-curve="${number}"]`).forEach((path) => path.remove());
        }
      });
      row.append(make("td", { className: "choice" }, box));
    });
  };

  const figures = new Map();
  for (const root of document.querySelectorAll("figure[data-chart]")) figures.set(root.dataset.chart, figure(root));
  // A cell of a matrix opens its record beside it, by its link alone. Here it is closed by Escape too, and leads back to where it was opened.
  let opener = null;
  const cell = () => document.querySelector("article.cell:target");
  const leave = () => {
    if (opener) history.back();
    else location.hash = "main";
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (link?.classList.contains("close")) {
      event.preventDefault();
      leave();
    } else if (link?.hash.startsWith("#cell=") && !cell()) {
      opener = link;
    }
  });
  addEventListener("keydown", (event) => { if (event.key === "Escape" && cell()) leave(); });
  addEventListener("hashchange", () => {
    if (cell()) return cell().focus();
    opener?.focus();
    opener = null;
  });

  const index = document.querySelector("table.index");
  if (index && figures.has("all-p")) choice(index, figures.get("all-p"));
  [...document.querySelectorAll("table:not(.matrix)")].forEach((root, number) => {
    const rows = root.tBodies[0].rows.length;
    if (rows > 12 || (root === index && rows > 5)) filter(root, number);
    const name = root.caption.textContent;
    root.caption.append(saving(name, { CSV: () => tableCsv(root), Markdown: () => markdown(texts(root)) }));
    if (rows > 1) table(root);
  });
  if (document.querySelector("article:not(.cell)")) {
    const title = document.querySelector("h1").textContent;
    document.querySelector("header.page").append(make("div", { className: "tools readout" }, "Summary:", saving(title, { Markdown: summary })));
  }

  // On paper warnings stand open, in browsers too that cannot open them by style.
  const folded = [...document.querySelectorAll("details.warnings:not([open])")];
  addEventListener("beforeprint", () => folded.forEach((part) => { part.open = true; }));
  addEventListener("afterprint", () => folded.forEach((part) => { part.open = false; }));

  for (const command of document.querySelectorAll("pre.command")) {
    const button = make("button", { type: "button", className: "copy", textContent: "Copy" });
    button.addEventListener("click", async () => {
      const text = command.querySelector("code").textContent;
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        // No clipboard here: the command is marked, for a copy by hand.
        getSelection().selectAllChildren(command.querySelector("code"));
        button.textContent = "Marked";
      }
    });
    command.before(button);
  }
})();
