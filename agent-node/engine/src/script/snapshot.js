// The visible screen in one pass. What means nothing alone is left out: generic boxes hand their
// children up, inline text pours into the box around it, labels that only name a control vanish.

const MAX_NODES = 5000;
const MAX_BYTES = 1 << 20;

// Stands for what the script can't read, so that nobody takes the screen for whole.
const SEALED = "(a frame of another origin)";

// Their text is told whole, not as nodes of its own.
const WHOLE = new Set(["listitem", "cell", "gridcell", "status", "alert", "tooltip", "progressbar", "meter"]);
// Roles that say nothing without a name.
const MUTE = new Set(["image", "rowgroup", "group"]);
// Roles whose inner structure is presentational; only what can be acted on is told.
const FLAT = new Set((
  "button checkbox image menuitemcheckbox menuitemradio meter option progressbar radio separator slider switch tab"
).split(" "));

// Which rules are in force; all of them, but where an attack shows what one is good for.
let inForce;

function snapshot(rules) {
  inForce = rules;
  const top = { children: [], text: "", pours: false, flat: false };
  if (document.documentElement) visit(document.documentElement, top);
  const nodes = [];
  const truncated = flatten(top.children, 0, nodes, { bytes: 0 });
  return { url: location.href, title: fold(document.title), viewport: [innerWidth, innerHeight], nodes, truncated };
}

function visit(element, into) {
  if (skipped(element)) return;
  if (inForce.hidden && (!rendered(element) || belowHidden(element))) return;
  const shown = !inForce.hidden || styleOf(element).visibility === "visible";
  const role = shown ? roleOf(element) : "";
  const told = shown && worthTelling(element, role, into);
  if (told) {
    const pours = NAMED_BY_CONTENT.has(role) || WHOLE.has(role) || !role;
    const entry = { element, role, children: [], text: "", pours, flat: FLAT.has(role) };
    if (!leaf(element)) descend(element, entry);
    const text = isFrame(element) && !documentIn(element) ? SEALED : fold(entry.text);
    entry.text = NAMED_BY_CONTENT.has(role) && named(element).source === "content" ? "" : text;
    if (MUTE.has(role) && !entry.text && !keepMute(element)) into.children.push(...entry.children);
    else into.children.push(entry);
    if (blockLevel(element)) into.blocks = true;
    into.text += " ";
    return;
  }
  if (leaf(element)) return;
  if (isFrame(element) && !documentIn(element)) {
    if (shown && visible(element)) into.children.push({ element, role: "", children: [], text: SEALED });
  } else if (element.tagName === "BR") {
    into.text += " ";
  } else if (namesAnother(element)) {
    descend(element, { children: into.children, text: "", pours: true, flat: into.flat });
  } else if (inline(element)) {
    descend(element, into);
  } else if (into.pours) {
    into.text += " ";
    descend(element, into);
    into.text += " ";
  } else {
    const entry = { element, role: "", children: [], text: "", pours: false, flat: into.flat };
    descend(element, entry);
    entry.text = fold(entry.text);
    const inner = entry.children;
    if (inner.length || entry.text) into.blocks = true;
    if (!entry.text) {
      into.children.push(...inner);
    } else if (entry.blocks) {
      // Bare text among blocks: it stands where it begins, beside them.
      into.children.push(...inner.slice(0, entry.begins), { ...entry, children: [] }, ...inner.slice(entry.begins));
    } else {
      into.children.push(entry);
    }
  }
}

function blockLevel(element) {
  return !/^(inline|contents)/.test(styleOf(element).display);
}

function descend(element, into) {
  const seen = styleOf(element).visibility === "visible";
  for (const child of childrenOf(element)) {
    if (child.nodeType === 3) {
      if (!seen) continue;
      if (into.begins === undefined && child.data.trim()) into.begins = into.children.length;
      into.text += child.data;
    } else if (isElement(child)) {
      visit(child, into);
    }
  }
}

function worthTelling(element, role, into) {
  if (into.flat && !INTERACTIVE.has(role)) return false;
  if (role) return visible(element) || !leaf(element) || nameOf(element) !== "" || descriptionOf(element) !== "";
  if (clickable(element)) return true;
  return (authorName(element) || element.hasAttribute("title")) && nameOf(element) !== "";
}

// No children of its own to tell.
function leaf(element) {
  return /^(INPUT|TEXTAREA|SELECT|IMG|CANVAS|VIDEO|AUDIO|OBJECT|EMBED)$/.test(element.tagName)
    || (element.tagName === "svg" && !element.querySelector("text, a, [role], [tabindex], [onclick], foreignObject"))
    || fillKind(element) === "content";
}

function keepMute(element) {
  return nameOf(element) !== "" || descriptionOf(element) !== "" || clickable(element) || element.hasAttribute("data-testid");
}

// A label, legend or caption whose text is the name of something that is told anyway.
function namesAnother(element) {
  if (element.tagName === "LABEL") return !!element.control && rendered(element.control) && /^label/.test(named(element.control).source);
  if (element.tagName === "LEGEND" || element.tagName === "CAPTION" || element.tagName === "FIGCAPTION") {
    const parent = element.parentElement;
    return !!parent && named(parent).source === "native";
  }
  return false;
}

// Writes the tree as a list; true = the caps cut it.
function flatten(entries, depth, nodes, size) {
  for (const entry of entries) {
    if (inForce.bound && (nodes.length >= MAX_NODES || size.bytes > MAX_BYTES)) return true;
    // An empty box that nobody can see or name is no part of the screen.
    const node = tell(entry.element, entry.role);
    const text = entry.text && entry.text !== node.name ? cap(entry.text, TEXT_LENGTH) : "";
    const empty = !node.name && !node.description && !text && !entry.children.length && !node.clickable && !node.editable;
    if (empty && !visible(entry.element)) continue;
    if (text) node.text = text;
    if (depth) node.depth = depth;
    nodes.push(node);
    size.bytes += 120 + (node.name || "").length + text.length + (node.value || "").length + (node.href || "").length;
    if (flatten(entry.children, depth + 1, nodes, size)) return true;
  }
  return false;
}
