// Getting an element ready for trusted input, watching that the input reaches it, and the few
// things that script does itself (focus, native selects, inputs without typing).

const TOGGLES = new Set(["checkbox", "radio"]);
const POINTER_EVENTS = ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "auxclick", "dblclick", "contextmenu"];
const PLACES = ["center", "end", "start"];

// Waits until the element can take the input, at most `budget` ms. `need`: enabled, editable,
// pointer (stable and hit at its point). Answers { x, y } or { why } or { stale }.
async function ready(id, need, budget) {
  const until = performance.now() + budget;
  for (let attempt = 0; ; attempt++) {
    forget();
    const element = elementOf(id);
    if (!element) return { stale: true };
    const outcome = await look(id, element, need, attempt);
    if (!outcome.why || performance.now() >= until) return outcome;
    await frame();
  }
}

async function look(id, element, need, attempt) {
  if (need.enabled && disabled(element)) return { why: "disabled" };
  if (need.editable && fillKind(element) === null) return { why: "not a field that takes text" };
  if (need.editable && readonly(element)) return { why: "read-only" };
  const target = touchable(element);
  if (!visible(target)) return { why: "not visible" };
  if (!need.pointer) return {};
  // Two frames, each compared: what swings back is where it was after two, and moves all the same.
  for (let drawn = 0; drawn < 2; drawn++) {
    const before = rectOf(target);
    await frame();
    forget();
    if (!elementOf(id)) return { stale: true };
    const after = rectOf(target);
    if (["x", "y", "width", "height"].some((side) => before[side] !== after[side])) return { why: "still moving" };
  }
  let point = pointOf(target);
  const covered = () => (need.hit ? cover(element, target, point) : null);
  if (!point || covered()) {
    target.scrollIntoView({ block: PLACES[attempt % PLACES.length], inline: "center", behavior: "instant" });
    forget();
    point = pointOf(target);
  }
  if (!point) return { why: "outside the viewport and can't be scrolled into it" };
  const by = covered();
  return by ? { why: `covered by ${by}` } : point;
}

