import { type Html, html } from './html.ts'

/** Text to copy. One click selects it; copy.js adds a button. */
export const toCommandBlock = (title: string, command: string): Html =>
  html`<figure class="command"><figcaption>${title}</figcaption><pre><code>${command}</code></pre></figure>`

/** JSON, indented. A long block scrolls, so it can have the keyboard focus. */
export const toJsonBlock = (label: string, value: unknown): Html =>
  html`<pre class="json" tabindex="0" role="region" aria-label="${label}"><code>${toColoured(value)}</code></pre>`

/** Highlights names: at the start of a line, the string before a colon. */
const toColoured = (value: unknown) =>
  JSON.stringify(value, undefined, 2)
    .split(/^( *)("(?:[^"\\]|\\.)*")(?=: )/m)
    .map((part, index) => (index % 3 === 2 ? html`<i>${part}</i>` : part))
