// Fields as sinks of secrets: whose document they are in, whether a person would see them, what they
// ask for. All words are ours: nothing here quotes the page.

const PURPOSES = new Set(["username", "email", "current-password", "new-password", "one-time-code"]);
const LEAST_OPACITY = 0.1;
const LEAST_SIDE = 8;

function sinkOf(element) {
  const told = { frameOrigin: originOf(element) };
  const why = concealed(element);
  if (why) told.concealed = why;
  const purpose = (element.autocomplete || "").split(/\s+/).find((word) => PURPOSES.has(word));
  if (purpose) told.purpose = purpose;
  return told;
}

function originOf(element) {
  return element.ownerDocument.defaultView.origin;
}

// Why a person would not see a field; null = they would, once it is scrolled into view.
function concealed(element) {
  if (!visible(element)) return "it is hidden";
  let opacity = 1;
  for (let at = element; at; at = parentOf(at)) opacity *= Number(styleOf(at).opacity);
  if (opacity < LEAST_OPACITY) return "it is transparent";
  const seen = clipped(element);
  if (seen.right - seen.left < LEAST_SIDE || seen.bottom - seen.top < LEAST_SIDE) return "it is cut away or too small to see";
  const view = element.ownerDocument.defaultView;
  if (seen.right + view.scrollX <= 0 || seen.bottom + view.scrollY <= 0) return "it is off the page";
  const point = pointOf(element);
  return point && cover(element, element, point) ? "something lies over it" : null;
}

// What ancestors that clip leave of its box.
function clipped(element) {
  const { left, top, right, bottom } = boxOf(element);
  const seen = { left, top, right, bottom };
  for (let at = parentOf(element); at && at.ownerDocument === element.ownerDocument; at = parentOf(at)) {
    if (isFrameRoot(at) || !/hidden|clip/.test(styleOf(at).overflow)) continue;
    const box = boxOf(at);
    seen.left = Math.max(seen.left, box.left);
    seen.top = Math.max(seen.top, box.top);
    seen.right = Math.min(seen.right, box.right);
    seen.bottom = Math.min(seen.bottom, box.bottom);
  }
  return seen;
}

// The rule that a field breaks, and how; null = none.
function broken(element, rules) {
  const origin = originOf(element);
  if (rules.origins && !rules.origins.includes(origin)) {
    return { rule: "secret.origin", why: `its document is of ${origin}` };
  }
  if (rules.secure && !secure(element)) return { rule: "secret.purpose", why: "it is no password field any more" };
  const why = rules.seen ? concealed(element) : null;
  return why && { rule: "secret.visible", why };
}

// Replaces a field's text by a secret. What the page's own handlers do, they do on focusing; from
// the check to the typing nothing of the page runs.
function sink(id, value, rules) {
  forget();
  const element = elementOf(id);
  if (!element) return { stale: true };
  const early = broken(element, rules);
  if (early) return early;
  const chosen = select(id);
  if (chosen.stale || chosen.why) return chosen;
  forget();
  if (!attached(element)) return { stale: true };
  const late = broken(element, rules);
  if (late) return late;
  if (focused() !== element && !contains(element, focused())) return { why: "it does not take the focus" };
  const kind = fillKind(element);
  if (kind === "value") return { ...assign(id, value), took: true };
  const before = valueOf(element, roleOf(element));
  element.ownerDocument.execCommand("insertText", false, value);
  const after = valueOf(element, roleOf(element));
  return { took: !!after && (after !== before || after === value) };
}
