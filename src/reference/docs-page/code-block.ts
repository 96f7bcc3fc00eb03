import { type Html, html } from './html.ts'

/** A command. One click selects all of it, which is as near to a copy button as a page without script comes. */
export const toCommandBlock = (title: string, command: string): Html =>
  html`<figure class="command"><figcaption>${title}</figcaption><pre><code>${command}</code></pre></figure>`

/** JSON in its usual shape. A long one scrolls, so it can take the keyboard's focus. */
export const toJsonBlock = (label: string, value: unknown): Html =>
  html`<pre class="json" tabindex="0" role="region" aria-label="${label}"><code>${toColoured(value)}</code></pre>`

/** Names stand out from values: at the start of a line, a name is what comes before a colon. */
const toColoured = (value: unknown) =>
  JSON.stringify(value, undefined, 2)
    .split(/^( *)("(?:[^"\\]|\\.)*")(?=: )/m)
    .map((part, index) => (index % 3 === 2 ? html`<i>${part}</i>` : part))
