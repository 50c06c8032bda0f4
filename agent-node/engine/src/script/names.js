// Accessible names and descriptions by accname 1.2; the letters of its steps stand beside them.

const FIELD_ROLES = new Set(["textbox", "searchbox"]);
const CHOICE_ROLES = new Set(["combobox", "listbox"]);
// Composite widgets whose items are no part of a name around them.
const CLOSED_ROLES = new Set(["menu", "menubar", "tablist", "tree"]);
const RANGE_ROLES = new Set(["slider", "spinbutton", "progressbar", "meter"]);

function nameOf(element) {
  return named(element).name;
}

// The name and where it came from: labelledby, label, native, content, title, placeholder or "".
function named(element) {
  let known = names.get(element);
  if (!known) {
    const walk = { root: element, visited: new Set(), source: "" };
    const name = fold(compute(element, walk, { root: true }));
    names.set(element, (known = { name, source: name ? walk.source : "" }));
  }
  return known;
}

function descriptionOf(element) {
  const ids = element.getAttribute("aria-describedby");
  if (ids) {
    const text = fold(referenced(element, ids, { root: element, visited: new Set() }));
    if (text) return text;
  }
  const own = fold(element.getAttribute("aria-description") || "");
  if (own) return own;
  const { name, source } = named(element);
  if (element.tagName === "TABLE" && source !== "native" && element.caption) return textOf(element.caption);
  if (element.tagName === "INPUT" && BUTTON_TYPES.has(element.type) && source.startsWith("label")) return fold(element.value);
  const title = fold(element.getAttribute("title") || "");
  return source !== "title" && title !== name ? title : "";
}

// Whether the author named it by attribute.
function authorName(element) {
  if ((element.getAttribute("aria-label") || "").trim()) return true;
  return references(element, element.getAttribute("aria-labelledby")).length > 0;
}

function references(element, ids) {
  if (!ids) return [];
  const root = element.getRootNode();
  const found = ids.trim().split(/\s+/).map((id) => root.getElementById?.(id));
  return found.filter((target, at) => target && found.indexOf(target) === at);
}

// How: root = the element whose name is asked for; reference = inside a labelledby or describedby
// target; label = inside a native label; content = inside something named by its content;
// unseen = hidden text counts, because the target itself was hidden.
function compute(element, walk, how) {
  // A: hidden and not referenced.
  if (!how.unseen && !how.root && unexposed(element)) return passThrough(element, walk, how);
  // B: aria-labelledby, once.
  if (!how.reference) {
    const ids = element.getAttribute("aria-labelledby");
    if (references(element, ids).length) {
      if (how.root) walk.source = "labelledby";
      const text = referenced(element, ids, walk);
      if (fold(text)) return text;
    }
  }
  if (walk.visited.has(element)) return "";
  walk.visited.add(element);
  const role = roleOf(element);
  const label = element.getAttribute("aria-label") || "";
  // C: a control inside a label, or named as one, speaks by its value.
  if (element !== walk.root && !(how.target && label.trim())) {
    const value = embedded(element, role);
    if (value !== null && !(how.target && !value)) return value;
  }
  // D: aria-label.
  if (label.trim() && element.tagName !== "SLOT") {
    if (how.root) walk.source = "label";
    return label;
  }
  // E: what the host language says.
  const presentational = authorRole(element) === "none" && role === "";
  if (!presentational) {
    const native = nativeName(element, role, walk, how);
    if (native !== null && fold(native)) {
      if (how.root) walk.source ||= "native";
      return native;
    }
  }
  // F, G, H: content.
  let text = "";
  if (NAMED_BY_CONTENT.has(role) || (!how.root && !CLOSED_ROLES.has(role))) {
    text = content(element, walk, how);
    if (fold(text)) {
      if (how.root) walk.source = "content";
      return text;
    }
  }
  // I: tooltip, then placeholder.
  const title = element.getAttribute("title") || "";
  if (title.trim() && !presentational) {
    if (how.root) walk.source = "title";
    return title;
  }
  const placeholder = placeholderOf(element) || "";
  if (how.root && placeholder) walk.source = "placeholder";
  return how.root ? placeholder : text;
}

// An invisible element may hold a visible one: `visibility` is undone by descendants.
function passThrough(element, walk, how) {
  if (belowHidden(element) || !rendered(element)) return "";
  return content(element, walk, how, true);
}

function referenced(element, ids, walk) {
  const parts = references(element, ids).map((target) => {
    const inner = { ...walk, visited: new Set(walk.visited) };
    const text = compute(target, inner, { reference: true, target: true, unseen: unexposed(target) });
    inner.visited.forEach((seen) => seen !== element && walk.visited.add(seen));
    return text;
  });
  return parts.join(" ");
}

function embedded(element, role) {
  if (FIELD_ROLES.has(role)) return element.tagName === "INPUT" || element.tagName === "TEXTAREA" ? element.value : textOf(element);
  if (CHOICE_ROLES.has(role)) return chosen(element, role);
  if (RANGE_ROLES.has(role)) return rangeText(element);
  return null;
}

