// Elements, made and found. Text becomes text nodes: no markup is ever parsed.

/** The element of an id, which must be there. */
export function byID(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`no element has the id ${id}`);
  return found;
}

/**
 * A new element with attributes, of which those that are null or false are left out,
 * and children: nodes, or strings, which become text.
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/** Sets the text of an element, if it is another: what is the same is not said again. */
export function say(where, text) {
  if (where.textContent !== text) where.textContent = text;
}

/** The value of the checked one of a group of radio buttons. */
export function chosen(group) {
  return group.querySelector("input:checked").value;
}
