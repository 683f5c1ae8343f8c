//! Style, script and markup of the page, from `web/`. The files are included unchanged: no tool builds them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

/// The style of the page.
pub(super) const STYLE: &str = concat!(
    include_str!("../../../web/style.css"),
    include_str!("../../../web/print.css")
);

/// The markup of the page, without any data.
pub(super) const BODY: &str = include_str!("../../../web/body.html");

/// The script of the page. Each file comes after the files that it uses.
pub(super) const SCRIPT: &str = concat!(
    include_str!("../../../web/format.js"),
    include_str!("../../../web/dom.js"),
    include_str!("../../../web/unpack.js"),
    include_str!("../../../web/model.js"),
    include_str!("../../../web/state.js"),
    include_str!("../../../web/table.js"),
    include_str!("../../../web/findings.js"),
    include_str!("../../../web/ops.js"),
    include_str!("../../../web/timeline-data.js"),
    include_str!("../../../web/timeline-paint.js"),
    include_str!("../../../web/timeline-layout.js"),
    include_str!("../../../web/timeline-drawing.js"),
    include_str!("../../../web/timeline-tables.js"),
    include_str!("../../../web/timeline-input.js"),
    include_str!("../../../web/timeline.js"),
    include_str!("../../../web/flame.js"),
    include_str!("../../../web/tree.js"),
    include_str!("../../../web/roofline.js"),
    include_str!("../../../web/memory.js"),
    include_str!("../../../web/steps.js"),
    include_str!("../../../web/waits.js"),
    include_str!("../../../web/ranks.js"),
    include_str!("../../../web/compare.js"),
    include_str!("../../../web/main.js"),
);

/// A content security policy that allows this script and this style, and nothing else: no request, no other script, no
/// text that becomes markup.
pub(super) fn policy() -> String {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'",
        hash(SCRIPT),
        hash(STYLE)
    )
}
