// States and values, native first, then ARIA.

const CHECKABLE = new Set(["checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio", "option", "treeitem"]);
const SELECTABLE = new Set(["option", "tab", "row", "gridcell", "columnheader", "rowheader", "treeitem"]);
const TEXT_TYPES = new Set(["text", "search", "email", "tel", "url", "password", "number"]);
// Filled by value: the browser's own widget for them takes no typing that all pages understand.
const VALUE_TYPES = new Set(["date", "time", "datetime-local", "month", "week", "range", "color"]);

function ariaBoolean(element, name) {
  const value = element.getAttribute(name);
  return value === "true" ? true : value === "false" || value === "mixed" ? false : undefined;
}

function statesOf(element, role) {
  const states = {};
  const checked = checkedOf(element, role);
  if (checked !== undefined) states.checked = checked;
  if (disabled(element)) states.disabled = true;
  if (SELECTABLE.has(role)) {
    const selected = element.tagName === "OPTION" ? element.selected : ariaBoolean(element, "aria-selected");
    if (selected !== undefined) states.selected = selected;
  }
  const expanded = expandedOf(element);
  if (expanded !== undefined) states.expanded = expanded;
  const pressed = role === "button" ? ariaBoolean(element, "aria-pressed") : undefined;
  if (pressed !== undefined) states.pressed = pressed;
  if (focused() === element) states.focused = true;
  if (secure(element)) states.secure = true;
  if (element.required || element.getAttribute("aria-required") === "true") states.required = true;
  const invalidity = element.getAttribute("aria-invalid");
  if (invalidity ? invalidity !== "false" : "validity" in element && element.matches(":user-invalid")) states.invalid = true;
  if (readonly(element)) states.readonly = true;
  return states;
}

function checkedOf(element, role) {
  if (element.tagName === "INPUT" && (element.type === "checkbox" || element.type === "radio")) return element.checked && !element.indeterminate;
  return CHECKABLE.has(role) ? ariaBoolean(element, "aria-checked") : undefined;
}

function expandedOf(element) {
  if (element.tagName === "DETAILS") return element.open;
  if (element.tagName === "SUMMARY" && element.parentElement?.tagName === "DETAILS") return element.parentElement.open;
  return ariaBoolean(element, "aria-expanded");
}

function disabled(element) {
  return element.matches(":disabled") || belowDisabled(element);
}

function belowDisabled(element) {
  let known = disabling.get(element);
  if (known === undefined) {
    const parent = parentOf(element);
    disabling.set(element, (known = element.getAttribute("aria-disabled") === "true" || (!!parent && belowDisabled(parent))));
  }
  return known;
}

function readonly(element) {
  return element.readOnly === true || element.getAttribute("aria-readonly") === "true";
}

function secure(element) {
  if (element.tagName !== "INPUT") return false;
  return element.type === "password" || /\bone-time-code\b/.test(element.autocomplete);
}

// How the element is filled: text (typed), value (set), content (contenteditable) or null.
function fillKind(element) {
  if (element.tagName === "TEXTAREA") return "text";
  if (element.tagName === "INPUT") return TEXT_TYPES.has(element.type) ? "text" : VALUE_TYPES.has(element.type) ? "value" : null;
  return hostOfEditing(element) ? "content" : null;
}

function editable(element) {
  return fillKind(element) !== null && !disabled(element) && !readonly(element);
}

// A field's value as it stands, a select's chosen label, a slider's value text; null = has none.
function valueOf(element, role) {
  const kind = fillKind(element);
  if (kind === "text" || kind === "value") return role === "slider" ? element.getAttribute("aria-valuetext") || element.value : element.value;
  if (element.tagName === "INPUT" && element.type === "file") return [...element.files].map((file) => file.name).join(", ");
  if (kind === "content") return element.innerText.replace(/\n$/, "");
  if (element.tagName === "SELECT") return [...element.selectedOptions].map(optionLabel).join(", ");
  if (RANGE_ROLES.has(role)) return rangeText(element) || null;
  if (role === "combobox") return fold(chosen(element, role));
  return FIELD_ROLES.has(role) ? textOf(element) : null;
}

// Whether an element takes clicks though its role doesn't say so: by handler, tab stop, pointer, or
// as the visible part of a control that is not rendered.
function clickable(element) {
  if (element.tagName === "BODY" || element.tagName === "HTML") return false;
  if (element.hasAttribute("onclick") || hostOfEditing(element)) return true;
  if (element.tabIndex >= 0 && element.hasAttribute("tabindex")) return true;
  if (element.tagName === "LABEL" && element.control) return !rendered(element.control) && !element.control.disabled;
  if (styleOf(element).cursor !== "pointer") return false;
  // Only where the pointer zone begins.
  const parent = parentOf(element);
  return !!parent && styleOf(parent).cursor !== "pointer" && visible(element);
}
