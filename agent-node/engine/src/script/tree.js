// The page as one tree: open shadow roots and their slots, and the documents of same-process
// frames, stand in place. Styles are remembered for one call.

let styles, boxes, rendering, hiding, disabling, offsets, roles, shownTexts, texts, names, focus;

function forget() {
  styles = new Map();
  boxes = new Map();
  rendering = new Map();
  hiding = new Map();
  disabling = new Map();
  offsets = new Map();
  roles = new Map();
  shownTexts = new Map();
  texts = new Map();
  names = new Map();
  focus = undefined;
}

const SKIPPED = new Set([
  "SCRIPT", "STYLE", "TEMPLATE", "NOSCRIPT", "HEAD", "TITLE", "META", "LINK", "BASE", "DATALIST",
  "PARAM", "SOURCE", "TRACK", "title", "desc", "defs", "style", "script", "metadata", "symbol",
]);

function isElement(node) {
  return node.nodeType === 1;
}

function skipped(element) {
  return SKIPPED.has(element.tagName);
}

function isFrame(element) {
  return element.tagName === "IFRAME" || element.tagName === "FRAME";
}

// The document inside a frame of this process, or null.
function documentIn(frame) {
  try {
    return frame.contentDocument;
  } catch {
    return null;
  }
}

function childrenOf(element) {
  if (isFrame(element)) {
    const inner = documentIn(element);
    return inner && inner.documentElement ? [inner.documentElement] : [];
  }
  if (element.shadowRoot) return element.shadowRoot.childNodes;
  if (element.tagName === "SLOT") {
    const assigned = element.assignedNodes();
    if (assigned.length) return assigned;
  }
  return element.childNodes;
}

function parentOf(element) {
  if (element.assignedSlot) return element.assignedSlot;
  if (element.parentElement) return element.parentElement;
  const root = element.getRootNode();
  if (root.host) return root.host;
  const view = root.defaultView;
  return view ? frameOf(view) : null;
}

function frameOf(view) {
  try {
    return view.frameElement;
  } catch {
    return null;
  }
}

function contains(ancestor, node) {
  for (let at = node; at; at = parentOf(at)) if (at === ancestor) return true;
  return false;
}

function styleOf(element) {
  let style = styles.get(element);
  if (!style) styles.set(element, (style = element.ownerDocument.defaultView.getComputedStyle(element)));
  return style;
}

// Its box in its own document's viewport.
function boxOf(element) {
  let box = boxes.get(element);
  if (!box) boxes.set(element, (box = element.getBoundingClientRect()));
  return box;
}

// Has a box, or stands for its children (`display: contents`), or belongs to a select that has.
function rendered(element) {
  let known = rendering.get(element);
  if (known === undefined) rendering.set(element, (known = computeRendered(element)));
  return known;
}

function computeRendered(element) {
  const parent = parentOf(element);
  if (isFrameRoot(element)) return !parent || rendered(parent);
  if (element.tagName === "OPTION" || element.tagName === "OPTGROUP") {
    return styleOf(element).display !== "none" && !!parent && rendered(parent);
  }
  if (element.tagName === "AREA") return true;
  if (element.checkVisibility()) return true;
  return styleOf(element).display === "contents" && !!parent && rendered(parent);
}

function isFrameRoot(element) {
  return element === element.ownerDocument.documentElement;
}

// Hidden from assistive technology: not rendered, invisible, inert, or below `aria-hidden`.
function unexposed(element) {
  return belowHidden(element) || !rendered(element) || styleOf(element).visibility !== "visible";
}

function belowHidden(element) {
  let known = hiding.get(element);
  if (known === undefined) {
    const parent = parentOf(element);
    const self = element.getAttribute("aria-hidden") === "true" || element.hasAttribute("inert");
    hiding.set(element, (known = self || (!!parent && belowHidden(parent))));
  }
  return known;
}

// Rendered, not hidden by style, and with an area to see.
function visible(element) {
  if (!rendered(element) || styleOf(element).visibility !== "visible") return false;
  if (element.tagName === "OPTION" || element.tagName === "OPTGROUP") return visible(parentOf(element));
  if (styleOf(element).display === "contents") {
    return [...childrenOf(element)].some((child) =>
      isElement(child) ? !skipped(child) && visible(child) : child.nodeType === 3 && child.data.trim() !== "");
  }
  const box = boxOf(element);
  return box.width > 0 && box.height > 0;
}

// Where a document's viewport begins in the top viewport, CSS px.
function offsetOf(view) {
  let offset = offsets.get(view);
  if (!offset) {
    const frame = frameOf(view);
    if (!frame || view === window) {
      offset = { x: 0, y: 0 };
    } else {
      const outer = offsetOf(frame.ownerDocument.defaultView);
      const box = boxOf(frame);
      const style = styleOf(frame);
      offset = {
        x: outer.x + box.left + frame.clientLeft + parseFloat(style.paddingLeft),
        y: outer.y + box.top + frame.clientTop + parseFloat(style.paddingTop),
      };
    }
    offsets.set(view, offset);
  }
  return offset;
}

function rectOf(element) {
  const box = boxOf(element);
  const offset = offsetOf(element.ownerDocument.defaultView);
  return { x: box.left + offset.x, y: box.top + offset.y, width: box.width, height: box.height };
}

function inViewport(rect) {
  return rect.x < innerWidth && rect.y < innerHeight && rect.x + rect.width > 0 && rect.y + rect.height > 0;
}

// The element that has the focus, through shadow roots and frames.
function focused() {
  if (focus === undefined) focus = findFocus();
  return focus;
}

function findFocus() {
  let at = document.activeElement;
  for (;;) {
    const inner = at && (at.shadowRoot ? at.shadowRoot.activeElement : isFrame(at) ? documentIn(at)?.activeElement : null);
    if (!inner) return at;
    at = inner;
  }
}

// Every element of the page in document order, with the end of each one's subtree.
function everything() {
  const elements = [];
  const ends = [];
  const visit = (element) => {
    if (skipped(element)) return;
    const at = elements.push(element) - 1;
    for (const child of childrenOf(element)) if (isElement(child)) visit(child);
    ends[at] = elements.length;
  };
  if (document.documentElement) visit(document.documentElement);
  return { elements, ends };
}

// The element's text: what is rendered of it, or all of it if it isn't rendered itself.
function textOf(element) {
  let text = texts.get(element);
  if (text === undefined) texts.set(element, (text = fold(rendered(element) ? shownText(element) : gather(element, false))));
  return text;
}

function shownText(element) {
  let text = shownTexts.get(element);
  if (text === undefined) shownTexts.set(element, (text = gather(element, true)));
  return text;
}

function gather(element, onlyRendered) {
  if (element.tagName === "BR") return " ";
  if (element.tagName === "INPUT") return BUTTON_TYPES.has(element.type) ? element.value : "";
  if (element.tagName === "TEXTAREA") return "";
  let text = "";
  for (const child of childrenOf(element)) {
    if (child.nodeType === 3) {
      if (!onlyRendered || styleOf(element).visibility === "visible") text += child.data;
    } else if (isElement(child) && !skipped(child) && (!onlyRendered || rendered(child))) {
      const inner = onlyRendered ? shownText(child) : gather(child, false);
      text += inline(child) ? inner : ` ${inner} `;
    }
  }
  return text;
}

function inline(element) {
  const display = styleOf(element).display;
  return display === "inline" || display === "contents";
}

const BUTTON_TYPES = new Set(["button", "submit", "reset"]);
