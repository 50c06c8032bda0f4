// Text as people read it: folded white space, nothing invisible.

const FOLD = /[\s\u00A0]+/g;
// Zero-width and bidirectional controls, soft hyphen. Joiners stay between letters that need them.
const CONTROLS = "[\\u00AD\\u200B\\u200E\\u200F\\u202A-\\u202E\\u2060-\\u2064\\u2066-\\u2069\\uFEFF]";
const LONE_JOINERS = "(?<![^\\x00-\\x7F])[\\u200C\\u200D]|[\\u200C\\u200D](?![^\\x00-\\x7F])";
const INVISIBLE = new RegExp(`${CONTROLS}|${LONE_JOINERS}`, "g");

function fold(text) {
  return text.replace(INVISIBLE, "").replace(FOLD, " ").trim();
}

function cap(text, length) {
  if (text.length <= length) return text;
  const cut = text.slice(0, length);
  // Never half of a surrogate pair.
  return /[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut;
}

// Compiles a text match (see the suite's `TextMatch`) into a predicate on folded text.
function matcher(match) {
  if (!match) return () => true;
  if (match.how === "exact") {
    const want = fold(match.text);
    return (text) => fold(text) === want;
  }
  if (match.how === "substring") {
    const want = fold(match.text).toLowerCase();
    return (text) => fold(text).toLowerCase().includes(want);
  }
  let pattern;
  try {
    pattern = new RegExp(match.source, match.flags.replace(/[gy]/g, ""));
  } catch (error) {
    throw invalid(`/${match.source}/${match.flags} is no regular expression: ${error.message}`);
  }
  return (text) => pattern.test(fold(text));
}

// An error that is the caller's fault; everything else is ours.
function invalid(message) {
  return Object.assign(new Error(message), { invalid: true });
}
