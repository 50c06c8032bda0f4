// Semantic roles by HTML-AAM and ARIA, over Muster's closed vocabulary. "" = none of them.

const VOCABULARY = new Set((
  "button link textbox searchbox combobox listbox option checkbox radio radiogroup switch slider " +
  "spinbutton progressbar meter image heading tab tablist tabpanel menu menubar menuitem " +
  "menuitemcheckbox menuitemradio toolbar tooltip tree treeitem list listitem table grid row rowgroup " +
  "rowheader cell gridcell columnheader separator group article figure form status alert dialog " +
  "alertdialog main navigation banner contentinfo complementary region"
).split(" "));

// Roles that ARIA knows and the vocabulary doesn't; written by an author they still win over the
// element's own role.
const OTHER_ROLES = new Set((
  "application associationlist blockquote caption code comment definition deletion directory document " +
  "emphasis feed generic insertion log mark marquee math note paragraph scrollbar search strong " +
  "subscript suggestion superscript term time timer treegrid"
).split(" "));

const ALIASES = { img: "image", treegrid: "grid", directory: "list" };

const INTERACTIVE = new Set((
  "button link textbox searchbox combobox listbox option checkbox radio switch slider spinbutton tab " +
  "menuitem menuitemcheckbox menuitemradio treeitem"
).split(" "));

const NAMED_BY_CONTENT = new Set((
  "button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox menuitemradio " +
  "option radio row rowheader switch tab tooltip treeitem"
).split(" "));

const BY_TAG = {
  ARTICLE: "article", BUTTON: "button", DETAILS: "group", DIALOG: "dialog", FIELDSET: "group",
  FIGURE: "figure", H1: "heading", H2: "heading", H3: "heading", H4: "heading", H5: "heading",
  H6: "heading", HR: "separator", MAIN: "main", MENU: "list", METER: "meter", NAV: "navigation",
  OL: "list", UL: "list", OPTGROUP: "group", OPTION: "option", OUTPUT: "status",
  PROGRESS: "progressbar", TEXTAREA: "textbox", ADDRESS: "group", HGROUP: "group",
};

const BY_INPUT_TYPE = {
  button: "button", submit: "button", reset: "button", image: "button", file: "button",
  checkbox: "checkbox", radio: "radio", range: "slider", number: "spinbutton", search: "searchbox",
  hidden: "",
};

const SECTIONING = "article, aside, main, nav, section, [role=article], [role=complementary], [role=main], [role=navigation], [role=region]";

const GLOBAL_ARIA = [
  "aria-atomic", "aria-busy", "aria-controls", "aria-current", "aria-describedby", "aria-details",
  "aria-dropeffect", "aria-flowto", "aria-grabbed", "aria-keyshortcuts", "aria-live", "aria-owns",
  "aria-relevant", "aria-roledescription",
];

function roleOf(element) {
  let known = roles.get(element);
  if (known === undefined) roles.set(element, (known = computeRole(element)));
  return known;
}

function computeRole(element) {
  const explicit = authorRole(element);
  if (explicit === null) return nativeRole(element);
  if (explicit !== "none") return explicit;
  // A presentational role is ignored on what can be focused or carries global attributes.
  return focusable(element) || GLOBAL_ARIA.some((name) => element.hasAttribute(name)) ? nativeRole(element) : "";
}

// The first role token that ARIA knows: a role, "" (outside the vocabulary), "none"; null = no role.
function authorRole(element) {
  const attribute = element.getAttribute("role");
  if (!attribute) return null;
  for (const token of attribute.toLowerCase().split(/\s+/)) {
    if (token === "none" || token === "presentation") return "none";
    const role = ALIASES[token] || token;
    if (VOCABULARY.has(role)) {
      // Landmarks by author need a name to be one.
      return (role === "region" || role === "form") && !authorName(element) ? "" : role;
    }
    if (OTHER_ROLES.has(token)) return "";
  }
  return null;
}

function focusable(element) {
  if (element.matches("a[href], area[href], button, input, select, textarea, summary, iframe")) return !element.disabled;
  return element.hasAttribute("tabindex") || hostOfEditing(element);
}

// A contenteditable element whose parent is not editable.
function hostOfEditing(element) {
  if (!element.isContentEditable) return false;
  const parent = element.parentElement;
  return !parent || !parent.isContentEditable;
}

function nativeRole(element) {
  const tag = element.tagName;
  const simple = BY_TAG[tag];
  if (simple) return simple;
  switch (tag) {
    case "A": case "AREA": return element.hasAttribute("href") ? "link" : editing(element);
    case "INPUT": return inputRole(element);
    case "SELECT": return element.multiple || element.size > 1 ? "listbox" : "combobox";
    case "IMG": return element.getAttribute("alt") === "" && !authorName(element) && !element.title ? "" : "image";
    case "svg": return authorName(element) || element.querySelector(":scope > title") ? "image" : "";
    case "a": return element.hasAttribute("href") || element.hasAttribute("xlink:href") ? "link" : "";
    case "SUMMARY": return element.parentElement?.tagName === "DETAILS" ? "button" : "";
    case "LI": return inList(element) ? "listitem" : "";
    case "ASIDE": return element.parentElement?.closest("article, aside, nav, section") && !authorName(element) ? "" : "complementary";
    case "HEADER": return element.parentElement?.closest(SECTIONING) ? "" : "banner";
    case "FOOTER": return element.parentElement?.closest(SECTIONING) ? "" : "contentinfo";
    case "SECTION": return authorName(element) || element.title ? "region" : "";
    case "FORM": return authorName(element) || element.title ? "form" : "";
    case "TABLE": case "TBODY": case "THEAD": case "TFOOT": case "TR": case "TD": case "TH": return tableRole(element);
    default: return editing(element);
  }
}

function editing(element) {
  return hostOfEditing(element) && element.tagName !== "BODY" && element.tagName !== "HTML" ? "textbox" : "";
}

function inputRole(input) {
  const role = BY_INPUT_TYPE[input.type];
  const listed = input.hasAttribute("list");
  if (role === undefined) return listed && /^(text|email|tel|url)$/.test(input.type) ? "combobox" : "textbox";
  return listed && role === "searchbox" ? "combobox" : role;
}

function inList(item) {
  const list = parentOf(item);
  return !!list && roleOf(list) === "list";
}

function tableRole(element) {
  const table = element.closest("table");
  const kind = table ? authorRole(table) : null;
  if (element.tagName === "TABLE") return "table";
  if (kind === "none" || (table === null)) return "";
  if (kind !== null && kind !== "table" && kind !== "grid") return "";
  const cell = kind === "grid" ? "gridcell" : "cell";
  switch (element.tagName) {
    case "TR": return "row";
    case "TD": return cell;
    case "TH": return headerRole(element, cell);
    default: return "rowgroup";
  }
}

function headerRole(header, cell) {
  const scope = header.scope;
  if (scope === "row" || scope === "rowgroup") return "rowheader";
  if (scope === "col" || scope === "colgroup") return "columnheader";
  const row = header.parentElement;
  if (!row || row.tagName !== "TR") return cell;
  if (row.parentElement?.tagName === "THEAD") return "columnheader";
  const others = [...row.children];
  if (others.every((other) => other.tagName === "TH")) return others.length > 1 ? "columnheader" : "rowheader";
  return header === others[0] ? "rowheader" : "columnheader";
}

function levelOf(element, role) {
  const given = parseInt(element.getAttribute("aria-level"), 10);
  if (given >= 1 && given <= 255) return given;
  if (role !== "heading") return undefined;
  return /^H[1-6]$/.test(element.tagName) ? Number(element.tagName[1]) : 2;
}
