import type { ComponentChildren } from 'preact'

/** Words between backticks, as in the descriptions of the API, become code. */
export const toInlineCode = (text: string): ComponentChildren =>
  text.split('`').map((piece, index) => (index % 2 === 0 ? piece : <code key={piece}>{piece}</code>))