// What a combobox or listbox shows as chosen.
function chosen(element, role) {
  if (element.tagName === "SELECT") return [...element.selectedOptions].map(optionLabel).join(" ");
  if (element.tagName === "INPUT") return element.value;
  const elsewhere = role === "listbox" ? [] : ["aria-owns", "aria-controls"];
  const lists = [element, ...elsewhere.flatMap((name) => references(element, element.getAttribute(name)))];
  const selected = lists.flatMap((list) => [...list.querySelectorAll('[aria-selected="true"]')]);
  if (selected.length) return selected.map((option) => textOf(option)).join(" ");
  return role === "combobox" ? textOf(element) : "";
}

function rangeText(element) {
  const spoken = element.getAttribute("aria-valuetext") || element.getAttribute("aria-valuenow");
  if (spoken) return spoken;
  return /^(INPUT|METER|PROGRESS)$/.test(element.tagName) ? String(element.value) : "";
}

function optionLabel(option) {
  return fold(option.label || option.text);
}

// The element's own way to name itself; null = it has none.
function nativeName(element, role, walk, how) {
  const tag = element.tagName;
  if (element.labels && element.labels.length && !how.label) {
    const parts = [...element.labels].map((label) =>
      compute(label, { ...walk, visited: new Set(walk.visited) }, { label: true, unseen: unexposed(label) }));
    if (parts.some((part) => fold(part))) {
      if (how.root) walk.source = "label element";
      return parts.join(" ");
    }
  }
  switch (tag) {
    case "INPUT":
      if (BUTTON_TYPES.has(element.type)) return element.value || { submit: "Submit", reset: "Reset" }[element.type] || "";
      if (element.type === "image") return element.alt || element.title || element.value || "Submit";
      return null;
    case "IMG": case "AREA": return element.getAttribute("alt");
    case "FIELDSET": return childName(element, "LEGEND", walk);
    case "FIGURE": return childName(element, "FIGCAPTION", walk);
    case "TABLE": return element.caption ? content(element.caption, walk, { content: true }) : null;
    case "svg": { const title = element.querySelector(":scope > title"); return title ? title.textContent : null; }
    case "OPTGROUP": return element.label;
    case "OPTION": return optionLabel(element);
    default: return null;
  }
}

function childName(element, tag, walk) {
  const child = [...element.children].find((child) => child.tagName === tag);
  return child ? content(child, walk, { content: true }) : null;
}

// Text of the children, of owned elements and of generated content.
function content(element, walk, how, onlyElements) {
  const inner = { content: true, label: how.label, reference: how.reference, unseen: how.unseen };
  let text = onlyElements ? "" : generated(element, "::before");
  const owned = references(element, element.getAttribute("aria-owns"));
  for (const child of childrenOf(element)) {
    if (child.nodeType === 3) {
      if (!onlyElements) text += child.data;
    } else if (isElement(child) && !skipped(child) && !owned.includes(child)) {
      text += spaced(child, compute(child, walk, inner));
    }
  }
  for (const child of owned) text += ` ${compute(child, walk, inner)} `;
  return onlyElements ? text : text + generated(element, "::after");
}

function spaced(element, text) {
  return element.tagName === "BR" || !inline(element) ? ` ${text} ` : text;
}

// Text of generated content; alternative text (after `/`) wins.
function generated(element, pseudo) {
  const style = element.ownerDocument.defaultView.getComputedStyle(element, pseudo);
  const value = style.content;
  if (!value || value === "none" || value === "normal" || style.display === "none" || style.visibility !== "visible") return "";
  const parts = value.match(/"(?:[^"\\]|\\.)*"|attr\([^)]*\)|\/|[^\s"\/]+(?:\([^)]*\))?/g) || [];
  const slash = parts.indexOf("/");
  const spoken = slash < 0 ? parts : parts.slice(slash + 1);
  const text = spoken.map((part) => {
    if (part.startsWith('"')) return part.slice(1, -1).replace(/\\(.)/g, "$1");
    const attribute = /^attr\(\s*([^\s,)]+)/.exec(part);
    return attribute ? element.getAttribute(attribute[1]) || "" : "";
  }).join("");
  return style.display === "inline" ? text : ` ${text} `;
}

function placeholderOf(element) {
  const given = element.getAttribute("aria-placeholder");
  if (given) return given;
  return element.tagName === "INPUT" || element.tagName === "TEXTAREA" ? element.placeholder || null : null;
}

// What labels a control: aria-labelledby, aria-label or its label elements, one by one and joined.
function labelsOf(element) {
  const given = references(element, element.getAttribute("aria-labelledby"));
  if (given.length) return [referenced(element, element.getAttribute("aria-labelledby"), { root: element, visited: new Set() })];
  const label = element.getAttribute("aria-label") || "";
  if (label.trim()) return [label];
  if (!element.labels || !element.labels.length) return [];
  const each = [...element.labels].map((label) => textOf(label));
  return [nameOf(element), each.join(" "), ...each];
}
