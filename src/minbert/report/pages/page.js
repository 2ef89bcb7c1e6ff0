"use strict";
(() => {
  const all = (what, inside = document) => [...inside.querySelectorAll(what)];
  document.documentElement.classList.add("js");

  // ---- tables: the button in a column head sorts; rows without a value stay at the end
  const order = (a, b) => {
    const x = Number(a), y = Number(b);
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b, undefined, { numeric: true }) : x - y;
  };
  for (const button of all("thead button")) {
    button.addEventListener("click", () => {
      const head = button.closest("th"), body = button.closest("table").tBodies[0];
      const numeric = head.classList.contains("number");
      const now = head.getAttribute("aria-sort");
      const next = now === "none" ? (numeric ? "descending" : "ascending") : now === "ascending" ? "descending" : "ascending";
      for (const other of head.parentElement.cells) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", next);
      const sign = next === "ascending" ? 1 : -1;
      const value = (row) => row.cells[head.cellIndex].dataset.value;
      const rows = [...body.rows].sort((one, two) => {
        const a = value(one), b = value(two);
        if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
        return sign * order(a, b);
      });
      body.append(...rows);
    });
  }

  // ---- choices: those with the same name switch together, if they have the value
  const choices = all(".choice");
  const choose = (choice, value) => {
    for (const panel of choice.children) {
      if (panel.classList.contains("panel")) panel.hidden = panel.dataset.panel !== value;
    }
    for (const input of all(":scope > .switch input", choice)) input.checked = input.value === value;
  };
  choices.forEach((choice, i) => {
    const inputs = all(":scope > .switch input", choice);
    for (const input of inputs) {
      input.name = `choice-${i}`;
      input.addEventListener("change", () => {
        // other choices may change their height: keep the clicked one in place
        const before = choice.getBoundingClientRect().top;
        for (const other of choices) {
          const same = other.dataset.choice === choice.dataset.choice;
          if (same && all(":scope > .switch input", other).some((each) => each.value === input.value)) choose(other, input.value);
        }
        window.scrollBy({ top: choice.getBoundingClientRect().top - before, behavior: "instant" });
      });
    }
    choose(choice, inputs[0].value);
  });

  // ---- legends: click to show or hide a series, hover to highlight it
  for (const button of all(".legend button")) {
    const section = button.closest("section");
    const mine = () => all("[data-series]", section).filter((each) => each.dataset.series === button.dataset.toggles);
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      for (const series of mine()) {
        series.classList.toggle("hidden", !shown);
        rove(series.closest(".chart"));
      }
    });
    const light = (on) => {
      for (const series of mine()) {
        series.classList.toggle("lit", on);
        series.closest(".chart").classList.toggle("dim", on);
      }
    };
    button.addEventListener("pointerenter", () => light(true));
    button.addEventListener("pointerleave", () => light(false));
  }

  // ---- charts: tooltips, made from the titles of the marks. Tab enters a chart, arrow keys go from mark to mark.
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);
  const tooltips = new WeakMap();
  for (const title of all(".chart title")) {
    const mark = title.parentNode;
    tooltips.set(mark, title.textContent);
    mark.setAttribute("role", "img");
    mark.setAttribute("aria-label", title.textContent.replaceAll("\n", ", "));
    mark.setAttribute("data-mark", "");
    title.remove();
  }
  const show = (mark, x, y) => {
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = tooltips.get(mark);
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(x + 14, innerWidth - width - 8))}px`;
    tip.style.top = `${y + height + 24 < innerHeight ? y + 16 : y - height - 12}px`;
  };
  const beside = (mark) => {
    // of a row, the number that it shows is more telling than its middle
    const box = (mark.querySelector(".point") ?? mark).getBoundingClientRect();
    show(mark, box.right - 8, box.bottom - 8);
  };
  const marked = (target) => {
    let mark = target.closest?.(".chart *");
    while (mark && !tooltips.has(mark)) mark = mark.parentElement?.closest(".chart *");
    return mark;
  };
  document.addEventListener("pointermove", (event) => show(marked(event.target), event.clientX, event.clientY));
  document.addEventListener("scroll", () => {
    const mark = document.activeElement;
    if (tooltips.has(mark) && !tip.hidden) beside(mark);
    else tip.hidden = true;
  }, { passive: true });

  const marksOf = (chart) => all("[data-mark]", chart).filter((mark) => !mark.closest(".hidden"));
  // one mark of a chart is in the order of Tab: the last one that had the focus
  const rove = (chart, current) => {
    const marks = marksOf(chart);
    for (const mark of all("[data-mark]", chart)) mark.setAttribute("tabindex", "-1");
    const chosen = marks.includes(current) ? current : marks[0];
    chosen?.setAttribute("tabindex", "0");
    return chosen;
  };
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };
  for (const chart of all(".chart")) {
    if (!rove(chart)) continue;
    chart.setAttribute("role", "group");
    chart.setAttribute("aria-roledescription", "chart");
    chart.addEventListener("keydown", (event) => {
      if (event.key === "Escape") tip.hidden = true;
      if (!(event.key in steps)) return;
      event.preventDefault();
      const marks = marksOf(chart);
      const next = marks.indexOf(document.activeElement) + steps[event.key];
      rove(chart, marks[Math.max(0, Math.min(marks.length - 1, next))]).focus();
    });
    chart.addEventListener("focusin", (event) => beside(event.target));
    chart.addEventListener("focusout", () => { tip.hidden = true; });
    chart.addEventListener("pointerdown", (event) => { const mark = marked(event.target); if (mark) rove(chart, mark); });
  }

  // ---- commands
  for (const button of all(".command .copy")) {
    button.addEventListener("click", async () => {
      const text = button.previousElementSibling;
      try {
        await navigator.clipboard.writeText(text.textContent);
      } catch {
        getSelection().selectAllChildren(text);
        document.execCommand("copy");
      }
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }

  // ---- row explorers: texts are only ever set as textContent
  const part = (name, style, words) => {
    const element = document.createElement(name);
    if (style) element.className = style;
    if (words !== undefined) element.textContent = words;
    return element;
  };
  const line = (row) => {
    const item = part("li");
    for (const text of row.texts) item.append(part("p", "", text));
    const meta = part("div", "meta");
    if (row.result) meta.append(part("span", `chip ${row.tone}`, row.result));
    for (const [name, value] of row.values) {
      const pair = part("span", "", `${name} `);
      pair.append(part("b", "", value));
      meta.append(pair);
    }
    if (row.id) meta.append(part("code", "", row.id));
    for (const tag of row.tags) meta.append(part("span", "tag", tag));
    item.append(meta);
    return item;
  };
  for (const explorer of all(".explorer")) {
    const rows = JSON.parse(explorer.querySelector("script").textContent);
    const search = explorer.querySelector("input"), filters = all("select", explorer);
    const list = explorer.querySelector(".examples"), more = explorer.querySelector(".all");
    let most = 20;
    const show = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const found = rows.filter((row) => {
        const text = row.texts.join(" ").toLowerCase();
        return words.every((word) => text.includes(word))
          && filters.every((each) => !each.value || row.kinds[each.dataset.filter].includes(each.value));
      });
      list.replaceChildren(...found.slice(0, most).map(line));
      explorer.querySelector(".found").textContent = `${found.length} of ${rows.length} rows`;
      more.hidden = found.length <= most;
    };
    const again = () => { most = 20; show(); };
    search.addEventListener("input", again);
    for (const each of filters) each.addEventListener("change", again);
    more.addEventListener("click", () => { most += 100; show(); });
    show();
  }

  // ---- navigation: mark the section in view
  const links = new Map(all("nav a").map((link) => [link.hash.slice(1), link]));
  const watch = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) {
      if (!isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      const link = links.get(target.id);
      link?.setAttribute("aria-current", "true");
      const list = link?.closest("ul");
      if (list) list.scrollLeft = link.offsetLeft - list.clientWidth / 2;
    }
  }, { rootMargin: "-20% 0px -70%" });
  for (const section of all("main > section")) watch.observe(section);

})();
