// Builds elements. Text goes into text nodes only, so a name is never read as markup.

/**
 * An element. `on…` are listeners, `data` goes to the data set, `style` to single style properties.
 * @param {string} tag
 * @param {Record<string, any> | null} [options]
 * @param {...Child} children
 * @returns {HTMLElement}
 */
function h(tag, options, ...children) {
  return /** @type {HTMLElement} */ (build(document.createElement(tag), options, children));
}

/**
 * An element of a drawing.
 * @param {string} tag
 * @param {Record<string, any> | null} [options]
 * @param {...Child} children
 * @returns {SVGElement}
 */
function s(tag, options, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  return /** @type {SVGElement} */ (build(element, options, children));
}

/**
 * @param {HTMLElement | SVGElement} element
 * @param {Record<string, any> | null | undefined} options
 * @param {Child[]} children
 */
function build(element, options, children) {
  for (const [key, value] of Object.entries(options ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "data") for (const [name, text] of Object.entries(value)) element.dataset[name] = String(text);
    else if (key === "style")
      for (const [name, text] of Object.entries(value)) element.style.setProperty(name, String(text));
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...nodes(children));
  return element;
}

/** The children that are nodes or texts. @param {Child[]} children @returns {(Node | string)[]} */
function nodes(children) {
  return children.flatMap((child) => {
    if (Array.isArray(child)) return nodes(child);
    if (child === null || child === undefined || child === false) return [];
    return [child instanceof Node ? child : String(child)];
  });
}

/** The element with an id. @param {string} id @returns {any} */
function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element "${id}"`);
  return element;
}

/** Replaces the content of an element. @param {Element} element @param {...Child} children */
function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
}

/** The name of an op: its short form if it has one, and the whole name in the tooltip. @param {string | null} name */
function opName(name) {
  const short = name === null ? null : (page.summary.short_names[name] ?? name);
  return h("span", { class: "op-name", dir: "ltr", title: printable(name) }, printable(short));
}

/** Announces something to screen readers. @param {string} text */
function announce(text) {
  byId("announcer").textContent = text;
}

/** Colours that were read so far, and their theme. */
const readColours = { theme: "", known: /** @type {Map<string, string>} */ (new Map()) };

/** A colour of the theme, for a canvas. @param {string} name */
function themeColour(name) {
  const theme = isDark() ? "dark" : "light";
  if (readColours.theme !== theme) {
    readColours.theme = theme;
    readColours.known.clear();
  }
  let colour = readColours.known.get(name);
  if (colour === undefined) {
    const probe = byId("announcer");
    probe.style.color = `var(--${name})`;
    colour = getComputedStyle(probe).color;
    probe.style.removeProperty("color");
    readColours.known.set(name, colour);
  }
  return colour;
}

/** True in the dark theme. */
function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** A list of choices. @param {string} label @param {[string, string][]} choices @param {string} value @param {(value: string) => void} change */
function select(label, choices, value, change) {
  const list = h(
    "select",
    { onchange: (/** @type {any} */ event) => change(event.target.value) },
    choices.map(([key, text]) => h("option", { value: key, selected: key === value }, text)),
  );
  return h("label", { class: "field" }, h("span", null, label), list);
}
