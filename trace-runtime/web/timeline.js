// The section with the timeline.

class TimelineView extends TimelineInput {
  /** @param {HTMLElement} root */
  attach(root) {
    const checks = /** @type {[string, string][]} */ ([
      ["path", "Critical path"],
      ["idle", "Idle causes"],
      ["arrows", "Arrows"],
    ]).map(([key, title]) =>
      h(
        "label",
        { class: "check" },
        h("input", {
          type: "checkbox",
          id: `overlay-${key}`,
          checked: this.shows(key),
          onchange: () => this.toggle(key),
        }),
        title,
      ),
    );
    // A trace without devices has no idle causes.
    checks[1].hidden = this.data.facts.idle_devices.length === 0;
    this.canvas = /** @type {HTMLCanvasElement} */ (
      h("canvas", {
        id: "timeline",
        tabindex: 0,
        role: "application",
        "aria-label":
          "Timeline. W and S zoom, A and D pan, arrow keys go from one execution to the next, Enter selects its op, R selects the visible range, 0 shows everything.",
        "aria-describedby": "timeline-detail",
      })
    );
    fill(
      root,
      h(
        "div",
        { class: "toolbar" },
        h("h2", null, "Timeline"),
        checks,
        h("span", { class: "grow" }),
        h("button", { type: "button", id: "zoom-in", "aria-label": "Zoom in", onclick: () => this.zoom(0.6) }, "+"),
        h(
          "button",
          { type: "button", id: "zoom-out", "aria-label": "Zoom out", onclick: () => this.zoom(1 / 0.6) },
          "−",
        ),
        h("button", { type: "button", id: "zoom-all", onclick: () => this.show(null) }, "Show all"),
        h(
          "button",
          { type: "button", id: "sum-visible", onclick: () => this.setRange(this.clamped(...this.visible)) },
          "Sum up visible",
        ),
      ),
      h(
        "div",
        { class: "timeline-frame", id: "timeline-frame" },
        this.canvas,
        h("div", { id: "tooltip", class: "tooltip", hidden: true, role: "tooltip" }),
      ),
      h(
        "p",
        { class: "quiet hint" },
        "Drag to pan, Ctrl + wheel or W/S to zoom, Shift + drag to sum up a range, click to select.",
      ),
      this.legend(),
      h("div", { id: "timeline-detail", class: "timeline-detail" }),
      h("div", { id: "timeline-range" }),
    );
    this.attached = true;
    if (!this.painter || this.painter.data !== this.data) this.painter = new TimelinePainter(this.data);
    this.painter.themeColours();
    this.overlay ??= this.readOverlays();
    this.listen();
    this.layout();
    this.showDetail();
    this.showRange();
    this.paint();
  }

  detach() {
    if (!this.attached) return;
    this.attached = false;
    this.resized?.disconnect();
  }

  /** Shows a change of the state that keeps the section. @param {Set<string>} changed */
  changed(changed) {
    for (const key of ["path", "idle", "arrows"]) byId(`overlay-${key}`).checked = this.shows(key);
    if (changed.has("step") || changed.has("until")) this.data.selected = null;
    if (changed.has("overlays")) this.layout();
    this.showDetail();
    if (changed.has("range") || changed.has("step") || changed.has("until")) this.showRange();
    this.schedule();
  }

  legend() {
    const idle = this.data.facts.idle_devices.length > 0 && this.shows("idle");
    if (!idle) return null;
    return h(
      "ul",
      { class: "legend", "aria-label": "Colours of idle causes" },
      this.data.facts.idle_classes.map((name, index) =>
        h("li", null, h("span", { class: "dot", style: { background: IDLE_COLOURS[index] } }), name),
      ),
    );
  }
}

const timelineView = new TimelineView();

/** @param {HTMLElement} root */
function renderTimeline(root) {
  timelineView.attach(root);
}
