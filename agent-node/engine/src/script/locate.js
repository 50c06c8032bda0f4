// Locators: each step narrows the matches of the last, in document order.

function find(locator, attribute) {
  const tree = everything();
  const matches = resolve(tree, locator.steps, null);
  return matches.map((at) => tellFound(tree.elements[at], attribute));
}

// Indices into `tree`; `scopes` null = the whole page.
function resolve(tree, steps, scopes) {
  let current = scopes;
  for (const step of steps) {
    if (step.by === "filter") current = filter(tree, step, current ?? []);
    else if (step.by === "nth") current = nth(current ?? [], step.index);
    else current = query(tree, step, current);
  }
  return current ?? [];
}

function nth(matches, index) {
  const one = matches.at(index);
  return one === undefined ? [] : [one];
}

function filter(tree, step, matches) {
  const hasText = matcher(step.hasText);
  return matches.filter((at) => {
    if (step.hasText && !hasText(textOf(tree.elements[at]))) return false;
    return !step.has || resolve(tree, step.has.steps, [at]).length > 0;
  });
}

function query(tree, step, scopes) {
  const accepts = predicate(step);
  let matches = inside(tree, scopes).filter((at) => accepts(tree.elements[at]));
  if (step.by === "text") matches = innermost(tree, matches);
  return step.visible ? matches.filter((at) => visible(tree.elements[at])) : matches;
}

// Everything below the scopes, each once.
function inside(tree, scopes) {
  const found = [];
  let from = 0;
  for (const scope of scopes ?? [-1]) {
    const end = scope < 0 ? tree.elements.length : tree.ends[scope];
    for (let at = Math.max(from, scope + 1); at < end; at++) found.push(at);
    from = Math.max(from, end);
  }
  return found;
}

function innermost(tree, matches) {
  return matches.filter((at, place) => {
    const next = matches[place + 1];
    return next === undefined || next >= tree.ends[at];
  });
}

function predicate(step) {
  switch (step.by) {
    case "role": {
      const named = matcher(step.name);
      return (element) =>
        roleOf(element) === step.role && !unexposed(element) && agrees(element, step)
        && (!step.name || named(nameOf(element)));
    }
    case "label": {
      const labelled = matcher(step.text);
      return (element) => labelsOf(element).some((label) => fold(label) !== "" && labelled(label));
    }
    case "text": {
      const says = matcher(step.text);
      return (element) => {
        const text = textOf(element);
        return text !== "" && says(text);
      };
    }
    case "placeholder": {
      const asks = matcher(step.text);
      return (element) => {
        const placeholder = placeholderOf(element);
        return placeholder !== null && asks(placeholder);
      };
    }
    case "testId": return (element) => element.getAttribute("data-testid") === step.id;
    default: throw invalid(`no locator step is called ${step.by}`);
  }
}

function agrees(element, step) {
  const want = step.states;
  if (!want) return true;
  if (want.level !== undefined && levelOf(element, step.role) !== want.level) return false;
  const states = statesOf(element, step.role);
  // A state that the element doesn't have counts as off.
  const same = (state) => want[state] === undefined || (states[state] ?? false) === want[state];
  return ["checked", "disabled", "selected", "expanded", "pressed"].every(same);
}
