// Ids, and one element told as data (the shape of the engine's `Node`; what is empty is left out).

const NAME_LENGTH = 256;
const TEXT_LENGTH = 512;
const CONTENT_LENGTH = 100000;
const OPTIONS = 255;
const REMEMBERED = 20000;
const NAMING = ["aria-label", "aria-labelledby", "title"];

const ids = new WeakMap();
const byId = new Map();
let nextId = 1;

function idOf(element) {
  let id = ids.get(element);
  if (!id) {
    id = nextId++;
    ids.set(element, id);
    byId.set(id, new WeakRef(element));
    if (byId.size > REMEMBERED) for (const [old, ref] of byId) if (!ref.deref()) byId.delete(old);
  }
  return id;
}

// The element with this id while it is on the page, else null.
function elementOf(id) {
  const element = byId.get(id)?.deref();
  return element && attached(element) ? element : null;
}

function attached(element) {
  if (!element.isConnected) return false;
  const view = element.ownerDocument.defaultView;
  if (!view) return false;
  if (view === window) return true;
  const frame = frameOf(view);
  return !!frame && attached(frame);
}

function tell(element, role) {
  const node = { id: idOf(element), role, tag: element.tagName.toLowerCase() };
  const name = role || NAMING.some((attribute) => element.hasAttribute(attribute)) ? nameOf(element) : "";
  if (name) node.name = cap(name, NAME_LENGTH);
  const description = role || element.hasAttribute("aria-describedby") ? descriptionOf(element) : "";
  if (description) node.description = cap(description, NAME_LENGTH);
  const value = valueOf(element, role);
  if (value !== null) node.value = value;
  const placeholder = placeholderOf(element);
  if (placeholder) node.placeholder = fold(placeholder);
  const testId = element.getAttribute("data-testid");
  if (testId !== null) node.testId = testId;
  if (role === "link" && typeof element.href === "string" && element.href) node.href = element.href;
  if (element.id) node.domId = element.id;
  const level = levelOf(element, role);
  if (level !== undefined) node.level = level;
  if (element.tagName === "SELECT") node.options = [...element.options].slice(0, OPTIONS).map(optionLabel);
  node.states = statesOf(element, role);
  if (editable(element)) Object.assign(node, { editable: true }, sinkOf(element));
  if (!INTERACTIVE.has(role) && clickable(element)) node.clickable = true;
  const rect = rectOf(element);
  if (inViewport(rect)) node.inViewport = true;
  node.rect = [rect.x, rect.y, rect.width, rect.height];
  return node;
}

// The shape of the engine's `Found`.
function tellFound(element, attribute) {
  const role = roleOf(element);
  const node = tell(element, role);
  const content = node.value === undefined ? textOf(element) : node.value;
  if (node.value === undefined && content && content !== node.name) node.text = cap(content, TEXT_LENGTH);
  const found = {
    node,
    visible: visible(element),
    textContent: cap(fold(content), CONTENT_LENGTH),
    class: element.getAttribute("class") || "",
  };
  if (attribute !== null) {
    const value = element.getAttribute(attribute);
    if (value !== null) found.attribute = value;
  }
  return found;
}

// An element for messages: `<div id="a" class="b c">`.
function sketch(element) {
  const attributes = ["id", "class", "role"].filter((name) => element.getAttribute(name));
  const text = attributes.map((name) => ` ${name}="${cap(fold(element.getAttribute(name)), 60)}"`).join("");
  return `<${element.tagName.toLowerCase()}${text}>`;
}
