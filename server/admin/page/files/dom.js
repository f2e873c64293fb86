// Creates and finds elements. Text becomes text nodes: no markup is ever parsed.

/** The element with an id, which must exist. */
export function byID(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`no element has the id ${id}`);
  return found;
}

/**
 * A new element with attributes, except those that are null or false, and children:
 * nodes, or strings, which become text.
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/**
 * Sets the text of an element if it has changed, so that screen readers announce changes
 * only.
 */
export function setText(where, text) {
  if (where.textContent !== text) where.textContent = text;
}

/** The value of the checked radio button of a group. */
export function checkedValue(group) {
  return group.querySelector("input:checked").value;
}
