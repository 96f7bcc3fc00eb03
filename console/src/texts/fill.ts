/** Puts elements in the places of a text: `fill('See {link}.', { link: <a>…</a> })`. */
export const fill = <T>(text: string, parts: Readonly<Record<string, T>>): (string | T | undefined)[] =>
  text.split(/\{(\w+)\}/).map((piece, index) => (index % 2 === 0 ? piece : parts[piece]))
