// A table that sorts, filters, selects and is used from the keyboard.

/**
 * @typedef {object} Column
 * @property {string} key
 * @property {string} title
 * @property {(row: any) => number | string | null | undefined} value The value that sorts the column.
 * @property {(row: any) => Child} [show] The content of the cell; the value if missing.
 * @property {boolean} [text] True for text, which is on the left.
 * @property {string} [hint]
 * @property {(row: any) => number} [bar] Share from 0 to 1 for a bar in the cell.
 */

/** Rows that a table shows at first. */
const FIRST_ROWS = 100;

/**
 * @param {object} options
 * @param {string} options.caption Read by screen readers.
 * @param {Column[]} options.columns
 * @param {any[]} options.rows
 * @param {string} [options.sort] Key of the column that sorts, descending; `-key` for ascending.
 * @param {(sort: string) => void} [options.onSort]
 * @param {(row: any) => void} [options.onSelect]
 * @param {(row: any) => boolean} [options.isSelected]
 * @param {string} [options.empty]
 * @param {number} [options.limit]
 */
function table(options) {
  const { columns, caption } = options;
  let sort = options.sort ?? "";
  let shown = options.limit ?? FIRST_ROWS;
  const root = h("div", { class: "table-frame" });
  const draw = () => {
    const key = sort.replace(/^-/, "");
    const column = columns.find((one) => one.key === key);
    const rows = column ? sorted(options.rows, column, sort.startsWith("-")) : options.rows;
    const head = columns.map((one) =>
      h(
        "th",
        {
          scope: "col",
          class: one.text ? "text" : "number",
          "aria-sort": one.key !== key ? null : sort.startsWith("-") ? "ascending" : "descending",
        },
        options.onSort || options.sort !== undefined
          ? h(
              "button",
              { type: "button", title: one.hint ?? `Sort by ${one.title}`, onclick: () => by(one) },
              one.title,
            )
          : one.title,
      ),
    );
    const body = rows.slice(0, shown).map((row, index) => line(row, index));
    fill(
      root,
      h(
        "table",
        null,
        h("caption", { class: "unseen" }, caption),
        h("thead", null, h("tr", null, head)),
        h("tbody", { onkeydown: keys }, body),
      ),
      rows.length === 0 && h("p", { class: "quiet" }, options.empty ?? "nothing to show"),
      rows.length > shown &&
        h(
          "button",
          {
            type: "button",
            class: "more",
            onclick: () => {
              shown *= 5;
              draw();
            },
          },
          `Show more of ${count(rows.length)} rows`,
        ),
    );
  };
  const by = (/** @type {Column} */ column) => {
    const descends = sort === column.key;
    // Text is sorted from A, numbers from the largest.
    const first = column.text ? `-${column.key}` : column.key;
    sort = sort === first ? (descends ? `-${column.key}` : column.key) : first;
    draw();
    options.onSort?.(sort);
    announce(`sorted by ${column.title}, ${sort.startsWith("-") ? "ascending" : "descending"}`);
    /** @type {HTMLElement | null} */ (root.querySelector("th[aria-sort] button"))?.focus();
  };
  const line = (/** @type {any} */ row, /** @type {number} */ index) => {
    const selected = options.isSelected?.(row) ?? false;
    const cells = columns.map((column, at) => {
      const value = column.value(row);
      const shown = column.show ? column.show(row) : (value ?? "");
      const bar = column.bar ? Math.max(0, Math.min(1, column.bar(row))) : 0;
      return h(
        at === 0 ? "th" : "td",
        {
          scope: at === 0 ? "row" : null,
          class: `${column.text ? "text" : "number"}${bar > 0 ? " barred" : ""}`,
          data: { key: column.key, value: value ?? "" },
          style: bar > 0 ? { "--bar": `${(bar * 100).toFixed(1)}%` } : {},
        },
        shown,
      );
    });
    return h(
      "tr",
      {
        tabindex: options.onSelect ? (index === 0 ? 0 : -1) : null,
        "aria-selected": options.onSelect ? String(selected) : null,
        class: selected ? "selected" : null,
        onclick: () => options.onSelect?.(row),
        onkeydown: (/** @type {KeyboardEvent} */ event) => {
          if (event.target === event.currentTarget && (event.key === "Enter" || event.key === " ")) {
            event.preventDefault();
            options.onSelect?.(row);
          }
        },
      },
      cells,
    );
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    const rows = [.../** @type {HTMLElement} */ (event.currentTarget).children];
    const at = rows.indexOf(/** @type {HTMLElement} */ (event.target));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (at < 0 || to === undefined || !rows[to]) return;
    event.preventDefault();
    for (const row of rows) row.setAttribute("tabindex", row === rows[to] ? "0" : "-1");
    /** @type {HTMLElement} */ (rows[to]).focus();
  };
  draw();
  return root;
}

/** @param {any[]} rows @param {Column} column @param {boolean} ascending */
function sorted(rows, column, ascending) {
  const keyed = rows.map((row, index) => ({ row, index, value: column.value(row) ?? (column.text ? "" : -Infinity) }));
  keyed.sort((a, b) => {
    const order = column.text
      ? String(a.value).localeCompare(String(b.value), "en", { numeric: true })
      : Number(a.value) - Number(b.value);
    return (ascending ? order : -order) || a.index - b.index;
  });
  return keyed.map((one) => one.row);
}