// The next frame, or later where none is drawn. Not much sooner: between frames nothing moves, and
// a busy machine may take its time for one.
function frame() {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, 500);
    requestAnimationFrame(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

// A checkbox that hides behind its label is touched there.
function touchable(element) {
  if (element.tagName !== "INPUT" || !TOGGLES.has(element.type)) return element;
  const box = boxOf(element);
  const hidden = !visible(element) || box.width <= 1 || box.height <= 1 || styleOf(element).pointerEvents === "none";
  const label = hidden ? [...element.labels].find((label) => visible(label)) : null;
  return label ?? element;
}

// The middle of the element's largest part in the viewport, top coordinates.
function pointOf(element) {
  const offset = offsetOf(element.ownerDocument.defaultView);
  let best = null;
  for (const box of element.getClientRects()) {
    const left = Math.max(0, box.left + offset.x), right = Math.min(innerWidth, box.right + offset.x);
    const top = Math.max(0, box.top + offset.y), bottom = Math.min(innerHeight, box.bottom + offset.y);
    if (right <= left || bottom <= top) continue;
    const area = (right - left) * (bottom - top);
    if (!best || area > best.area) best = { area, x: (left + right) / 2, y: (top + bottom) / 2 };
  }
  return best && { x: best.x, y: best.y };
}

// What lies over the element at the point, sketched; null = nothing.
function cover(element, target, point) {
  const hit = elementAt(point.x, point.y);
  if (!hit) return "nothing: the point is outside the page";
  return reaches(element, target, hit) ? null : sketch(hit);
}

function elementAt(x, y) {
  let root = document;
  let hit = null;
  for (;;) {
    const view = root.defaultView ?? root.ownerDocument.defaultView;
    const offset = offsetOf(view);
    const inner = root.elementFromPoint(x - offset.x, y - offset.y);
    if (!inner || inner === hit) return hit;
    hit = inner;
    if (hit.shadowRoot) root = hit.shadowRoot;
    else if (isFrame(hit) && documentIn(hit)) root = documentIn(hit);
    else return hit;
  }
}

// Ids that were told of the elements at a point, the innermost first; none where a picture of its
// own is shown.
function hit(x, y) {
  forget();
  const told = [];
  const at = elementAt(x, y);
  if (!at || /^(CANVAS|VIDEO|OBJECT|EMBED|IFRAME)$/.test(at.tagName)) return told;
  for (let element = at; element; element = parentOf(element)) {
    for (const one of [element, element.tagName === "LABEL" ? element.control : null]) if (one && ids.has(one)) told.push(ids.get(one));
  }
  return told;
}

// Whether input at `hit` is input to the element: itself, what is inside it, its label, or the
// control it is a part of.
function reaches(element, target, hit) {
  if (contains(element, hit) || contains(target, hit)) return true;
  if (element.labels && [...element.labels].some((label) => contains(label, hit))) return true;
  const control = element.closest("button, a[href], label, summary, [role=button], [role=link], [role=menuitem], [role=tab], [role=option]");
  return !!control && control !== element && contains(control, hit);
}

let guard = null;

// From now until `disarm`, pointer input that does not reach the element is swallowed.
function arm(id, hit) {
  forget();
  disarm();
  const element = elementOf(id);
  if (!element) return { stale: true };
  if (!hit) return {};
  const target = touchable(element);
  const windows = [...new Set([window, element.ownerDocument.defaultView])];
  guard = { outcome: "unseen", by: "" };
  const listen = (event) => {
    if (!event.isTrusted) return;
    // A second click may meet what the first one brought.
    const again = guard.outcome === "hit" && event.type === "pointerdown";
    if (guard.outcome === "unseen" || again) {
      forget();
      const hit = event.composedPath()[0];
      if (isFrame(hit) && contains(hit, element)) return;
      const good = attached(element) && isElement(hit) && reaches(element, target, hit);
      guard.outcome = good ? "hit" : again ? "left" : "missed";
      guard.by = isElement(hit) ? sketch(hit) : "the page";
    }
    if (guard.outcome !== "hit") {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  };
  for (const view of windows) for (const type of POINTER_EVENTS) view.addEventListener(type, listen, { capture: true, passive: false });
  guard.release = () => {
    for (const view of windows) for (const type of POINTER_EVENTS) view.removeEventListener(type, listen, { capture: true });
  };
  return {};
}

// Answers where the input went: hit, missed (and what took its place), left (the same after a first
// click) or unseen.
function disarm() {
  if (!guard) return { outcome: "unseen", by: "" };
  const { outcome, by, release } = guard;
  release();
  guard = null;
  return { outcome, by };
}

function giveFocus(id) {
  forget();
  const element = elementOf(id);
  if (!element) return { stale: true };
  element.focus({ preventScroll: true });
  forget();
  if (focused() === element || contains(element, focused())) return {};
  return { why: "it does not take the focus" };
}

function scroll(id) {
  forget();
  const element = elementOf(id);
  if (!element) return { stale: true };
  element.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
  return {};
}

// The element's point in the viewport, whatever lies over it.
function spot(id) {
  forget();
  const element = elementOf(id);
  if (!element) return { stale: true };
  return pointOf(touchable(element)) ?? { why: "not in view together with the other end" };
}

const BY_SIZE = 0.85;

// Scrolls the nearest area around an element that scrolls that way; without one the page, or once
// that is at its end the largest area in view that is not. Where all are, nothing happens.
function scrollBy(id, direction) {
  forget();
  const sideways = direction === "left" || direction === "right";
  const forth = direction === "down" || direction === "right" ? 1 : -1;
  let area;
  if (id === null) {
    const page = document.scrollingElement;
    const moves = (element) => scrolls(element, sideways) && room(element, sideways, forth) >= 1;
    area = moves(page) ? page : largest(moves);
    if (!area) return {};
  } else {
    const element = elementOf(id);
    if (!element) return { stale: true };
    area = element;
    while (area && !scrolls(area, sideways)) area = parentOf(area);
    if (!area) return { why: `nothing around it scrolls ${direction}` };
  }
  const view = area === area.ownerDocument.scrollingElement ? area.ownerDocument.defaultView : null;
  const size = sideways ? (view ? view.innerWidth : area.clientWidth) : view ? view.innerHeight : area.clientHeight;
  const by = forth * Math.max(1, Math.floor(size * BY_SIZE));
  area.scrollBy({ left: sideways ? by : 0, top: sideways ? 0 : by, behavior: "instant" });
  return {};
}

// How far it may still go, px.
function room(element, sideways, forth) {
  const at = sideways ? element.scrollLeft : element.scrollTop;
  const all = sideways ? element.scrollWidth - element.clientWidth : element.scrollHeight - element.clientHeight;
  return forth > 0 ? all - at : at;
}

function scrolls(element, sideways) {
  if (!element) return false;
  if ((sideways ? element.scrollWidth - element.clientWidth : element.scrollHeight - element.clientHeight) < 1) return false;
  if (element === element.ownerDocument.scrollingElement) return true;
  const style = styleOf(element);
  return /auto|scroll|overlay/.test(sideways ? style.overflowX : style.overflowY);
}

function largest(moves) {
  let best = null;
  for (const element of document.querySelectorAll("*")) {
    if (!moves(element) || !visible(element)) continue;
    const box = rectOf(element);
    const area = inViewport(box) ? box.width * box.height : 0;
    if (area > (best?.area ?? 0)) best = { element, area };
  }
  return best?.element ?? null;
}

// Focuses a field and selects all of it, so that what is typed replaces it.
function select(id) {
  const outcome = giveFocus(id);
  if (outcome.stale || outcome.why) return outcome;
  const element = elementOf(id);
  if (fillKind(element) === "content") {
    const range = element.ownerDocument.createRange();
    range.selectNodeContents(element);
    const selection = element.ownerDocument.defaultView.getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  } else {
    element.select();
  }
  return { value: valueOf(element, roleOf(element)) };
}

function read(id) {
  forget();
  const element = elementOf(id);
  if (!element) return { stale: true };
  const role = roleOf(element);
  return {
    kind: fillKind(element),
    value: valueOf(element, role),
    checked: checkedOf(element, role) ?? null,
    toggle: element.type === "radio" || /radio$/.test(role) ? "radio" : "box",
  };
}

// Sets the value of a date, time, range or colour input as its widget would.
function assign(id, value) {
  forget();
  const element = elementOf(id);
  if (!element) return { stale: true };
  const before = element.value;
  element.focus({ preventScroll: true });
  element.value = value;
  const same = element.type === "range" ? Number(element.value) === Number(value) : element.value === value.toLowerCase();
  if (element.value !== value && !same) {
    element.value = before;
    return { why: `its type ${element.type} does not take that value` };
  }
  tellChange(element);
  return {};
}

// Waits until a native select offers an option, at most `budget` ms.
async function offers(id, choice, budget) {
  const until = performance.now() + budget;
  for (;;) {
    forget();
    const element = elementOf(id);
    if (!element) return { stale: true };
    const { why } = option(element, choice);
    if (!why || performance.now() >= until) return { why };
    await frame();
  }
}

// The file field that an element is or stands for: a label's, or the only one near it. Answers
// { field } or { why } or { stale }.
function fileField(id, count) {
  forget();
  const element = elementOf(id);
  if (!element) return { stale: true };
  const fits = (candidate) => candidate?.tagName === "INPUT" && candidate.type === "file";
  let field = [element, element.control, element.closest("label")?.control].find(fits);
  for (let area = element; area && !field; area = parentOf(area)) {
    const inside = area.querySelectorAll("input[type=file]");
    if (inside.length > 1) return { why: `no file field, and ${inside.length} are around it: choose one of them` };
    field = inside[0];
  }
  if (!field) return { why: "no file field, and none is around it" };
  if (disabled(field)) return { why: "disabled" };
  if (count > 1 && !field.multiple) return { why: "its field takes one file" };
  return { field: idOf(field) };
}

// Picks one option of a native select.
function choose(id, choice) {
  forget();
  const element = elementOf(id);
  if (!element) return { stale: true };
  const { why, wanted } = option(element, choice);
  if (why) return { why };
  element.focus({ preventScroll: true });
  if (element.multiple) for (const one of element.options) one.selected = one === wanted;
  else element.selectedIndex = wanted.index;
  tellChange(element);
  return {};
}

function option(element, choice) {
  if (element.tagName !== "SELECT") return { why: "not a native select: tap it, then tap the option" };
  const options = [...element.options];
  const fits = {
    label: (option) => optionLabel(option) === fold(choice.label),
    value: (option) => option.value === choice.value,
    index: (option, at) => at === choice.index,
  };
  const wanted = options.find(fits[choice.by]);
  if (!wanted) {
    const offered = options.slice(0, 8).map((option) => JSON.stringify(optionLabel(option))).join(", ");
    return { why: `it has no option with ${choice.by} ${JSON.stringify(choice[choice.by])} (${offered})` };
  }
  if (wanted.disabled || wanted.parentElement.disabled) {
    return { why: `its option ${JSON.stringify(optionLabel(wanted))} is disabled` };
  }
  return { wanted };
}

function tellChange(element) {
  element.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
  element.dispatchEvent(new Event("change", { bubbles: true }));
}
