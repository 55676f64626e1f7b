// What a click adds to a page that is whole without it: series that come and go, readouts of points, another axis, an order
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

  // One figure: its tools above, its readout below.
  const figure = (root) => {
    const series = data.charts[root.dataset.chart] || [];
    const plot = root.querySelector(".plot");
    const hidden = new Set();
    const after = [];
    const tools = make("div", { className: "tools" });
    plot.before(tools);
    const show = () => {
      const svg = plot.querySelector("svg");
      for (const part of svg.querySelectorAll(".series")) part.classList.toggle("hidden", hidden.has(Number(part.dataset.series)));
      for (const key of svg.querySelectorAll(".key")) key.setAttribute("aria-pressed", String(!hidden.has(Number(key.dataset.series))));
    };
    // Series without a name belong to the named one before them.
    const owner = series.map(({ name }, number) => (name ? number : -1));
    owner.forEach((known, number) => { if (known < 0) owner[number] = number ? owner[number - 1] : 0; });
    const toggle = (number, on) => {
      owner.forEach((known, part) => { if (known === number) on ? hidden.delete(part) : hidden.add(part); });
      show();
    };
    // The legend is what shows and hides. A picture has no parts to operate, so it becomes a group.
    const operable = (svg) => {
      const keys = svg.querySelectorAll(".key");
      if (keys.length) svg.setAttribute("role", "group");
      for (const key of keys) {
        const number = Number(key.dataset.series);
        const press = () => toggle(number, hidden.has(number));
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
    operable(plot.querySelector("svg"));
    const other = root.querySelector("template");
    if (other) {
      let waiting = other.content.firstElementChild;
      operable(waiting);
      const button = make("button", { type: "button", textContent: "Linear axis" });
      button.addEventListener("click", () => {
        const shown = plot.querySelector("svg");
        shown.replaceWith(waiting);
        waiting = shown;
        button.textContent = button.textContent === "Linear axis" ? "Logarithmic axis" : "Linear axis";
        show();
        after.forEach((act) => act());
      });
      tools.append(button);
    }
    if (series.some(({ points }) => points.length)) readout(root, plot, series, hidden);
    if (!tools.childElementCount) tools.remove();
    return { plot, toggle, swapped: (act) => after.push(act) };
  };

  const readout = (root, plot, series, hidden) => {
    const output = make("output", { className: "readout" });
    output.setAttribute("aria-live", "polite");
    plot.after(output);
    plot.tabIndex = 0;
    plot.setAttribute("role", "group");
    const title = root.querySelector("h3");
    plot.setAttribute("aria-label", `${title.textContent}: arrow keys read values`);
    let at = -1;
    const columns = [...new Set(series.flatMap(({ points }) => points.map(([x]) => x)))].sort((a, b) => a - b);
    const nearest = (points, x) => points.reduce((best, point) => (Math.abs(point[0] - x) < Math.abs(best[0] - x) ? point : best));
    const tell = (x) => {
      const svg = plot.querySelector("svg");
      const place = places(svg);
      if (!place) return;
      svg.querySelectorAll(".cursor").forEach((old) => old.remove());
      const told = [];
      series.forEach(({ name, points }, number) => {
        if (hidden.has(number) || !points.length) return;
        const point = nearest(points, x);
        // Of several series only those that have a point close by are told.
        if (Math.abs(place.x(point[0]) - place.x(x)) > 12) return;
        told.push(name && series.length > 1 ? `${name}: ${point[2]}` : point[2]);
      });
      const line = document.createElementNS(SVG, "path");
      line.setAttribute("class", "cursor");
      line.setAttribute("d", `M${place.x(x)},${place.top}V${place.bottom}`);
      svg.append(line);
      output.textContent = told.join("  ·  ");
    };
    plot.addEventListener("pointermove", (event) => {
      const svg = plot.querySelector("svg");
      const place = places(svg);
      if (!place) return;
      const box = svg.getBoundingClientRect();
      const wanted = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
      const away = (x) => Math.abs(place.x(x) - wanted);
      at = columns.reduce((best, x, number) => (away(x) < away(columns[best]) ? number : best), 0);
      tell(columns[at]);
    });
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

  // Rows in another order, and only those that hold a word.
  const table = (root) => {
    const body = root.tBodies[0];
    if (body.rows.length < 2) return;
    const value = (row, column) => {
      const { v } = row.cells[column].dataset;
      return v === undefined ? row.cells[column].textContent : Number(v);
    };
    [...root.tHead.rows[0].cells].forEach((head, column) => {
      if (!head.textContent) return;
      const button = make("button", { type: "button", textContent: head.textContent });
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const other of root.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const order = (left, right) => {
          const [a, b] = [value(left, column), value(right, column)];
          // What is absent comes last either way.
          if (a === "" || b === "") return (a === "") - (b === "");
          const by = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
          return up ? by : -by;
        };
        body.append(...[...body.rows].sort(order));
      });
    });
  };

  const filter = (root) => {
    const body = root.tBodies[0];
    const input = make("input", { type: "search", id: "filter" });
    const label = make("label", { htmlFor: "filter", textContent: "Only those with" });
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

  // Of many curves, those that are chosen in the table.
  const choice = (root, { plot, toggle, swapped }) => {
    const rows = [...root.tBodies[0].rows];
    if (!data.curves.length) return;
    const drawn = new Map(data.drawn.map((place, series) => [place, series]));
    const chosen = new Set();
    const draw = (number) => {
      const svg = plot.querySelector("svg");
      const place = places(svg);
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("class", `line c${number % 8}`);
      path.setAttribute("data-curve", number);
      path.setAttribute("d", `M${data.curves[number].map(([x, y]) => `${place.x(x).toFixed(1)},${place.y(y).toFixed(1)}`).join(" ")}`);
      svg.append(path);
    };
    swapped(() => chosen.forEach((number) => plot.querySelector(`[data-curve="${number}"]`) || draw(number)));
    const head = make("th", { scope: "col", textContent: "drawn" });
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
          plot.querySelector(`[data-curve="${number}"]`)?.remove();
        }
      });
      row.append(make("td", {}, box));
    });
  };

  const figures = new Map();
  for (const root of document.querySelectorAll("figure[data-chart]")) figures.set(root.dataset.chart, figure(root));
  const index = document.querySelector("table.index");
  if (index) {
    if (figures.has("all-p")) choice(index, figures.get("all-p"));
    if (index.tBodies[0].rows.length > 5) filter(index);
  }
  for (const root of document.querySelectorAll("table.index, table.sorted")) table(root);

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
