// Blackens secure fields for a picture. The fields themselves are painted, not a layer above them, so
// that dialogs, popovers and frames need no care; what is above a field stays above it.

const PAINT = {
  "background": "#000", "color": "#000", "-webkit-text-fill-color": "#000", "filter": "brightness(0)",
  "transition": "none", "animation": "none", "opacity": "1",
};

let masked = [];

// Every secure field of the page, hidden ones included.
function secureFields() {
  return everything().elements.filter(secure);
}

// Answers how many fields are masked, and how many a snapshot tells.
function mask() {
  unmask();
  for (const element of secureFields()) {
    masked.push({ element, style: element.getAttribute("style") });
    for (const [name, value] of Object.entries(PAINT)) element.style.setProperty(name, value, "important");
  }
  return count();
}

function count() {
  forget();
  const held = masked.filter(({ element }) => attached(element) && styleOf(element).filter === PAINT.filter);
  const fields = new Set(held.map(({ element }) => idOf(element)));
  const told = snapshot({ hidden: true, bound: true }).nodes.filter((node) => node.states.secure);
  const bare = told.filter((node) => !fields.has(node.id)).length;
  return { masked: held.length, secure: secureFields().length, bare };
}

// Puts the fields' own styles back; answers as `mask`, for the moment before.
function unmask() {
  const answer = count();
  for (const { element, style } of masked) {
    if (style === null) element.removeAttribute("style");
    else element.setAttribute("style", style);
  }
  masked = [];
  return answer;
}
