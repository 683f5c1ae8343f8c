// The call tree: which op calls which, with equal stacks merged.

/** Stacks that are open; kept while the page is open. @type {Set<number>} */
const openStacks = new Set();
let openedFirst = false;

/** @param {HTMLElement} root */
function renderTree(root) {
  const stacks = stackData();
  const sums = stacks.sums(chosenSteps());
  const own = stacks.whole(sums.self);
  const all = stacks.roots.reduce((sum, stack) => sum + own[stack], 0) || 1;
  const bySize = (/** @type {number[]} */ list) =>
    list.filter((stack) => sums.count[stack] > 0 || own[stack] > 0).sort((a, b) => own[b] - own[a]);
  if (!openedFirst) {
    openedFirst = true;
    // Opens the stacks down to the first op with much self time.
    for (let list = bySize(stacks.roots), depth = 0; list.length > 0 && depth < 6; depth++) {
      openStacks.add(list[0]);
      list = bySize(stacks.children[list[0]]);
    }
  }
  const rows = /** @type {HTMLElement[]} */ ([]);
  const add = (/** @type {number} */ stack, /** @type {number} */ depth) => {
    if (rows.length > 3000) return;
    const inner = bySize(stacks.children[stack]);
    const open = openStacks.has(stack);
    const [name, label] = stacks.names[stacks.name[stack]];
    const row = opByName(name);
    rows.push(
      h(
        "tr",
        {
          "aria-level": depth + 1,
          "aria-expanded": inner.length > 0 ? String(open) : null,
          tabindex: rows.length === 0 ? 0 : -1,
          class: row && opKey(row) === state.op ? "selected" : null,
          data: { stack, name },
          onclick: () => toggle(stack, inner.length > 0),
          onkeydown: (/** @type {KeyboardEvent} */ event) => {
            if (event.key === "Enter" && row) selectOp(row);
            else if (event.key === " " || (event.key === "ArrowRight" && !open) || (event.key === "ArrowLeft" && open))
              toggle(stack, inner.length > 0);
            else return;
            event.preventDefault();
          },
        },
        h(
          "th",
          { scope: "row", class: "text tree-name", style: { "--depth": depth } },
          h("span", { class: "twist", "aria-hidden": "true" }, inner.length > 0 ? (open ? "▾" : "▸") : ""),
          row && dot(row),
          opName(name),
          label && h("span", { class: "shape" }, ` ${printable(label)}`),
        ),
        cell("count", sums.count[stack], count),
        cell("total", sums.total[stack], duration),
        cell("self", sums.self[stack], duration),
        h(
          "td",
          {
            class: "number barred",
            data: { key: "share", value: own[stack] / all },
            style: { "--bar": `${((own[stack] / all) * 100).toFixed(1)}%` },
          },
          percent(own[stack] / all),
        ),
      ),
    );
    if (open) for (const one of inner) add(one, depth + 1);
  };
  const toggle = (/** @type {number} */ stack, /** @type {boolean} */ has) => {
    if (!has) return;
    if (!openStacks.delete(stack)) openStacks.add(stack);
    const at = document.activeElement?.closest("tr")?.dataset.stack;
    renderTree(root);
    /** @type {HTMLElement | null} */ (root.querySelector(`tr[data-stack="${at ?? stack}"]`))?.focus();
  };
  for (const stack of bySize(stacks.roots)) add(stack, 0);
  const keys = (/** @type {KeyboardEvent} */ event) => {
    const list = [.../** @type {HTMLElement} */ (event.currentTarget).children];
    const at = list.indexOf(/** @type {HTMLElement} */ (event.target));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: list.length - 1 }[event.key];
    if (at < 0 || to === undefined || !list[to]) return;
    event.preventDefault();
    for (const one of list) one.setAttribute("tabindex", one === list[to] ? "0" : "-1");
    /** @type {HTMLElement} */ (list[to]).focus();
  };
  const heads = /** @type {[string, string][]} */ ([
    ["Op", "text"],
    ["Calls", "number"],
    ["Total", "number"],
    ["Self", "number"],
    ["With ops inside", "number"],
  ]);
  fill(
    root,
    h(
      "div",
      { class: "toolbar" },
      h("h2", null, "Call tree"),
      h(
        "button",
        {
          type: "button",
          id: "tree-open",
          onclick: () => {
            for (let stack = 0; stack < Math.min(stacks.above.length, 2000); stack++) openStacks.add(stack);
            renderTree(root);
          },
        },
        "Open all",
      ),
      h(
        "button",
        {
          type: "button",
          id: "tree-close",
          onclick: () => {
            openStacks.clear();
            renderTree(root);
          },
        },
        "Close all",
      ),
    ),
    h(
      "div",
      { class: "table-frame" },
      h(
        "table",
        { role: "treegrid", "aria-label": "Call tree" },
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            heads.map(([title, kind]) => h("th", { scope: "col", class: kind }, title)),
          ),
        ),
        h("tbody", { onkeydown: keys }, rows),
      ),
    ),
    rows.length > 3000 && h("p", { class: "quiet" }, "only the first 3,000 rows are shown; close some"),
  );
}

/** @param {string} key @param {number} value @param {(value: number) => string} format */
function cell(key, value, format) {
  return h("td", { class: "number", data: { key, value } }, format(value));
}
